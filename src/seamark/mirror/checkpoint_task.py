"""MirrorCheckpointTask: where groups of the source stand, translated, as records of the checkpoints topic.

All questions to the clusters are asked by a scheduler's thread, so that `poll` never waits for a broker: it hands out
what was found since. The task begins by reading what it, or another mirror, wrote before; that is how it never sends
a group back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from seamark.connector.offsets import Offsets
from seamark.connector.records import RecordMetadata, SourceRecord
from seamark.connector.schema import BYTES_SCHEMA
from seamark.connector.source import SourceTask
from seamark.errors import ConnectError
from seamark.kafka.mirror_admin import MirrorAdmin
from seamark.mirror.checkpoints import CheckpointRules, Checkpoints
from seamark.mirror.config import CheckpointSettings
from seamark.mirror.figures import CHECKPOINTS, MAX_FIGURES, Spread
from seamark.mirror.group_sync import GroupSync
from seamark.mirror.mirror_logs import SyncReader, read_checkpoints
from seamark.mirror.offsets import GROUP, PARTITION, TOPIC, checkpoint_partition, source_offset
from seamark.mirror.scheduler import Scheduler
from seamark.mirror.wire import Checkpoint

log = logging.getLogger(__name__)

IDLE_POLL_S: Final = 0.25  # how long a poll without checkpoints waits
_SHORTEST_S: Final = 0.1  # between two rounds, where the configured interval is zero
_SYNCING: Final = "sync idle consumer group offset from source to target"


class MirrorCheckpointTask(SourceTask):
    """Writes checkpoints of its consumer groups, and keeps their offsets on the target if asked to."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ready: dict[bytes, tuple[Checkpoint, int]] = {}
        self._stopping = threading.Event()
        self._checkpoints = Checkpoints()
        self._scheduler: Scheduler | None = None
        self._latencies: dict[tuple[str, str, int], Spread] = {}

    def start(self, config: Mapping[str, str], offsets: Offsets) -> None:
        self._settings = settings = CheckpointSettings.of(config)
        self._groups = settings.task_groups
        self._topic = settings.checkpoints_topic
        self._topic_filter = settings.topic_filter()
        self._rules = CheckpointRules(
            settings.policy, settings.source_alias, settings.target_alias, self._topic_filter.should_replicate_topic
        )
        self._source = MirrorAdmin(settings.client("source", "admin", "checkpoint-source-admin"))
        self._target = MirrorAdmin(settings.client("target", "admin", "checkpoint-target-admin"))
        self._syncs = SyncReader(settings)
        self._group_sync = GroupSync(self._target, settings.target_alias, settings.admin_timeout_s)
        self._scheduler = scheduler = Scheduler(f"MirrorCheckpointTask: {settings.label}", settings.admin_timeout_s)
        scheduler.execute_async(lambda: self._load(scheduler), "starting checkpoint and offset sync stores")
        log.info(
            "Checkpointing %s consumer groups %s->%s: %s.",
            len(self._groups),
            settings.source_alias,
            settings.target_alias,
            self._groups,
        )

    def poll(self) -> list[SourceRecord] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._stopping.is_set(), IDLE_POLL_S)
            ready, self._ready = self._ready, {}
        return [self._record(checkpoint, timestamp_ms) for checkpoint, timestamp_ms in ready.values()] or None

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        if metadata is None or record.timestamp is None or record.source_partition is None:
            return
        where = record.source_partition
        key = where[GROUP], where[TOPIC], where[PARTITION]
        with self._changed:
            if key in self._latencies or len(self._latencies) < MAX_FIGURES:
                self._latencies.setdefault(key, Spread()).add(max(0.0, time.time() * 1000 - record.timestamp))

    def metrics(self) -> dict[str, Any]:
        with self._changed:
            rows = [
                {"group": group, "topic": topic, "partition": partition, "checkpoint_latency_ms": spread.row()}
                for (group, topic, partition), spread in self._latencies.items()
            ]
        return {CHECKPOINTS: rows}

    def stop(self) -> None:
        self._stopping.set()
        if self._scheduler is None:
            return
        self._scheduler.cancel()  # what a step is just waiting for is closed under it
        self._source.close()
        self._target.close()
        self._syncs.close()
        self._topic_filter.close()

    # --- on the scheduler ---------------------------------------------------------------------------------------------

    def _load(self, scheduler: Scheduler) -> None:
        settings = self._settings
        is_known = self._load_checkpoints()
        if not self._syncs.start(only_last=not is_known, stopping=self._stopping):
            return
        interval_s = settings.emit_checkpoints_interval_s
        if interval_s is not None:
            interval_s = max(_SHORTEST_S, interval_s) if interval_s >= 0 else None
        scheduler.repeat(self._look, interval_s, "finding new checkpoints", is_delayed=True)
        scheduler.repeat(self._sync_groups, settings.sync_group_offsets_interval_s, _SYNCING, is_delayed=True)

    def _load_checkpoints(self) -> bool:
        settings = self._settings
        try:
            found = read_checkpoints(
                self._topic,
                settings.client("target", "consumer", "checkpoints-target-consumer"),
                settings.client("target", "admin", "checkpoint-target-admin"),
                settings.admin_timeout_s,
                set(self._groups),
            )
        except ConnectError as error:
            log.warning(
                "Exception encountered loading checkpoints topic %s - this may degrade offset translation as only "
                "checkpoints for offsets which were mirrored after the task started will be emitted. %s",
                self._topic,
                error,
            )
            return False
        for checkpoint in found:
            self._checkpoints.add(checkpoint)
        return True

    def _look(self) -> None:
        """Find new checkpoints of all groups, with one request for each coordinator."""
        committed, failed = self._source.committed(self._groups, timeout_s=self._settings.admin_timeout_s)
        for group, error in failed.items():
            log.error(
                "Error querying offsets for consumer group %s on cluster %s. %s",
                group,
                self._settings.source_alias,
                error,
            )
        timestamp_ms = time.time_ns() // 1_000_000
        new = [
            checkpoint
            for group, offsets in committed.items()
            for checkpoint in self._rules.checkpoints(group, offsets, self._syncs.downstream)
            if self._checkpoints.is_worth_writing(checkpoint)
        ]
        for checkpoint in new:
            self._checkpoints.add(checkpoint)
        if new:
            with self._changed:
                # Of what nobody has polled yet, only the last of each partition matters.
                self._ready.update((checkpoint.key(), (checkpoint, timestamp_ms)) for checkpoint in new)
                self._changed.notify_all()

    def _sync_groups(self) -> None:
        self._group_sync.sync(self._checkpoints.target_offsets(), self._stopping.is_set)

    def _record(self, checkpoint: Checkpoint, timestamp_ms: int) -> SourceRecord:
        return SourceRecord(
            self._topic,
            checkpoint.value(),
            checkpoint.key(),
            value_schema=BYTES_SCHEMA,
            key_schema=BYTES_SCHEMA,
            kafka_partition=0,
            timestamp=timestamp_ms,
            source_partition=checkpoint_partition(checkpoint.group, checkpoint.topic, checkpoint.partition),
            source_offset=source_offset(0),
        )
