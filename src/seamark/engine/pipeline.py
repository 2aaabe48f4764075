"""From a connector's records to bytes and back: transforms, then converters; or converters, then transforms.

One pipeline per task, built from the connector's config and, where it says nothing, the worker's. Each step that fails
is handed to the task's `Tolerance`, which repeats it, drops the record or ends the task.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from seamark.config.connector import converter_settings
from seamark.config.worker import WorkerConfig
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.records import Header, RecordBatch, SinkRecord, SourceRecord, TimestampType
from seamark.engine.plugins import Plugins
from seamark.engine.tolerance import ErrorPolicy, Step, Tolerance
from seamark.engine.transform_chain import TransformChain
from seamark.errors import DataError
from seamark.kafka.consumer import ConsumedRecord

T = TypeVar("T")
_NONE = type(None)


@dataclass(frozen=True, slots=True)
class OutgoingRecord:
    """A record as it goes to the producer."""

    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None
    timestamp: int | None
    headers: list[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class Converters:
    """A task's three converters, and what they are called in reports of errors."""

    key: Converter
    value: Converter
    header: HeaderConverter
    names: Mapping[Step, str]

    @staticmethod
    def of(plugins: Plugins, config: Mapping[str, str], worker: WorkerConfig) -> Converters:
        """The converters that the connector names, else the worker's, each with its settings from the same place."""
        key = _converter(plugins, "key", config, worker)
        value = _converter(plugins, "value", config, worker)
        header = plugins.header_converter(*converter_settings("header", config, worker))
        names = {
            Step.KEY_CONVERTER: plugins.java_name(type(key)),
            Step.VALUE_CONVERTER: plugins.java_name(type(value)),
            Step.HEADER_CONVERTER: plugins.java_name(type(header)),
        }
        return Converters(key, value, header, names)


def _converter(plugins: Plugins, kind: str, config: Mapping[str, str], worker: WorkerConfig) -> Converter:
    name, settings = converter_settings(kind, config, worker)
    return plugins.converter(name, settings, kind == "key")


class _Pipeline:
    """What both directions have in common."""

    def __init__(
        self, converters: Converters, chain: TransformChain | None = None, tolerance: Tolerance | None = None
    ) -> None:
        self._key, self._value, self._header = converters.key, converters.value, converters.header
        self._names = converters.names
        self._chain = chain if chain is not None else TransformChain([])
        self._transforms = bool(self._chain)
        self.tolerance = tolerance or Tolerance(ErrorPolicy())

    def _transformed(self, record: Any, original: object) -> Any:
        """The record after all transforms; None if it is dropped."""
        chain = self._chain
        work = functools.partial(chain.apply, record)
        while True:
            try:
                return work()
            except Exception as error:
                failed = chain.failed
                if failed is None:
                    raise
                again = functools.partial(failed.stage.apply, failed.record)
                name = failed.stage.class_name
                current = self.tolerance.recover(again, error, Step.TRANSFORMATION, name, original)
            if current is None:
                return None
            work = functools.partial(chain.resume, failed, current)

    def _recovered(self, operation: Callable[[], T], error: Exception, step: Step, original: object) -> tuple[T] | None:
        """In a tuple, since None is a possible result; None if the record is dropped."""
        return self.tolerance.recover(lambda: (operation(),), error, step, self._names[step], original)


class SourcePipeline(_Pipeline):
    """Records to bytes."""

    @property
    def looks_inside(self) -> bool:
        """Whether records must be objects, because transforms look at them."""
        return self._transforms

    def convert(self, original: SourceRecord) -> OutgoingRecord | None:
        """One record; None if it is dropped.

        Raises:
            ToleranceExceededError: it cannot be converted, and the task must end.
        """
        record: SourceRecord | None = self._transformed(original, original) if self._transforms else original
        if record is None:
            return None
        topic = record.topic
        if not topic:
            raise DataError(
                f"A record has no topic, so there is nowhere to write it; its offset is {record.source_offset}"
            )
        headers: list[tuple[str, bytes | None]] = []
        if record.headers:
            try:
                headers = self._headers(record)
            except Exception as error:
                again = functools.partial(self._headers, record)
                recovered = self._recovered(again, error, Step.HEADER_CONVERTER, original)
                if recovered is None:
                    return None
                headers = recovered[0]
        try:
            key = self._key.from_connect_data(topic, record.key_schema, record.key)
        except Exception as error:
            step = functools.partial(self._key.from_connect_data, topic, record.key_schema, record.key)
            converted = self._recovered(step, error, Step.KEY_CONVERTER, original)
            if converted is None:
                return None
            key = converted[0]
        try:
            value = self._value.from_connect_data(topic, record.value_schema, record.value)
        except Exception as error:
            step = functools.partial(self._value.from_connect_data, topic, record.value_schema, record.value)
            converted = self._recovered(step, error, Step.VALUE_CONVERTER, original)
            if converted is None:
                return None
            value = converted[0]
        return OutgoingRecord(topic, key, value, record.kafka_partition, record.timestamp, headers)

    def _headers(self, record: SourceRecord) -> list[tuple[str, bytes | None]]:
        convert = self._header.from_connect_header
        return [(each.key, convert(record.topic, each.key, each.schema, each.value)) for each in record.headers]

    def convert_batch(self, batch: RecordBatch) -> tuple[list[Any], list[Any] | None] | None:
        """Values and keys of a whole batch; None if one of them cannot be converted, so that each must be looked at."""
        try:
            values = _convert_column(self._value, batch.topic, batch.value_schema, batch.values)
            if batch.keys is not None:
                return values, _convert_column(self._key, batch.topic, batch.key_schema, batch.keys)
            # A converter may write something even for "no key": JSON with schemas does.
            none = self._key.from_connect_data(batch.topic, batch.key_schema, None)
        except Exception:
            return None
        return values, None if none is None else [none] * len(values)


def _convert_column(converter: Converter, topic: str, schema: Any, column: Sequence[Any]) -> list[Any]:
    if converter.passes and set(map(type, column)) <= {*converter.passes, _NONE}:
        return column if isinstance(column, list) else list(column)
    convert = converter.from_connect_data
    return [convert(topic, schema, value) for value in column]


class SinkPipeline(_Pipeline):
    """Bytes to records."""

    @property
    def keeps_value_bytes(self) -> bool:
        """Whether a task that wants nothing but values can be given the bytes as they are."""
        return not self._transforms and (bytes in self._value.passes or str in self._value.passes)

    def convert(self, original: ConsumedRecord) -> SinkRecord | None:
        """One record; None if it is dropped.

        Raises:
            ToleranceExceededError: it cannot be converted, and the task must end.
        """
        topic = original.topic
        try:
            key = self._key.to_connect_data(topic, original.key)
        except Exception as error:
            step = functools.partial(self._key.to_connect_data, topic, original.key)
            converted = self._recovered(step, error, Step.KEY_CONVERTER, original)
            if converted is None:
                return None
            key = converted[0]
        try:
            value = self._value.to_connect_data(topic, original.value)
        except Exception as error:
            step = functools.partial(self._value.to_connect_data, topic, original.value)
            converted = self._recovered(step, error, Step.VALUE_CONVERTER, original)
            if converted is None:
                return None
            value = converted[0]
        headers: tuple[Header, ...] = ()
        if original.headers:
            try:
                headers = self._headers(original)
            except Exception as error:
                again = functools.partial(self._headers, original)
                recovered = self._recovered(again, error, Step.HEADER_CONVERTER, original)
                if recovered is None:
                    return None
                headers = recovered[0]
        record = SinkRecord(
            topic,
            value.value,
            key.value,
            value.schema,
            key.schema,
            original.partition,
            original.timestamp,
            headers,
            original.offset,
            TimestampType(original.timestamp_type),
            topic,
            original.partition,
            original.offset,
        )
        return self._transformed(record, original) if self._transforms else record

    def _headers(self, original: ConsumedRecord) -> tuple[Header, ...]:
        converted = []
        for name, data in original.headers:
            header = self._header.to_connect_header(original.topic, name, data)
            converted.append(Header(name, header.value, header.schema))
        return tuple(converted)
