"""How far a flow is: per partition position, lag and last offset sync, and where groups of the source would go on.

`look` asks both clusters and never fails: what could not be learnt is the `error` of the view, beside what could. The
time it takes is bounded by `ASK_S` for clusters that are away, and by `READ_S` for what is read from topics.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from seamark.errors import ConnectError, DataError
from seamark.kafka.mirror_admin import MirrorAdmin
from seamark.kafka.record_reads import first_timestamps
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.config import SourceSettings, uses_read_committed
from seamark.mirror.offsets import CLUSTER, PARTITION, TOPIC, offset_of
from seamark.mirror.start_positions import start_positions
from seamark.mirror.topic_sync import TopicRules
from seamark.mirror.view_reads import newest_records
from seamark.mirror.wire import Checkpoint, OffsetSync

ASK_S: Final = 5.0
READ_S: Final = 1.2

Offsets = Iterable[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
"""Source partitions and source offsets of a connector, as its offset store has them."""


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition of the source and how much of it was copied."""

    topic: str
    remote_topic: str
    partition: int
    position: int | None
    """The next offset to copy; None where that is not known before the connector has begun."""
    start: int
    end: int
    """Behind the last record; for read_committed readers behind the last one that no transaction holds back."""
    lag: int | None
    """Records that are not copied yet. Markers and aborted records among them are counted."""
    lag_ms: int | None
    """Age of the first record that is not copied yet, 0 if there is none; None if it could not be learnt in time."""
    sync: OffsetSync | None = None
    """The last offset sync."""
    problem: str | None = None
    """Why copying cannot go on as if nothing had happened."""

    @property
    def is_synced(self) -> bool:
        """Whether the last offset sync is of the last record that was copied, or nothing was copied."""
        return not self.position or (self.sync is not None and self.sync.upstream == self.position - 1)


@dataclass(frozen=True, slots=True)
class FlowView:
    """A MirrorSourceConnector and what it copies."""

    connector: str
    state: str
    source: str
    target: str
    tasks: Mapping[str, int] = field(default_factory=dict)
    """How many are in which state."""
    partitions: Sequence[PartitionView] = ()
    checkpoints: Sequence[Checkpoint] = ()
    source_cluster_id: str | None = None
    error: str | None = None
    is_enabled: bool = True
    """One that is not copies nothing, and is not looked at."""

    @property
    def lag(self) -> int:
        """Records that are not copied yet, of all partitions."""
        return sum(each.lag or 0 for each in self.partitions)

    @property
    def lag_ms(self) -> int | None:
        """Age of the oldest record that is not copied yet; None if that is not known."""
        ages = [each.lag_ms for each in self.partitions if each.lag != 0]
        known = [age for age in ages if age is not None]
        return max(known) if known else (None if ages else 0)

    def summary(self) -> dict[str, Any]:
        """As a row of `GET /mirrors`."""
        return {
            "connector": self.connector,
            "state": self.state,
            "enabled": self.is_enabled,
            "source": self.source,
            "target": self.target,
            "tasks": dict(self.tasks),
            "topics": len({each.topic for each in self.partitions}),
            "partitions": len(self.partitions),
            "lag": self.lag if self.partitions or self.error is None else None,
            "lag_ms": self.lag_ms if self.partitions or self.error is None else None,
            "error": self.error,
        }

    def detail(self) -> dict[str, Any]:
        """As `GET /mirrors/{connector}` shows it."""
        summary = self.summary()
        totals = {key: summary.pop(key) for key in ("topics", "partitions", "lag", "lag_ms")}
        groups: dict[str, list[dict[str, Any]]] = {}
        for each in sorted(self.checkpoints, key=lambda found: (found.group, found.topic, found.partition)):
            groups.setdefault(each.group, []).append(
                {
                    "remote_topic": each.topic,
                    "partition": each.partition,
                    "upstream": each.upstream,
                    "downstream": each.downstream,
                }
            )
        return {
            **summary,
            "source_cluster_id": self.source_cluster_id,
            "totals": totals,
            "partitions": [_partition(each) for each in self.partitions],
            "groups": [{"group": group, "partitions": rows} for group, rows in groups.items()],
        }


def _partition(view: PartitionView) -> dict[str, Any]:
    sync = view.sync
    return {
        "topic": view.topic,
        "remote_topic": view.remote_topic,
        "partition": view.partition,
        "position": view.position,
        "start": view.start,
        "end": view.end,
        "lag": view.lag,
        "lag_ms": view.lag_ms,
        "last_sync": None if sync is None else {"upstream": sync.upstream, "downstream": sync.downstream},
        "problem": view.problem,
    }


@dataclass(frozen=True, slots=True)
class SourceLook:
    """What the source cluster says."""

    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    positions: Mapping[TopicPartition, int]
    """Next offsets to copy, as far as they are known."""
    timestamps: Mapping[TopicPartition, int | None]
    """Of the first records that are not copied; None where there is no record though there are offsets."""
    cluster_id: str | None = None
    log_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    """For positions behind `ends`: where the log ends, whatever transactions hold back."""


def partition_views(
    look: SourceLook, remote: Mapping[str, str], syncs: Mapping[TopicPartition, OffsetSync], now_ms: int
) -> list[PartitionView]:
    """The partitions in order, from what was learnt. `remote` has the names of copies by source topic."""
    views = []
    for where in sorted(look.ends):
        start, end, position = look.starts[where], look.ends[where], look.positions.get(where)
        lag, lag_ms, problem = _lag(look, where, now_ms)
        sync = syncs.get(where)
        views.append(
            PartitionView(
                where.topic,
                remote[where.topic],
                where.partition,
                position,
                start,
                end,
                lag,
                lag_ms,
                sync,
                problem,
            )
        )
    return views


def _lag(look: SourceLook, where: TopicPartition, now_ms: int) -> tuple[int | None, int | None, str | None]:
    start, end, position = look.starts[where], look.ends[where], look.positions.get(where)
    if position is None:
        return None, None, None
    problem = None
    if position < start:
        problem = f"Records {position} to {start - 1} were deleted before they were copied."
    elif end < position <= look.log_ends.get(where, end):
        return 0, 0, None  # it was moved among records that an open transaction holds back
    elif position > end:
        return 0, 0, f"The partition ends at {end}, before its position: it was truncated, or created again."
    lag = end - max(position, start)
    if not lag:
        return 0, 0, problem
    if where not in look.timestamps:
        return lag, None, problem
    timestamp = look.timestamps[where]
    if timestamp is None:  # only markers of transactions and aborted records are left
        return 0, 0, problem
    return lag, max(0, now_ms - timestamp) if timestamp >= 0 else None, problem


def committed_positions(alias: str, offsets: Offsets) -> dict[TopicPartition, int]:
    """The next offsets to copy that a connector has committed; what is not a mirror's is left out."""
    found = {}
    for partition, offset in offsets:
        last, topic, number = offset_of(offset), partition.get(TOPIC), partition.get(PARTITION)
        is_ours = partition.get(CLUSTER) == alias and isinstance(topic, str) and isinstance(number, int)
        if is_ours and last is not None:
            found[TopicPartition(str(topic), int(number or 0))] = last + 1
    return found


def look(
    config: Mapping[str, str],
    offsets: Offsets,
    *,
    connector: str,
    state: str,
    tasks: Mapping[str, int],
    is_detailed: bool,
) -> FlowView:
    """Ask both clusters of a flow how far it is.

    Args:
        config: of the MirrorSourceConnector, references resolved.
        offsets: its offsets.
        connector: its name.
        state: its state.
        tasks: how many of its tasks are in which state.
        is_detailed: also read offset syncs and checkpoints.
    """
    alias, target = config.get("source.cluster.alias", ""), config.get("target.cluster.alias", "target")
    try:
        settings = SourceSettings.of(config)
    except ConnectError as error:
        return FlowView(connector, state, alias, target, tasks, error=error.message)
    if not settings.enabled:
        return FlowView(connector, state, alias, target, tasks, is_enabled=False)
    committed = committed_positions(alias, offsets)
    errors: dict[str, None] = {}

    with ThreadPoolExecutor(3, "mirror-view") as pool:
        asked = pool.submit(_ask_source, settings, committed)
        syncs = pool.submit(_last_syncs, settings, committed) if is_detailed and settings.emit_offset_syncs else None
        checkpoints = pool.submit(_last_checkpoints, settings) if is_detailed else None
        views: list[PartitionView] = []
        cluster_id = None
        found_syncs: dict[TopicPartition, OffsetSync] = {}
        found_checkpoints: list[Checkpoint] = []
        try:
            if syncs is not None:
                found_syncs = syncs.result()
        except ConnectError as error:
            errors[f"Offset syncs of {settings.offset_syncs_location} cluster: {error.message}"] = None
        try:
            seen, remote = asked.result()
            cluster_id = seen.cluster_id
            views = partition_views(seen, remote, found_syncs, time.time_ns() // 1_000_000)
        except ConnectError as error:
            errors[f"Source cluster {alias}: {error.message}"] = None
        try:
            if checkpoints is not None:
                found_checkpoints, is_complete = checkpoints.result()
                if not is_complete:
                    errors[f"{settings.checkpoints_topic} is long: only its newest checkpoints are shown."] = None
        except ConnectError as error:
            errors[f"Checkpoints on target cluster {target}: {error.message}"] = None
    return FlowView(
        connector,
        state,
        alias,
        target,
        tasks,
        views,
        found_checkpoints,
        cluster_id,
        " ".join(errors) or None,
    )


def _ask_source(settings: SourceSettings, committed: Mapping[TopicPartition, int]) -> tuple[SourceLook, dict[str, str]]:
    rules = TopicRules.of(settings)
    admin = MirrorAdmin(settings.client("source", "admin", "views-source-admin"))
    try:
        counts = admin.partition_counts(timeout_s=ASK_S)
        remote = {topic: rules.remote(topic) for topic in counts if rules.should_replicate(topic)}
        partitions = [TopicPartition(topic, number) for topic in remote for number in range(counts[topic])]
        starts = admin.list_offsets(dict.fromkeys(partitions, "earliest"), timeout_s=ASK_S)
        is_committed = uses_read_committed(settings.config)
        ends = admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=is_committed, timeout_s=ASK_S)
        positions = {where: committed[where] for where in partitions if where in committed}
        positions.update(_fresh(admin, settings, [where for where in partitions if where not in committed]))
        beyond = [where for where, position in positions.items() if position > ends[where]] if is_committed else []
        log_ends = admin.list_offsets(dict.fromkeys(beyond, "latest"), timeout_s=ASK_S)
        cluster_id = admin.cluster_id(timeout_s=ASK_S)
    finally:
        admin.close()
        rules.topic_filter.close()
        rules.config_property_filter.close()
    behind = {
        where: max(position, starts[where])
        for where, position in positions.items()
        if max(position, starts[where]) < ends[where]
    }
    consumer = settings.client("source", "consumer", "views-consumer")
    timestamps = first_timestamps(consumer, behind, READ_S) if behind else {}
    return SourceLook(starts, ends, positions, timestamps, cluster_id, log_ends), remote


def _fresh(admin: MirrorAdmin, settings: SourceSettings, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Where the connector would begin to read partitions that it has not read yet."""
    start = settings.start or settings.client("source", "consumer").get("auto.offset.reset", "earliest")
    if not partitions or start == "none":
        return {}
    return start_positions(admin, dict.fromkeys(partitions), start=start, on_data_loss="reset")


def _last_syncs(settings: SourceSettings, committed: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetSync]:
    side = settings.offset_syncs_location
    wanted = {OffsetSync(where.topic, where.partition, 0, 0).key(): where for where in committed}
    found, _ = newest_records(
        settings.offset_syncs_topic,
        settings.client(side, "consumer", "views-consumer"),
        settings.client(side, "admin", "views-admin"),
        wanted=wanted,
        ask_s=ASK_S,
        read_s=READ_S,
    )
    syncs = {}
    for key, value in found.items():
        where = wanted.get(key)
        try:
            if where is not None:
                syncs[where] = OffsetSync.from_record(key, value)
        except DataError:
            continue  # it says nothing that could be shown
    return syncs


def _last_checkpoints(settings: SourceSettings) -> tuple[list[Checkpoint], bool]:
    found, is_complete = newest_records(
        settings.checkpoints_topic,
        settings.client("target", "consumer", "views-consumer"),
        settings.client("target", "admin", "views-admin"),
        wanted=None,
        ask_s=ASK_S,
        read_s=READ_S,
    )
    checkpoints = []
    for key, value in found.items():
        try:
            checkpoints.append(Checkpoint.from_record(key, value))
        except DataError:
            continue  # it says nothing that could be shown
    return checkpoints, is_complete
