"""From a connector's records to bytes and back: converters now, transforms between.

One pipeline per task, built from the connector's config and, where it says nothing, the worker's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamark.config.connector import converter_settings
from seamark.config.worker import WorkerConfig
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.records import Header, RecordBatch, SinkRecord, SourceRecord, TimestampType
from seamark.engine.plugins import Plugins
from seamark.errors import DataError
from seamark.kafka.consumer import ConsumedRecord

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
    """A task's three converters."""

    key: Converter
    value: Converter
    header: HeaderConverter

    @staticmethod
    def of(plugins: Plugins, config: Mapping[str, str], worker: WorkerConfig) -> Converters:
        """The converters that the connector names, else the worker's, each with its settings from the same place."""
        return Converters(
            _converter(plugins, "key", config, worker),
            _converter(plugins, "value", config, worker),
            _header_converter(plugins, config, worker),
        )


def _converter(plugins: Plugins, kind: str, config: Mapping[str, str], worker: WorkerConfig) -> Converter:
    name, settings = converter_settings(kind, config, worker)
    return plugins.converter(name, settings, kind == "key")


def _header_converter(plugins: Plugins, config: Mapping[str, str], worker: WorkerConfig) -> HeaderConverter:
    return plugins.header_converter(*converter_settings("header", config, worker))


class SourcePipeline:
    """Records to bytes."""

    def __init__(self, converters: Converters) -> None:
        self._key, self._value, self._header = converters.key, converters.value, converters.header

    def convert(self, record: SourceRecord) -> OutgoingRecord:
        """One record. Raises DataError."""
        topic = record.topic
        if not topic:
            raise DataError(
                f"A record has no topic, so there is nowhere to write it; its offset is {record.source_offset}"
            )
        return OutgoingRecord(
            topic,
            self._key.from_connect_data(topic, record.key_schema, record.key),
            self._value.from_connect_data(topic, record.value_schema, record.value),
            record.kafka_partition,
            record.timestamp,
            [
                (header.key, self._header.from_connect_header(topic, header.key, header.schema, header.value))
                for header in record.headers
            ],
        )

    def convert_batch(self, batch: RecordBatch) -> tuple[list[Any], list[Any] | None]:
        """Values and keys of a whole batch. Raises DataError."""
        values = _convert_column(self._value, batch.topic, batch.value_schema, batch.values)
        if batch.keys is None:
            # A converter may write something even for "no key": JSON with schemas does.
            none = self._key.from_connect_data(batch.topic, batch.key_schema, None)
            return values, None if none is None else [none] * len(values)
        return values, _convert_column(self._key, batch.topic, batch.key_schema, batch.keys)


def _convert_column(converter: Converter, topic: str, schema: Any, column: Sequence[Any]) -> list[Any]:
    if converter.passes and set(map(type, column)) <= {*converter.passes, _NONE}:
        return column if isinstance(column, list) else list(column)
    convert = converter.from_connect_data
    return [convert(topic, schema, value) for value in column]


class SinkPipeline:
    """Bytes to records."""

    def __init__(self, converters: Converters) -> None:
        self._key, self._value, self._header = converters.key, converters.value, converters.header

    @property
    def keeps_value_bytes(self) -> bool:
        """Whether a task that wants nothing but values can be given the bytes as they are."""
        return bytes in self._value.passes or str in self._value.passes

    def convert(self, record: ConsumedRecord) -> SinkRecord:
        """One record. Raises DataError."""
        key = self._key.to_connect_data(record.topic, record.key)
        value = self._value.to_connect_data(record.topic, record.value)
        return SinkRecord(
            topic=record.topic,
            value=value.value,
            key=key.value,
            value_schema=value.schema,
            key_schema=key.schema,
            kafka_partition=record.partition,
            timestamp=record.timestamp,
            headers=tuple(self._convert_header(record.topic, name, data) for name, data in record.headers),
            kafka_offset=record.offset,
            timestamp_type=TimestampType(record.timestamp_type),
            original_topic=record.topic,
            original_kafka_partition=record.partition,
            original_kafka_offset=record.offset,
        )

    def _convert_header(self, topic: str, name: str, data: bytes | None) -> Header:
        converted = self._header.to_connect_header(topic, name, data)
        return Header(name, converted.value, converted.schema)
