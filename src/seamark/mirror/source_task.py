"""The task of MirrorSourceConnector: copies records of the assigned partitions, bytes untouched, and tells syncs.

Records go to Kafka through the engine, which commits source offsets with them. What the engine reports of where they
arrived feeds the offset syncs, by the rule of `SyncEmission`; syncs are sent outside any transaction, by a producer of
their own, since they only ever make translated offsets better.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamark.connector.offsets import Offsets
from seamark.connector.records import CopiedRecords, RecordBatch, RecordBatches
from seamark.connector.schema import OPTIONAL_BYTES_SCHEMA
from seamark.connector.source import SourceTask
from seamark.errors import ConnectError, KafkaError
from seamark.kafka.batch_copier import Copied
from seamark.kafka.consumer import (
    RecordConsumer,
    headers_of,
    keys_of,
    offsets_of,
    runs_of,
    timestamps_of,
    values_of,
)
from seamark.kafka.mirror_admin import MirrorAdmin
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.batch_copies import BatchCopies
from seamark.mirror.config import SourceSettings, client_config
from seamark.mirror.emission import SyncEmission
from seamark.mirror.figures import MAX_FIGURES, PARTITIONS, PartitionFigures
from seamark.mirror.offsets import offset_of, source_offset, source_partition
from seamark.mirror.start_positions import data_loss, recreated, start_positions
from seamark.mirror.topic_identity import changed

log = logging.getLogger(__name__)

MAX_RECORDS = 20_000
"""In one poll, and so, by default, in one transaction: enough that the transaction's cost does not count."""
LINGER_S = 0.005
MAX_WAIT_S = 0.2  # the engine looks between polls whether to stop
SYNCS_IN_FLIGHT = 10
SYNC_FLUSH_S = 2.0


@dataclass(slots=True)
class MirroredBatch(RecordBatch):
    """A batch that remembers where its records come from."""

    origin: TopicPartition | None = None
    upstream: list[int] | None = None
    gaps: frozenset[int] = frozenset()


class MirrorSourceTask(SourceTask):
    """Copies the partitions that its config assigns."""

    copies = True

    def __init__(self) -> None:
        self._consumer: RecordConsumer | None = None
        self._admin: MirrorAdmin | None = None
        self._syncs: RecordProducer | None = None
        self._copies: BatchCopies | None = None
        self._lost: list[TopicPartition] = []
        self._figures: dict[TopicPartition, PartitionFigures] = {}
        self._uncommitted: list[Copied] = []

    def start(self, config: Mapping[str, str], offsets: Offsets) -> None:
        self._settings = settings = SourceSettings.of(config)
        partitions = assigned_partitions(config)
        self._know(partitions)
        self._topic_ids = settings.topic_ids()
        self._previous: dict[TopicPartition, int] = {}
        self._stride = max(1, settings.offset_lag_max)
        self._wait_s = min(settings.consumer_poll_timeout_ms / 1000, MAX_WAIT_S)
        self._emission = SyncEmission(settings.offset_lag_max)
        if settings.emit_offset_syncs:
            producer = client_config(
                config,
                settings.offset_syncs_location,
                "producer",
                f"offset-syncs-{settings.offset_syncs_location}-producer",
            )
            self._syncs = RecordProducer(producer, reports_successes=True)
        self._admin = MirrorAdmin(client_config(config, "source", "admin", "replication-source-admin"))
        consumer = client_config(config, "source", "consumer", "replication-consumer")
        # What is out of range is ours to judge: librdkafka would silently go to the beginning or the end.
        self._reset = consumer.get("auto.offset.reset", "earliest")
        self._consumer = RecordConsumer({**consumer, "auto.offset.reset": "none"}, self._lost.append)
        for where in settings.lost_partitions():
            last = offset_of(offsets.get(self._source_partitions[where])) or 0
            recreated(self._admin, where, last + 1, settings.on_data_loss)  # raises: else there would be none
        self._next = self._start_positions(self._admin, self._same(self._admin, partitions), offsets)
        self._copies = BatchCopies(self.context.copying, consumer, lambda topic: self._remote[topic])
        self._assign(self._consumer)

    def reconfigure(self, config: Mapping[str, str], offsets: Offsets) -> None:
        if self._consumer is None or self._admin is None:
            return
        wanted = assigned_partitions(config)
        if self._copies is not None:
            self._told(self._copies.end())
        self._topic_ids.update(SourceSettings.of(config).topic_ids())
        fresh = self._same(self._admin, [where for where in wanted if where not in self._next])
        self._know(wanted)
        positions = self._start_positions(self._admin, fresh, offsets)
        self._next = {**{where: self._next[where] for where in wanted if where in self._next}, **positions}
        log.info("Copies %d partitions from now on, %d of them new.", len(wanted), len(fresh))
        self._assign(self._consumer)

    def _same(self, admin: MirrorAdmin, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Those whose topics are the ones that the connector has seen. The others are left alone: as soon as the
        connector sees that they were created again it starts anew, and then says where to begin.
        """
        try:
            again = changed(self._topic_ids, admin.topic_ids({where.topic for where in partitions}))
        except KafkaError as error:
            log.warning("The ids of topics cannot be read: %s", error)
            return list(partitions)
        if again:
            log.warning("Created again, and left alone until the connector has seen it: %s", ", ".join(sorted(again)))
        return [where for where in partitions if where.topic not in again]

    def poll(self) -> RecordBatches | None:
        consumer = self._consumer
        if consumer is None:
            return None
        self._send_syncs()
        copied = self._copied(consumer)
        if copied or not self._read:
            if not self._next:
                time.sleep(self._wait_s)  # all that it has to copy was created again
            return copied
        try:
            messages = consumer.read(MAX_RECORDS, self._wait_s, LINGER_S)
        except KafkaError as error:
            if not error.retriable:
                raise
            log.warning("Records cannot be read now: %s", error)
            return None
        if self._lost:
            self._go_on(consumer)
        return RecordBatches(self._batch(where, run) for where, run in runs_of(messages)) if messages else None

    @property
    def has_pending(self) -> bool:
        return self._copies is not None and self._copies.has_pending

    def drain(self) -> RecordBatches | None:
        return None if self._copies is None else self._told(self._copies.end())

    def _assign(self, consumer: RecordConsumer) -> None:
        """Batches are copied as they are where that is possible; of the rest, records are read."""
        if self._copies is not None:
            self._copies.begin(self._next)
        self._read_by_record(consumer)

    def _read_by_record(self, consumer: RecordConsumer) -> None:
        copied = frozenset() if self._copies is None else self._copies.partitions
        self._read = {where: position for where, position in self._next.items() if where not in copied}
        consumer.assign(self._read)

    def _copied(self, consumer: RecordConsumer) -> RecordBatches | None:
        """What was copied as it is since the last poll, if anything; waits only if nothing else is to be read."""
        copies = self._copies
        if copies is None or not copies.partitions:
            return None
        # Before anything else is copied: what was copied before is told by now, and can be committed.
        if handed_back := copies.handed_back():
            self._next.update(handed_back)
            if copies.is_transactional:
                copies.begin(self._next)
            self._read_by_record(consumer)
        return self._told(copies.poll(0.0 if self._read else self._wait_s))

    def _told(self, copied: Sequence[Copied]) -> RecordBatches | None:
        """Note copies that are acknowledged, and say what to commit for them."""
        latest: dict[TopicPartition, CopiedRecords] = {}
        now_ms = time.time() * 1000
        for each in copied:
            where, last = each.origin, each.first + each.count - 1
            self._previous[where], self._next[where] = last, last + 1
            figures = self._figures_of(where)
            figures.read(each.count, each.size, each.first_ms, each.last_ms, now_ms)
            figures.delivered(each.last_ms, now_ms)
            if self._copies is not None and self._copies.is_transactional:
                self._uncommitted.append(each)
            else:
                self._emit(each)
            before = latest.get(where)
            latest[where] = CopiedRecords(
                self._source_partitions[where],
                source_offset(last),
                each.count + (before.count if before else 0),
                each.size + (before.size if before else 0),
            )
        return RecordBatches(latest.values()) if latest else None

    def _emit(self, copied: Copied) -> None:
        """Note what may become offset syncs."""
        if self._syncs is None:
            return
        for index in self._places(copied.count, frozenset({0}) if copied.is_gap else frozenset()):
            self._emission.acknowledged(
                copied.origin.topic,
                copied.origin.partition,
                copied.first + index,
                copied.downstream + index,
                is_gap=copied.is_gap and index == 0,
            )
            if self._emission.has_pending():
                self._send_syncs()

    def metrics(self) -> dict[str, Any]:
        return {PARTITIONS: [figures.row() for figures in list(self._figures.values())[:MAX_FIGURES]]}

    def commit_batch(self, batch: RecordBatch, offsets: Mapping[int, int]) -> None:
        if isinstance(batch, MirroredBatch) and batch.origin is not None:
            self._figures[batch.origin].delivered(batch.timestamp_of(len(batch) - 1), time.time() * 1000)
        if self._syncs is None or not isinstance(batch, MirroredBatch) or batch.origin is None or not batch.upstream:
            return
        topic, partition = batch.origin.topic, batch.origin.partition
        for index in sorted(offsets):
            self._emission.acknowledged(
                topic, partition, batch.upstream[index], offsets[index], is_gap=index in batch.gaps
            )
            # Each as it comes, as MirrorMaker 2 does: only what finds no room any more gives way to the next one.
            if self._emission.has_pending():
                self._send_syncs()

    def commit(self) -> None:
        committed, self._uncommitted = self._uncommitted, []
        for copied in committed:
            self._emit(copied)
        if self._syncs is not None:
            self._emission.promote()
            self._send_syncs()

    def stop(self) -> None:
        if self._copies is not None:
            self._copies.end()
        if self._consumer is not None:
            self._consumer.close()
        if self._admin is not None:
            self._admin.close()
        if self._syncs is not None:
            deadline = time.monotonic() + SYNC_FLUSH_S
            self._emission.promote()
            try:
                while self._emission.has_pending() and time.monotonic() < deadline:
                    self._send_syncs()
                    self._syncs.flush(0.05)
                self._syncs.flush(max(0.0, deadline - time.monotonic()))
            except KafkaError as error:
                log.warning("The last offset syncs could not be sent: %s", error)
            self._syncs.close(0.5)

    def _know(self, partitions: Sequence[TopicPartition]) -> None:
        alias, policy = self._settings.source_alias, self._settings.policy
        self._remote = {
            topic: policy.format_remote_topic(alias, topic) for topic in {where.topic for where in partitions}
        }
        self._source_partitions = {where: source_partition(alias, where.topic, where.partition) for where in partitions}

    def _start_positions(
        self, admin: MirrorAdmin, partitions: Sequence[TopicPartition], offsets: Offsets
    ) -> dict[TopicPartition, int]:
        return start_positions(
            admin,
            {where: offsets.get(self._source_partitions[where]) for where in partitions},
            start=self._settings.start or self._reset,
            on_data_loss=self._settings.on_data_loss,
        )

    def _batch(self, where: TopicPartition, messages: list[Any]) -> MirroredBatch:
        upstream = offsets_of(messages)
        previous = self._previous.get(where)
        self._previous[where] = upstream[-1]
        self._next[where] = upstream[-1] + 1
        values, timestamps = values_of(messages), timestamps_of(messages)
        self._count(where, values, timestamps)
        gaps: frozenset[int] = frozenset()
        if upstream[-1] - upstream[0] != len(upstream) - 1:
            gaps = frozenset(index for index in range(1, len(upstream)) if upstream[index] != upstream[index - 1] + 1)
        if previous is None or upstream[0] != previous + 1:
            gaps |= {0}
        return MirroredBatch(
            topic=self._remote[where.topic],
            values=values,
            value_schema=OPTIONAL_BYTES_SCHEMA,
            keys=keys_of(messages),
            key_schema=OPTIONAL_BYTES_SCHEMA,
            timestamps=timestamps,
            kafka_partition=where.partition,
            source_partition=self._source_partitions[where],
            source_offset=source_offset(upstream[-1]),
            offset_at=lambda index: source_offset(upstream[index]),
            headers=headers_of(messages),
            places=self._places(len(upstream), gaps) if self._syncs is not None else [len(upstream) - 1],
            origin=where,
            upstream=upstream,
            gaps=gaps,
        )

    def _figures_of(self, where: TopicPartition) -> PartitionFigures:
        figures = self._figures.get(where)
        if figures is None:
            figures = self._figures[where] = PartitionFigures(self._remote[where.topic], where.partition)
        return figures

    def _count(self, where: TopicPartition, values: list[bytes | None], timestamps: list[int]) -> None:
        self._figures_of(where).read(
            len(values), sum(map(len, filter(None, values))), timestamps[0], timestamps[-1], time.time() * 1000
        )

    def _places(self, count: int, gaps: frozenset[int]) -> list[int]:
        """Enough of the records that no sync which is due can be missed, and few enough to cost nothing."""
        places = {*range(self._stride - 1, count, self._stride), *gaps, count - 1}
        return sorted(places)

    def _send_syncs(self) -> None:
        syncs = self._syncs
        if syncs is None:
            return
        try:
            syncs.poll()
            if failed := syncs.forget_failures():
                log.warning("%d offset syncs could not be sent; later ones will tell the same and more.", failed)
            room = SYNCS_IN_FLIGHT - syncs.in_flight
            for sync in self._emission.take(room) if room > 0 else ():
                syncs.send(self._settings.offset_syncs_topic, sync.value(), sync.key(), 0)
        except KafkaError as error:
            log.warning("Offset syncs cannot be sent now: %s", error)

    def _go_on(self, consumer: RecordConsumer) -> None:
        """Offsets that were to be read are not there any more, or never were: what to do is the user's choice."""
        lost, self._lost[:] = [where for where in self._lost if where in self._next], []
        if self._admin is None:
            return
        same = self._same(self._admin, lost)
        for where in same:
            position = data_loss(self._admin, where, self._next[where], self._settings.on_data_loss)
            self._next[where] = self._read[where] = position
            consumer.seek(where, position)
        if len(same) < len(lost):
            self._next = {where: at for where, at in self._next.items() if where in same or where not in lost}
            self._read_by_record(consumer)


def assigned_partitions(config: Mapping[str, str]) -> list[TopicPartition]:
    """The partitions of a task config.

    Raises:
        ConnectError: it has none, or one that is no partition.
    """
    text = config.get("task.assigned.partitions", "")
    partitions = []
    for each in text.split(",") if text else ():
        topic, dash, number = each.rpartition("-")
        if not dash or not topic or not number.isdecimal():
            raise ConnectError(f"task.assigned.partitions names {each!r}, which is not of the form topic-partition.")
        partitions.append(TopicPartition(topic, int(number)))
    if not partitions:
        raise ConnectError("task.assigned.partitions is empty: the task has nothing to copy.")
    return partitions
