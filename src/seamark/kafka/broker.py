"""A real Kafka as a child process: one node, KRaft, broker and controller in one JVM.

This is what Seamark uses when it is given no ``bootstrap.servers``, and what the tests run on. The data directory
outlives the process: a broker that is started on it again has the same topics and, unless something took it meanwhile,
the same port.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import psutil

from seamark.errors import BrokerError
from seamark.kafka import broker_archive, broker_storage, jars
from seamark.kafka.broker_storage import BrokerState
from seamark.kafka.java import JavaProcess, find_java

STOP_TIMEOUT_S: Final = 10.0  # a clean stop takes half a second; a broker that needs more than this hangs
PREDECESSOR_STOP_S: Final = 15.0  # what the broker of an owner that died needs to notice and to stop
READY_POLL_S: Final = 0.02

_API_VERSIONS_REQUEST: Final = struct.pack(
    ">ihhih", 10, 18, 0, 1, -1
)  # size, api key, version, correlation id, no client id
_JVM_OPTIONS: Final = (
    "-XX:+UseSerialGC",  # starts faster and needs fewer threads than G1; the heap is too small for pauses to matter
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.server=info",
)


class EmbeddedBroker:
    """A single-node Kafka on a directory.

    Args:
        data_dir: kept between runs; created if missing. One broker at a time.
        port: where clients connect. By default the port of the last run on this directory, or a free one.
        host: the address that the broker binds and tells its clients.
        heap: of the JVM, as ``-Xmx`` takes it.
        extra_properties: settings of the broker that win over ours.
        jvm_options: further options of the JVM; by default those that let it start from the archived classes.
        stop_timeout_s: how long a clean stop may take before the process is killed.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int | None = None,
        host: str = "127.0.0.1",
        heap: str = "512m",
        extra_properties: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] | None = None,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self.data_dir = Path(data_dir).absolute()
        self.host, self.heap = host, heap
        self._wanted_port = port
        self._extra = dict(extra_properties or {})
        self._jvm_options = None if jvm_options is None else tuple(jvm_options)
        self._stop_timeout_s = stop_timeout_s
        self._state = BrokerState()
        self._process: JavaProcess | None = None

    @property
    def port(self) -> int:
        """Where clients connect; known once the broker was started."""
        if self._state.port is None:
            raise BrokerError(f"The broker on {str(self.data_dir)!r} has not been started, so it has no port yet")
        return self._state.port

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients; stays the same over restarts of this object."""
        return f"{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process is not None and self._process.exit_code is None

    @property
    def pid(self) -> int | None:
        """Process id of the JVM, or None when there is none."""
        return None if self._process is None else self._process.pid

    def start(self, timeout_s: float = 60.0) -> None:
        """Start the broker and return when it answers.

        Raises:
            BrokerError: it is running already, the port is taken, or the broker ended or did not answer in time.
            JarError: Kafka's jars are not on this machine and could not be downloaded.
        """
        if self.is_running:
            raise BrokerError(f"The broker on {str(self.data_dir)!r} is running already")
        self.kill()  # one that ended by itself may still be closing its files
        classpath = jars.classpath(jars.BROKER)
        if self._jvm_options is None:
            broker_archive.ensure()
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            with open(self.data_dir / ".lock", "w") as lock:
                self._take(lock)
                self._spawn(classpath, lock)
        except OSError as error:
            raise BrokerError(f"The broker cannot use the directory {str(self.data_dir)!r}: {error}") from error
        try:
            self._await_ready(time.monotonic() + timeout_s, timeout_s)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Stop the broker cleanly and wait for its end; does nothing when it is not running."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """End the broker as a crash would (SIGKILL) and wait until it is gone; the directory can be used again."""
        if self._process is not None:
            self._process.kill()
            self._process = None
            self._await_release()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _take(self, lock: IO[str]) -> None:
        deadline = time.monotonic() + PREDECESSOR_STOP_S
        while not _try_lock(lock):
            owner = BrokerState.read(self.data_dir).owner_pid
            # The broker of an owner that died is about to stop; that of a living one stays.
            if owner is None or psutil.pid_exists(owner) or time.monotonic() > deadline:
                raise BrokerError(
                    f"Another broker is running on {str(self.data_dir)!r} (started by process {owner}); stop it first "
                    "or use another directory"
                )
            time.sleep(0.05)

    def _await_release(self) -> None:
        # Java is not our child and cannot be waited for, but its end releases the lock.
        deadline = time.monotonic() + STOP_TIMEOUT_S
        with open(self.data_dir / ".lock", "w") as lock:
            while not _try_lock(lock):
                if time.monotonic() > deadline:
                    raise BrokerError(f"The broker on {str(self.data_dir)!r} did not end after SIGKILL")
                time.sleep(READY_POLL_S)

    def _spawn(self, classpath: str, lock: IO[str]) -> None:
        self._state = BrokerState.read(self.data_dir).with_ports(self.host, self._wanted_port or self._state.port)
        self._state.write(self.data_dir)
        properties = broker_storage.write_properties(self.data_dir, self.host, self._state, self._extra)
        broker_storage.format_storage(self.data_dir)
        options = broker_archive.jvm_options() if self._jvm_options is None else self._jvm_options
        java = [find_java(BrokerError), f"-Xmx{self.heap}", *_JVM_OPTIONS, *options]
        java += ["-cp", classpath, "kafka.Kafka", str(properties)]
        self._process = JavaProcess(
            java,
            log_file=broker_storage.rotate_log(self.data_dir),
            stop_timeout_s=self._stop_timeout_s,
            pass_fds=(lock.fileno(),),
        )

    def _await_ready(self, deadline: float, timeout_s: float) -> None:
        assert self._process is not None  # noqa: S101 - set by _spawn
        while not (self._answers() and self._knows_itself(deadline)):
            code = self._process.exit_code
            if code is not None:
                raise BrokerError(self._failure(f"ended with exit code {code} while it was starting"))
            if time.monotonic() > deadline:
                raise BrokerError(self._failure(f"did not answer on {self.bootstrap_servers} within {timeout_s:g} s"))
            time.sleep(READY_POLL_S)

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=5) as connection:
                connection.sendall(_API_VERSIONS_REQUEST)
                return len(connection.recv(4)) == 4
        except OSError:
            return False

    def _knows_itself(self, deadline: float) -> bool:
        """Whether the broker is part of its own cluster: only then can topics be created."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        from seamark.kafka.clients import make_client

        client = make_client(AdminClient, {"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
        try:
            cluster = client.list_topics(timeout=max(0.1, min(5.0, deadline - time.monotonic())))
        except KafkaException:
            return False
        return broker_storage.NODE_ID in cluster.brokers and cluster.controller_id == broker_storage.NODE_ID

    def _failure(self, what: str) -> str:
        tail = "" if self._process is None else self._process.log_tail()
        return f"The broker {what}. The end of {str(self.data_dir / 'broker.log')!r}:\n{tail}"


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
