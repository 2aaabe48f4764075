"""Rows of a DataFrame through transforms and converters, one by one: the pipelines of the frame stage, in Spark tasks.

A frame source's strings and bytes are produced as they are, with transforms as without: what a transform leaves alone
does not change. A frame sink's record that a transform leaves alone keeps its bytes, too.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seamark.config.worker import WorkerConfig
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.logical import is_logical
from seamark.connector.records import Header, SchemaAndValue, SinkRecord, SourceRecord
from seamark.connector.schema import OPTIONAL_BYTES_SCHEMA, Schema
from seamark.engine.arrow_records import TopicRows
from seamark.engine.dead_letters import DeadLetters
from seamark.engine.frame_rows import source_records, topic_rows
from seamark.engine.pipeline import Converters, SinkPipeline, SourcePipeline
from seamark.engine.plugins import Plugins
from seamark.engine.tolerance import (
    ErrorCounts,
    ErrorPolicy,
    ErrorReporter,
    Failure,
    LogReporter,
    Step,
    Tolerance,
    describe_consumed,
    describe_source,
)
from seamark.engine.transform_chain import TransformChain
from seamark.kafka.clients import effective_client_config
from seamark.kafka.consumer import ConsumedRecord

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """What a Spark task needs to transform and convert records; plain values, since it travels to executors."""

    connector: str
    config: Mapping[str, str]
    """The connector's config; `transforms` names the transforms of this step alone."""
    worker: Mapping[str, str]
    plugin_path: str | None

    def client_config(self, role: Any, task: int) -> dict[str, str]:
        """The settings of a task's Kafka client."""
        return effective_client_config(role, self.worker, self.config, connector_name=self.connector, task=task)


class AsIs(Converter):
    """Leaves text and bytes alone and hands anything else to the connector's converter."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None and schema is None:
            return None
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, bytes) and not is_logical(schema):
            return value
        return self._converter.from_connect_data(topic, schema, value)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return self._converter.to_connect_data(topic, data)


class HeaderAsIs(HeaderConverter):
    """Leaves bytes alone, which are what the headers of a row hold."""

    def __init__(self, converter: HeaderConverter) -> None:
        self._converter = converter

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        if isinstance(value, bytes) and not is_logical(schema):
            return value
        if value is None and schema is OPTIONAL_BYTES_SCHEMA:
            return None
        return self._converter.from_connect_header(topic, name, schema, value)

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self._converter.to_connect_header(topic, name, data)


class RowSourcePipeline(SourcePipeline):
    """Rows of a frame source into records as they go to the producer."""

    def __init__(self, spec: PipelineSpec, task: int, stack: contextlib.ExitStack, counts: ErrorCounts) -> None:
        plugins = Plugins(spec.plugin_path)
        found = Converters.of(plugins, spec.config, WorkerConfig(spec.worker))
        converters = Converters(AsIs(found.key), AsIs(found.value), HeaderAsIs(found.header), found.names)
        tolerance = tolerance_of(spec, task, stack, counts, is_source=True, encode=None)
        super().__init__(converters, chain_of(spec, plugins, stack), tolerance)
        self._topic = spec.config.get("topic") or ""

    def convert_rows(self, batch: pa.RecordBatch) -> Iterator[TopicRows]:
        """The rows of a batch, in order, without those that were dropped.

        Raises:
            ToleranceExceededError: one cannot be transformed or converted, and `errors.tolerance` is none.
        """
        converted = map(self.convert, source_records(batch, self._topic))
        return topic_rows(record for record in converted if record is not None)

    def transform_rows(self, batch: pa.RecordBatch) -> list[SourceRecord]:
        """The rows of a batch after the transforms. Raises as `convert_rows` does."""
        records = source_records(batch, self._topic)
        if not self._transforms:
            return list(records)
        transformed = (self._transformed(record, record) for record in records)
        return [record for record in transformed if record is not None]

    def header_rows(self, record: SourceRecord) -> list[dict[str, Any]]:
        """Headers as a column holds them, as bytes."""
        return [{"key": name, "value": data} for name, data in self._headers(record)]


class RowSinkPipeline(SinkPipeline):
    """Records of topics, or rows of a query over them, through transforms."""

    def __init__(self, spec: PipelineSpec, task: int, stack: contextlib.ExitStack, counts: ErrorCounts) -> None:
        plugins = Plugins(spec.plugin_path)
        self._converters = Converters.of(plugins, spec.config, WorkerConfig(spec.worker))
        tolerance = tolerance_of(spec, task, stack, counts, is_source=False, encode=self._consumed)
        super().__init__(self._converters, chain_of(spec, plugins, stack), tolerance)
        self._before: SinkRecord | None = None
        self._header_bytes: dict[int, tuple[Header, bytes | None]] = {}

    def convert(self, original: ConsumedRecord) -> SinkRecord | None:
        self._before = None
        if self._header_bytes:
            self._header_bytes = {}
        return super().convert(original)

    def transform(self, row: SinkRecord) -> SinkRecord | None:
        """A row of a query through the transforms; None if it is dropped.

        Raises:
            ToleranceExceededError: it cannot be transformed, and the batch must fail.
        """
        self._header_bytes = {}
        headers = []
        for each in row.headers:
            converted = self._header.to_connect_header(row.topic, each.key, each.value)
            header = Header(each.key, converted.value, converted.schema)
            self._header_bytes[id(header)] = (header, each.value)
            headers.append(header)
        record = row.with_(headers=tuple(headers)) if headers else row
        transformed: SinkRecord | None = self._transformed(record, _Row.of(record)) if self._transforms else record
        return transformed

    def encoded(self, record: SinkRecord, original: ConsumedRecord | None) -> tuple[bytes | None, bytes | None] | None:
        """Key and value as bytes again; those of the original where the transforms have left them alone.

        None if they cannot be, and the record is dropped.

        Raises:
            ToleranceExceededError: they cannot be, and the batch must fail.
        """
        before, topic = self._before or record, record.topic
        if original is not None and before.key is record.key and before.key_schema is record.key_schema:
            key: tuple[bytes | None] | None = (original.key,)
        else:
            encode_key = functools.partial(self._key.from_connect_data, topic, record.key_schema, record.key)
            key = self._encoded(encode_key, Step.KEY_CONVERTER, record, original)
        if original is not None and before.value is record.value and before.value_schema is record.value_schema:
            value: tuple[bytes | None] | None = (original.value,)
        else:
            encode_value = functools.partial(self._value.from_connect_data, topic, record.value_schema, record.value)
            value = self._encoded(encode_value, Step.VALUE_CONVERTER, record, original)
        return None if key is None or value is None else (key[0], value[0])

    def _encoded(
        self, encode: Callable[[], bytes | None], step: Step, record: SinkRecord, original: ConsumedRecord | None
    ) -> tuple[bytes | None] | None:
        try:
            return (encode(),)
        except Exception as error:
            whole = original or _Row.of(record)
            # In a tuple, since None is a possible result.
            return self.tolerance.recover(lambda: (encode(),), error, step, self._names[step], whole)

    def header_rows(self, record: SinkRecord) -> list[dict[str, Any]]:
        """Headers as a column holds them, as bytes."""
        rows = []
        for each in record.headers:
            kept = self._header_bytes.get(id(each))
            if kept is None:
                data = self._header.from_connect_header(record.topic, each.key, each.schema, each.value)
            else:
                data = kept[1]
            rows.append({"key": each.key, "value": data})
        return rows

    def _transformed(self, record: Any, original: object) -> Any:
        self._before = record
        return super()._transformed(record, original)

    def _headers(self, original: ConsumedRecord) -> tuple[Header, ...]:
        headers = super()._headers(original)
        kept = zip(headers, original.headers, strict=True)
        self._header_bytes = {id(header): (header, data) for header, (_, data) in kept}
        return headers

    def _consumed(self, row: _Row) -> ConsumedRecord:
        """A row as a record of a topic, for a dead letter: what it was before the query is not known any more."""
        record = row.record
        return ConsumedRecord(
            record.topic,
            record.kafka_partition or 0,
            record.kafka_offset,
            self._key.from_connect_data(record.topic, record.key_schema, record.key),
            self._value.from_connect_data(record.topic, record.value_schema, record.value),
            record.timestamp,
            record.timestamp_type.value,
            tuple((row["key"], row["value"]) for row in self.header_rows(record)),
        )


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a query where reports of failures expect the record that was consumed."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: str
    record: SinkRecord

    @staticmethod
    def of(record: SinkRecord) -> _Row:
        return _Row(
            record.topic,
            record.kafka_partition or 0,
            record.kafka_offset,
            record.timestamp,
            record.timestamp_type.value,
            record,
        )


class _DeadRows:
    """The dead-letter topic, opened when it is first needed: most batches need none."""

    def __init__(self, make: Callable[[], DeadLetters], encode: Callable[[_Row], ConsumedRecord]) -> None:
        self._make, self._encode = make, encode
        self._made: DeadLetters | None = None

    def report(self, failure: Failure) -> None:
        self._made = self._made or self._make()
        if isinstance(failure.original, _Row):
            failure = Failure(failure.step, failure.executing_class, failure.error, self._encode(failure.original))
        self._made.report(failure)

    def flush(self, timeout_s: float) -> None:
        if self._made is not None:
            self._made.flush(timeout_s)

    def close(self) -> None:
        if self._made is not None:
            self._made.close()


def chain_of(spec: PipelineSpec, plugins: Plugins, stack: contextlib.ExitStack) -> TransformChain:
    """The transforms of the step, closed with the stack."""
    chain = TransformChain.of(plugins, spec.config)
    stack.callback(_quietly, spec.connector, chain.close)
    return chain


def tolerance_of(
    spec: PipelineSpec,
    task: int,
    stack: contextlib.ExitStack,
    counts: ErrorCounts,
    *,
    is_source: bool,
    encode: Callable[[_Row], ConsumedRecord] | None,
) -> Tolerance:
    """The connector's error handling, closed with the stack; `encode` makes a dead letter of a row."""
    policy = ErrorPolicy.from_config(spec.config)
    reporters: list[ErrorReporter] = []
    if policy.logs:
        describe = describe_source if is_source else describe_consumed
        reporters.append(LogReporter(f"{spec.connector}-{task}", policy, counts, describe))
    if policy.dead_letter_topic and encode is not None:

        def make() -> DeadLetters:
            client_id = f"connector-dlq-producer-{spec.connector}-{task}"
            producer = {**spec.client_config("producer", task), "client.id": client_id}
            return DeadLetters(spec.connector, task, policy, counts, producer, spec.client_config("admin", task))

        reporters.append(_DeadRows(make, encode))
    tolerance = Tolerance(policy, reporters, counts)
    stack.callback(_quietly, spec.connector, tolerance.close)
    return tolerance


def _quietly(connector: str, clean_up: Callable[[], None]) -> None:
    try:
        clean_up()
    except Exception:
        # The batch is decided; a failing clean-up must not undo it.
        log.exception("[%s] cleaning up failed", connector)
