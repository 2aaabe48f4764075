"""Expected bytes were taken from, or follow from the code of, the Java converters of Kafka 4.2."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.connector import logical
from seamark.connector.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Struct,
    Type,
)
from seamark.engine.converters.bytes_ import ByteArrayConverter
from seamark.engine.converters.caching import LruCache
from seamark.engine.converters.java_text import java_double, java_float, json_string, to_java_string
from seamark.engine.converters.json import JsonConverter
from seamark.engine.converters.string import StringConverter
from seamark.errors import ConfigError, DataError


def json_converter(**config: str) -> JsonConverter:
    converter = JsonConverter()
    converter.configure({key.replace("_", "."): value for key, value in config.items()}, is_key=False)
    return converter


WITH_SCHEMAS, PLAIN = json_converter(), json_converter(schemas_enable="false")
PERSON = Schema.struct(
    {"id": INT64_SCHEMA, "name": OPTIONAL_STRING_SCHEMA, "tags": Schema.array(STRING_SCHEMA)}, name="Person", version=2
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (1.5e-4, "1.5E-4"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (123456.789, "123456.789"),
        (1e10, "1.0E10"),
        (1e-7, "1.0E-7"),
        (-2.5e300, "-2.5E300"),
        (5e-324, "4.9E-324"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_are_printed_as_java_does(number: float, text: str) -> None:
    assert java_double(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.1, "0.1"), (16777216.0, "1.6777216E7"), (3.4028235e38, "3.4028235E38"), (1e-45, "1.4E-45"), (1e39, "Infinity")],
)
def test_floats_are_printed_as_java_does(number: float, text: str) -> None:
    assert java_float(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_double_reads_as_itself(number: float) -> None:
    assert float(java_double(number)) == number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a"\\/', '"a\\"\\\\/"'),
        ("\b\f\n\r\t\x1f\x00\x7f", '"\\b\\f\\n\\r\\t\\u001F\\u0000\x7f"'),
        ("ä\u2028€", '"ä\u2028€"'),
        ("😀\n", '"\\uD83D\\uDE00\\n"'),
    ],
)
def test_json_strings_are_escaped_as_jackson_does(text: str, expected: str) -> None:
    assert json_string(text) == expected


@given(st.text())
def test_json_strings_read_as_themselves(text: str) -> None:
    assert json.loads(json_string(text)) == text


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(DataError, match=r"U\+D800"):
        json_string("\ud800")


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (STRING_SCHEMA, "x", b'{"schema":{"type":"string","optional":false},"payload":"x"}'),
        (OPTIONAL_STRING_SCHEMA, None, b'{"schema":{"type":"string","optional":true},"payload":null}'),
        (INT8_SCHEMA, -128, b'{"schema":{"type":"int8","optional":false},"payload":-128}'),
        (FLOAT32_SCHEMA, 0.5, b'{"schema":{"type":"float","optional":false},"payload":0.5}'),
        (FLOAT64_SCHEMA, 1e10, b'{"schema":{"type":"double","optional":false},"payload":1.0E10}'),
        (FLOAT64_SCHEMA, float("nan"), b'{"schema":{"type":"double","optional":false},"payload":"NaN"}'),
        (BOOLEAN_SCHEMA, True, b'{"schema":{"type":"boolean","optional":false},"payload":true}'),
        (BYTES_SCHEMA, b"\x00\xff", b'{"schema":{"type":"bytes","optional":false},"payload":"AP8="}'),
        (None, {"b": 1, "a": [None, 1.5]}, b'{"schema":null,"payload":{"b":1,"a":[null,1.5]}}'),
        (
            Schema.map(INT32_SCHEMA, STRING_SCHEMA),
            {1: "x"},
            b'{"schema":{"type":"map","keys":{"type":"int32","optional":false},'
            b'"values":{"type":"string","optional":false},"optional":false},"payload":[[1,"x"]]}',
        ),
        (
            PERSON,
            Struct(PERSON, id=1, tags=["a"]),
            b'{"schema":{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},'
            b'{"type":"string","optional":true,"field":"name"},'
            b'{"type":"array","items":{"type":"string","optional":false},"optional":false,"field":"tags"}],'
            b'"optional":false,"name":"Person","version":2},"payload":{"id":1,"name":null,"tags":["a"]}}',
        ),
        (
            Schema(Type.INT32, default=7, doc="d", parameters={"k": "v"}),
            3,
            b'{"schema":{"type":"int32","optional":false,"doc":"d","parameters":{"k":"v"},"default":7},"payload":3}',
        ),
    ],
)
def test_json_with_schemas(schema: Schema | None, value: Any, expected: bytes) -> None:
    data = WITH_SCHEMAS.from_connect_data("t", schema, value)
    assert data == expected
    back = WITH_SCHEMAS.to_connect_data("t", data)
    assert back.schema == schema
    if schema is FLOAT64_SCHEMA and value != value:
        assert back.value == 0.0  # Java, too, reads the quoted NaN as zero
    else:
        assert back.value == value
    assert WITH_SCHEMAS.to_connect_data("t", data) == back  # now from the cache of schemas


def test_json_without_schemas() -> None:
    value = {"n": 1, "f": 0.5, "s": "ü", "l": [True, None], "m": {}}
    data = PLAIN.from_connect_data("t", None, value)
    assert data == '{"n":1,"f":0.5,"s":"ü","l":[true,null],"m":{}}'.encode()
    assert PLAIN.to_connect_data("t", data).value == value
    assert PLAIN.from_connect_data("t", PERSON, Struct(PERSON, id=1, tags=[])) == b'{"id":1,"name":null,"tags":[]}'
    assert PLAIN.from_connect_data("t", None, {1: "x"}) == b'[[1,"x"]]'


def test_null_without_a_schema_is_a_tombstone() -> None:
    for converter in (WITH_SCHEMAS, PLAIN):
        assert converter.from_connect_data("t", None, None) is None
        assert converter.to_connect_data("t", None).value is None
    assert PLAIN.to_connect_data("t", b"  ").value is None


@pytest.mark.parametrize(
    "data", [b"{", b"\xff", b"NaN", b'{"schema":null}', b'{"schema":null,"payload":1,"x":2}', b"[]", b'"x"']
)
def test_what_is_no_envelope_is_refused(data: bytes) -> None:
    with pytest.raises(DataError):
        WITH_SCHEMAS.to_connect_data("t", data)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{}", "Schema must contain 'type' field"),
        ('{"type":"x"}', "Unknown schema type: x"),
        ('{"type":"array"}', "Array schema did not specify the element type"),
        ('{"type":"map","values":{"type":"string"}}', "Map schema did not specify the key type"),
        ('{"type":"struct"}', 'Struct schema\'s "fields" argument is not an array.'),
        ('{"type":"struct","fields":[{"type":"int8"}]}', "Struct schema's field name not specified properly"),
        ('{"type":"string","parameters":{"a":1}}', "Schema parameters must have string values."),
        ('{"type":"string"}', "Invalid null value for required STRING field"),
    ],
)
def test_bad_schemas_are_refused_with_connects_words(schema: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        WITH_SCHEMAS.to_connect_data("t", f'{{"schema":{schema},"payload":null}}'.encode())
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (STRING_SCHEMA, None, "null value for field that is required"),
        (STRING_SCHEMA, 1, "Invalid type for STRING: class java.lang.Long"),
        (INT32_SCHEMA, True, "Invalid type for INT32: class java.lang.Boolean"),
        (INT8_SCHEMA, 128, "128 is out of range for INT8"),
        (None, object(), "does not have corresponding schema type"),
        (PERSON, Struct(Schema.struct({"x": INT8_SCHEMA})), "Mismatching schema."),
    ],
)
def test_values_that_do_not_fit_are_refused(schema: Schema | None, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        WITH_SCHEMAS.from_connect_data("t", schema, value)


def test_defaults_replace_null_unless_told_not_to() -> None:
    schema = Schema.struct({"a": Schema(Type.INT32, optional=True, default=5)})
    assert PLAIN.from_connect_data("t", schema, Struct(schema)) == b'{"a":5}'
    keeping = json_converter(schemas_enable="false", replace_null_with_default="false")
    assert keeping.from_connect_data("t", schema, Struct(schema)) == b'{"a":null}'


DECIMAL = Schema(Type.BYTES, name=logical.Decimal.LOGICAL_NAME, version=1, parameters={"scale": "2"})
TIMESTAMP = Schema(Type.INT64, name=logical.Timestamp.LOGICAL_NAME, version=1)


@pytest.mark.parametrize(
    ("schema", "value", "payload"),
    [
        (DECIMAL, Decimal("1.56"), '"AJw="'),
        (DECIMAL, Decimal("-1.28"), '"gA=="'),
        (DECIMAL, Decimal("0.00"), '"AA=="'),
        (Schema(Type.INT32, name=logical.Date.LOGICAL_NAME, version=1), date(1970, 1, 2), "1"),
        (Schema(Type.INT32, name=logical.Time.LOGICAL_NAME, version=1), time(0, 0, 1, 2000), "1002"),
        (TIMESTAMP, datetime(2001, 9, 9, 1, 46, 40, 1000, tzinfo=UTC), "1000000000001"),
    ],
)
def test_logical_types(schema: Schema, value: Any, payload: str) -> None:
    data = WITH_SCHEMAS.from_connect_data("t", schema, value)
    assert data is not None
    assert data.decode().endswith(f'"payload":{payload}}}')
    assert WITH_SCHEMAS.to_connect_data("t", data).value == value


def test_decimals_as_numbers_keep_every_digit() -> None:
    converter = json_converter(decimal_format="numeric")
    value = Decimal("12345678901234567890.12")
    data = converter.from_connect_data("t", DECIMAL, value)
    assert data is not None
    assert b'"payload":12345678901234567890.12}' in data
    assert WITH_SCHEMAS.to_connect_data("t", data).value == value
    with pytest.raises(DataError, match="mismatching scale"):
        WITH_SCHEMAS.from_connect_data("t", DECIMAL, Decimal("1.5"))


def test_reading_is_as_lenient_as_java() -> None:
    def read(kind: str, payload: str) -> Any:
        return WITH_SCHEMAS.to_connect_data("t", f'{{"schema":{{"type":"{kind}"}},"payload":{payload}}}'.encode()).value

    assert read("int8", "300") == 44
    assert read("int32", '"x"') == 0
    assert read("int64", "1.9") == 1
    assert read("double", "1") == 1.0
    assert read("string", "1") is None
    assert PLAIN.to_connect_data("t", b" 1 2").value == 1


def test_the_schema_cache_is_bounded() -> None:
    cache: LruCache[int, str] = LruCache(2)
    for number in (1, 2):
        cache.put(number, str(number))
    assert cache.get(1) == "1"
    cache.put(3, "3")
    assert (cache.get(1), cache.get(2), cache.get(3)) == ("1", None, "3")


@pytest.mark.parametrize(
    ("value", "schema", "text"),
    [
        ("ü", STRING_SCHEMA, "ü"),
        (True, None, "true"),
        (12, None, "12"),
        (1e10, None, "1.0E10"),
        (0.1, FLOAT32_SCHEMA, "0.1"),
        ([1, "a", None], None, "[1, a, null]"),
        ({"a": 1, "b": False}, None, "{a=1, b=false}"),
        (Struct(PERSON, id=1, tags=["x"]), PERSON, "Struct{id=1,tags=[x]}"),
    ],
)
def test_strings_are_what_java_prints(value: Any, schema: Schema | None, text: str) -> None:
    assert StringConverter().from_connect_data("t", schema, value) == text.encode()
    assert to_java_string(value, schema) == text


def test_string_converter_reads_and_passes_nulls() -> None:
    converter = StringConverter()
    assert converter.from_connect_data("t", None, None) is None
    assert converter.to_connect_data("t", None).value is None
    read = converter.to_connect_data("t", b"a\xffb")
    assert (read.schema, read.value) == (OPTIONAL_STRING_SCHEMA, "a\ufffdb")
    with pytest.raises(DataError, match="ByteArrayConverter"):
        converter.from_connect_data("t", None, b"x")


def test_encodings() -> None:
    converter = StringConverter()
    assert converter.passes == (str,)
    converter.configure({"converter.encoding": "ISO-8859-1"}, is_key=True)
    assert converter.passes == ()
    assert converter.from_connect_data("t", None, "ü€") == b"\xfc?"
    assert converter.to_connect_data("t", b"\xfc").value == "ü"
    converter.configure({"converter.encoding": "UTF-16"})
    assert converter.from_connect_data("t", None, "a") == b"\xfe\xff\x00a"
    assert converter.to_connect_data("t", b"\x00a").value == "a"
    assert StringConverter().passes == (str,)
    with pytest.raises(ConfigError, match="unsupported encoding"):
        StringConverter().configure({"converter.encoding": "klingon"})


def test_byte_arrays_stay_as_they_are() -> None:
    converter = ByteArrayConverter()
    assert converter.from_connect_data("t", None, b"\x00") == b"\x00"
    assert converter.from_connect_data("t", BYTES_SCHEMA, bytearray(b"x")) == b"x"
    assert converter.from_connect_data("t", None, None) is None
    assert converter.to_connect_data("t", b"x").schema == OPTIONAL_BYTES_SCHEMA
    with pytest.raises(DataError, match="Invalid schema type for ByteArrayConverter: INT32"):
        converter.from_connect_data("t", OPTIONAL_INT32_SCHEMA, None)
    with pytest.raises(DataError, match=r"not compatible with objects of type class java.lang.String"):
        converter.from_connect_data("t", None, "x")
