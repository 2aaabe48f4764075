"""A worker in a process of its own, to be stopped, suspended and killed by tests.

``python -m seamark.testing.driver <order.json>`` runs one or more workers on one Spark session, each with its
connectors, until its standard input ends. The order is ``{"workers": [{"properties": {...}, "connectors": {"<name>":
{...}}}], "sharing": null}``; `sharing` may give other times after which tasks starve and a turn ends. Each change of a
connector's status is a JSON line on standard output; the first line says that all workers have started.
`DriverProcess` is the other end.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from seamark.config.providers import Providers
from seamark.config.worker import WorkerConfig
from seamark.engine import leases
from seamark.engine.session import start_session
from seamark.errors import ConnectError
from seamark.runtime.states import ConnectorStatus
from seamark.runtime.worker import Worker
from seamark.testing.waiting import eventually, patience

STARTED = {"event": "started"}


class DriverError(ConnectError):
    """The driver process ended, or was not ready in time."""


class DriverProcess:
    """A driver process.

    Args:
        directory: for its order and its log.
        workers: the workers, each with ``properties`` and ``connectors``.
        sharing: seconds after which a task that waits for a slot starves, and after which an epoch then gives way.
    """

    def __init__(
        self, directory: Path, workers: Sequence[Mapping[str, Any]], sharing: tuple[float, float] | None = None
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._order, self.log = directory / "order.json", directory / "driver.log"
        self._order.write_text(json.dumps({"workers": list(workers), "sharing": sharing}))
        self._events: list[dict[str, Any]] = []
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    @property
    def process(self) -> psutil.Process:
        """The Python process with the workers in it."""
        return psutil.Process(self._running().pid)

    def start(self, within_s: float = 60.0) -> None:
        """Start the process; returns when all its workers have started."""
        self._events = []
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "seamark.testing.driver", str(self._order)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._reader = threading.Thread(target=self._read, args=(self._process,), name="driver-events", daemon=True)
        self._reader.start()
        deadline = time.monotonic() + patience(within_s)
        while STARTED not in self._events:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise DriverError(f"The driver has ended or has not started within {within_s:g} s:\n{self.log_tail()}")
            time.sleep(0.05)

    def stop(self, within_s: float = 60.0) -> None:
        """Let the process stop its connectors and end."""
        process = self._running()
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.close()
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise DriverError(f"The driver has not ended within {within_s:g} s:\n{self.log_tail()}") from None
        finally:
            self._forget()

    def kill(self, survivors_s: float = 20.0) -> None:
        """End the process as a crash would (SIGKILL), then see to it that all of its children are gone.

        Raises:
            AssertionError: some still live after `survivors_s`.
        """
        if self._process is None:
            return
        children = self.children()
        self._process.kill()
        self._process.wait()
        self._forget()
        _, alive = psutil.wait_procs(children, timeout=survivors_s)
        assert not alive, f"survived their driver for {survivors_s:g} s: {alive}"  # noqa: S101 - what it is for

    def suspend(self) -> None:
        """Let the worker stand still (SIGSTOP): Spark and its tasks go on without it."""
        os.kill(self._running().pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a suspended worker go on."""
        os.kill(self._running().pid, signal.SIGCONT)

    def children(self) -> list[psutil.Process]:
        """All processes below the driver, Spark's JVM and Python workers among them."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return self.process.children(recursive=True)
        return []

    def python_workers(self) -> list[psutil.Process]:
        """Spark's Python workers below the driver's own JVM."""
        return python_workers(self.process)

    def statuses(self, name: str) -> list[dict[str, Any]]:
        """What was said of a connector's status since the start of the process, in order."""
        return [event for event in list(self._events) if event.get("connector") == name]

    def log_tail(self, lines: int = 30) -> str:
        """The end of what the process logged."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            if self._process is not None:
                self.stop()
        else:
            self.kill()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise DriverError("The driver is not running.")
        return self._process

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        with process.stdout as lines:
            for line in lines:
                if line.startswith("{"):
                    self._events.append(json.loads(line))

    def _forget(self) -> None:
        process, reader = self._running(), self._reader
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        if reader is not None:
            reader.join(10)
        self._process = None


def python_workers(parent: psutil.Process) -> list[psutil.Process]:
    """The Python workers that Spark has forked below a process: children of its daemon."""
    found = []
    for process in parent.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            above = process.parent()
            if above is not None and _is_daemon(above) and _is_daemon(process):
                found.append(process)
    return found


def _is_daemon(process: psutil.Process) -> bool:
    return "seamark.engine.spark_daemon" in process.cmdline()  # a forked worker has its daemon's command line


def kill_a_python_worker(parent: psutil.Process) -> int:
    """SIGKILL one of the Python workers below a process, once there is one; returns its process id."""
    victim = eventually(lambda: python_workers(parent), 30, "no Python worker was found")[0]
    victim.kill()
    return victim.pid


def main(order: Path) -> None:
    """Run the workers of an order until standard input ends."""
    faulthandler.register(signal.SIGUSR1)  # for a driver that hangs: where do its threads stand?
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    what = json.loads(order.read_text())
    entries = what["workers"]
    if what["sharing"] is not None:
        leases.STARVING_AFTER_S, leases.TURN_S = what["sharing"]
    configs = [WorkerConfig(entry["properties"]) for entry in entries]
    spark = start_session(_resolved(configs[0]), app_name="seamark-driver")
    workers = [Worker(config, spark=spark) for config in configs]
    for worker, entry in zip(workers, entries, strict=True):
        worker.start()
        for name, config in entry["connectors"].items():
            worker.start_connector(name, config, on_status=_tell_status)
    _tell(STARTED)
    sys.stdin.read()
    for worker in workers:
        worker.stop()
    spark.stop()


def _resolved(config: WorkerConfig) -> WorkerConfig:
    """With what its config providers put into it, as a worker that starts Spark itself has it."""
    providers = Providers.of(config.raw)
    try:
        values = providers.resolve(config.raw)
        return WorkerConfig({key: value for key, value in values.items() if value is not None})
    finally:
        providers.close()


def _tell_status(status: ConnectorStatus) -> None:
    tasks = [{"id": task.id, "state": task.state.value, "trace": task.trace} for task in status.tasks]
    _tell({"connector": status.name, "state": status.state.value, "trace": status.trace, "tasks": tasks})


def _tell(event: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
