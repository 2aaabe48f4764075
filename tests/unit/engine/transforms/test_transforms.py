"""What each transform is for. How it treats every kind of record is compared with Connect's in test_transforms_java."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from seamark.connector.logical import Timestamp
from seamark.connector.numbers import Float32, Int8
from seamark.connector.records import Header, SinkRecord, SourceRecord
from seamark.connector.schema import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Struct,
    Type,
)
from seamark.connector.transform import Record, Transformation
from seamark.engine.plugins import Plugins
from seamark.errors import DataError

PERSON = Schema.struct({"name": STRING_SCHEMA, "age": INT64_SCHEMA, "nick": OPTIONAL_STRING_SCHEMA})
ADA = Struct(PERSON, name="Ada", age=36)


def transform(name: str, **settings: str) -> Transformation:
    return Plugins().transformation(name, {key.replace("_", "."): value for key, value in settings.items()})


def typed(name: str, **settings: str) -> Any:
    """The struct that becomes of a person."""
    record = transform(name, **settings).apply(SourceRecord("t", ADA, value_schema=PERSON, timestamp=5))
    assert record is not None
    assert not isinstance(record.value, Struct) or record.value.schema is record.value_schema
    return record.value


def plain(name: str, value: Any, **settings: str) -> Any:
    record = transform(name, **settings).apply(SourceRecord("t", value, timestamp=5))
    assert record is not None
    return record.value


def test_cast() -> None:
    assert dict(typed("Cast$Value", spec="age:string")) == {"name": "Ada", "age": "36", "nick": None}
    cast = plain("Cast$Value", {"a": 300, "b": "0.1", "c": None}, spec="a:int8,b:float32,c:string")
    assert cast == {"a": 44, "b": 0.10000000149011612, "c": None}
    assert (type(cast["a"]), type(cast["b"])) == (Int8, Float32)
    with pytest.raises(DataError, match=r"Value \(x\) was out of range for requested data type"):
        plain("Cast$Value", "x", spec="int32")


def test_drop_headers_removes_all_of_a_name() -> None:
    record = SourceRecord("t", headers=(Header("a", 1), Header("b", 2), Header("a", 3)))
    result = transform("DropHeaders", headers="a").apply(record)
    assert result is not None
    assert result.headers == (Header("b", 2),)


def test_extract_field() -> None:
    assert typed("ExtractField$Value", field="age") == 36
    assert plain("ExtractField$Value", {"a": {"b": 1}}, field="a.b", field_syntax_version="V2") == 1


def test_filter_drops_everything() -> None:
    assert transform("Filter").apply(SourceRecord("t", "v")) is None


def test_flatten() -> None:
    assert plain("Flatten$Value", {"a": {"b": {"c": 1}}, "d": [1]}, delimiter="_") == {"a_b_c": 1, "d": [1]}
    schema = Schema.struct({"p": PERSON})
    record = transform("Flatten$Value").apply(SourceRecord("t", Struct(schema, p=ADA), value_schema=schema))
    assert record is not None
    assert dict(record.value) == {"p.name": "Ada", "p.age": 36, "p.nick": None}


@pytest.mark.parametrize(("operation", "rest"), [("move", {"name": "Ada", "nick": None}), ("copy", dict(ADA))])
def test_header_from(operation: str, rest: dict[str, Any]) -> None:
    step = transform("HeaderFrom$Value", fields="age", headers="years", operation=operation)
    result = step.apply(SourceRecord("t", ADA, value_schema=PERSON, headers=(Header("h", 0),)))
    assert result is not None
    assert dict(result.value) == rest
    assert result.headers == (Header("h", 0), Header("years", 36, INT64_SCHEMA))


def test_hoist_field() -> None:
    assert plain("HoistField$Value", "line", field="text") == {"text": "line"}
    record = transform("HoistField$Value", field="text").apply(SourceRecord("t", "l", value_schema=STRING_SCHEMA))
    assert record is not None
    assert record.value == Struct(Schema.struct({"text": STRING_SCHEMA}), text="l")


def test_insert_field_into_the_value_of_a_sink_record() -> None:
    step = transform(
        "InsertField$Value",
        topic_field="t!",
        offset_field="o",
        timestamp_field="ts",
        static_field="s",
        static_value="x",
    )
    result = step.apply(SinkRecord("top", ADA, value_schema=PERSON, kafka_offset=7, timestamp=0))
    assert result is not None
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert dict(result.value) == {**ADA, "t": "top", "o": 7, "ts": epoch, "s": "x"}
    assert result.value_schema is not None
    assert [(field.name, field.schema.optional) for field in result.value_schema.fields[3:]] == [
        ("t", False), ("o", True), ("ts", True), ("s", True),
    ]  # fmt: skip


def test_insert_field_needs_a_sink_record_for_the_offset() -> None:
    with pytest.raises(DataError, match=r"found: org\.apache\.kafka\.connect\.source\.SourceRecord"):
        plain("InsertField$Value", {}, offset_field="o")


def test_insert_field_leaves_out_what_there_is_not() -> None:
    step = transform("InsertField$Value", partition_field="p", timestamp_field="ts")
    result = step.apply(SourceRecord("t", {"a": 1}))
    assert result is not None
    assert result.value == {"a": 1}


def test_insert_header_reads_its_value() -> None:
    result = transform("InsertHeader", header="h", value_literal="12").apply(SourceRecord("t"))
    assert result is not None
    assert [(header.key, header.value) for header in result.headers] == [("h", 12)]


def test_mask_field() -> None:
    assert dict(typed("MaskField$Value", fields="name,age")) == {"name": "", "age": 0, "nick": None}
    assert plain("MaskField$Value", {"a": "x", "b": 5, "c": [1]}, fields="a,b,c") == {"a": "", "b": 0, "c": []}
    assert plain("MaskField$Value", {"a": "x", "b": 5}, fields="a,b", replacement="9") == {"a": "9", "b": 9}
    first = plain("MaskField$Value", {"c": [1]}, fields="c")
    assert first["c"] is not plain("MaskField$Value", {"c": [1]}, fields="c")["c"]


def test_regex_router() -> None:
    step = transform("RegexRouter", regex="(.*)-eu", replacement="eu-$1")
    for topic, routed in (("orders-eu", "eu-orders"), ("orders", "orders")):
        for _ in range(2):
            result = step.apply(SourceRecord(topic))
            assert result is not None
            assert result.topic == routed


def test_replace_field() -> None:
    assert dict(typed("ReplaceField$Value", exclude="age", renames="name:who")) == {"who": "Ada", "nick": None}
    assert plain("ReplaceField$Value", {"a": 1, "b": 2, "c": 3}, include="a,b", renames="a:z") == {"z": 1, "b": 2}


def test_set_schema_metadata() -> None:
    value = typed("SetSchemaMetadata$Value", schema_name="Person", schema_version="2")
    assert (value.schema.name, value.schema.version, dict(value)) == ("Person", 2, dict(ADA))


def test_timestamp_converter() -> None:
    assert plain("TimestampConverter$Value", 0, target_type="string", format="yyyy-MM-dd") == "1970-01-01"
    assert plain(
        "TimestampConverter$Value", {"a": "1970-01-02"}, field="a", target_type="unix", format="yyyy-MM-dd"
    ) == {"a": 86_400_000}
    value = typed("TimestampConverter$Value", field="age", target_type="Timestamp", unix_precision="seconds")
    assert value["age"] == datetime.datetime(1970, 1, 1, 0, 0, 36, tzinfo=datetime.UTC)
    assert value.schema.field("age").schema == Timestamp.SCHEMA


def test_timestamp_router() -> None:
    result = transform("TimestampRouter", timestamp_format="yyyy").apply(SourceRecord("t", timestamp=0))
    assert result is not None
    assert result.topic == "t-1970"
    with pytest.raises(DataError, match=r"Timestamp missing on record: SourceRecord\{sourcePartition=null"):
        transform("TimestampRouter").apply(SourceRecord("t"))


def test_value_to_key() -> None:
    result = transform("ValueToKey", fields="age,name").apply(SourceRecord("t", ADA, value_schema=PERSON))
    assert result is not None
    assert result.key == Struct(Schema.struct({"age": INT64_SCHEMA, "name": STRING_SCHEMA}), age=36, name="Ada")
    assert result.value is ADA


def test_a_transform_of_keys_leaves_the_value_alone() -> None:
    record: Record = SourceRecord("t", {"a": 1}, {"a": 2})
    result = transform("MaskField$Key", fields="a").apply(record)
    assert result is not None
    assert (result.key, result.value) == ({"a": 0}, {"a": 1})


def test_the_values_of_the_original_record_stay_as_they_were() -> None:
    value = {"a": 1, "b": {"c": 2}}
    for name, settings in (("MaskField$Value", {"fields": "a"}), ("Cast$Value", {"spec": "a:string"})):
        transform(name, **settings).apply(SourceRecord("t", value))
    assert value == {"a": 1, "b": {"c": 2}}


def test_null_fields_get_their_default_unless_that_is_switched_off() -> None:
    schema = Schema.struct({"a": Schema(Type.INT32, optional=True, default=5), "b": INT32_SCHEMA})
    record = SourceRecord("t", Struct(schema, b=1), value_schema=schema)
    for setting, value in (("true", 5), ("false", None)):
        step = transform("SetSchemaMetadata$Value", schema_name="n", replace_null_with_default=setting)
        result = step.apply(record)
        assert result is not None
        assert result.value.get_without_default("a") == value
