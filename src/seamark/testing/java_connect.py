"""The real Kafka Connect, as a process to compare with.

Tests run the same connector here and in Seamark, or hand one over from here to there; benchmarks take their ratios
against it. It is Kafka's own worker from Kafka's own jars (the `CONNECT` jar set), reached over its REST API.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
import uuid
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from seamark.errors import ConnectError
from seamark.kafka import jars
from seamark.kafka.broker_storage import free_port
from seamark.kafka.java import JavaProcess, find_java
from seamark.testing.waiting import patience

STOP_TIMEOUT_S: Final = 30.0
POLL_S: Final = 0.05
# What a worker answers while its group rebalances; the request has had no effect and can be repeated.
_CONFLICT: Final = 409
_REBALANCE: Final = "rebalance is expected"

_LOGGING: Final = """\
rootLogger.level = {level}
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{ISO8601}} %p %X{{connector.context}}%m (%c{{1}})%n
"""


class JavaConnectError(ConnectError):
    """The Java worker did not start, refused a request, or did not reach the state that was waited for."""


class Mode(Enum):
    """How the worker keeps its state."""

    DISTRIBUTED = "org.apache.kafka.connect.cli.ConnectDistributed"
    STANDALONE = "org.apache.kafka.connect.cli.ConnectStandalone"


class JavaConnect:
    """One worker of the real Kafka Connect.

    Args:
        work_dir: for its configuration, its log and, in standalone mode, its offsets; created if missing.
        bootstrap_servers: the Kafka that it works on.
        mode: distributed or standalone.
        group_id: of the Connect cluster; also the prefix of its three topics unless `config` names them.
        config: worker configuration that wins over the defaults here, which are String converters and one replica.
        heap: of the JVM, as ``-Xmx`` takes it.
        rest_port: by default a free one.
        log_level: of everything in ``connect.log``.
        jvm_options: more arguments of the JVM.
    """

    def __init__(
        self,
        work_dir: Path,
        bootstrap_servers: str,
        *,
        mode: Mode = Mode.DISTRIBUTED,
        group_id: str | None = None,
        config: Mapping[str, str] | None = None,
        heap: str = "512m",
        rest_port: int | None = None,
        log_level: str = "INFO",
        jvm_options: Sequence[str] = (),
    ) -> None:
        self.work_dir = Path(work_dir).absolute()
        self.mode, self.heap = mode, heap
        self.group_id = group_id or f"java-connect-{uuid.uuid4().hex[:8]}"
        self.rest_port = rest_port or free_port("127.0.0.1")
        self.config = {
            "bootstrap.servers": bootstrap_servers,
            "listeners": f"http://127.0.0.1:{self.rest_port}",
            "rest.advertised.host.name": "127.0.0.1",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            # All connectors are on the class path and are listed in their jars: no need to search every class.
            "plugin.discovery": "service_load",
            **(self._distributed() if mode is Mode.DISTRIBUTED else self._standalone()),
            **(config or {}),
        }
        self._log_level, self._jvm_options = log_level, tuple(jvm_options)
        self._process: JavaProcess | None = None

    @property
    def url(self) -> str:
        """Of the REST API."""
        return f"http://127.0.0.1:{self.rest_port}"

    @property
    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.exit_code is None

    @property
    def pid(self) -> int | None:
        """Process id of the JVM, or None when there is none."""
        return None if self._process is None else self._process.pid

    def start(self, timeout_s: float = 90.0) -> None:
        """Start the worker and return when it is healthy: in its group, and with its topics read.

        Raises:
            JavaConnectError: it ended or was not healthy in time; quotes its log.
        """
        if self.is_running:
            raise JavaConnectError(f"The Java worker in {str(self.work_dir)!r} is running already")
        self.work_dir.mkdir(parents=True, exist_ok=True)
        properties = self.work_dir / "worker.properties"
        properties.write_text(_properties(self.config))
        logging = self.work_dir / "log4j2.properties"
        logging.write_text(_LOGGING.format(level=self._log_level))
        command = [find_java(JavaConnectError), f"-Xmx{self.heap}", f"-Dlog4j2.configurationFile={logging}"]
        command += [*self._jvm_options, "-cp", jars.classpath(jars.CONNECT), self.mode.value, str(properties)]
        process = JavaProcess(command, log_file=self.work_dir / "connect.log", stop_timeout_s=STOP_TIMEOUT_S)
        self._process = process
        deadline = time.monotonic() + patience(timeout_s)
        while not self._is_healthy():
            if process.exit_code is not None or time.monotonic() > deadline:
                tail = process.log_tail()
                self.kill()
                raise JavaConnectError(f"The Java worker is not healthy after {timeout_s:g} s or has ended:\n{tail}")
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Stop the worker cleanly: its tasks commit what they have."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """End the worker as a crash would (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def request(self, method: str, path: str, body: object = None, timeout_s: float = 120.0) -> tuple[int, Any]:
        """One REST request; returns the status and the JSON of the answer (None when it is empty)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.rest_port, timeout=timeout_s)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"} if content else {})
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None
        finally:
            connection.close()

    def create(self, name: str, config: Mapping[str, str], *, initial_state: str | None = None) -> None:
        """Create a connector.

        Args:
            name: of the connector.
            config: without the name.
            initial_state: RUNNING (the default), PAUSED or STOPPED.
        """
        body: dict[str, object] = {"name": name, "config": dict(config)}
        if initial_state is not None:
            body["initial_state"] = initial_state
        self._insist("POST", "/connectors", body)

    def status(self, name: str) -> dict[str, Any]:
        """State of a connector and its tasks; empty while there is none."""
        code, status = self.request("GET", f"{_path(name)}/status")
        return dict(status) if code == http.client.OK else {}

    def wait_state(self, name: str, state: str, *, tasks: int | None = None, within_s: float = 60.0) -> dict[str, Any]:
        """Wait until the connector, and every task that it has, is in `state`.

        Args:
            name: of the connector.
            state: RUNNING, PAUSED, STOPPED or FAILED; for FAILED one failed task is enough.
            tasks: how many tasks it must have; by default one or more. A stopped connector has none.
            within_s: how long to wait.
        """
        deadline = time.monotonic() + patience(within_s)
        while True:
            status = self.status(name)
            if status and _is_in(status, state, tasks):
                return status
            if time.monotonic() > deadline:
                raise JavaConnectError(f"Connector {name!r} is not {state} after {within_s:g} s, but {status}")
            time.sleep(POLL_S)

    def pause(self, name: str) -> None:
        """Pause a connector and wait until it is."""
        self._insist("PUT", f"{_path(name)}/pause")
        self.wait_state(name, "PAUSED")

    def resume(self, name: str) -> None:
        """Resume a connector and wait until it runs."""
        self._insist("PUT", f"{_path(name)}/resume")
        self.wait_state(name, "RUNNING")

    def stop_connector(self, name: str) -> None:
        """Stop a connector and wait until all its tasks are gone."""
        self._insist("PUT", f"{_path(name)}/stop")
        self.wait_state(name, "STOPPED")

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """The connector's offsets, as its REST API shows them: each with a `partition` and an `offset`."""
        return list(self._insist("GET", f"{_path(name)}/offsets")["offsets"])

    def alter_offsets(self, name: str, offsets: list[dict[str, Any]]) -> None:
        """Change offsets of a stopped connector."""
        self._insist("PATCH", f"{_path(name)}/offsets", {"offsets": offsets})

    def delete(self, name: str) -> None:
        """Delete a connector; its offsets stay."""
        self._insist("DELETE", _path(name))

    def _insist(self, method: str, path: str, body: object = None, within_s: float = 60.0) -> Any:
        deadline = time.monotonic() + patience(within_s)
        while True:
            code, answer = self.request(method, path, body)
            if code < http.client.BAD_REQUEST:
                return answer
            is_rebalancing = code == _CONFLICT or _REBALANCE in str(answer)
            is_refused = "already exists" in str(answer)
            if is_refused or not is_rebalancing or time.monotonic() > deadline:
                raise JavaConnectError(f"{method} {path} was answered with {code}: {answer}")
            time.sleep(POLL_S)

    def _is_healthy(self) -> bool:
        try:
            return self.request("GET", "/health", timeout_s=15)[0] == http.client.OK
        except (OSError, http.client.HTTPException, ValueError):
            return False

    def _distributed(self) -> dict[str, str]:
        config = {"group.id": self.group_id, "offset.storage.partitions": "5", "status.storage.partitions": "1"}
        for kind, suffix in (("config", "configs"), ("offset", "offsets"), ("status", "status")):
            config[f"{kind}.storage.topic"] = f"{self.group_id}-{suffix}"
            config[f"{kind}.storage.replication.factor"] = "1"
        # A cluster that comes and goes within a test: nobody to wait for.
        return {**config, "scheduled.rebalance.max.delay.ms": "0"}

    def _standalone(self) -> dict[str, str]:
        return {"offset.storage.file.filename": str(self.work_dir / "offsets")}


def _is_in(status: Mapping[str, Any], state: str, tasks: int | None) -> bool:
    of_connector, of_tasks = status["connector"]["state"], [task["state"] for task in status["tasks"]]
    if state == "FAILED":
        return of_connector == state or state in of_tasks
    if state == "STOPPED":  # a stopped connector has no tasks
        return of_connector == state and not of_tasks
    is_enough = bool(of_tasks) if tasks is None else len(of_tasks) == tasks
    return of_connector == state and is_enough and all(task == state for task in of_tasks)


def _path(name: str) -> str:
    return f"/connectors/{urllib.parse.quote(name, safe='')}"


def _properties(config: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n".replace("\\", "\\\\") for key, value in config.items())
