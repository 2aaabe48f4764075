"""Frame stage of source connectors: plan -> DataFrame -> Spark job with a writer stage -> commit.

Spark reads a planned range and its tasks write it into Kafka (`seamark.engine.writer`). With exactly-once support a
batch is recorded before it is written (`seamark.engine.source_ledger`) and replayed after a crash, with the same rows
at the same writers: a source with `stable_partitions` keeps its Spark partitions, the rows of any other are dealt out
by content. Without it, offsets are stored after all rows are acknowledged: rows may be repeated, never lost.

Transforms of records run in the writers. A `SparkSql` transform, and what comes before it, runs on the dealt-out rows.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import time
from typing import TYPE_CHECKING, Any, Final

from seamark.connector.converter import Converter
from seamark.connector.frame import FrameSource
from seamark.connector.offsets import Offsets
from seamark.engine.arrow_records import map_in_arrow
from seamark.engine.frame_chain import FrameTransforms
from seamark.engine.frame_json import with_json_values
from seamark.engine.frame_stage import FrameStage
from seamark.engine.frame_steps import FailedStepError
from seamark.engine.pipeline import Converters
from seamark.engine.plan import SourcePlan, next_batch, plan_source
from seamark.engine.source_ledger import SourceIntent, SourceLedger, changes, normalised, overlay
from seamark.engine.stage import StageEnvironment
from seamark.engine.writer import RESULT_SCHEMA, Ledger, Outcome, WriterSpec, writing
from seamark.errors import ConnectError, DataError, FencedError, KafkaError, connector_code

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

log = logging.getLogger(__name__)

COLUMNS: Final = ("value", "key", "topic", "partition", "timestamp", "headers")
MAX_POSITIONS: Final = 1000  # a progress report stays small however many partitions a source has
FENCE_TIMEOUT_S: Final = 5.0  # a stop must not hang on a broker that is away: then no writer can commit either
_ORDER: Final = "__seamark_order"


class FrameSourceStage(FrameStage):
    """Runs `FrameSource` connectors."""

    def __init__(self, environment: StageEnvironment) -> None:
        super().__init__(environment)
        if not isinstance(environment.connector, FrameSource):
            raise ConnectError(f"Connector {environment.name!r} is no frame source.")
        self.source: FrameSource = environment.connector
        self._transforms = FrameTransforms(environment, is_sink=False)
        self._ledger: SourceLedger | None = None
        self._idle_offsets: Offsets | None = None
        self._looked_at, self._last_look = 0.0, True
        self._writers = 0

    def run_batch(self) -> bool:
        self._idle_offsets = None
        if self.environment.exactly_once:
            return self._run_exactly_once()
        start = self._committed()
        plan = self._plan(start)
        if plan is None:
            self._idle_offsets = start
            return False
        frame = self._read(plan)
        try:
            prepared, _ = self._prepare(frame, self._writers_of(frame))
            results = self._write(prepared, None)
        finally:
            self._transforms.release()
        started = time.monotonic()
        self.store_offsets(changes(plan)[1])
        self._note(results, changes(plan)[1], time.monotonic() - started)
        return True

    def has_work(self) -> bool | None:
        offsets = self._idle_offsets
        if offsets is None:
            return True  # the last run was stopped or failed, or worked: only a run can tell
        answer = self.source.has_work(self.environment.config, offsets)
        if answer is not None:
            return answer
        now = time.monotonic()
        if now - self._looked_at >= self.worker.idle_poll_ms / 1000:
            self._last_look = self._plan(offsets) is not None
            self._looked_at = now
        return self._last_look

    def cancelled(self) -> None:
        # Spark has let go of the tasks, but they may still be on their way to a commit.
        if self._ledger is None or not self._writers:
            return
        try:
            self._ledger.fence_writers(self._writers, timeout_s=FENCE_TIMEOUT_S)
        except KafkaError as error:
            log.warning("[%s] Writers of the cancelled batch could not be fenced: %s", self.name, error)

    def abandon(self) -> None:
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            with contextlib.suppress(KafkaError):
                ledger.close()

    def close(self) -> None:
        super().close()
        self.abandon()

    # the steps of a batch; each leaves behind a state from which another driver can go on

    def store_offsets(self, end: Offsets) -> None:
        """Without exactly-once support: the rows are written, move the connector."""
        self.environment.offsets.write(self.name, end, self.worker.offset_flush_timeout_ms / 1000)

    def begin_batch(self, ledger: SourceLedger, intent: SourceIntent) -> Ledger:
        """Record a new batch."""
        return ledger.begin(intent)

    def write_batch(self, frame: DataFrame, intent: SourceIntent, ledger: Ledger) -> list[Any]:
        """Have the writers write it."""
        return self._write(frame, ledger)

    def end_batch(self, ledger: SourceLedger, intent: SourceIntent) -> None:
        """Record that it is written, and move the connector."""
        ledger.settle(intent)

    def _run_exactly_once(self) -> bool:
        ledger = self._ledger = self._ledger or SourceLedger(self.environment)
        ledger.settle_reads()
        start, intent = self._committed(), ledger.last()
        is_replay = intent is not None and intent.is_current(start)
        plan = SourcePlan(start, overlay(start, intent.end)) if intent is not None and is_replay else self._plan(start)
        if plan is None:
            self._idle_offsets = start
            return False
        frame = self._read(plan)
        try:
            if intent is not None and is_replay:
                dealt_to = self._writers_of(frame) if self.source.stable_partitions else intent.writers
                prepared, self._writers = self._prepare(frame, dealt_to)
                self._check_writers(intent)
                results = self.write_batch(prepared, intent, ledger.resume(intent))
            else:
                prepared, self._writers = self._prepare(frame, self._writers_of(frame))
                batch = next_batch(None if intent is None else intent.batch, int(time.time() * 1000))
                intent = SourceIntent(batch, self._writers, *changes(plan))
                results = self.write_batch(prepared, intent, self.begin_batch(ledger, intent))
        finally:
            self._transforms.release()
        if any(row.outcome == Outcome.SUPERSEDED.value for row in results):
            raise FencedError(
                f"Another worker has taken over connector {self.name!r}; this one wrote no more of its rows."
            )
        started = time.monotonic()
        self.end_batch(ledger, intent)
        self._note(results, intent.end, time.monotonic() - started)
        return True

    def _committed(self) -> Offsets:
        stored = self.environment.offsets.read(self.name)
        return Offsets((partition, offset) for partition, offset in stored.items() if offset is not None)

    def _plan(self, start: Offsets) -> SourcePlan | None:
        with connector_code(self.name, "latest"):
            latest = self.source.latest(start, self.limit)
        return plan_source(start, overlay(start, normalised(latest)))

    def _read(self, plan: SourcePlan) -> DataFrame:
        with connector_code(self.name, "read"):
            frame = self.source.read(self.environment.spark, plan.start, plan.end)
            columns = frame.columns
        if "value" not in columns:
            raise DataError(
                f"Connector {self.name!r} has read a DataFrame without a 'value' column; it has {', '.join(columns)}."
            )
        return frame.select(*[column for column in COLUMNS if column in columns])

    def _writers_of(self, frame: DataFrame) -> int:
        return int(frame.rdd.getNumPartitions()) if self.source.stable_partitions else self.parallelism

    def _check_writers(self, intent: SourceIntent) -> None:
        if self._writers != intent.writers:
            raise ConnectError(
                f"Batch {intent.batch} of connector {self.name!r} was begun with {intent.writers} Spark partitions and "
                f"now has {self._writers}, so its rows cannot be told apart from those written before. Set "
                "stable_partitions to False in the connector, go back to the transforms that it had, or move its "
                "offsets to give the batch up."
            )

    def _prepare(self, frame: DataFrame, writers: int) -> tuple[DataFrame, int]:
        """The rows as the writers get them, a Spark partition for each, and how many writers there are.

        Rows are dealt out as they were read, before any transform: so it does not matter for a replay whether
        transforms give the same again. After a query that mixes the rows of partitions it would, unless one writer
        gets everything.
        """
        dealt = frame if self._is_dealt(frame, writers) else deal_out(frame, writers)
        if not self._transforms.chain.has_queries:
            return dealt, writers
        transformed = self.run_spark("transforms", lambda: self._transforms.source(dealt))
        self.note_errors(transformed.errors)
        if transformed.keeps_partitions:
            return transformed.frame, writers
        if self.environment.exactly_once:
            return transformed.frame.coalesce(1), 1
        return deal_out(transformed.frame, self.parallelism), self.parallelism

    def _is_dealt(self, frame: DataFrame, writers: int) -> bool:
        """Whether the rows may stay in the Spark partitions in which they are read, which spares a shuffle."""
        if self.source.stable_partitions:
            return True
        # Only a replay needs the same rows at the same writers, and only rows with a key an order.
        if self.environment.exactly_once or "key" in frame.columns:
            return False
        return int(frame.rdd.getNumPartitions()) == writers

    @functools.cached_property
    def _value_converter(self) -> Converter:
        return Converters.of(self.environment.plugins, self.environment.config, self.worker).value

    def _write(self, frame: DataFrame, ledger: Ledger | None) -> list[Any]:
        environment = self.environment
        pipeline = self._transforms.spec(self._transforms.last_aliases)
        plain = frame
        if not self._transforms.last_aliases:  # which would see texts
            frame = with_json_values(plain, self._value_converter)
        spec = WriterSpec(
            connector=self.name,
            config=pipeline.config,
            worker=environment.worker.raw,
            plugin_path=pipeline.plugin_path,
            group_id=self.worker.group_id,
            ledger=ledger,
            has_json=frame is not plain,
        )
        results: list[Any] = self.run_spark(
            "batch", lambda: map_in_arrow(frame, writing(spec), RESULT_SCHEMA).collect()
        )
        self.note_errors({row.writer: json.loads(row.errors) for row in results if row.failure is None})
        for row in results:
            if row.failure is not None:
                raise FailedStepError(row.failure, row.writer, json.loads(row.errors))
        return results

    def _note(self, results: list[Any], end: Offsets, commit_s: float) -> None:
        for row in results:
            self.report(row.writer, records=row.records, bytes_=row.bytes, committed_in_s=commit_s)
        positions = {str(dict(entry["partition"])): entry for entry in self._tasks[0].positions}
        for partition, offset in end.items():
            if offset is None:
                positions.pop(str(dict(partition)), None)
            elif len(positions) < MAX_POSITIONS or str(dict(partition)) in positions:
                positions[str(dict(partition))] = {"partition": dict(partition), "offset": dict(offset)}
        self._tasks[0].positions = list(positions.values())


def deal_out(frame: DataFrame, writers: int) -> DataFrame:
    """Give every row to a writer chosen by its content, in the order in which it was read.

    Rows with the same topic and key share a writer, so they stay in order; a replay gives each writer the same rows.
    """
    from pyspark.sql import functions as F

    columns = [_hashable(frame, name) for name in frame.columns]
    by_content = F.hash(*columns)
    chosen = by_content
    if "key" in frame.columns:
        by_key = F.hash(*[_hashable(frame, name) for name in ("topic", "key") if name in frame.columns])
        chosen = F.when(F.col("key").isNotNull(), by_key).otherwise(by_content)
    numbered = frame.withColumn(_ORDER, F.monotonically_increasing_id())
    return numbered.repartition(writers, chosen).sortWithinPartitions(_ORDER).drop(_ORDER)


def _hashable(frame: DataFrame, name: str) -> Column:
    from pyspark.sql import functions as F

    # Spark does not hash maps; their JSON form has the same content.
    is_map = "map<" in frame.schema[name].dataType.simpleString()
    return F.to_json(F.struct(F.col(name))) if is_map else F.col(name)
