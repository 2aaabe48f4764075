"""The task's side of leases: runs inside a Spark task on an executor.

A thread renews the lease about once a second and keeps the last directive. If the worker does not answer within the
lease time, the lease is lost: the task's loop sees it and throws its open transaction away; should the loop be stuck
in a connector's code, the process ends.
"""

from __future__ import annotations

import base64
import http.client
import json
import logging
import os
import select
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from seamark.config.pinning import pinned_context
from seamark.engine.leases import Directive
from seamark.engine.signatures import SIGNATURE_HEADER, sign
from seamark.engine.stage import TaskProgress
from seamark.errors import ConnectError, KafkaError, LeaseLostError

log = logging.getLogger(__name__)

STUCK_S = 10.0  # how long a task's code may take to notice that its lease is lost before its process is ended
EXIT_STUCK = 70


@dataclass(frozen=True, slots=True)
class LeaseTicket:
    """What a Spark task needs to reach its worker; travels in the task's closure."""

    url: str
    id: str
    key: str
    lease_ms: int
    interval_ms: int
    certificate: str | None = None
    """The worker's, as PEM, if it is reached over https; no other one is believed."""


class _Channel:
    """One connection with its own numbering of requests."""

    def __init__(self, ticket: LeaseTicket, attempt: int, name: str, timeout_s: float) -> None:
        self._ticket, self._attempt, self._name, self._timeout_s = ticket, attempt, name, timeout_s
        self._key = base64.b64decode(ticket.key)
        self._sequence = 0
        self._connection: http.client.HTTPConnection | None = None

    def call(self, action: str, body: dict[str, Any]) -> dict[str, Any]:
        self._sequence += 1
        message = {"attempt": self._attempt, "channel": self._name, "sequence": self._sequence, **body}
        raw = json.dumps(message).encode()
        path = f"/internal/leases/{self._ticket.id}/{action}"
        headers = {SIGNATURE_HEADER: sign(self._key, path, raw), "Content-Type": "application/json"}
        try:
            if self._connection is None or self._is_dropped(self._connection):
                self.close()
                self._connection = self._connected()
            self._connection.request("POST", path, raw, headers)
            response = self._connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            raise
        if response.status == http.client.GONE or response.status == http.client.FORBIDDEN:
            raise LeaseLostError(answer["error"])
        if response.status != http.client.OK:
            raise KafkaError(answer.get("error", str(answer)), retriable=bool(answer.get("retriable")))
        return dict(answer)

    @staticmethod
    def _is_dropped(connection: http.client.HTTPConnection) -> bool:
        """Whether the worker has closed a connection that was not used for long: nothing else can be read there now."""
        if connection.sock is None:
            return True
        look = select.poll()
        look.register(connection.sock, select.POLLIN)
        return bool(look.poll(0))

    def _connected(self) -> http.client.HTTPConnection:
        parts, certificate = urlsplit(self._ticket.url), self._ticket.certificate
        host = parts.hostname or ""
        if certificate is None:
            return http.client.HTTPConnection(host, parts.port, timeout=self._timeout_s)
        context = pinned_context(certificate)
        return http.client.HTTPSConnection(host, parts.port, timeout=self._timeout_s, context=context)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class LeaseClient:
    """Holds the lease of one task."""

    def __init__(self, ticket: LeaseTicket, attempt: int, report: Callable[[], tuple[TaskProgress, int]]) -> None:
        """`report` gives the task's progress and for how many milliseconds it has been idle."""
        self._ticket, self._report = ticket, report
        self._renewals = _Channel(ticket, attempt, "renew", ticket.interval_ms / 1000 + 5)
        self._calls = _Channel(ticket, attempt, "call", 60)
        self._attempt = attempt
        self._last_answer = time.monotonic()
        self._directive = Directive.CONTINUE
        self._lost: str | None = None
        self._new_config: dict[str, str] | None = None
        self._config_version = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def acquire(self) -> None:
        """Begin to hold the lease.

        Raises:
            LeaseLostError: the worker is gone or gave the lease to someone else.
        """
        try:
            self._directive = Directive(self._calls.call("acquire", {})["directive"])
        except (OSError, http.client.HTTPException) as error:
            raise LeaseLostError(f"The worker at {self._ticket.url} does not answer: {error}") from error
        self._last_answer = time.monotonic()
        self._thread.start()

    @property
    def directive(self) -> Directive:
        """What the worker said last."""
        return self._directive

    @property
    def should_end(self) -> bool:
        """Whether the task is to end: told so, or its lease is lost."""
        return self._directive is not Directive.CONTINUE or self._lost is not None

    def take_config(self) -> dict[str, str] | None:
        """A config that the task is to go on with, once; None if there is no other."""
        if self._new_config is None:
            return None
        config, self._new_config = self._new_config, None
        return config

    def check(self) -> None:
        """Raise if the lease is lost. Call before anything is committed.

        Raises:
            LeaseLostError: it is.
        """
        if self._lost is not None:
            raise LeaseLostError(self._lost)
        if (time.monotonic() - self._last_answer) * 1000 > self._ticket.lease_ms:
            self._lost = f"The worker at {self._ticket.url} has not answered for {self._ticket.lease_ms} ms."
            raise LeaseLostError(self._lost)

    def call(self, action: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask the worker something.

        Raises:
            LeaseLostError: the lease is lost, or the worker cannot be reached.
            KafkaError: the worker could not do it.
        """
        self.check()
        try:
            return self._calls.call(action, body or {})
        except (OSError, http.client.HTTPException) as error:
            raise LeaseLostError(f"The worker at {self._ticket.url} does not answer: {error}") from error

    def release(self, result: str, error: str | None = None, retriable: bool = False) -> None:
        """The task has ended. A worker that cannot be told finds out by itself."""
        self._ended.set()
        progress, _ = self._report()
        try:
            self._calls.call(
                "release", {"progress": asdict(progress), "result": result, "error": error, "retriable": retriable}
            )
        except (OSError, http.client.HTTPException, ConnectError) as problem:
            log.warning("The end of lease %s could not be reported: %s", self._ticket.id, problem)
        finally:
            self._calls.close()

    def abandon(self) -> None:
        """End without a word: the lease is lost anyway."""
        self._ended.set()
        self._calls.close()

    def _keep(self) -> None:
        while not self._ended.is_set():
            progress, idle_ms = self._report()
            try:
                body = {
                    "progress": asdict(progress),
                    "idle_ms": idle_ms,
                    "wait_ms": self._ticket.interval_ms,
                    "config_version": self._config_version,
                }
                if self._directive is not Directive.CONTINUE:
                    self._ended.wait(self._ticket.interval_ms / 1000)
                    if self._ended.is_set():
                        break
                answer = self._renewals.call("renew", body)
                self._last_answer = time.monotonic()
                if "config" in answer:
                    self._new_config, self._config_version = answer["config"], answer["config_version"]
                self._directive = Directive(answer["directive"])
            except LeaseLostError as error:
                self._lose(str(error))
                return
            except (OSError, http.client.HTTPException, ConnectError, ValueError) as error:
                if (time.monotonic() - self._last_answer) * 1000 > self._ticket.lease_ms:
                    self._lose(
                        f"The worker at {self._ticket.url} has not answered for {self._ticket.lease_ms} ms: {error}"
                    )
                    return
                self._ended.wait(0.2)
        self._renewals.close()

    def _lose(self, reason: str) -> None:
        if self._ended.is_set():
            return
        self._lost = reason
        log.warning("Lease %s is lost: %s", self._ticket.id, reason)
        if not self._ended.wait(STUCK_S):
            log.error("The task of lease %s did not end by itself; its process ends now.", self._ticket.id)
            os._exit(EXIT_STUCK)
