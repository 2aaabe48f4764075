"""Watches idle connectors, so that none of them holds a Spark slot or a thread that polls.

One thread for all of them: sinks are watched with a single look at the ends of their logs per Kafka cluster, sources
by their own cheap `has_work`. A connector that cannot tell is woken after `seamark.idle.poll.ms`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from seamark.connector.sink import TopicPartition
from seamark.engine.stage import Stage
from seamark.kafka.admin import Admin
from seamark.kafka.admin_pool import AdminPool, Key, cluster_key

log = logging.getLogger(__name__)

TICK_S = 0.5


@dataclass(slots=True)
class _Idle:
    stage: Stage
    cluster: Mapping[str, str]
    wake: Callable[[], None]
    since: float = field(default_factory=time.monotonic)


class WorkWatcher:
    """Wakes idle stages when there is work."""

    def __init__(self, tick_s: float = TICK_S, admins: AdminPool | None = None) -> None:
        self._tick_s = tick_s
        self._pool = admins or AdminPool()
        self._lock = threading.Lock()
        self._idle: dict[int, _Idle] = {}
        self._admins: dict[Key, Admin] = {}
        self._stopped = threading.Event()
        self._someone = threading.Event()
        self._thread = threading.Thread(target=self._run, name="idle-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()
        self._someone.set()
        if self._thread.is_alive():
            self._thread.join(10)
        for admin in self._admins.values():
            self._pool.give_back(admin)
        self._admins.clear()

    def add(self, stage: Stage, cluster: Mapping[str, str], wake: Callable[[], None]) -> None:
        """Call `wake` once, when the stage has work. `cluster` are the admin settings for its Kafka."""
        with self._lock:
            self._idle[id(stage)] = _Idle(stage, cluster, wake)
            self._someone.set()

    def remove(self, stage: Stage) -> None:
        """Watch this stage no more."""
        with self._lock:
            self._idle.pop(id(stage), None)
            if not self._idle:
                self._someone.clear()

    @property
    def watched(self) -> int:
        """How many stages are idle."""
        return len(self._idle)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._someone.wait()
            if self._stopped.wait(self._tick_s):
                return
            with self._lock:
                idle = list(self._idle.values())
            for entry in self._with_work(idle):
                self.remove(entry.stage)
                entry.wake()

    def _with_work(self, idle: list[_Idle]) -> list[_Idle]:
        by_cluster: dict[Key, list[tuple[_Idle, Mapping[TopicPartition, int]]]] = {}
        found = []
        for entry in idle:
            try:
                positions = entry.stage.watch_positions()
                if positions is not None:
                    key = cluster_key(entry.cluster)
                    by_cluster.setdefault(key, []).append((entry, positions))
                elif self._has_work(entry):
                    found.append(entry)
            except Exception as error:
                # Whatever is wrong, the stage itself will say it better when it runs.
                log.warning(
                    "[%s] could not be watched while idle, and runs now: %s", entry.stage.environment.name, error
                )
                found.append(entry)
        for key, entries in by_cluster.items():
            found += self._behind(key, entries)
        return found

    def _has_work(self, entry: _Idle) -> bool:
        answer = entry.stage.has_work()
        if answer is None:
            return (time.monotonic() - entry.since) * 1000 >= entry.stage.environment.worker.idle_poll_ms
        return answer

    def _behind(self, cluster: Key, entries: list[tuple[_Idle, Mapping[TopicPartition, int]]]) -> list[_Idle]:
        partitions = sorted({partition for _, positions in entries for partition in positions})
        if not partitions:
            return []
        try:
            admin = self._admins.get(cluster) or self._admins.setdefault(cluster, self._pool.borrow(dict(cluster)))
            ends = admin.list_offsets(dict.fromkeys(partitions, "latest"))
        except Exception as error:
            log.warning("The ends of %d idle partitions could not be read: %s", len(partitions), error)
            return []
        return [
            entry
            for entry, positions in entries
            if any(ends.get(partition, 0) > position for partition, position in positions.items())
        ]
