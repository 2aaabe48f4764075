"""The loop of a source task inside a Spark task: poll, hand to the committer, until the lease says stop."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from seamark.connector.offsets import Offsets
from seamark.connector.records import RecordBatch, RecordBatches, SourceRecord
from seamark.connector.source import Polled, SourceTask
from seamark.engine.commits import Committer
from seamark.engine.garbage import seldom_searched
from seamark.engine.lease_client import LeaseClient
from seamark.engine.tolerance import ToleranceExceededError
from seamark.errors import RetriableError, connector_code

log = logging.getLogger(__name__)

# A task whose poll returns nothing at once would otherwise spin; Kafka Connect leaves that to authors.
FIRST_REST_S, LONGEST_REST_S = 0.002, 0.05


class SourceLoop:
    """Runs one source task until its lease says stop."""

    def __init__(self, connector: str, task: SourceTask, committer: Committer, lease: LeaseClient) -> None:
        self._connector, self._task, self._committer, self._lease = connector, task, committer, lease
        self._rest_s = FIRST_REST_S
        self._last_record_at = time.monotonic()
        self._own_code_failed = False

    @property
    def idle_ms(self) -> int:
        """For how long there was nothing to do; 0 for a task whose hook may have offsets to move then (KIP-910)."""
        if self._committer.has_hook or self._committer.has_pending or self._task.has_pending:
            return 0
        return int((time.monotonic() - self._last_record_at) * 1000)

    def metrics(self) -> dict[str, Any]:
        """The task's own figures."""
        return self._task.metrics()

    def run(self) -> None:
        """Work; returns when told to stop, everything complete committed."""
        try:
            self._committer.start()
            with seldom_searched():
                self._loop()
            self._lease.check()
            self._drain()
            self._committer.finish()
        except BaseException:
            self._give_up()
            raise

    def _loop(self) -> None:
        while not self._lease.should_end:
            if (config := self._lease.take_config()) is not None:
                self._reconfigure(config)
            began = time.monotonic()
            polled = self._poll()
            if polled is not None and len(polled):
                self._last_record_at, self._rest_s = time.monotonic(), FIRST_REST_S
                self._committer.parts.progress.batch_took(self._last_record_at - began)
                self._send(polled)
                self._committer.after_poll(True)
            else:
                self._committer.after_poll(False)
                self._rest(began)

    def _drain(self) -> None:
        with connector_code(self._connector, "drain"):
            polled = self._task.drain()
        if polled is not None and len(polled):
            self._send(polled)

    def _reconfigure(self, config: dict[str, str]) -> None:
        answer = self._lease.call("offsets")
        offsets = Offsets((entry["partition"], entry["offset"]) for entry in answer["offsets"])
        try:
            with connector_code(self._connector, "reconfigure"):
                self._task.reconfigure(config, offsets)
        except Exception:
            self._own_code_failed = True
            raise

    def _give_up(self) -> None:
        try:
            self._committer.give_up(self._own_code_failed)
        except Exception:
            # What made the task fail is what its trace must show.
            log.warning("[%s] The failed task could not be tidied up", self._connector, exc_info=True)

    def _send(self, polled: Sequence[SourceRecord] | RecordBatch | RecordBatches) -> None:
        try:
            for each in polled if isinstance(polled, RecordBatches) else (polled,):
                self._committer.send(each)
        except ToleranceExceededError:
            self._own_code_failed = True  # a record did; those before it are sent
            raise

    def _poll(self) -> Polled:
        try:
            with connector_code(self._connector, "poll"):
                return self._task.poll()
        except RetriableError as error:
            log.warning("[%s] poll failed and is tried again: %s", self._connector, error)
            return None
        except Exception:
            self._own_code_failed = True
            raise

    def _rest(self, began: float) -> None:
        if time.monotonic() - began < FIRST_REST_S:
            time.sleep(self._rest_s)
            self._rest_s = min(self._rest_s * 2, LONGEST_REST_S)
