"""What can go wrong, and how it is mended."""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import psutil

from chaos.cluster import Cluster, Disk
from chaos.history import History
from chaos.plan import Strike
from seamark.kafka.producer import RecordProducer

CLOCK_STEP_S = 3600.0
MOST_DELAY_S = 0.5
MOST_LOSS = 0.3


class Fault(ABC):
    """Struck, held for a while, mended; one at a time."""

    name: ClassVar[str]

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @classmethod
    def why_not(cls, cluster: Cluster, disk: Disk) -> str | None:
        """Why it cannot strike this cluster on this machine; None if it can."""
        return None

    @abstractmethod
    def strike(self, strike: Strike) -> str | None:
        """Do it; says to what. None if there was nothing to strike."""

    def mend(self) -> None:  # noqa: B027 - some mend themselves
        """Undo it, as an operator, a supervisor or time would."""

    def _number(self, strike: Strike) -> int:
        return strike.worker % len(self.cluster.workers)


class KillWorker(Fault):
    """SIGKILL of a worker, which is started again."""

    name = "kill-worker"

    def strike(self, strike: Strike) -> str | None:
        self._struck = self._number(strike)
        self.cluster.workers[self._struck].kill()
        return f"worker {self._struck}"

    def mend(self) -> None:
        self.cluster.start_worker(self._struck)


class RestartWorker(KillWorker):
    """A worker is stopped cleanly and started again: its connectors move away and back."""

    name = "restart-worker"

    def strike(self, strike: Strike) -> str | None:
        self._struck = self._number(strike)
        self.cluster.workers[self._struck].stop()
        return f"worker {self._struck}"


class SuspendWorker(Fault):
    """SIGSTOP of a worker's process; its Spark and its tasks go on. It goes on itself when it has been given up."""

    name = "suspend-worker"

    def _processes(self, number: int) -> list[psutil.Process]:
        return self.cluster.tree(number)[:1]

    def strike(self, strike: Strike) -> str | None:
        number = self._number(strike)
        self._suspended = self._processes(number)
        for each in self._suspended:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.suspend()
        return f"worker {number}, {len(self._suspended)} processes" if self._suspended else None

    def mend(self) -> None:
        for each in self._suspended:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.resume()


class FreezeWorker(SuspendWorker):
    """SIGSTOP of a worker and all below it, as if its machine stood still."""

    name = "freeze-worker"

    def _processes(self, number: int) -> list[psutil.Process]:
        return self.cluster.tree(number)


class SlowTasks(SuspendWorker):
    """SIGSTOP of the processes in which tasks run: consumers and producers that do not get on."""

    name = "slow-tasks"

    @classmethod
    def why_not(cls, cluster: Cluster, disk: Disk) -> str | None:
        return None if cluster.kind == "seamark" else "tasks run in the worker's process"

    def _processes(self, number: int) -> list[psutil.Process]:
        return self.cluster.executors(number)


class KillExecutor(Fault):
    """SIGKILL of a process in which tasks run."""

    name = "kill-executor"

    @classmethod
    def why_not(cls, cluster: Cluster, disk: Disk) -> str | None:
        return None if cluster.kind == "seamark" else "tasks run in the worker's process"

    def strike(self, strike: Strike) -> str | None:
        number = self._number(strike)
        found = self.cluster.executors(number)
        for each in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        return f"worker {number}, {len(found)} processes" if found else None


class KillSparkDriver(Fault):
    """SIGKILL of the JVM of a worker's Spark."""

    name = "kill-spark-driver"

    @classmethod
    def why_not(cls, cluster: Cluster, disk: Disk) -> str | None:
        return None if cluster.kind == "seamark" else "it has no Spark"

    def strike(self, strike: Strike) -> str | None:
        number = self._number(strike)
        driver = self.cluster.spark_driver(number)
        if driver is None:
            return None
        driver.kill()
        return f"worker {number}"


class KillBroker(Fault):
    """SIGKILL of the broker, which is started again."""

    name = "kill-broker"

    def strike(self, strike: Strike) -> str | None:
        self.cluster.broker.kill()
        return "broker"

    def mend(self) -> None:
        self.cluster.broker.start(120.0)


class CutOff(Fault):
    """Nothing passes between a worker and the broker, and neither is told."""

    name = "cut-off"

    def strike(self, strike: Strike) -> str | None:
        self._struck = self._number(strike)
        self.cluster.links[self._struck].weather.is_cut = True
        return f"worker {self._struck}"

    def mend(self) -> None:
        self.cluster.links[self._struck].weather.is_cut = False


class Delay(Fault):
    """All that passes between workers and the broker is late."""

    name = "delay"

    def strike(self, strike: Strike) -> str | None:
        delay_s = 0.02 + strike.degree * MOST_DELAY_S
        for link in self.cluster.links:
            link.weather.delay_s = delay_s
        return f"{delay_s * 1000:.0f} ms"

    def mend(self) -> None:
        for link in self.cluster.links:
            link.weather.delay_s = 0.0


class Loss(Fault):
    """Part of what passes between workers and the broker is lost and sent again, and connections break."""

    name = "loss"

    def strike(self, strike: Strike) -> str | None:
        loss = 0.02 + strike.degree * MOST_LOSS
        for link in self.cluster.links:
            link.weather.loss = loss
            link.break_connections()
        return f"{loss:.0%}"

    def mend(self) -> None:
        for link in self.cluster.links:
            link.weather.loss = 0.0
            link.break_connections()


class ClockStep(Fault):
    """A worker's clock is an hour off for a while, forwards or backwards."""

    name = "clock-step"

    @classmethod
    def why_not(cls, cluster: Cluster, disk: Disk) -> str | None:
        return None if cluster.has_clocks else "there is no C compiler for the library that steps clocks"

    def strike(self, strike: Strike) -> str | None:
        self._struck = self._number(strike)
        step_s = CLOCK_STEP_S * (1 if strike.degree < 0.5 else -1)
        self.cluster.set_clock(self._struck, step_s)
        return f"worker {self._struck}, {step_s:+.0f} s"

    def mend(self) -> None:
        self.cluster.set_clock(self._struck, 0)


class FullDisk(Fault):
    """There is no room left for what sinks write."""

    name = "full-disk"
    disk: ClassVar[Disk]

    @classmethod
    def why_not(cls, cluster: Cluster, disk: Disk) -> str | None:
        cls.disk = disk
        return None if disk.is_limited else "small disks cannot be mounted here"

    def strike(self, strike: Strike) -> str | None:
        self.disk.fill()
        return "sinks' files"

    def mend(self) -> None:
        self.disk.free()


class FullBrokerDisk(Fault):
    """There is no room left for the broker, which ends then; it gets some, and is started again."""

    name = "full-broker-disk"

    @classmethod
    def why_not(cls, cluster: Cluster, disk: Disk) -> str | None:
        return None if cluster.disk.is_limited else "small disks cannot be mounted here"

    def strike(self, strike: Strike) -> str | None:
        self.cluster.disk.fill()
        return "broker"

    def mend(self) -> None:
        self.cluster.disk.free()
        self.cluster.broker.kill()
        self.cluster.broker.start(120.0)


class ForeignRecords(Fault):
    """Somebody writes to the internal topics what no worker would."""

    name = "foreign-records"

    def strike(self, strike: Strike) -> str | None:
        target = self.cluster.target
        status = f"{target.group}-status"
        rows = [
            (topic, key, value) for topic in (target.config_topic, target.offsets_topic, status) for key, value in _JUNK
        ]
        rows += [(target.config_topic, *row) for row in _CONFIG_JUNK]
        rows += [(target.offsets_topic, *row) for row in _OFFSET_JUNK]
        rows += [(status, *row) for row in _STATUS_JUNK]
        with RecordProducer({"bootstrap.servers": target.bootstrap_servers}) as producer:
            for topic, key, value in rows:
                producer.send(topic, value, key)
            producer.flush(20.0)
        return f"{len(rows)} records"


_JUNK: Sequence[tuple[bytes, bytes | None]] = (
    (b"", b""),
    (b"", None),
    (b"\xff\xfe\x00", b"\x00" * 64),
    (b"unknown-kind", b'{"a": 1}'),
)
_CONFIG_JUNK = (
    (b"connector-foreign", b"not JSON"),
    (b"connector-foreign-2", b'{"properties": 7}'),
    (b"connector-foreign-3", b'["a", "list"]'),
    (b"task-foreign-x", b'{"properties": {}}'),
    (b"task-foreign-0", b'{"properties": null}'),
    (b"commit-foreign", b'{"tasks": "many"}'),
    (b"commit-foreign", b'{"tasks": 5}'),
    (b"target-state-foreign", b'{"state": "ASLEEP"}'),
    (b"target-state-foreign", b"5"),
    (b"restart-connector-foreign", b'{"include-tasks": "maybe"}'),
    (b"session-key", b'{"key": "c2hvcnQ=", "algorithm": 5}'),
    (b"logger-cluster-foreign", b'{"level": "LOUD"}'),
)
_OFFSET_JUNK = (
    (b"not JSON", b'{"position": 1}'),
    (b'["foreign"]', b'{"position": 1}'),
    (b'["foreign", {"filename": "x"}]', b"not JSON"),
    (b'["foreign", {"filename": "x"}]', b"[1, 2]"),
    (b'{"foreign": 1}', b'{"position": 1}'),
    (b'[7, {"filename": "x"}]', b'{"position": 1}'),
)
_STATUS_JUNK = (
    (b"status-connector-foreign", b"not JSON"),
    (b"status-connector-foreign", b'{"state": "ASLEEP", "trace": 1, "worker_id": null, "generation": "x"}'),
    (b"status-task-foreign-x", b'{"state": "RUNNING", "trace": null, "worker_id": "w", "generation": 1}'),
    (b"status-task-foreign", b"{}"),
    (b"status-topic-foreign", b'{"topic": 5}'),
)

FAULTS: dict[str, type[Fault]] = {
    kind.name: kind
    for kind in (
        KillWorker, RestartWorker, SuspendWorker, FreezeWorker, SlowTasks, KillExecutor, KillSparkDriver, KillBroker,
        CutOff, Delay, Loss, ClockStep, FullDisk, FullBrokerDisk, ForeignRecords,
    )
}  # fmt: skip


class Nemesis(threading.Thread):
    """Lets faults strike, one after the other; a worker that ends by itself is noted and started again."""

    def __init__(self, cluster: Cluster, strikes: Iterator[Strike], history: History) -> None:
        super().__init__(name="nemesis", daemon=True)
        self._cluster, self._strikes, self._history = cluster, strikes, history
        self.stopped = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for strike in self._strikes:
                if self.stopped.wait(strike.calm_s):
                    break
                self._revive()
                fault = FAULTS[strike.fault](self._cluster)
                began = time.time()
                struck = fault.strike(strike)
                self._history.add("faults", "strike", began, fault=strike.fault, struck=struck)
                if struck is not None:
                    self.stopped.wait(strike.hold_s)
                    began = time.time()
                    fault.mend()
                    self._history.add("faults", "mend", began, fault=strike.fault, struck=struck)
        except BaseException as error:  # shown by the run, which fails then
            self.failure = error

    def _revive(self) -> None:
        for number in range(len(self._cluster.workers)):
            if not self._cluster.is_alive(number):
                self.note_dead(number)
                self._cluster.start_worker(number)

    def note_dead(self, number: int) -> None:
        """A worker has ended, and no fault did it."""
        tail = self._cluster.workers[number].log[-3000:]
        self._history.add("faults", "worker-ended", time.time(), worker=number, tail=tail)


def chosen(names: Sequence[str], cluster: Cluster, disk: Disk) -> tuple[list[str], dict[str, Any]]:
    """The faults that can strike here, and why others cannot."""
    reasons = {name: FAULTS[name].why_not(cluster, disk) for name in names}
    left_out = {name: why for name, why in reasons.items() if why is not None}
    return [name for name in names if name not in left_out], left_out
