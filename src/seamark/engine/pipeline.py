"""From a connector's records to bytes and back: transforms, then converters; or converters, then transforms.

One pipeline per task, built from the connector's config and, where it says nothing, the worker's. Each step that fails
is handed to the task's `Tolerance`, which repeats it, drops the record or ends the task.

Where converters and transforms can, records are processed many at a time (`BATCH`), values only, field by field. That
either gives what one by one gives or fails; then the same records are processed one by one from the first of them, so
that retries, counts, reports and the record at which a task ends are the same either way.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from seamark.config.connector import converter_settings
from seamark.config.worker import WorkerConfig
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.records import Header, RecordBatch, SinkRecord, SourceRecord, TimestampType, ValueBatch
from seamark.engine.converters.batches import batch_reader, batch_writer
from seamark.engine.converters.bytes_ import ByteArrayConverter
from seamark.engine.converters.simple_header import SimpleHeaderConverter
from seamark.engine.converters.string import StringConverter
from seamark.engine.plugins import Plugins
from seamark.engine.tolerance import ErrorPolicy, Step, Tolerance
from seamark.engine.transform_chain import TransformChain
from seamark.engine.transforms.copies import consumed_record
from seamark.errors import DataError
from seamark.kafka.consumer import ConsumedRecord, consumed, have_headers, keys_of, places_of, values_of

T = TypeVar("T")
BATCH = 2000  # so many records are converted at once: more would no longer fit into the processor's cache
_NONE = type(None)
_TIMESTAMP_TYPES = {kind.value: kind for kind in TimestampType}
_READ_ANYTHING = (StringConverter, ByteArrayConverter)


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


class _DroppedError(Exception):
    """A record is dropped; told by an exception, so that records that are not cost nothing more."""


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
        self._chain_takes_batches = self._chain.takes_batches

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

    def _recovered(self, error: Exception, step: Step, original: object, operation: Callable[..., T], *given: Any) -> T:
        """The result of a converter that raised `error`, if a repetition succeeds.

        Raises:
            _DroppedError: the record is dropped.
            ToleranceExceededError: the task must end.
        """
        # In a tuple, since None is a possible result.
        recovered = self.tolerance.recover(lambda: (operation(*given),), error, step, self._names[step], original)
        if recovered is None:
            raise _DroppedError
        return recovered[0]


class SourcePipeline(_Pipeline):
    """Records to bytes."""

    @property
    def looks_inside(self) -> bool:
        """Whether there are transforms."""
        return self._transforms

    @property
    def takes_batches(self) -> bool:
        """Whether a batch can be converted without making an object of each record."""
        return self._chain_takes_batches

    @property
    def keeps_bytes(self) -> bool:
        """Whether keys, values and headers that are bytes go out as they are, whatever they are."""
        converters = (self._key, self._value, self._header)
        return not self._transforms and all(isinstance(each, ByteArrayConverter) for each in converters)

    @property
    def keeps_header_bytes(self) -> bool:
        """Whether headers that are bytes go out as they are."""
        return isinstance(self._header, ByteArrayConverter)

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
        # The same call twice: a name for it would cost each record a bound method.
        try:
            if record.headers:
                try:
                    headers = self._headers(record)
                except Exception as error:
                    headers = self._recovered(error, Step.HEADER_CONVERTER, original, self._headers, record)
            try:
                key = self._key.from_connect_data(topic, record.key_schema, record.key)
            except Exception as error:
                given = (topic, record.key_schema, record.key)
                key = self._recovered(error, Step.KEY_CONVERTER, original, self._key.from_connect_data, *given)
            try:
                value = self._value.from_connect_data(topic, record.value_schema, record.value)
            except Exception as error:
                given = (topic, record.value_schema, record.value)
                value = self._recovered(error, Step.VALUE_CONVERTER, original, self._value.from_connect_data, *given)
        except _DroppedError:
            return None
        return OutgoingRecord(topic, key, value, record.kafka_partition, record.timestamp, headers)

    def _headers(self, record: SourceRecord) -> list[tuple[str, bytes | None]]:
        convert = self._header.from_connect_header
        return [(each.key, convert(record.topic, each.key, each.schema, each.value)) for each in record.headers]

    def convert_batch(self, batch: RecordBatch) -> tuple[list[Any], list[Any] | None] | None:
        """Values and keys of a whole batch; None if one of them cannot be converted, so that each must be looked at."""
        if not batch.topic:
            return None
        try:
            values = self._convert_values(batch)
            if batch.keys is not None:
                return values, _convert_column(self._key, batch.topic, batch.key_schema, batch.keys)
            # A converter may write something even for "no key": JSON with schemas does.
            none = self._key.from_connect_data(batch.topic, batch.key_schema, None)
        except Exception:
            return None
        return values, None if none is None else [none] * len(values)

    def _convert_values(self, batch: RecordBatch) -> list[Any]:
        topic, schema, values = batch.topic, batch.value_schema, batch.values
        if not self._transforms:
            return _convert_column(self._value, topic, schema, values)
        write, change = batch_writer(self._value), self._chain.change_batch
        converted: list[Any] = []
        for start in range(0, len(values), BATCH):
            changed = change(ValueBatch(schema, values[start : start + BATCH]))
            if write is not None:
                converted += write(topic, changed)
            else:
                converted += _convert_column(self._value, topic, changed.schema, changed.rows)
        return converted


def _convert_column(converter: Converter, topic: str, schema: Any, column: Sequence[Any]) -> list[Any]:
    if converter.passes and set(map(type, column)) <= {*converter.passes, _NONE}:
        return column if isinstance(column, list) else list(column)
    convert = converter.from_connect_data
    return [convert(topic, schema, value) for value in column]


class SinkPipeline(_Pipeline):
    """Bytes to records."""

    def __init__(
        self, converters: Converters, chain: TransformChain | None = None, tolerance: Tolerance | None = None
    ) -> None:
        super().__init__(converters, chain, tolerance)
        self._read_keys, self._read_values = batch_reader(self._key), batch_reader(self._value)
        # What nobody looks at need not be converted, if that cannot fail.
        self._reads_any_key = type(self._key) in _READ_ANYTHING
        self._reads_any_header = type(self._header) in (*_READ_ANYTHING, SimpleHeaderConverter)

    @property
    def keeps_value_bytes(self) -> bool:
        """Whether a task that wants nothing but values can be given the bytes as they are; see `raw_values`."""
        return not self._transforms and (bytes in self._value.passes or str in self._value.passes)

    @property
    def takes_batches(self) -> bool:
        """Whether many values can be converted at once."""
        return self._chain_takes_batches and self._read_keys is not None and self._read_values is not None

    def raw_values(self, messages: Sequence[Any]) -> list[bytes | None] | None:
        """The values of raw messages; None if something would happen to one, or to the task because of a key."""
        values = values_of(messages)
        if bytes not in self._value.passes:
            try:  # a text that is not UTF-8 changes when it is read
                b"\n".join(filter(None, values)).decode()
            except UnicodeDecodeError:
                return None
        return values if self._only_values_matter(messages) else None

    def convert_values(self, messages: Sequence[Any]) -> list[ValueBatch]:
        """The values of raw messages, in order; without those that are dropped.

        Raises:
            ToleranceExceededError: one cannot be converted, and the task must end.
        """
        batches: list[ValueBatch] = []
        for start in range(0, len(messages), BATCH):
            some = messages[start : start + BATCH]
            batch = self._values_at_once(some) if self._only_values_matter(some) else None
            batches += _by_schema(self._one_by_one(some)) if batch is None else [batch]
        return batches

    def convert_all(self, messages: Sequence[Any]) -> list[SinkRecord]:
        """Raw messages, in order; without those that are dropped.

        Raises:
            ToleranceExceededError: one cannot be converted, and the task must end.
        """
        if not self.takes_batches:
            return self._one_by_one(messages)
        records: list[SinkRecord] = []
        for start in range(0, len(messages), BATCH):
            some = messages[start : start + BATCH]
            found = self._records_at_once(some)
            records += self._one_by_one(some) if found is None else found
        return records

    def _one_by_one(self, messages: Sequence[Any]) -> list[SinkRecord]:
        converted = map(self.convert, map(consumed, messages))
        return [record for record in converted if record is not None]

    def _only_values_matter(self, messages: Sequence[Any]) -> bool:
        """Whether keys and headers of these messages, which nobody will look at, can be read."""
        if not self._reads_any_header and have_headers(messages):
            return False
        if self._reads_any_key:
            return True
        return self._read_keys is not None and self._keys_at_once(messages) is not None

    def _keys_at_once(self, messages: Sequence[Any]) -> ValueBatch | None:
        keys = keys_of(messages)
        try:
            if keys is not None:
                return None if self._read_keys is None else self._read_keys(keys)
            none = self._key.to_connect_data("", None)
        except Exception:
            return None
        return ValueBatch(none.schema, [none.value] * len(messages))

    def _values_at_once(self, messages: Sequence[Any]) -> ValueBatch | None:
        """None if that is not possible: one by one it shows why."""
        if self._read_values is None:
            return None
        try:
            batch = self._read_values(values_of(messages))
            return self._chain.change_batch(batch) if self._transforms else batch
        except Exception:
            return None

    def _records_at_once(self, messages: Sequence[Any]) -> list[SinkRecord] | None:
        if have_headers(messages):
            return None
        keys = self._keys_at_once(messages)
        values = None if keys is None else self._values_at_once(messages)
        if keys is None or values is None:
            return None
        key_schema, value_schema, types = keys.schema, values.schema, _TIMESTAMP_TYPES
        return [
            consumed_record(place, types[place[-1]], key_schema, key, value_schema, value)
            for place, key, value in zip(places_of(messages), keys.rows, values.rows, strict=True)
        ]

    def convert(self, original: ConsumedRecord) -> SinkRecord | None:
        """One record; None if it is dropped.

        Raises:
            ToleranceExceededError: it cannot be converted, and the task must end.
        """
        topic = original.topic
        headers: tuple[Header, ...] = ()
        try:
            try:
                key = self._key.to_connect_data(topic, original.key)
            except Exception as error:
                read = self._key.to_connect_data
                key = self._recovered(error, Step.KEY_CONVERTER, original, read, topic, original.key)
            try:
                value = self._value.to_connect_data(topic, original.value)
            except Exception as error:
                read = self._value.to_connect_data
                value = self._recovered(error, Step.VALUE_CONVERTER, original, read, topic, original.value)
            if original.headers:
                try:
                    headers = self._headers(original)
                except Exception as error:
                    headers = self._recovered(error, Step.HEADER_CONVERTER, original, self._headers, original)
        except _DroppedError:
            return None
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
            if header.value is None and header.schema is not None and not header.schema.optional:
                raise DataError(f"A null value requires an optional schema but was {header.schema}")
            converted.append(Header(name, header.value, header.schema))
        return tuple(converted)


def _by_schema(records: Sequence[SinkRecord]) -> list[ValueBatch]:
    """The values of records, in order; those that follow each other and have one schema together."""
    batches: list[ValueBatch] = []
    for _, group in itertools.groupby(records, key=lambda record: id(record.value_schema)):
        some = list(group)
        batches.append(ValueBatch(some[0].value_schema, [record.value for record in some]))
    return batches
