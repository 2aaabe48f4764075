"""The workers that the suite runs against: the real Kafka Connect and Seamark, each standalone and distributed.

All get the same worker configuration, but for what only one of them knows. A target is a process or several that are
reached over HTTP alone; nothing of Seamark is imported here but what finds Java and keeps child processes in check.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx

from seamark.kafka import jars
from seamark.kafka.broker_storage import free_port
from seamark.kafka.java import JavaProcess, find_java
from seamark.testing.waiting import patience

START_TIMEOUT_S: Final = 120.0
STOP_TIMEOUT_S: Final = 40.0
SOURCE: Final = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK: Final = "org.apache.kafka.connect.file.FileStreamSinkConnector"
STRING: Final = "org.apache.kafka.connect.storage.StringConverter"
ORIGIN: Final = "http://compat.example"

_LOG4J: Final = """\
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %X{connector.context}%m (%c{1})%n
"""
_JAVA_MAIN: Final = "org.apache.kafka.connect.cli.Connect"
_SPARK: Final = {"spark.driver.memory": "512m", "spark.ui.enabled": "false"}


class TargetError(Exception):
    """A worker did not start; quotes its log."""


@dataclass
class WorkerProcess:
    """One worker as a child process."""

    command: Sequence[str]
    directory: Path
    port: int
    process: JavaProcess | None = field(default=None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.directory / "worker.log").read_text(errors="replace")

    def start(self) -> None:
        """Start the process; `await_healthy` tells when it can be used."""
        self.directory.mkdir(parents=True, exist_ok=True)
        log = self.directory / "worker.log"
        self.process = JavaProcess(self.command, log_file=log, stop_timeout_s=STOP_TIMEOUT_S)

    def await_healthy(self, timeout_s: float = START_TIMEOUT_S) -> None:
        assert self.process is not None
        deadline = time.monotonic() + patience(timeout_s)
        while not self.is_healthy():
            code = self.process.exit_code
            if code is not None or time.monotonic() > deadline:
                tail = self.log[-6000:]
                self.kill()
                raise TargetError(f"{self.command[0]} is not healthy after {timeout_s:g} s (exit {code}):\n{tail}")
            time.sleep(0.05)

    def is_healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=15).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def exit_code(self, within_s: float = 60.0) -> int | None:
        """Wait for the process to end by itself; None if it does not."""
        assert self.process is not None
        deadline = time.monotonic() + patience(within_s)
        while self.process.exit_code is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.process.exit_code

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()
            self.process = None

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process = None


class Target(ABC):
    """A Connect cluster of one or more workers."""

    name: str
    is_seamark: bool
    is_distributed: bool
    worker_count: int = 1

    def __init__(
        self,
        directory: Path,
        bootstrap_servers: str,
        *,
        group: str | None = None,
        config: Mapping[str, str] | None = None,
        connector_files: Sequence[Path] = (),
    ) -> None:
        self.directory, self.bootstrap_servers = directory, bootstrap_servers
        # The name of a sink whose default consumer group is the worker's own.
        self.clashing_sink = f"compat-{uuid.uuid4().hex[:8]}"
        self.group = group or f"connect-{self.clashing_sink}"
        self._config, self._files = dict(config or {}), [str(file) for file in connector_files]
        self.workers = [self._worker(number) for number in range(self.worker_count)]

    @property
    def urls(self) -> list[str]:
        return [worker.url for worker in self.workers]

    @property
    def config_topic(self) -> str:
        return f"{self.group}-configs"

    @property
    def offsets_topic(self) -> str:
        return f"{self.group}-offsets"

    def start(self) -> None:
        for worker in self.workers:
            worker.start()
        try:
            for worker in self.workers:
                worker.await_healthy()
        except TargetError:
            self.kill()
            raise

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop()

    def kill(self) -> None:
        for worker in self.workers:
            worker.kill()

    def _worker(self, number: int) -> WorkerProcess:
        directory, port = self.directory / f"worker-{number}", free_port("127.0.0.1")
        directory.mkdir(parents=True, exist_ok=True)
        properties = directory / "worker.properties"
        settings = {**self._settings(directory), "listeners": f"http://127.0.0.1:{port}"}
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return WorkerProcess(self.command(directory, properties), directory, port)

    @abstractmethod
    def command(self, directory: Path, properties: Path) -> list[str]:
        """What starts a worker."""

    def _settings(self, directory: Path) -> dict[str, str]:
        settings = {
            "bootstrap.servers": self.bootstrap_servers,
            "rest.advertised.host.name": "127.0.0.1",
            "key.converter": STRING,
            "value.converter": STRING,
            "offset.flush.interval.ms": "500",
            "plugin.discovery": "service_load",
            "access.control.allow.origin": ORIGIN,
            "access.control.allow.methods": "GET,POST",
            "response.http.headers.config": "add X-Compat: served",
        }
        if self.is_distributed:
            settings |= {
                "group.id": self.group,
                "exactly.once.source.support": "enabled",
                "offset.storage.partitions": "5",
                "status.storage.partitions": "1",
                "scheduled.rebalance.max.delay.ms": "0",
            }
            for kind, suffix in (("config", "configs"), ("offset", "offsets"), ("status", "status")):
                settings[f"{kind}.storage.topic"] = f"{self.group}-{suffix}"
                settings[f"{kind}.storage.replication.factor"] = "1"
        else:
            settings["offset.storage.file.filename"] = str(directory / "offsets")
        return {**settings, **(_SPARK if self.is_seamark else {}), **self._config}


class _Java(Target):
    is_seamark = False

    def command(self, directory: Path, properties: Path) -> list[str]:
        logging = directory / "log4j2.properties"
        logging.write_text(_LOG4J)
        java = [find_java(JavaMissing), "-Xmx256m", "-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={logging}"]
        mode = "Distributed" if self.is_distributed else "Standalone"
        return [*java, "-cp", jars.classpath(jars.CONNECT), f"{_JAVA_MAIN}{mode}", str(properties), *self._files]


class JavaMissing(TargetError):
    """There is no Java on this machine."""


class _Seamark(Target):
    is_seamark = True

    def command(self, directory: Path, properties: Path) -> list[str]:
        mode = "distributed" if self.is_distributed else "standalone"
        return [str(Path(sys.executable).with_name("seamark")), mode, str(properties), *self._files]


class KafkaDistributed(_Java):
    """The real Kafka Connect: one distributed worker with exactly-once sources."""

    name, is_distributed = "kafka-distributed", True


class KafkaStandalone(_Java):
    """The real Kafka Connect, standalone."""

    name, is_distributed = "kafka-standalone", False


class SeamarkStandalone(_Seamark):
    """Seamark, standalone."""

    name, is_distributed = "seamark-standalone", False


class SeamarkDistributed(_Seamark):
    """Three workers of Seamark with exactly-once sources."""

    name, is_distributed, worker_count = "seamark-distributed", True, 3


TARGETS: Final[dict[str, type[Target]]] = {
    kind.name: kind for kind in (KafkaDistributed, KafkaStandalone, SeamarkStandalone, SeamarkDistributed)
}


def write_connector_files(directory: Path) -> dict[str, Path]:
    """Connector files for a standalone worker's command line, of every kind and with misleading extensions."""
    directory.mkdir(parents=True, exist_ok=True)
    data = directory / "data"
    data.mkdir()

    def config(name: str) -> dict[str, str]:
        (data / f"{name}.txt").write_text(f"{name}\n")
        topic = f"{name}-{uuid.uuid4().hex[:8]}"
        return {"connector.class": SOURCE, "file": str(data / f"{name}.txt"), "topic": topic, "tasks.max": "1"}

    def properties(name: str) -> str:
        settings = {"name": name, **config(name)}
        return "# a comment\n" + "".join(f"{key}={value}\n" for key, value in settings.items())

    contents = {
        "cli-properties": ("properties", properties("cli-properties")),
        "cli-properties-in-json": ("json", properties("cli-properties-in-json")),
        "cli-flat": ("json", json.dumps({**config("cli-flat"), "name": "cli-flat", "tasks.max": 1})),
        "cli-flat-in-properties": (
            "properties",
            json.dumps({**config("cli-flat-in-properties"), "name": "cli-flat-in-properties"}),
        ),
        "cli-request": (
            "json",
            json.dumps({"name": "cli-request", "config": config("cli-request"), "note": "ignored"}),
        ),
        "cli-paused": (
            "json",
            json.dumps({"name": "cli-paused", "config": config("cli-paused"), "initial_state": "paused"}),
        ),
        "cli-stopped": (
            "properties",
            json.dumps({"name": "cli-stopped", "config": config("cli-stopped"), "initial_state": "STOPPED"}),
        ),
    }
    files = {}
    for name, (extension, content) in contents.items():
        files[name] = directory / f"{name}.{extension}"
        files[name].write_text(content)
    return files
