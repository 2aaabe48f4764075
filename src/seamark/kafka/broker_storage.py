"""The data directory of an embedded broker: its settings, its ports and its formatted log directory.

::

    <data_dir>/broker.json         the ports, so that clients find the broker again after a restart; the owner's process
    <data_dir>/server.properties   written anew at every start
    <data_dir>/broker.log          what the broker says; broker.log.1 is the one before
    <data_dir>/data/               Kafka's log directory
    <data_dir>/.lock               held by the Java process for as long as it lives
"""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from seamark.errors import BrokerError
from seamark.kafka import jars
from seamark.kafka.java import find_java

NODE_ID: Final = 1
LINGER_S: Final = 5.0
LOG_KEPT_BYTES: Final = 20_000_000

# For one node that serves a developer or a test; everything else is Kafka's default.
SMALL_NODE: Final[Mapping[str, str]] = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "true",
    "log.segment.bytes": "134217728",
    # The default of 128 MB is allocated at once, which is a quarter of the heap.
    "log.cleaner.dedupe.buffer.size": "16777216",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "4",
    # After kill -9 the controller refuses the broker's new incarnation until the session of the old one is over.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}


@dataclass(frozen=True, slots=True)
class BrokerState:
    """What `broker.json` holds."""

    port: int | None = None
    controller_port: int | None = None
    owner_pid: int | None = None

    @classmethod
    def read(cls, data_dir: Path) -> BrokerState:
        try:
            fields = json.loads((data_dir / "broker.json").read_text())
            return cls(**{name: int(fields[name]) for name in ("port", "controller_port", "owner_pid")})
        except FileNotFoundError:
            return cls()
        except (ValueError, KeyError, TypeError) as error:
            raise BrokerError(
                f"{str(data_dir / 'broker.json')!r} is damaged ({error!r}); delete it to let the broker draw new ports"
            ) from error

    def write(self, data_dir: Path) -> None:
        _replace_file(data_dir / "broker.json", json.dumps(asdict(self)) + "\n")

    def with_ports(self, host: str, port: int | None) -> BrokerState:
        """With ports that are free now: those given or remembered where possible.

        Raises:
            BrokerError: the given port is in use.
        """
        if port is not None and not _becomes_free(host, port):
            raise BrokerError(f"Port {port} on {host} is in use; stop what uses it or choose another port")
        wanted = port or self.port
        chosen = wanted if wanted and _is_free(host, wanted) else free_port(host)
        controller = self.controller_port
        if controller is None or controller == chosen or not _is_free("127.0.0.1", controller):
            controller = free_port("127.0.0.1", other_than=chosen)
        return replace(self, port=chosen, controller_port=controller, owner_pid=os.getpid())


def free_port(host: str, *, other_than: int | None = None) -> int:
    """A port that nobody uses, and that the OS gives to no outgoing connection.

    A port from the OS's own range could be taken by any client while the broker is down; a client that keeps trying to
    reach it on the same machine may even connect to itself and hold it. So one below that range is drawn.
    """
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        first = 32768
    draw = random.SystemRandom()
    for _ in range(200):
        port = draw.randrange(10_000, first) if first > 11_000 else 0
        if port and port != other_than and _is_free(host, port):
            return port
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _becomes_free(host: str, port: int) -> bool:
    """Whether a port is free, or is so soon: that of a process that was killed is let go a moment after its files."""
    deadline = time.monotonic() + LINGER_S
    while not _is_free(host, port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as Kafka does; connections in TIME_WAIT do not count
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def write_properties(data_dir: Path, host: str, state: BrokerState, extra: Mapping[str, str]) -> Path:
    """Write `server.properties`; `extra` wins over everything here."""
    properties = {
        "process.roles": "broker,controller",
        "node.id": str(NODE_ID),
        "listeners": f"PLAINTEXT://{host}:{state.port},CONTROLLER://127.0.0.1:{state.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{host}:{state.port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{state.controller_port}",
        "log.dirs": str(data_dir / "data"),
        **SMALL_NODE,
        **extra,
    }
    path = data_dir / "server.properties"
    _replace_file(path, "".join(f"{key}={_escape(value)}\n" for key, value in properties.items()))
    return path


def format_storage(data_dir: Path) -> None:
    """Give a new log directory its identity; one that has it is left as it is.

    Kafka's own tool takes a second of Java for this. All that it writes besides two random ids is the list of feature
    levels of this Kafka version, so that file is made once per version and copied from the jar cache.
    """
    log_dir = data_dir / "data"
    identity = log_dir / "meta.properties"
    if identity.exists():
        return
    log_dir.mkdir(parents=True, exist_ok=True)
    _write_bootstrap_checkpoint(log_dir / "bootstrap.checkpoint")
    # Written last: a format that was interrupted is repeated.
    _replace_file(identity, f"version=1\nnode.id={NODE_ID}\ncluster.id={_kafka_uuid()}\ndirectory.id={_kafka_uuid()}\n")


def rotate_log(data_dir: Path) -> Path:
    """The log file to append to; a big one is put aside first, so that no more than two are kept."""
    path = data_dir / "broker.log"
    if path.exists() and path.stat().st_size > LOG_KEPT_BYTES:
        path.replace(data_dir / "broker.log.1")
    return path


def _write_bootstrap_checkpoint(target: Path) -> None:
    made = jars.BROKER.folder() / "bootstrap.checkpoint"
    if made.exists():
        shutil.copyfile(made, target)
        return
    with tempfile.TemporaryDirectory(prefix="seamark-format-") as scratch:
        properties = write_properties(Path(scratch), "127.0.0.1", BrokerState(port=1, controller_port=2), {})
        command = [find_java(BrokerError), "-Xmx128m", "-XX:TieredStopAtLevel=1"]
        command += ["-cp", jars.classpath(jars.BROKER), "kafka.tools.StorageTool"]
        command += ["format", "--cluster-id", _kafka_uuid(), "--config", str(properties)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise BrokerError(f"Kafka's storage tool failed: {said[-1] if said else 'it printed nothing'}")
        checkpoint = (Path(scratch) / "data" / "bootstrap.checkpoint").read_bytes()
    target.write_bytes(checkpoint)
    with suppress(OSError):  # a cache that is shared and read-only is fine; the next directory takes the second again
        scratch_copy = made.with_name(f".checkpoint-{os.getpid()}")
        scratch_copy.write_bytes(checkpoint)
        scratch_copy.replace(made)


def _kafka_uuid() -> str:
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):  # Kafka refuses these: a command line would take them for an option
            return text


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _replace_file(path: Path, text: str) -> None:
    scratch = path.with_name(path.name + ".new")
    with open(scratch, "w") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(scratch, path)
