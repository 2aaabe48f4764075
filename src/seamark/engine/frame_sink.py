"""Frame stage of sink connectors: plan -> DataFrame of a range of topics -> the connector writes it -> commit.

Spark reads the planned offsets with its own Kafka source; positions are those of the consumer group, never of a
checkpoint. How a batch survives a crash is in `seamark.engine.sink_ledger`. With transforms the records go through the
connector's converters and transforms before the connector gets them; without, it gets the bytes as they are, unless it
asks for what the converters make of them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from seamark.config.connector import sink_topics, sink_topics_regex
from seamark.connector.frame import FrameSink, SinkBatch
from seamark.connector.sink import TopicPartition
from seamark.engine.frame_chain import FrameTransforms
from seamark.engine.frame_stage import FrameStage
from seamark.engine.plan import next_batch, plan_sink
from seamark.engine.sink_ledger import SinkIntent, SinkLedger, open_ledger, positions_text
from seamark.engine.stage import StageEnvironment
from seamark.errors import ConnectError, KafkaError, connector_code
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)

METADATA_S: Final = 10.0  # how often to look for new topics and partitions
FIRST_RECORD_BYTES: Final = 1024.0  # until a batch has shown how large records are
_METRICS: Final = "seamark"
_METRICS_S: Final = 0.5  # Spark delivers a query's metrics a moment after the query has ended
# What Spark's Kafka source decides itself and refuses to be told.
_SPARKS_OWN: Final = frozenset(
    {
        "auto.offset.reset",
        "client.id",
        "enable.auto.commit",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "interceptor.classes",
        "key.deserializer",
        "partition.assignment.strategy",
        "value.deserializer",
    }
)


class FrameSinkStage(FrameStage):
    """Runs `FrameSink` connectors."""

    def __init__(self, environment: StageEnvironment) -> None:
        super().__init__(environment)
        if not isinstance(environment.connector, FrameSink):
            raise ConnectError(f"Connector {environment.name!r} is no frame sink.")
        self.sink: FrameSink = environment.connector
        self._transforms = FrameTransforms(environment, is_sink=True)
        worker = environment.worker.raw
        self._consumer = effective_client_config(
            "consumer", worker, environment.config, connector_name=self.name, task=None
        )
        self._reads_committed = self._consumer.get("isolation.level", "").lower() == "read_committed"
        self._admin = Admin(
            effective_client_config("admin", worker, environment.config, connector_name=self.name, task=None)
        )
        self._ledger: SinkLedger | None = None
        self._partitions: list[TopicPartition] = []
        self._listed_at = 0.0
        self._idle_positions: dict[TopicPartition, int] | None = None
        self._last_batch: int | None = None
        self._record_bytes = FIRST_RECORD_BYTES

    def run_batch(self) -> bool:
        self._idle_positions = None
        self._ledger = self._ledger or open_ledger(self.environment, is_idempotent=self.sink.idempotent)
        ledger = self._ledger
        partitions = self._subscribed()
        last = ledger.last()
        committed = ledger.committed({*partitions, *(last.start if last is not None else ())})
        first = self._admin.list_offsets({partition: "earliest" for partition in partitions})
        if last is not None and last.is_current(committed):
            self.write_batch(last, replay=True, readable_from=first)
            self._commit(ledger, last)
            return True
        end = self._admin.list_offsets(
            {partition: "latest" for partition in partitions}, is_committed=self._reads_committed
        )
        reset = self._consumer.get("auto.offset.reset", "earliest").lower()
        plan = plan_sink(committed, first, end, self.limit, reset=reset, record_bytes=self._record_bytes)
        if plan.is_empty:
            if plan.resets:
                ledger.move(plan.resets)
            self._idle_positions = {p: plan.resets.get(p, committed.get(p, 0)) for p in partitions}
            return False
        self._last_batch = next_batch(last.batch if last is not None else self._last_batch, int(time.time() * 1000))
        intent = SinkIntent(self._last_batch, plan.start, plan.end)
        self.begin_batch(ledger, intent, plan.resets)
        self.write_batch(intent, replay=False, readable_from=first)
        self._commit(ledger, intent)
        return True

    def has_work(self) -> bool | None:
        positions = self.watch_positions()
        if positions is None:
            return True
        ends = self._admin.list_offsets({p: "latest" for p in positions}, is_committed=self._reads_committed)
        return any(end > positions[partition] for partition, end in ends.items())

    def watch_positions(self) -> Mapping[TopicPartition, int] | None:
        positions = self._idle_positions
        return None if positions is None or set(self._subscribed()) != set(positions) else positions

    def abandon(self) -> None:
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            with contextlib.suppress(KafkaError):
                ledger.close()

    def close(self) -> None:
        super().close()
        self.abandon()
        self._admin.close()

    # the steps of a batch; each leaves behind a state from which another driver can go on

    def begin_batch(self, ledger: SinkLedger, intent: SinkIntent, resets: Mapping[TopicPartition, int]) -> None:
        """Record the batch before anything of it is written."""
        ledger.begin(intent, resets)

    def write_batch(self, intent: SinkIntent, *, replay: bool, readable_from: Mapping[TopicPartition, int]) -> None:
        """Have the connector write it."""
        batch = SinkBatch(self.name, intent.batch, dict(intent.start), dict(intent.end), replay)
        start = self._readable(intent, readable_from)

        def work() -> Mapping[str, Any]:
            frame, metrics = self._read(start, intent.end)
            if self._looks_inside:
                return self._write_transformed(frame, batch)
            with connector_code(self.name, "write"):
                self.sink.write(frame, batch)
            return _observed(metrics)

        observed = self.run_spark(f"batch {intent.batch}", work)
        count = int(observed.get("records") or 0)
        if count:
            self._record_bytes = max(1.0, float(observed.get("bytes") or 0) / count)
        self._written = (
            count or sum(intent.end.values()) - sum(intent.start.values()),
            int(observed.get("bytes") or 0),
        )

    def end_batch(self, ledger: SinkLedger, intent: SinkIntent) -> None:
        """Move the consumer group to the end of the batch."""
        ledger.settle(intent)

    @property
    def _looks_inside(self) -> bool:
        """Whether records go through transforms or converters before the connector gets them."""
        return bool(self._transforms.chain) or self.sink.converts

    def _write_transformed(self, frame: DataFrame, batch: SinkBatch) -> Mapping[str, Any]:
        try:
            transformed = self._transforms.sink(frame, encodes=not self.sink.typed)
            with connector_code(self.name, "write"):
                self.sink.write(transformed.frame, batch)
        finally:
            self._transforms.release()
        self.note_errors(transformed.errors)
        first = transformed.first
        return {} if first is None else {"records": first.records, "bytes": first.bytes}

    def _commit(self, ledger: SinkLedger, intent: SinkIntent) -> None:
        started = time.monotonic()
        self.end_batch(ledger, intent)
        records, size = self._written
        self.report(0, records=records, bytes_=size, committed_in_s=time.monotonic() - started)
        positions = {(entry["topic"], entry["partition"]): entry["offset"] for entry in self._tasks[0].positions}
        positions |= {(partition.topic, partition.partition): offset for partition, offset in intent.end.items()}
        self._tasks[0].positions = [
            {"topic": topic, "partition": partition, "offset": offset}
            for (topic, partition), offset in sorted(positions.items())
        ]

    def _readable(self, intent: SinkIntent, first: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Where reading begins: later than the batch only if its first records have been deleted since."""
        start = {p: max(offset, min(first.get(p, 0), intent.end[p])) for p, offset in intent.start.items()}
        if start != dict(intent.start):
            log.warning("[%s] Records of batch %d are no longer in the log and are skipped", self.name, intent.batch)
        return start

    def _read(self, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> tuple[DataFrame, Any]:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        topics: dict[str, list[int]] = {}
        for partition in sorted(start):
            topics.setdefault(partition.topic, []).append(partition.partition)
        reader = self.environment.spark.read.format("kafka").options(
            **{f"kafka.{key}": value for key, value in self._consumer.items() if key not in _SPARKS_OWN}
        )
        frame = reader.options(
            assign=json.dumps(topics),
            startingOffsets=positions_text(start),
            endingOffsets=positions_text(end),
            includeHeaders=str(self._looks_inside or self.sink.reads_headers).lower(),
            failOnDataLoss="true",
            minPartitions=str(self.parallelism),
        ).load()
        if len(start) > self.parallelism:
            frame = frame.coalesce(self.parallelism)
        metrics = Observation(_METRICS)
        size = F.coalesce(F.length("value"), F.lit(0)) + F.coalesce(F.length("key"), F.lit(0))
        return frame.observe(metrics, F.count(F.lit(1)).alias("records"), F.sum(size).alias("bytes")), metrics

    def _subscribed(self) -> list[TopicPartition]:
        now = time.monotonic()
        if not self._listed_at or now - self._listed_at >= METADATA_S or not self._partitions:
            config = self.environment.config
            pattern = sink_topics_regex(config)
            if pattern is None:
                topics = set(sink_topics(config))
            else:
                topics = {topic for topic in self._admin.list_topics() if pattern.fullmatch(topic)}
            self._partitions = self._admin.partitions_of(topics)
            self._listed_at = now
        return self._partitions


def _observed(metrics: Any) -> Mapping[str, Any]:
    """What the batch held, unless the sink did not run the DataFrame: PySpark's own call would wait for ever then."""
    future = metrics._jo.future()  # noqa: SLF001
    deadline = time.monotonic() + _METRICS_S
    while not future.isCompleted():
        if time.monotonic() > deadline:
            return {}
        time.sleep(0.01)
    return dict(metrics.get)
