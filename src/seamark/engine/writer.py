"""The writer stage: rows of a frame source into Kafka, from inside Spark tasks.

Spark partition *j* is writer *j*. With exactly-once support a batch is written by this protocol;
`seamark.engine.frame_source` is its other half. Both talk through the offsets topic, in one partition of it, so what
happened after what is never in doubt:

1. The driver records the batch (its *intent*) and hands every writer the position in the log from which to look.
2. Writer *j* takes over the transactional id ``<group.id>-<connector>-<j + 1>``: whoever wrote as *j* before, an
earlier attempt, a
   speculative twin or a lost driver's task, can commit no more.
3. It reads the log from that position. A newer intent means that this driver was replaced: the writer ends. Its own
*marker* for this
   batch means that an earlier attempt committed: there is nothing left to do.
4. It sends its rows and its marker in one transaction.

Rows reach the same writer when a batch is replayed (see `seamark.engine.frame_source`), so each is written once,
whatever died when. Without exactly-once support a writer sends its rows and waits for all acknowledgements.
"""

from __future__ import annotations

import contextlib
import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from functools import partial
from typing import Any, Final

import pyarrow as pa

from seamark.config.worker import WorkerConfig
from seamark.connector.offsets import Offsets
from seamark.engine.arrow_records import RowConverter, TopicRows
from seamark.engine.frame_json import escaped
from seamark.engine.frame_records import PipelineSpec, RowSourcePipeline
from seamark.engine.pipeline import Converters
from seamark.engine.plugins import Plugins
from seamark.engine.tolerance import ErrorCounts, ToleranceExceededError
from seamark.engine.topic_creator import TopicCreator
from seamark.errors import ConnectError, KafkaError
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config
from seamark.kafka.producer import RecordProducer
from seamark.kafka.stable import read_tail
from seamark.kafka.topic_partitions import TopicPartition
from seamark.kafka.topics import TopicCreation
from seamark.storage.intents import intent_key, intents_name
from seamark.storage.offsets import encode_key, encode_value

RESULT_SCHEMA: Final = "writer long, records long, bytes long, outcome string, errors string, failure string"
_RESULT_NAMES: Final = ["writer", "records", "bytes", "outcome", "errors", "failure"]
_RESULT_TYPES: Final = [pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.string(), pa.string()]
SOURCE_INTENT: Final = "source"
# A writer's transaction is open while Spark computes its rows. Broker and consumers wait no longer than this for a
# writer that vanished together with its driver; a replay ends it at once.
_TRANSACTION_TIMEOUT_MS: Final = "300000"
_COMMIT_TIMEOUT_S: Final = 120.0
_FLUSH_S: Final = 1.0


def marker(writer: int) -> dict[str, Any]:
    """The source partition, so to speak, of a writer's marker."""
    return {"writer": writer}


@dataclass(frozen=True, slots=True)
class Ledger:
    """Where a batch's intent and markers are, and which batch it is."""

    topic: str
    partition: int
    position: int
    """Everything about this batch that the driver has not seen yet comes after this offset."""
    batch: int
    done: frozenset[int] = frozenset()
    """Writers whose markers the driver has seen."""


@dataclass(frozen=True, slots=True)
class WriterSpec:
    """What every writer of a batch is told; plain values, since it travels to executors."""

    connector: str
    config: Mapping[str, str]
    """The connector's; `transforms` names those that the writers run."""
    worker: Mapping[str, str]
    plugin_path: str | None
    group_id: str
    ledger: Ledger | None = None
    """None without exactly-once support."""
    has_json: bool = False
    """Whether values are texts that Spark has written in the converter's place: see `seamark.engine.frame_json`."""

    def transactional_id(self, writer: int) -> str:
        """The transactional id of a writer. Index 0 is the driver's, which owns the offsets, as in Kafka Connect."""
        return f"{self.group_id}-{self.connector}-{writer + 1}"

    @property
    def pipeline(self) -> PipelineSpec:
        """What transforms and converters need."""
        return PipelineSpec(self.connector, self.config, self.worker, self.plugin_path)

    def client_config(self, role: Any, writer: int) -> dict[str, str]:
        """The settings of a writer's Kafka client."""
        return effective_client_config(role, self.worker, self.config, connector_name=self.connector, task=writer)


class Outcome(Enum):
    """What a writer did."""

    WRITTEN = "written"
    ALREADY_WRITTEN = "already written"
    EMPTY = "empty"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    """A row could not be processed, and `errors.tolerance` does not allow that."""


def writing(spec: WriterSpec) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function for `map_in_arrow`; its result has `RESULT_SCHEMA`."""
    return partial(_write_partition, spec)


def _write_partition(spec: WriterSpec, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise ConnectError("Writers run inside Spark tasks only.")
    writer = Writer(spec, context.partitionId())
    failure = None
    try:
        outcome = writer.write(batches)
    except ToleranceExceededError:
        # Told, not raised: Spark would only run the same rows again.
        outcome, failure = Outcome.FAILED, traceback.format_exc()
    result = [writer.number, writer.records, writer.bytes, outcome.value, json.dumps(asdict(writer.errors)), failure]
    yield pa.RecordBatch.from_arrays(
        [pa.array([value], kind) for value, kind in zip(result, _RESULT_TYPES, strict=True)], names=_RESULT_NAMES
    )


class Writer:
    """Writes the rows of one Spark partition."""

    def __init__(self, spec: WriterSpec, number: int) -> None:
        self.spec, self.number = spec, number
        self.records = self.bytes = 0
        self.errors = ErrorCounts()

    def write(self, batches: Iterator[pa.RecordBatch]) -> Outcome:
        """Write all rows; on return they are in Kafka for good, unless the outcome says otherwise.

        Raises:
            ToleranceExceededError: a row cannot be processed, with the same consequence.
            ConnectError: nothing of this attempt became visible (exactly-once), or some rows may not have been written.
        """
        ledger = self.spec.ledger
        if ledger is not None and self.number in ledger.done:
            return Outcome.ALREADY_WRITTEN
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:  # the same on every replay, so there is nothing to fence and nothing to mark
            return Outcome.EMPTY
        rows = self._chain(first, filled)
        with Admin(self.spec.client_config("admin", self.number)) as admin:
            topics = TopicCreator(TopicCreation.from_config(self.spec.config, self.spec.worker), lambda: admin)
            if ledger is None:
                return self._write_at_least_once(rows, topics)
            return self._write_exactly_once(ledger, rows, topics, admin)

    @staticmethod
    def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield first
        yield from rest

    def _write_at_least_once(self, rows: Iterator[pa.RecordBatch], topics: TopicCreator) -> Outcome:
        with RecordProducer(self.spec.client_config("producer", self.number)) as producer:
            self._send(producer, rows, topics)
            while producer.flush(_FLUSH_S):
                producer.check()
        return Outcome.WRITTEN

    def _write_exactly_once(
        self, ledger: Ledger, rows: Iterator[pa.RecordBatch], topics: TopicCreator, admin: Admin
    ) -> Outcome:
        config = {"transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS, **self.spec.client_config("producer", self.number)}
        with RecordProducer(config, self.spec.transactional_id(self.number)) as producer:
            producer.init_transactions()
            settled = self._look_up(ledger, admin)
            if settled is not None:
                return settled
            producer.begin()
            try:
                self._send(producer, rows, topics, forbidden=ledger.topic)
                name = intents_name(self.spec.connector)
                key = encode_key(name, marker(self.number))
                producer.send(ledger.topic, encode_value({"batch": ledger.batch}), key=key, partition=ledger.partition)
            except BaseException:
                with contextlib.suppress(KafkaError):  # what led here matters more, and the next attempt fences
                    producer.abort(10.0)
                raise
            # If the answer is lost, the next attempt's init_transactions settles the outcome and its look-up finds it.
            producer.commit(_COMMIT_TIMEOUT_S)
        return Outcome.WRITTEN

    def _look_up(self, ledger: Ledger, admin: Admin) -> Outcome | None:
        where = TopicPartition(ledger.topic, ledger.partition)
        name = intents_name(self.spec.connector)
        its_intent, its_marker = intent_key(self.spec.connector, SOURCE_INTENT), encode_key(name, marker(self.number))
        outcome = None
        for record in read_tail(admin, self.spec.client_config("consumer", self.number), where, ledger.position):
            value = json.loads(record.value) if record.value else {}
            is_mine = value.get("batch") == ledger.batch
            if record.key == its_intent and not (is_mine and value.get("state") == "pending"):
                return Outcome.SUPERSEDED
            if record.key == its_marker and is_mine:
                outcome = Outcome.ALREADY_WRITTEN
        return outcome

    def _send(
        self,
        producer: RecordProducer,
        rows: Iterator[pa.RecordBatch],
        topics: TopicCreator,
        forbidden: str | None = None,
    ) -> None:
        with contextlib.ExitStack() as stack:
            rows_of = _row_conversion(self.spec, self.number, stack, self.errors)
            for batch in rows:
                for part in rows_of(batch):
                    self._send_part(producer, part, topics, forbidden)
                producer.check()

    def _send_part(
        self, producer: RecordProducer, part: TopicRows, topics: TopicCreator, forbidden: str | None
    ) -> None:
        if part.topic == forbidden:
            raise ConnectError(
                "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"
            )
        topics.ensure(part.topic)
        producer.send_batch(
            part.topic,
            part.values,
            keys=part.keys,
            timestamps=part.timestamps,
            headers=part.headers,
            partitions=part.partitions,
        )
        self.records += len(part.values)
        self.bytes += part.bytes


def _row_conversion(
    spec: WriterSpec, writer: int, stack: contextlib.ExitStack, counts: ErrorCounts
) -> Callable[[pa.RecordBatch], Iterable[TopicRows]]:
    """What turns rows into bytes: whole columns at a time, one by one where transforms or errors need it."""
    pipeline = RowSourcePipeline(spec.pipeline, writer, stack, counts)
    if pipeline.looks_inside:
        return pipeline.convert_rows
    converters = Converters.of(Plugins(spec.plugin_path), spec.config, WorkerConfig(spec.worker))
    columns = RowConverter(converters.key, converters.value, spec.config.get("topic"))

    def convert(batch: pa.RecordBatch) -> Iterable[TopicRows]:
        batch = escaped(batch) if spec.has_json else batch
        try:
            return list(columns.convert(batch))
        except Exception:  # one by one it shows which row it is, and the connector's settings say what follows
            return pipeline.convert_rows(batch)

    return convert


def markers_of(ledger: Offsets, batch: int) -> frozenset[int]:
    """The writers that have committed this batch, from what the offsets topic holds under `intents_name`."""
    return frozenset(
        int(partition["writer"])
        for partition, value in ledger.items()
        if "writer" in partition and value is not None and value.get("batch") == batch
    )
