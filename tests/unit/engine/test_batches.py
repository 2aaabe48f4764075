"""Many records at once give what one by one gives: the same values, of the same types, the same errors at the same
records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import confluent_kafka
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seamark.config.worker import WorkerConfig
from seamark.connector import Converter, RecordBatch, Schema, SchemaAndValue, SinkRecord, Struct, Type, ValueBatch
from seamark.connector.records import TimestampType
from seamark.connector.schema import (
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
)
from seamark.connectors.file_sink import FileStreamSinkTask
from seamark.engine import pipeline
from seamark.engine.converters.batches import batch_reader, batch_writer, by_field
from seamark.engine.converters.json import JsonConverter
from seamark.engine.pipeline import Converters, SinkPipeline, SourcePipeline
from seamark.engine.plugins import Plugins
from seamark.engine.sink_task import _has
from seamark.engine.tolerance import ErrorPolicy, Failure, Tolerance, ToleranceExceededError
from seamark.engine.transform_chain import TransformChain
from seamark.engine.transforms.cast import CastValue
from seamark.engine.transforms.flatten import FlattenValue
from seamark.kafka.consumer import consumed

PLUGINS, WORKER = Plugins(), WorkerConfig({"bootstrap.servers": "nowhere:9092"})
T = "org.apache.kafka.connect.transforms."
STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
PLAIN = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
TYPED = {"value.converter": JSON, "value.converter.schemas.enable": "true"}
# What takes batches, and at the end what does not.
TRANSFORMS: list[dict[str, str]] = [
    {"type": "InsertField$Value", "static.field": "origin", "static.value": "here"},
    {"type": "InsertField$Value", "static.field": "a", "static.value": "over"},
    {"type": "ReplaceField$Value", "exclude": "b", "renames": "a:z"},
    {"type": "ReplaceField$Value", "include": "a,c", "renames": "c:a"},
    {"type": "ReplaceField$Value", "exclude": "a,b,c,long name"},
    {"type": "Cast$Value", "spec": "a:string"},
    {"type": "Cast$Value", "spec": "a:int8,b:float32,new:string"},
    {"type": "Cast$Value", "spec": "b:boolean,c:float64"},
    {"type": "Cast$Value", "spec": "string"},
    {"type": "MaskField$Value", "fields": "a,new"},
    {"type": "MaskField$Value", "fields": "b", "replacement": "7"},
    {"type": "HoistField$Value", "field": "inner"},
    {"type": "ExtractField$Value", "field": "a"},
    {"type": "ExtractField$Value", "field": "c"},
    {"type": "ExtractField$Value", "field": "inner.a", "field.syntax.version": "V2"},
    {"type": "Flatten$Value"},
    {"type": "SetSchemaMetadata$Value", "schema.name": "Named"},
    {"type": "TimestampConverter$Value", "field": "a", "target.type": "string", "format": "yyyy"},
    {"type": "InsertField$Value", "topic.field": "t", "timestamp.field": "ts", "offset.field": "o"},
    {"type": "ValueToKey", "fields": "a"},
    {"type": "HoistField$Key", "field": "k"},
    {"type": "RegexRouter", "regex": "t", "replacement": "u"},
    {"type": "Filter", "predicate": "null"},
    {"type": "Cast$Value", "spec": "a:string", "predicate": "null", "negate": "true"},
]


def chain_config(transforms: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The config of a chain of transforms."""
    config = {"transforms": ",".join(f"t{number}" for number in range(len(transforms)))} if transforms else {}
    for number, settings_ in enumerate(transforms):
        for key, value in settings_.items():
            config[f"transforms.t{number}.{key}"] = T + value if key == "type" else value
    if any("predicate" in each for each in transforms):
        config |= {"predicates": "null", "predicates.null.type": f"{T}predicates.RecordIsTombstone"}
    return config


class Notes:
    """Takes note of what is reported."""

    def __init__(self) -> None:
        self.failures: list[str] = []

    def report(self, failure: Failure) -> None:
        self.failures.append(f"{failure} {type(failure.error).__name__}")

    def flush(self, timeout_s: float) -> None: ...

    def close(self) -> None: ...


class Side:
    """A pipeline with its own transforms, converters and error handling."""

    def __init__(self, config: Mapping[str, str], transforms: Sequence[Mapping[str, str]], tolerates_all: bool) -> None:
        settings_ = {"name": "c", "key.converter": STRING, **config, **chain_config(transforms)}
        self.notes = Notes()
        self.tolerance = Tolerance(ErrorPolicy(tolerates_all=tolerates_all), [self.notes])
        chain = TransformChain.of(PLUGINS, settings_)
        converters = Converters.of(PLUGINS, settings_, WORKER)
        self.sink = SinkPipeline(converters, chain, self.tolerance)
        self.source = SourcePipeline(converters, chain, self.tolerance)

    def outcome(self, work: Callable[[], Any]) -> Any:
        """What came of it, and of the error handling."""
        try:
            result = work()
        except ToleranceExceededError as error:
            result = ("failed", str(error))
        counts = {each.name: getattr(self.tolerance.counts, each.name) for each in fields(self.tolerance.counts)}
        counts["last_error_timestamp"] = counts["last_error_timestamp"] > 0
        return result, counts, self.notes.failures


def exact(value: Any) -> Any:
    """A value with all that `==` does not see: types, signs of zeros, the order of maps."""
    if isinstance(value, Struct):
        return "struct", value.schema, [exact(value.get_without_default(name)) for name in value]
    if isinstance(value, dict):
        return "map", [(exact(key), exact(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return "list", [exact(item) for item in value]
    return type(value), repr(value)


def exact_record(record: SinkRecord) -> Any:
    return [exact(getattr(record, each.name)) for each in fields(record) if "schema" not in each.name], (
        record.value_schema,
        record.key_schema,
        record.timestamp_type,
    )


# --- sinks

NUMBERS = [
    b"0", b"-1", b"12", b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"1e3", b"0.5",
    b"-0.0", b"0.0", b"1e400", b"12345678.9", b"1e-9", b"1.7976931348623157e308", b"0012", b"123456789012345678901.5",
]  # fmt: skip
ATOMS = st.sampled_from(
    [*NUMBERS, b"true", b"false", b"null", b'"text"', b'""', b'"4"', b'"\\u0001"', '"é日😀"'.encode(), b"[1,2.5]",
     b'{"y":1,"x":[{}]}', b"{}", b"[]"]
)  # fmt: skip
NAMES = ["a", "b", "c", "long name", "naïve%s"]


def an_object(names: Sequence[str], atoms: Sequence[bytes]) -> bytes:
    members = (json.dumps(name).encode() + b": " + atom for name, atom in zip(names, atoms, strict=True))
    return b"{" + b", ".join(members) + b"}"


@st.composite
def documents(draw: st.DrawFn) -> list[bytes | None]:
    """Values of a topic: mostly alike, sometimes not, and sometimes poisoned."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=5, unique=True))
    kinds = [draw(st.lists(ATOMS, min_size=1, max_size=2)) for _ in names]
    alike = st.builds(lambda atoms: an_object(names, atoms), st.tuples(*map(st.sampled_from, kinds)))
    other = st.builds(lambda atoms: an_object(NAMES[: len(atoms)], atoms), st.lists(ATOMS, max_size=3))
    odd = st.one_of(other, ATOMS, st.sampled_from([None, b"", b"\x00poison", b'{"a":', b'{"a":1} trailing', b"\xff"]))
    values: list[bytes | None] = draw(st.lists(alike, max_size=12))
    for value in draw(st.lists(odd, max_size=2)):
        values.insert(draw(st.integers(0, len(values))), value)
    return values


KEYS = st.one_of(st.none(), st.sampled_from([b"k", b"\xff", b"7", b'{"k":1}']))
CHAINS = st.lists(st.sampled_from(TRANSFORMS), max_size=4)
CONVERTERS = st.sampled_from(
    [
        PLAIN,
        {**PLAIN, "key.converter": JSON, "key.converter.schemas.enable": "false"},
        {**PLAIN, "header.converter": JSON},
        {"value.converter": STRING},
        {"value.converter": STRING, "value.converter.converter.encoding": "UTF-16"},
        {"value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"},
        {"value.converter": "org.apache.kafka.connect.converters.LongConverter"},
    ]
)


def messages_of(
    values: Sequence[bytes | None], keys: Sequence[bytes | None] = (), headers: Mapping[int, Any] | None = None
) -> list[Any]:
    return [
        confluent_kafka.Message(
            topic="t",
            partition=number % 2,
            offset=number,
            key=keys[number] if number < len(keys) else None,
            value=value,
            headers=(headers or {}).get(number),
            timestamp=(number % 3, 1000 + number),
            error=None,
        )
        for number, value in enumerate(values)
    ]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "BATCH", 5)


class Kept(FileStreamSinkTask):
    """A file sink that keeps what it would append."""

    data = b""

    def _append(self, lines: Sequence[Any]) -> None:
        self.data = b"\n".join(lines)


def check_sink(
    config: Mapping[str, str], chain: Sequence[Mapping[str, str]], messages: list[Any], tolerates_all: bool
) -> None:
    one, all_, values = (Side(config, chain, tolerates_all) for _ in range(3))
    converted = one.outcome(lambda: [record for m in messages if (record := one.sink.convert(consumed(m))) is not None])
    records = converted[0] if isinstance(converted[0], list) else []

    found = all_.outcome(lambda: all_.sink.convert_all(messages))
    assert found[1:] == converted[1:]
    batches = values.outcome(lambda: values.sink.convert_values(messages)) if values.sink.takes_batches else converted
    assert batches[1:] == converted[1:]
    if isinstance(converted[0], tuple):
        assert found[0] == batches[0] == converted[0]
        return
    assert [exact_record(record) for record in found[0]] == [exact_record(record) for record in records]
    if values.sink.takes_batches:
        flat = [(batch.schema, exact(value)) for batch in batches[0] for value in batch.rows]
        assert flat == [(record.value_schema, exact(record.value)) for record in records]
        assert sum(batch.count for batch in batches[0]) == len(records)
        if not any(map(holds_bytes, (record.value for record in records))):
            task, quick = Kept(), Kept()
            task.put(records)
            quick.put_batches(batches[0])
            assert quick.data == task.data


def holds_bytes(value: Any) -> bool:
    """Whether there are bytes inside, which a file cannot be given."""
    if isinstance(value, Mapping):
        return any(isinstance(item, bytes) or holds_bytes(item) for item in value.values())
    return isinstance(value, list) and any(isinstance(item, bytes) or holds_bytes(item) for item in value)


@settings(max_examples=300, deadline=None)
@given(
    config=CONVERTERS,
    chain=CHAINS,
    values=documents(),
    keys=st.lists(KEYS, max_size=6),
    headers=st.dictionaries(
        st.integers(0, 5), st.sampled_from([[("h", b"1")], [("h", b"{"), ("i", None)]]), max_size=1
    ),
    tolerates_all=st.booleans(),
)
@example(PLAIN, TRANSFORMS[:1], [b'{"a":1}', b"{", b'{"a":2}'], [], {}, False)
@example(PLAIN, TRANSFORMS[5:6], [b'{"a":[1]}'] * 7, [], {}, True)
def test_sinks(
    config: Mapping[str, str],
    chain: list[Mapping[str, str]],
    values: list[bytes | None],
    keys: list[bytes | None],
    headers: Mapping[int, Any],
    tolerates_all: bool,
) -> None:
    check_sink(config, chain, messages_of(values, keys, headers), tolerates_all)


SCHEMAS = [
    Schema.struct({"a": INT64_SCHEMA, "b": OPTIONAL_STRING_SCHEMA, "c": FLOAT64_SCHEMA}, name="S"),
    Schema.struct({"a": STRING_SCHEMA, "b": INT32_SCHEMA}),
    Schema.struct({"a": Schema(Type.INT32, default=4), "c": Schema(Type.STRING, optional=True, default="d")}),
    Schema.struct({"inner": Schema.struct({"a": INT32_SCHEMA}, optional=True), "c": Schema.array(INT32_SCHEMA)}),
]
FIELD_VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT64: st.integers(-(2**63), 2**63 - 1),
    Type.INT32: st.integers(-(2**31), 2**31 - 1),
    Type.FLOAT64: st.floats() | st.sampled_from([0.5, -0.0, 1e7, 12.25]),
    Type.STRING: st.sampled_from(["", "x", "é😀", "\x01", "12", "%s"]),
    Type.ARRAY: st.lists(st.integers(0, 5), max_size=3),
    Type.STRUCT: st.just(Struct(SCHEMAS[3].fields[0].schema, a=3)),
}


@st.composite
def structs(draw: st.DrawFn) -> list[tuple[Schema, Struct | None]]:
    """Structs, mostly of one schema."""
    found: list[tuple[Schema, Struct | None]] = []
    schema = draw(st.sampled_from(SCHEMAS))
    for _ in range(draw(st.integers(0, 9))):
        chosen = draw(st.sampled_from(SCHEMAS)) if draw(st.integers(0, 15)) == 0 else schema
        values = {}
        for field in chosen.fields:
            is_null = field.schema.optional and draw(st.integers(0, 3)) == 0
            values[field.name] = None if is_null else draw(FIELD_VALUES[field.schema.type])
        found.append((chosen, Struct(chosen, values)))
    return found


@settings(max_examples=150, deadline=None)
@given(chain=CHAINS, values=structs(), tolerates_all=st.booleans(), poison=st.integers(0, 60))
def test_sinks_with_schemas(
    chain: list[Mapping[str, str]],
    values: list[tuple[Schema, Struct]],
    tolerates_all: bool,
    poison: int,
) -> None:
    writer = JsonConverter()
    data: list[bytes | None] = [writer.from_connect_data("t", schema, value) for schema, value in values]
    if poison < len(data):
        data[poison] = b'{"schema":1}'
    check_sink(TYPED, chain, messages_of(data), tolerates_all)


# --- sources


def check_source(config: Mapping[str, str], chain: Sequence[Mapping[str, str]], batch: RecordBatch) -> None:
    """A batch either gives what its records give, or nothing, and then has left no trace."""
    many, one = Side(config, chain, tolerates_all=False), Side(config, chain, tolerates_all=False)
    untouched = Side(config, chain, tolerates_all=False).outcome(lambda: None)
    if not many.source.takes_batches:
        return
    found = many.source.convert_batch(batch)
    assert many.outcome(lambda: None) == untouched
    expected, _, _ = one.outcome(lambda: [one.source.convert(record) for record in batch.records()])
    if found is None:
        return
    values, keys = found
    assert isinstance(expected, list), "a record fails, but the batch does not"
    encoded = [value.encode() if isinstance(value, str) else value for value in values]
    assert encoded == [record.value for record in expected]
    assert (keys or [None] * len(values)) == [record.key for record in expected]
    assert {record.topic for record in expected} <= {batch.topic}


NULLS = {**PLAIN, "value.converter.replace.null.with.default": "false"}
TARGETS = st.sampled_from([PLAIN, TYPED, NULLS, {"value.converter": STRING}])


@settings(max_examples=200, deadline=None)
@given(
    config=TARGETS,
    chain=CHAINS,
    lines=st.lists(st.sampled_from(["line", "", "é😀", "\x01", "12", 'q"', "%s", None]), max_size=12),
    schema=st.sampled_from([None, STRING_SCHEMA, OPTIONAL_STRING_SCHEMA]),
)
@example(TYPED, [{"type": "Cast$Value", "spec": "int64"}], ["12", None], OPTIONAL_STRING_SCHEMA)
def test_sources_of_texts(
    config: Mapping[str, str], chain: list[Mapping[str, str]], lines: list[str | None], schema: Schema | None
) -> None:
    check_source(config, chain, RecordBatch("t", lines, schema, timestamps=5))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["x", "é", "\x02", "😀", b"bytes", 1 << 63, 0.5]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abx"), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None)
@given(
    config=TARGETS, chain=CHAINS, rows=st.lists(st.fixed_dictionaries({"a": VALUES, "b": st.integers()}), max_size=12)
)
def test_sources_of_maps(config: Mapping[str, str], chain: list[Mapping[str, str]], rows: list[dict[str, Any]]) -> None:
    check_source(config, chain, RecordBatch("t", rows))


@settings(max_examples=150, deadline=None)
@given(config=TARGETS, chain=CHAINS, values=structs())
@example(NULLS, [TRANSFORMS[0]], [(SCHEMAS[2], Struct(SCHEMAS[2], a=1, c=None))])
@example(NULLS, [{"type": "ExtractField$Value", "field": "c"}], [(SCHEMAS[2], Struct(SCHEMAS[2], a=1, c=None))])
def test_sources_of_structs(
    config: Mapping[str, str], chain: list[Mapping[str, str]], values: list[tuple[Schema, Struct]]
) -> None:
    schema = values[0][0] if values else None
    check_source(config, chain, RecordBatch("t", [value for _, value in values], schema))


# --- that it is really done at once


def spy(side: Side, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was converted one by one."""
    seen: list[Any] = []
    for each in (side.sink, side.source):
        monkeypatch.setattr(each, "convert", lambda record: seen.append(record.value))
    return seen


@pytest.mark.parametrize("chain", [[], *([each] for each in TRANSFORMS[:7]), TRANSFORMS[:3]])
def test_alike_records_are_processed_at_once(chain: list[Mapping[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    side = Side(PLAIN, chain, tolerates_all=False)
    seen = spy(side, monkeypatch)
    messages = messages_of([b'{"a":1,"b":0.5,"c":"x"}'] * 12)
    batches = side.sink.convert_values(messages)
    assert [batch.count for batch in batches] == [5, 5, 2]
    if chain != [TRANSFORMS[4]]:
        assert all(batch.fields is not None for batch in batches)
    assert len(side.sink.convert_all(messages)) == 12
    maps = [{"a": 1, "b": 0.5, "c": "x"}] * 12
    assert side.source.convert_batch(RecordBatch("t", maps)) is not None
    assert seen == []


def test_only_the_batch_with_poison_is_processed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    side = Side(PLAIN, TRANSFORMS[:1], tolerates_all=True)
    seen = spy(side, monkeypatch)
    values: list[bytes | None] = [b'{"a":1}'] * 12
    values[7] = b"poison"
    side.sink.convert_values(messages_of(values))
    assert seen == values[5:10]


def test_records_that_look_at_more_than_values_are_processed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for transform in TRANSFORMS[-6:]:
        side = Side(PLAIN, [transform], tolerates_all=False)
        assert not side.sink.takes_batches
        assert not side.source.takes_batches
        seen = spy(side, monkeypatch)
        side.sink.convert_all(messages_of([b"{}"]))
        assert seen == [b"{}"]


def test_places_of_records() -> None:
    record = Side(PLAIN, [], tolerates_all=False).sink.convert_all(messages_of([b"{}"] * 5))[4]
    assert (record.topic, record.kafka_partition, record.kafka_offset, record.timestamp) == ("t", 0, 4, 1004)
    assert record.timestamp_type is TimestampType.CREATE_TIME
    assert (record.original_topic, record.original_kafka_partition, record.original_kafka_offset) == ("t", 0, 4)


# --- bytes that stay as they are


@pytest.mark.parametrize(
    ("config", "value", "key", "headers", "expected"),
    [
        ({"value.converter": STRING}, "ü".encode(), None, None, True),
        ({"value.converter": STRING}, b"\xff", None, None, False),  # becomes U+FFFD
        ({"value.converter": STRING}, None, b"\xff", None, True),
        ({"value.converter": STRING, "key.converter": JSON}, b"x", None, None, True),
        ({"value.converter": STRING, "key.converter": JSON}, b"x", b"poison", None, False),
        ({"value.converter": STRING}, b"x", None, [("h", b"{")], True),
        ({"value.converter": STRING, "header.converter": JSON}, b"x", None, [("h", b"{")], False),
        ({"value.converter": STRING, "header.converter": JSON}, b"x", None, None, True),
        (
            {"value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"},
            b"\xff",
            None,
            None,
            True,
        ),
    ],
)
def test_bytes_stay_if_nothing_would_change_or_fail(
    config: Mapping[str, str], value: bytes | None, key: bytes | None, headers: Any, expected: bool
) -> None:
    sink = Side(config, [], tolerates_all=False).sink
    assert sink.keeps_value_bytes
    found = sink.raw_values(messages_of([b"a", value], [None, key], {1: headers}))
    assert found == ([b"a", value] if expected else None)


# --- subclasses


class OtherReader(JsonConverter):
    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(None, "other")


class OtherCast(CastValue):
    def change(self, record: Any, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        return schema, record.topic


class OtherFlatten(FlattenValue):
    def change(self, record: Any, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        return schema, record.topic


class OtherApply(FlattenValue):
    def apply(self, record: Any) -> Any:
        return None


class OtherPut(FileStreamSinkTask):
    def put(self, records: Sequence[SinkRecord]) -> None: ...


class BothPuts(OtherPut):
    def put_batches(self, batches: Sequence[ValueBatch]) -> None: ...


def test_what_a_subclass_changes_is_not_passed_by() -> None:
    assert batch_reader(OtherReader()) is None
    assert batch_writer(OtherReader()) is not None
    for kind, takes in ((CastValue, True), (OtherCast, False), (OtherFlatten, False), (OtherApply, False)):
        transform = kind()
        transform.configure({"spec": "a:string"} if issubclass(kind, CastValue) else {})
        assert transform.takes_batches is takes
    assert [_has(task, "put_batches") for task in (FileStreamSinkTask(), OtherPut(), BothPuts())] == [True, False, True]
    assert not _has(BothPuts(), "put_values")


class Plain(Converter):
    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return None

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(None, None)


def test_converters_without_batches() -> None:
    assert batch_reader(Plain()) is None
    assert batch_writer(Plain()) is None


def test_a_batch_by_field_gives_its_rows_back() -> None:
    rows = [{"a": 1, "b": [2]}, {"a": None, "b": "x"}]
    batch = by_field(ValueBatch(None, rows))
    assert batch.fields == {"a": (1, None), "b": ([2], "x")}
    assert batch.rows == rows
    assert batch.rows[0] is not batch.rows[0]
    assert len(batch) == 2
    others: list[list[Any]] = [[], [{}], [{"a": 1}, {"b": 1}], [{"a": 1}, None], [{1: 2}]]
    assert [by_field(ValueBatch(None, other)).fields for other in others] == [None] * 5
