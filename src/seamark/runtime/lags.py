"""How far connectors of a worker are behind: sinks, and mirrors. One thread looks for all of them.

All partitions that are read from one Kafka cluster are asked for with one request, every `WATCHED_S` while somebody
looks at lags, else every `UNWATCHED_S`. Positions are those that tasks report; those of connectors that have not
reported any since the worker started, or that do not run, are read where offsets are kept, a few at a time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from seamark.connector.sink import TopicPartition
from seamark.errors import ConnectError
from seamark.kafka.admin import Admin
from seamark.kafka.admin_pool import Key, cluster_key
from seamark.runtime.herder import PartitionProgress

log = logging.getLogger(__name__)

WATCHED_S: Final = 10.0
UNWATCHED_S: Final = 60.0
LOOKED_S: Final = 300.0
"""How long after somebody has looked lags are kept up to date."""
STALE_S: Final = 150.0
ASK_S: Final = 5.0
ASK_ALONE_S: Final = 2.0
REFRESH_S: Final = 15.0
"""How long a look at all of them may take."""
WAIT_S: Final = 2.0
"""What somebody who wants news waits for them, before getting what is known."""
READ_AT_A_TIME: Final = 20
READ_AGAIN_S: Final = 60.0
LEFT_OUT_S: Final = 300.0
STOP_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class LagTarget:
    """A connector whose lag can be told."""

    name: str
    client: Mapping[str, str]
    """Java-style settings of an admin client of the cluster that it reads from."""
    is_committed: bool
    """Whether it reads only what transactions have committed."""
    reported: Mapping[TopicPartition, int]
    """The next offsets, as its tasks report them."""
    is_running: bool
    cluster: str | None = None
    """Alias of the source, of a mirror."""


class Clients(Protocol):
    """Lends admin clients."""

    def borrow(self, java_config: Mapping[str, str]) -> Admin: ...

    def give_back(self, admin: Admin) -> None: ...


@dataclass(slots=True)
class _Known:
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    read_at: float = float("-inf")
    partitions: list[PartitionProgress] = field(default_factory=list)
    lag: int | None = None
    at: float = float("-inf")
    left_out_until: float = float("-inf")


class LagWatch:
    """Keeps the lags of a worker's connectors.

    Args:
        targets: the connectors, as they are now.
        read: the next offsets of a connector, where they are kept; may raise ConnectError.
        clients: lends admin clients.
    """

    def __init__(
        self,
        targets: Callable[[], Iterable[LagTarget]],
        read: Callable[[LagTarget], Mapping[TopicPartition, int]],
        clients: Clients,
    ) -> None:
        self._targets, self._read, self._clients = targets, read, clients
        self._looking = threading.Lock()
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}
        self._held: dict[Key, Admin] = {}
        self._looked_at = self._refreshed_at = self._wanted_at = float("-inf")
        self._deadline = float("inf")
        self._news = threading.Event()
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    # life

    def start(self) -> None:
        """Begin to watch."""
        self._thread = threading.Thread(target=self._run, name="lag-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(STOP_S)
        # A look at a cluster that is away may take longer; then its client ends with the process.
        if self._looking.acquire(timeout=STOP_S):
            self._hold(())
            self._looking.release()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(WATCHED_S if self._is_looked_at() else UNWATCHED_S)
            self._wake.clear()
            if not self._stopping.is_set():
                self._refresh_quietly()

    def _refresh_quietly(self) -> None:
        try:
            self.refresh()
        except Exception:
            log.exception("Lags could not be looked up, and will be again")

    # asked by others

    def looked(self) -> None:
        """Somebody looks: be up to date for a while."""
        now = time.monotonic()
        was_looked_at, self._looked_at = self._is_looked_at(), now
        if not was_looked_at and now - self._refreshed_at >= WATCHED_S:
            self._wake.set()

    def lag(self, name: str) -> int | None:
        """All partitions of a connector together; None if it is not known."""
        with self._lock:
            known = self._known.get(name)
            return known.lag if known is not None and time.monotonic() - known.at < STALE_S else None

    def lags(self) -> dict[str, int]:
        """Of all connectors for which it is known."""
        now = time.monotonic()
        with self._lock:
            return {
                name: each.lag for name, each in self._known.items() if each.lag is not None and now - each.at < STALE_S
            }

    def partitions(self, name: str, at_most_s: float) -> list[PartitionProgress]:
        """Positions and lags of a connector; looked up anew, with all others, if they are older than that."""
        now = time.monotonic()
        self._looked_at = now
        if now - max(self._refreshed_at, self._wanted_at) >= at_most_s:
            self._wanted_at = now
            self._news.clear()
            self._wake.set()
            self._news.wait(WAIT_S)
        with self._lock:
            known = self._known.get(name)
            return [] if known is None else list(known.partitions)

    def _is_looked_at(self) -> bool:
        return time.monotonic() - self._looked_at < LOOKED_S

    # looking

    def refresh(self) -> None:
        """Look up all lags."""
        with self._looking:
            targets = list(self._targets())
            with self._lock:
                self._known = {each.name: self._known.get(each.name) or _Known() for each in targets}
                known = dict(self._known)
            self._find_positions(targets, known)
            now = time.monotonic()
            groups: dict[tuple[Key, bool], list[LagTarget]] = {}
            for each in targets:
                if known[each.name].positions and known[each.name].left_out_until <= now:
                    groups.setdefault((cluster_key(each.client), each.is_committed), []).append(each)
            self._hold({key for key, _ in groups})
            self._deadline = now + REFRESH_S
            for (key, _), members in groups.items():
                if key in self._held:
                    self._ask(members, known)
            self._refreshed_at = time.monotonic()
        self._news.set()

    def _find_positions(self, targets: Iterable[LagTarget], known: Mapping[str, _Known]) -> None:
        budget, now = READ_AT_A_TIME, time.monotonic()
        for each in targets:
            mine = known[each.name]
            if each.reported:
                mine.positions.update(each.reported)
            # What does not run may be moved by anybody.
            is_unread = mine.read_at == float("-inf")  # what is committed of partitions that no task reports yet
            is_old = is_unread or (now - mine.read_at >= READ_AGAIN_S and not (each.is_running and mine.positions))
            is_in_time = time.monotonic() - now < REFRESH_S  # reading waits long for a Kafka that is away
            if is_old and budget > 0 and is_in_time and self._is_looked_at() and not self._stopping.is_set():
                budget -= 1
                mine.read_at = now
                try:
                    mine.positions = {**self._read(each), **each.reported}
                except ConnectError as error:
                    log.debug("The offsets of %s cannot be read: %s", each.name, error)

    def _hold(self, keys: Collection[Key]) -> None:
        """Keep clients from one look to the next: making one takes longer than asking."""
        for key in [key for key in self._held if key not in keys]:
            self._clients.give_back(self._held.pop(key))
        for key in keys:
            if key not in self._held:
                try:
                    self._held[key] = self._clients.borrow(dict(key))
                except ConnectError as error:  # a trust store that is gone, for one: others must not wait for it
                    log.debug("No client for the lag of some connectors: %s", error)

    def _ask(self, members: list[LagTarget], known: Mapping[str, _Known]) -> None:
        wanted = {where for each in members for where in known[each.name].positions}
        timeout_s = ASK_S if len(members) > 1 else ASK_ALONE_S
        try:
            ends = self._held[cluster_key(members[0].client)].list_offsets(
                dict.fromkeys(wanted, "latest"), is_committed=members[0].is_committed, timeout_s=timeout_s
            )
        except ConnectError as error:
            log.debug("The ends of %d partitions cannot be read: %s", len(wanted), error)
            self._ask_apart(members, known)
            return
        for each in members:
            self._take(each, known[each.name], ends)

    def _ask_apart(self, members: list[LagTarget], known: Mapping[str, _Known]) -> None:
        """One whose topic is gone must not hide the others: find it, and leave it out for a while."""
        if self._stopping.is_set() or time.monotonic() > self._deadline or not self._is_reachable(members[0]):
            return
        if len(members) == 1:
            mine = known[members[0].name]
            mine.left_out_until = time.monotonic() + LEFT_OUT_S
            mine.positions = {}  # the topic may be gone for good
            with self._lock:
                mine.partitions, mine.lag = [], None
        else:
            middle = len(members) // 2
            self._ask(members[:middle], known)
            self._ask(members[middle:], known)

    def _is_reachable(self, member: LagTarget) -> bool:
        try:
            self._held[cluster_key(member.client)].cluster_id(timeout_s=ASK_ALONE_S)
        except ConnectError:
            return False
        return True

    def _take(self, target: LagTarget, mine: _Known, ends: Mapping[TopicPartition, int]) -> None:
        rows = [
            _row(target, where, position, ends[where])
            for where, position in sorted(mine.positions.items())
            if where in ends
        ]
        with self._lock:
            mine.partitions, mine.at = rows, time.monotonic()
            mine.lag = sum(row.lag or 0 for row in rows)


def _row(target: LagTarget, where: TopicPartition, position: int, end: int) -> PartitionProgress:
    lag = max(0, end - position)
    if target.cluster is None:
        shown: dict[str, Any] = {"kafka_topic": where.topic, "kafka_partition": where.partition}
        return PartitionProgress(shown, {"kafka_offset": position}, {"kafka_offset": end}, lag)
    shown = {"cluster": target.cluster, "partition": where.partition, "topic": where.topic}
    return PartitionProgress(shown, {"offset": position - 1}, {"offset": end - 1}, lag)
