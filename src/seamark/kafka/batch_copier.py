"""Copies topic partitions batch by batch, without looking into the batches: what is written is what was read.

It is the quick way for the usual case, and for no other. Whatever is not usual (a leader that moves, an offset that is
not there, a batch that compaction has changed, a broker that refuses) ends the copying of that partition: it is handed
back, with the position at which others, who know what to do then, have to go on. So nothing is ever skipped; a batch
whose acknowledgement was lost is copied again.

Copies are written with an idempotent producer's id, so that several requests may be on their way without changing the
order. There is no thread: everything happens in `poll` and `drain`, which belong to one thread.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from seamark.errors import KafkaError
from seamark.kafka.group_members import kafka_python
from seamark.kafka.record_batches import (
    AbortedTransactions,
    RawBatch,
    UnknownFormatError,
    as_produced,
    batches_of,
    next_sequence,
)
from seamark.kafka.security import kafka_python_config
from seamark.kafka.topic_partitions import TopicPartition

_log = logging.getLogger(__name__)

FETCH_BYTES: Final = 4 * 2**20
"""Of a partition in one answer."""
QUEUE_BYTES: Final = 8 * 2**20
"""Of a partition that wait to be written: more are not read meanwhile."""
IN_FLIGHT: Final = 5
"""Requests of a partition: more than that many an idempotent producer may not have."""
_FETCH_WAIT_MS: Final = 500
REQUEST_S: Final = 30.0
_REQUEST_MS: Final = int(REQUEST_S * 1000)
_START_S: Final = 10.0
_RETRY_S: Final = 0.1
_LARGEST_ANSWER: Final = 256 * 2**20
_FETCH_VERSION: Final = 12  # the last one that names topics
_PRODUCE_VERSION: Final = 9
_READ_COMMITTED: Final = 1
_SMALL: Final = 16  # batches with fewer records than that are copied faster record by record


@dataclass(frozen=True, slots=True)
class Copied:
    """Records whose copies are acknowledged.

    Attributes:
        origin: where they come from.
        first: the offset of the first one there.
        count: how many; their offsets have no gaps.
        downstream: the offset of the first one's copy.
        size: bytes of their batch.
        first_ms: timestamp of the first one.
        last_ms: the greatest timestamp.
        is_gap: whether the offset before the first one was not copied just before it.
    """

    origin: TopicPartition
    first: int
    count: int
    downstream: int
    size: int
    first_ms: int
    last_ms: int
    is_gap: bool


@dataclass(slots=True)
class PartitionCopy:
    """A partition that is copied."""

    origin: TopicPartition
    target: TopicPartition
    fetched: int
    """The next offset to ask for."""
    acknowledged: int
    """The next offset that has no copy for sure."""
    queue: deque[RawBatch] = field(default_factory=deque)
    queued_bytes: int = 0
    in_flight: int = 0
    sequence: int = 0
    batches: int = 0
    records: int = 0
    last: int | None = None
    """The offset of the last record that was copied."""
    is_broken: bool = False
    """Whether a batch was not written: what comes after it does not count."""
    why_ended: str | None = None

    def end(self, why: str) -> None:
        """What was read and not sent is dropped: others read it again."""
        if self.why_ended is None:
            self.why_ended = why
            self.queue.clear()
            self.queued_bytes = 0


class BatchCopier:
    """Copies partitions of one cluster to partitions of another, or of the same."""

    judged_batches = 200
    """So many batches of a partition are looked at before they are said to be small."""
    _transactional_id: str | None = None

    def __init__(
        self,
        source: Mapping[str, str],
        target: Mapping[str, str],
        copies: Mapping[TopicPartition, tuple[TopicPartition, int]],
    ) -> None:
        """Connect.

        Args:
            source: Java-style settings of a consumer.
            target: Java-style settings of a producer.
            copies: from where to where, and the offset to begin at.

        Raises:
            KafkaError: a cluster cannot be reached, or refuses.
        """
        kafka_python()  # without its warnings
        from kafka.net.selector import NetworkSelector

        self._copies = {
            where: PartitionCopy(where, target, position, position) for where, (target, position) in copies.items()
        }
        self._by_target = {copy.target: copy for copy in self._copies.values()}
        self._is_committed = source.get("isolation.level", "").strip().lower() == "read_committed"
        self._done: list[Copied] = []
        self._fetching: set[int] = set()
        self._is_draining = False
        self._net = NetworkSelector()
        self._source = self._target = None
        try:
            self._source = self._connect(source, {where.topic for where in self._copies})
            self._target = self._connect(target, {where.topic for where in self._by_target})
            self._producer_id, self._epoch = self._net.run(self._who)
        except BaseException as error:
            self.close()
            if isinstance(error, errors().KafkaError | OSError):
                raise KafkaError(f"Batches cannot be copied as they are: {type(error).__name__}: {error}") from error
            raise

    # what callers do

    def poll(self, timeout_s: float) -> list[Copied]:
        """What has been copied since the last call; waits for something."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._pump()
            left_s = max(0.0, deadline - time.monotonic())
            self._net.poll(timeout_ms=0 if self._done else left_s * 1000)
            self._pump()
            if self._done or left_s == 0 or not self._copies:
                done, self._done = self._done, []
                return done

    def drain(self, timeout_s: float) -> list[Copied]:
        """Read no more, and wait for what is on its way; what has been copied since the last `poll`."""
        self._is_draining = True
        deadline = time.monotonic() + timeout_s
        for copy in self._copies.values():
            copy.queue.clear()
            copy.queued_bytes = 0
        while any(copy.in_flight for copy in self._copies.values()) and time.monotonic() < deadline:
            self._net.poll(timeout_ms=max(1.0, (deadline - time.monotonic()) * 1000))
        done, self._done = self._done, []
        return done

    def handed_back(self) -> dict[TopicPartition, int]:
        """Partitions that are copied here no more, with the offset to go on at; each is told once."""
        over = [copy for copy in self._copies.values() if copy.why_ended is not None and not copy.in_flight]
        # What is acknowledged has to be told first: it comes before what others copy.
        if self._done:
            return {}
        for copy in over:
            _log.info(
                "%s is copied record by record from offset %d on: %s", copy.origin, copy.acknowledged, copy.why_ended
            )
            del self._copies[copy.origin]
            del self._by_target[copy.target]
        return {copy.origin: copy.acknowledged for copy in over}

    def positions(self) -> dict[TopicPartition, int]:
        """Of each partition that is copied here, the next offset that has no copy for sure."""
        return {where: copy.acknowledged for where, copy in self._copies.items()}

    def close(self) -> None:
        """Let go of the brokers."""
        for manager in (self._source, self._target):
            if manager is not None:
                manager.close()
        self._net.close()

    # connections

    def _connect(self, java: Mapping[str, str], topics: set[str]) -> Any:
        from kafka.net.manager import KafkaConnectionManager

        manager = KafkaConnectionManager(
            self._net,
            request_timeout_ms=_REQUEST_MS,
            receive_message_max_bytes=_LARGEST_ANSWER,
            max_in_flight_requests_per_connection=100_000,  # counted by partition here
            **kafka_python_config(java),
        )
        manager.cluster.config["allow_auto_create_topics"] = False
        manager.cluster.set_topics(sorted(topics))
        manager.bootstrap(timeout_ms=_START_S * 1000)
        self._net.run(manager.cluster.refresh_metadata)
        return manager

    async def _who(self) -> tuple[int, int]:
        from kafka.protocol.producer.transaction import InitProducerIdRequest

        deadline = time.monotonic() + _START_S
        while True:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_REQUEST_MS)
            answer = await self._target.send(request)  # type: ignore[union-attr]
            error = errors().for_code(answer.error_code)
            if error is errors().NoError:
                return answer.producer_id, answer.producer_epoch
            if not issubclass(error, errors().RetriableError) or time.monotonic() > deadline:
                raise error()
            await self._net.sleep(_RETRY_S)  # a broker that has just started hands out no ids yet

    # reading

    def _pump(self) -> None:
        """Send what can be sent."""
        self._produce()
        if not self._is_draining:
            self._fetch()

    def _fetch(self) -> None:
        wanted: dict[int, list[PartitionCopy]] = {}
        for copy in self._copies.values():
            if copy.why_ended is not None or copy.queued_bytes >= QUEUE_BYTES:
                continue
            leader = self._leader(self._source, copy.origin)
            if leader is None:
                copy.end("its leader is not known")
            elif leader not in self._fetching:
                wanted.setdefault(leader, []).append(copy)
        for leader, copies in wanted.items():
            self._fetching.add(leader)
            asked = {copy.origin: copy.fetched for copy in copies}
            future = self._source.send(self._fetch_request(copies), leader)  # type: ignore[union-attr]
            future.add_callback(lambda answer, leader=leader, asked=asked: self._fetched(leader, asked, answer))
            future.add_errback(lambda error, leader=leader, asked=asked: self._not_fetched(leader, asked, error))

    def _fetch_request(self, copies: list[PartitionCopy]) -> Any:
        from kafka.protocol.consumer.fetch import FetchRequest

        by_topic: dict[str, list[Any]] = {}
        topic_type = FetchRequest.FetchTopic
        for copy in copies:
            by_topic.setdefault(copy.origin.topic, []).append(
                topic_type.FetchPartition(
                    partition=copy.origin.partition,
                    current_leader_epoch=-1,
                    fetch_offset=copy.fetched,
                    last_fetched_epoch=-1,
                    log_start_offset=-1,
                    partition_max_bytes=FETCH_BYTES,
                )
            )
        return FetchRequest(
            max_wait_ms=_FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=FETCH_BYTES * len(copies),
            isolation_level=_READ_COMMITTED if self._is_committed else 0,
            session_id=0,
            session_epoch=-1,
            topics=[topic_type(topic=topic, partitions=parts) for topic, parts in by_topic.items()],
            forgotten_topics_data=[],
            rack_id="",
            max_version=_FETCH_VERSION,
        )

    def _fetched(self, leader: int, asked: Mapping[TopicPartition, int], answer: Any) -> None:
        self._fetching.discard(leader)
        if answer.error_code:
            self._not_fetched(leader, asked, errors().for_code(answer.error_code)())
            return
        for topic in answer.responses:
            for part in topic.partitions:
                copy = self._copies.get(TopicPartition(topic.topic, part.partition_index))
                if copy is None or copy.why_ended is not None:
                    continue
                if part.error_code:
                    copy.end(f"reading it was refused: {errors().for_code(part.error_code).__name__}")
                elif part.records and not self._is_draining:
                    aborted = [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
                    self._take(copy, bytes(part.records), AbortedTransactions(aborted))

    def _not_fetched(self, leader: int, asked: Mapping[TopicPartition, int], error: BaseException) -> None:
        self._fetching.discard(leader)
        for where in asked:
            if (copy := self._copies.get(where)) is not None:
                copy.end(f"it could not be read: {type(error).__name__}: {error}")

    def _take(self, copy: PartitionCopy, data: bytes, aborted: AbortedTransactions) -> None:
        try:
            for batch in batches_of(data):
                is_passed_over = aborted.has(batch) or batch.is_control
                if batch.next_offset <= copy.fetched:
                    continue
                if is_passed_over:
                    copy.fetched = batch.next_offset
                    if not copy.queue and not copy.in_flight:
                        copy.acknowledged = batch.next_offset
                    continue
                why = self._why_not(copy, batch)
                if why is not None:
                    copy.end(why)
                    return
                copy.fetched = batch.next_offset
                copy.queue.append(batch)
                copy.queued_bytes += len(batch.data)
                copy.batches += 1
                copy.records += batch.count
        except UnknownFormatError as error:
            copy.end(str(error))
        if copy.batches >= self.judged_batches and copy.records < _SMALL * copy.batches:
            copy.end(f"its batches are small, {copy.records / copy.batches:.1f} records each")

    def _why_not(self, copy: PartitionCopy, batch: RawBatch) -> str | None:
        """Why a batch cannot be copied as it is."""
        if batch.offset < copy.fetched:
            return f"its position {copy.fetched} is inside the batch at offset {batch.offset}"
        if not batch.is_whole:
            return f"the batch at offset {batch.offset} is not as it was written"
        return None

    # writing

    def _produce(self) -> None:
        while True:
            by_leader: dict[int, list[PartitionCopy]] = {}
            for copy in self._copies.values():
                if not copy.queue or copy.in_flight >= IN_FLIGHT or not self._may_write(copy):
                    continue
                leader = self._leader(self._target, copy.target)
                if leader is None:
                    copy.end(f"the leader of {copy.target} is not known")
                else:
                    by_leader.setdefault(leader, []).append(copy)
            if not by_leader:
                return
            for leader, copies in by_leader.items():
                self._send(leader, copies)

    def _may_write(self, copy: PartitionCopy) -> bool:
        return copy.why_ended is None

    def _send(self, leader: int, copies: list[PartitionCopy]) -> None:
        from kafka.protocol.producer.produce import ProduceRequest

        topic_type = ProduceRequest.TopicProduceData
        by_topic: dict[str, list[Any]] = {}
        sent: dict[TopicPartition, RawBatch] = {}
        for copy in copies:
            batch = copy.queue.popleft()
            copy.queued_bytes -= len(batch.data)
            copy.in_flight += 1
            sent[copy.target] = batch
            made = as_produced(
                batch,
                self._producer_id,
                self._epoch,
                copy.sequence,
                is_transactional=self._transactional_id is not None,
            )
            copy.sequence = next_sequence(copy.sequence, batch.count)
            part = topic_type.PartitionProduceData(index=copy.target.partition, records=made)
            by_topic.setdefault(copy.target.topic, []).append(part)
        request = ProduceRequest(
            transactional_id=self._transactional_id,
            acks=-1,
            timeout_ms=_REQUEST_MS,
            topic_data=[topic_type(name=topic, partition_data=parts) for topic, parts in by_topic.items()],
            max_version=_PRODUCE_VERSION,
        )
        future = self._target.send(request, leader)  # type: ignore[union-attr]
        future.add_callback(lambda answer: self._produced(sent, answer))
        future.add_errback(lambda error: self._not_produced(sent, error))

    def _produced(self, sent: Mapping[TopicPartition, RawBatch], answer: Any) -> None:
        found = {
            TopicPartition(topic.name, part.index): part
            for topic in answer.responses
            for part in topic.partition_responses
        }
        for where, batch in sent.items():
            copy, part = self._by_target[where], found.get(where)
            copy.in_flight -= 1
            if part is None or part.error_code or part.base_offset < 0:
                copy.is_broken = True
                self._refused(copy, None if part is None else errors().for_code(part.error_code))
            elif not copy.is_broken:
                self._acknowledge(copy, batch, part.base_offset)

    def _refused(self, copy: PartitionCopy, error: Any) -> None:
        copy.end(f"writing to {copy.target} was refused: {'no answer' if error is None else error.__name__}")

    def _acknowledge(self, copy: PartitionCopy, batch: RawBatch, downstream: int) -> None:
        is_gap = copy.last is None or batch.offset != copy.last + 1
        copy.last, copy.acknowledged = batch.next_offset - 1, batch.next_offset
        self._done.append(
            Copied(
                copy.origin,
                batch.offset,
                batch.count,
                downstream,
                len(batch.data),
                batch.first_ms,
                batch.last_ms,
                is_gap,
            )
        )

    def _not_produced(self, sent: Mapping[TopicPartition, RawBatch], error: BaseException) -> None:
        for where in sent:
            copy = self._by_target[where]
            copy.in_flight -= 1
            copy.is_broken = True
            copy.end(f"writing to {where} failed: {type(error).__name__}: {error}")

    def _leader(self, manager: Any, where: TopicPartition) -> int | None:
        from kafka.structs import TopicPartition as KafkaTopicPartition

        leader = manager.cluster.leader_for_partition(KafkaTopicPartition(where.topic, where.partition))
        return None if leader in (None, -1) else int(leader)


def errors() -> Any:
    """Kafka's errors, as its protocol numbers them."""
    from kafka import errors

    return errors
