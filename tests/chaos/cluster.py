"""A broker and the workers of a Connect cluster, Seamark's or Kafka's own, each behind a link of its own."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from chaos.network import Link
from compat.targets import KafkaDistributed, SeamarkDistributed, Target, WorkerProcess
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.broker_storage import free_port
from seamark.testing.driver import python_workers

SESSION_MS = 6000
WORKER_VARIABLE = "CHAOS_WORKER"
KINDS: dict[str, type[Target]] = {"seamark": SeamarkDistributed, "kafka": KafkaDistributed}

_CONFIG = {
    "session.timeout.ms": str(SESSION_MS),
    "heartbeat.interval.ms": "1500",
    "rebalance.timeout.ms": "15000",
    "scheduled.rebalance.max.delay.ms": "2000",
    "offset.flush.timeout.ms": "5000",
    "producer.delivery.timeout.ms": "30000",
    "producer.request.timeout.ms": "10000",
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}


class Cluster:
    """Started by `start`; everything of it ends with `close`.

    Args:
        directory: for data, settings and logs.
        kind: ``seamark`` or ``kafka``.
        seed: of the links' losses.
        workers: how many.
        has_clocks: whether workers get clocks that can be stepped.
    """

    def __init__(self, directory: Path, kind: str, seed: int, *, workers: int, has_clocks: bool) -> None:
        self.directory, self.kind = directory, kind
        self._clock_library = directory / "clock.so"
        self.has_clocks = has_clocks and _compile(self._clock_library)
        port, inner = free_port("127.0.0.1"), [free_port("127.0.0.1") for _ in range(workers)]
        outer = [free_port("127.0.0.1") for _ in range(workers)]
        self.disk = Disk(directory / "broker", "1g")
        self.broker = EmbeddedBroker(
            self.disk.path, port=port, extra_properties=_listeners(port, free_port("127.0.0.1"), inner, outer)
        )
        self.links = [Link(o, i, f"{seed}-{number}") for number, (o, i) in enumerate(zip(outer, inner, strict=True))]
        self.target = _target(directory / kind, KINDS[kind], port, outer)
        self._incarnations = [0] * workers
        self._commands: list[Sequence[str]] = [worker.command for worker in self.target.workers]

    @property
    def workers(self) -> list[WorkerProcess]:
        return self.target.workers

    def start(self) -> None:
        self.broker.start()
        for number in range(len(self.workers)):
            self.start_worker(number)
        for worker in self.workers:
            worker.await_healthy()

    def start_worker(self, number: int) -> None:
        """Start a worker that is not running."""
        worker = self.workers[number]
        self._incarnations[number] += 1
        variables = [f"{WORKER_VARIABLE}=w{number}.{self._incarnations[number]}"]
        if self.has_clocks:
            self.set_clock(number, 0)
            variables += [f"LD_PRELOAD={self._clock_library}", f"CHAOS_CLOCK={self._clock(number)}"]
        worker.command = ["/usr/bin/env", *variables, *self._commands[number]]
        worker.start()

    def is_alive(self, number: int) -> bool:
        process = self.workers[number].process
        return process is not None and process.exit_code is None

    def process(self, number: int) -> psutil.Process | None:
        """The worker's own process."""
        running = self.workers[number].process
        pid = None if running is None else running.pid
        with contextlib.suppress(psutil.NoSuchProcess):
            return None if pid is None else psutil.Process(pid)
        return None

    def tree(self, number: int) -> list[psutil.Process]:
        """The worker's process and all below it."""
        process = self.process(number)
        with contextlib.suppress(psutil.NoSuchProcess):
            return [] if process is None else [process, *process.children(recursive=True)]
        return []

    def spark_driver(self, number: int) -> psutil.Process | None:
        """The JVM of the worker's Spark; None if it has none, as a Java worker."""
        return next((each for each in self.tree(number)[1:] if _name(each) == "java"), None)

    def executors(self, number: int) -> list[psutil.Process]:
        """The processes in which the worker's tasks run, where these are not the worker itself."""
        process = self.process(number)
        with contextlib.suppress(psutil.NoSuchProcess):
            return [] if process is None else python_workers(process)
        return []

    def set_clock(self, number: int, offset_s: float) -> None:
        """Let the worker's clock be wrong by so much."""
        draft = self._clock(number).with_suffix(".new")
        draft.write_text(f"{offset_s:.0f}\n")
        draft.replace(self._clock(number))

    def close(self) -> None:
        for number in range(len(self.workers)):
            for each in self.tree(number):
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.resume()
        for worker in self.workers:
            with contextlib.suppress(OSError):
                worker.kill()
        with contextlib.suppress(Exception):
            self.broker.kill()
        for link in self.links:
            link.close()
        self.disk.close()

    def _clock(self, number: int) -> Path:
        return self.directory / f"clock-{number}"


class Disk:
    """A directory of limited size, if this process may mount one; else an ordinary one."""

    def __init__(self, path: Path, size: str) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "seamark-chaos", str(path)]
        self.is_limited = (
            shutil.which("mount") is not None and subprocess.run(mount, capture_output=True).returncode == 0
        )

    @property
    def _ballast(self) -> Path:
        return self.path / ".ballast"

    def fill(self) -> None:
        """Leave no room."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        if self.is_limited:
            subprocess.run(["umount", "-l", str(self.path)], check=False, capture_output=True)


def _compile(library: Path) -> bool:
    """Whether there is a compiler here to make the library that steps clocks."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    source = Path(__file__).with_name("clock.c")
    command = [str(compiler), "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"]
    return compiler is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


def _listeners(port: int, controller: int, inner: Sequence[int], outer: Sequence[int]) -> dict[str, str]:
    """A listener for each worker, which tells it the address of its link."""
    own = f"PLAINTEXT://127.0.0.1:{port}"
    names = [f"WORKER{number}" for number in range(len(inner))]
    bound = [f"{name}://127.0.0.1:{each}" for name, each in zip(names, inner, strict=True)]
    told = [f"{name}://127.0.0.1:{each}" for name, each in zip(names, outer, strict=True)]
    protocols = [f"{name}:PLAINTEXT" for name in ("PLAINTEXT", "CONTROLLER", *names)]
    return {
        "listeners": ",".join([own, f"CONTROLLER://127.0.0.1:{controller}", *bound]),
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "advertised.listeners": ",".join([own, *told]),
        "listener.security.protocol.map": ",".join(protocols),
    }


def _target(directory: Path, kind: type[Target], port: int, outer: Sequence[int]) -> Target:
    class Behind(kind):  # type: ignore[misc, valid-type]
        worker_count = len(outer)

        def _settings(self, directory: Path) -> dict[str, str]:
            number = int(directory.name.rpartition("-")[2])
            settings: dict[str, Any] = super()._settings(directory)
            return {**settings, "bootstrap.servers": f"127.0.0.1:{outer[number]}"}

    return Behind(directory, f"127.0.0.1:{port}", config=_CONFIG)


def _name(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name()
    return ""
