"""JsonConverter against the Java class itself: the same bytes, the same values, the same refusals."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from fixtures.converter_oracle import JSON, ConverterOracle, JavaError, describe
from fixtures.random_data import RandomData
from seamark.connector import logical
from seamark.connector.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Struct,
    Type,
)
from seamark.engine.converters.json import JsonConverter
from seamark.errors import DataError

pytestmark = pytest.mark.java

PLAIN = {"schemas.enable": "false"}
CONFIGS: list[dict[str, str]] = [
    {},
    PLAIN,
    {"decimal.format": "NUMERIC"},
    {"replace.null.with.default": "false"},
    {"schemas.enable": "false", "decimal.format": "numeric", "replace.null.with.default": "false"},
]
INNER = Schema.struct({"a": Schema(Type.INT32, optional=True, default=7), "b": OPTIONAL_STRING_SCHEMA}, name="Inner")
OUTER = Schema.struct({"inner": INNER, "list": Schema.array(INNER), 'odd " näme😀': INT8_SCHEMA}, version=3, doc='d"')


def converter_with(config: Mapping[str, str]) -> JsonConverter:
    converter = JsonConverter()
    converter.configure(config)
    return converter


def assert_writes_as_java(
    oracle: ConverterOracle, schema: Schema | None, value: Any, config: Mapping[str, str]
) -> None:
    converter = converter_with(config)
    try:
        expected = oracle.from_connect_data(JSON, schema, value, config)
    except JavaError as error:
        with pytest.raises(DataError) as caught:
            converter.from_connect_data("t", schema, value)
        assert caught.value.message.startswith(str(error.message).rstrip())
    else:
        assert converter.from_connect_data("t", schema, value) == expected
        assert_reads_as_java(oracle, expected, config)


def assert_reads_as_java(oracle: ConverterOracle, data: bytes | None, config: Mapping[str, str]) -> None:
    converter = converter_with(config)
    for _ in range(2):  # the second time with what was learned from the first
        try:
            expected = oracle.to_connect_data(JSON, data, config)
        except JavaError as error:
            with pytest.raises(DataError) as caught:
                converter.to_connect_data("t", data)
            assert caught.value.message.startswith(str(error.message).rstrip())
        else:
            assert describe(converter.to_connect_data("t", data)) == expected


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (None, None),
        (None, True),
        (None, 'q"\\/\b\f\n\r\t\x00\x01\x1f\x7fäöü€\u2028\ufffd😀'),
        (None, 2**63 - 1),
        (None, 1e7),
        (None, 9999999.0),
        (None, 0.001),
        (None, 0.00099),
        (None, float("nan")),
        (None, {"b": 1, "a": [None, {"c": 1.5}], "": {}}),
        (None, {1: "x", "y": 2}),
        (None, {None: 1}),
        (None, [b"\x00\xff", []]),
        (INT8_SCHEMA, -128),
        (INT64_SCHEMA, -(2**63)),
        (FLOAT32_SCHEMA, float("-inf")),
        (FLOAT64_SCHEMA, -0.0),
        (FLOAT64_SCHEMA, 5e-324),
        (BOOLEAN_SCHEMA, False),
        (BYTES_SCHEMA, bytes(range(256))),
        (OPTIONAL_STRING_SCHEMA, None),
        (STRING_SCHEMA, None),
        (Schema(Type.INT32, default=7, doc="d", parameters={"k": "v", "a": "ü"}), None),
        (Schema(Type.STRING, optional=True, default="x"), None),
        (Schema.array(FLOAT64_SCHEMA), [1.0, 1e-10, 1e20]),
        (Schema.array(Schema.array(OPTIONAL_STRING_SCHEMA)), [[], [None, "x"]]),
        (Schema.array(STRING_SCHEMA), [None]),
        (Schema.map(STRING_SCHEMA, INT32_SCHEMA), {"z": 1, "a": 2, "m": 3}),
        (Schema.map(OPTIONAL_STRING_SCHEMA, INT32_SCHEMA), {"null": 1, "x": 2, None: 3}),
        (Schema.map(INT32_SCHEMA, OPTIONAL_STRING_SCHEMA), {1: "x", -2: None}),
        (Schema.map(BOOLEAN_SCHEMA, Schema.map(STRING_SCHEMA, BYTES_SCHEMA)), {True: {"a": b""}, False: {}}),
        (Schema.map(INNER, INT8_SCHEMA), {Struct(INNER, a=1): 1}),
        (INNER, Struct(INNER)),
        (INNER, Struct(INNER, a=1, b="x")),
        (OUTER, Struct(OUTER, {"inner": Struct(INNER), "list": [Struct(INNER, b="y")], 'odd " näme😀': 1})),
        (OUTER, Struct(OUTER)),
        (INNER, Struct(OUTER)),
        (None, Struct(INNER)),
        (logical.Decimal.schema(2), Decimal("1.56")),
        (logical.Decimal.schema(2), Decimal("-12345678901234567890.12")),
        (logical.Decimal.schema(0), Decimal("0")),
        (logical.Decimal.schema(-3), Decimal("5E+3")),
        (logical.Decimal.schema(8), Decimal("1E-8")),
        (logical.Decimal.schema(2), Decimal("1.5")),
        (logical.Decimal.schema(1, optional=True, default=Decimal("0.5")), None),
        (Schema(Type.BYTES, name=logical.Decimal.LOGICAL_NAME, parameters={"x": "y"}), Decimal("1.5")),
        (Schema(Type.BYTES, name=logical.Decimal.LOGICAL_NAME, parameters={"scale": "x"}), Decimal("1.5")),
        (logical.Date.SCHEMA, date(1969, 12, 31)),
        (logical.Date.SCHEMA, datetime(2020, 1, 1, tzinfo=UTC)),
        (logical.Date.SCHEMA, datetime(2020, 1, 1, 1, tzinfo=UTC)),
        (logical.Time.SCHEMA, time(23, 59, 59, 999000)),
        (logical.Time.SCHEMA, date(2020, 1, 1)),
        (logical.Timestamp.SCHEMA, datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
        (logical.Date.SCHEMA, "2020-01-01"),
        (logical.Decimal.schema(2), "1.00"),
        (None, datetime(2020, 1, 1, tzinfo=UTC)),
        (None, Decimal("1.5")),
        (STRING_SCHEMA, 5),
        (INT32_SCHEMA, "5"),
        (BYTES_SCHEMA, "x"),
        (BOOLEAN_SCHEMA, "true"),
        (Schema.array(INT8_SCHEMA), "x"),
        (Schema.map(STRING_SCHEMA, INT8_SCHEMA), [1]),
        (INNER, "x"),
    ],
)
def test_data_is_written_as_java_does(
    schema: Schema | None, value: Any, config: Mapping[str, str], oracle: ConverterOracle
) -> None:
    if isinstance(value, Struct) and value.schema == OUTER and not value.stored:
        # A struct without its required fields: refused while it is written, not before.
        value = Struct.trusted(value.schema, {})
    assert_writes_as_java(oracle, schema, value, config)


READ_WITHOUT_SCHEMAS = [
    "",
    " ",
    "null",
    "true",
    "truex",
    "true,",
    "false false",
    "nul",
    "1",
    " 1 2",
    "1x",
    "1,",
    "007",
    "-007",
    "[007.50,-00]",
    "1.",
    ".5",
    "+1",
    "-",
    "1e5",
    "1E400",
    "-1e-400",
    "-0",
    "-0.0",
    "NaN",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "123456789012345678901234567890",
    "1e19",
    "18446744073709551615",
    '"a"',
    '"a"b',
    '"a',
    '"\\ud800"',
    '"\\u00e9\\n\\/"',
    '"\\x"',
    '"\t"',
    "[1,2",
    "[1,]",
    "[]x",
    "{}",
    '{"a":1,"a":2}',
    '{"b":1,"a":2,"c":{"z":1,"y":[null]}}',
    '{"a":}',
    "{a:1}",
    "{'a':1}",
    "/*c*/1",
    "[1] 2",
    '{"name":1,"id":2,"email":3,"active":4,"score":5,"tags":6,"addr":7,"note":8,"ts":9,"city":10,"k11":1,"k12":1,"k13":1}',
    '{"AaAa":1,"BBBB":2,"AaBB":3,"BBAa":4}',
    '{"ü":1,"😀":2,"":3}',
    "\ufeff1",
    "[1.5,1e-3,1e-4,12345678.9]",
]


@pytest.mark.parametrize("text", READ_WITHOUT_SCHEMAS)
def test_json_without_schemas_is_read_as_java_does(text: str, oracle: ConverterOracle) -> None:
    assert_reads_as_java(oracle, text.encode(), PLAIN)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32-be", "utf-8-sig", "latin-1"])
def test_other_encodings_are_read_as_java_does(encoding: str, oracle: ConverterOracle) -> None:
    assert_reads_as_java(oracle, '{"a":"ü"}'.encode(encoding), PLAIN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "1",
        "[]",
        "{}",
        '{"schema":null}',
        '{"payload":1}',
        '{"schema":null,"payload":{"a":1}}',
        '{"payload":1,"schema":null}',
        '{"schema":null,"payload":1,"x":2}',
        '{"schema":5,"payload":1}',
        '{"schema":{},"payload":1}',
        '{"schema":null,"payload":null}',
        '{"schema":{"type":5},"payload":1}',
        '{"schema":{"type":"x"},"payload":1}',
        '{"schema":[],"payload":1}',
        ' {"schema" : {"type":"int8"} , "payload" : 1 } ',
        '{"schema":{"type":"int8"},"payload":1}x',
        '{"schema":{"type":"int8"},"payload":1',
    ],
)
def test_envelopes_are_read_as_java_does(text: str, oracle: ConverterOracle) -> None:
    assert_reads_as_java(oracle, text.encode(), {})


FIELD = (
    '{"type":"struct","fields":[{"type":"string","optional":%s,"field":"f"},'
    '{"type":"array","items":{"type":"bytes"},"field":"g"}]}'
)
READ_WITH_SCHEMAS = [
    *(
        (f'{{"type":"{kind}"}}', payload)
        for kind in ("int8", "int16", "int32", "int64", "float", "double", "boolean", "string", "bytes")
        for payload in (
            "1",
            "-1",
            "300",
            "70000",
            "3000000000",
            "1.9",
            "-1.9",
            "1e400",
            "99999999999999999999",
            '"x"',
            "true",
            "null",
            "[1]",
            "{}",
            "-0.0",
            "0.1",
            "16777217",
            "16777217.0000001",
            "1e19",
        )
    ),
    ('{"type":"float"}', "1.000000059604644775390625"),
    ('{"type":"float"}', "1.00000005960464477539062500000001"),
    ('{"type":"float"}', "1.00000005960464477539062499999999"),
    ('{"type":"int32"}', "0.99999999999999999999"),
    *(
        ('{"type":"bytes","optional":true}', payload)
        for payload in (
            '""',
            '"AA=="',
            '"AA"',
            '"A==="',
            '"AB=="',
            '" AAAA \\n AAAA "',
            '"AA==AA=="',
            '"AA AA"',
            '"-_=="',
            '"ü"',
        )
    ),
    ('{"type":"string","optional":true}', "null"),
    ('{"type":"string","default":"d"}', "null"),
    ('{"type":"string","default":null}', '"x"'),
    ('{"type":"string","optional":true,"default":null}', '"x"'),
    ('{"type":"string","default":5}', '"x"'),
    ('{"type":"int32","default":"x"}', "null"),
    ('{"type":"struct","fields":[],"default":{}}', "{}"),
    ('{"type":"int32","optional":1,"name":2,"version":"3","doc":4,"parameters":5}', "1"),
    ('{"type":"int32","version":3000000000,"parameters":{}}', "1"),
    ('{"type":"int32","version":1.5,"parameters":{"b":"1","a":"2"}}', "1"),
    ('{"type":"int32","version":007}', "01"),
    ('{"type":"int32","parameters":{"b":1}}', "1"),
    *(
        (f'{{"type":"array","items":{items}}}', payload)
        for items in ('{"type":"int8"}', '{"type":"string"}', "null")
        for payload in ("[]", "[1]", "[null]", '{"a":1,"b":2}', "5", "[[]]")
    ),
    ('{"type":"array"}', "[]"),
    *(
        (f'{{"type":"map","keys":{keys},"values":{{"type":"int32","optional":true}}}}', payload)
        for keys in ('{"type":"string"}', '{"type":"int32"}', '{"type":"array","items":{"type":"int8"}}', "null")
        for payload in (
            "{}",
            '{"b":1,"a":null}',
            "[]",
            "[[1,2],[3,null],[1,5]]",
            "[[1]]",
            "[1]",
            "5",
            '[["x",1]]',
            "[[[1],1],[[2],2]]",
        )
    ),
    (
        '{"type":"map","keys":{"type":"int64"},"values":{"type":"int8"}}',
        str([[number * 7919, 1] for number in range(-20, 20)]),
    ),
    (
        '{"type":"map","keys":{"type":"int32"},"values":{"type":"int8"}}',
        str([[number * 7919, 1] for number in range(-20, 20)]),
    ),
    (
        '{"type":"map","keys":{"type":"double"},"values":{"type":"int8"}}',
        str([[number / 3, 1] for number in range(-9, 9)]),
    ),
    (
        '{"type":"map","keys":{"type":"float"},"values":{"type":"int8"}}',
        str([[number / 7 + 0.1, 1] for number in range(-9, 9)]),
    ),
    ('{"type":"map","values":{"type":"int8"}}', "{}"),
    ('{"type":"map","keys":{"type":"int8"}}', "{}"),
    ('{"type":"map","keys":{"type":"int8"},"values":null}', "{}"),
    ('{"type":"struct"}', "{}"),
    ('{"type":"struct","fields":{}}', "{}"),
    ('{"type":"struct","fields":[5]}', "{}"),
    ('{"type":"struct","fields":[{"type":"int8"}]}', "{}"),
    ('{"type":"struct","fields":[{"type":"int8","field":""}]}', "{}"),
    ('{"type":"struct","fields":[{"type":"int8","field":"a"},{"type":"int8","field":"a"}]}', "{}"),
    ('{"type":"struct","fields":[{"field":"a"}]}', "{}"),
    *(
        (FIELD % optional, payload)
        for optional in ("true", "false")
        for payload in (
            "{}",
            "[]",
            "null",
            '{"f":"x","g":[]}',
            '{"f":5,"g":[]}',
            '{"f":"x","g":[5]}',
            '{"f":null,"g":[]}',
            '{"f":"x","g":{},"h":1}',
            '{"f":"x","g":["AA==",null]}',
        )
    ),
    *(
        (f'{{"type":"bytes","name":"{logical.Decimal.LOGICAL_NAME}","parameters":{{"scale":"2"}}}}', payload)
        for payload in (
            "1",
            "1.50",
            "1E5",
            "-0.0",
            '"AJw="',
            '"AJw"',
            '""',
            "true",
            "null",
            "123456789012345678901234567890.123",
        )
    ),
    *(
        (f'{{"type":"int32","name":"{name}"}}', payload)
        for name in (logical.Date.LOGICAL_NAME, logical.Time.LOGICAL_NAME)
        for payload in ("0", "1", "-1", "86399999", "86400000", "86400001", "3000000000", "1.0", '"1"', "2147483647")
    ),
    *(
        (f'{{"type":"int64","name":"{logical.Timestamp.LOGICAL_NAME}"}}', payload)
        for payload in (
            "0",
            "-1",
            "1700000000123",
            "9223372036854775807",
            "9223372036854775808",
            "1.5",
            '"1"',
            "253402300800000",
        )
    ),
]


@pytest.mark.parametrize(("schema", "payload"), READ_WITH_SCHEMAS)
def test_json_with_schemas_is_read_as_java_does(schema: str, payload: str, oracle: ConverterOracle) -> None:
    assert_reads_as_java(oracle, f'{{"schema":{schema},"payload":{payload}}}'.encode(), {})


@pytest.mark.parametrize(
    "payload", ["", "null", "{}", '{"f":"x"}', '{"f":5}', '{"schema":1,"payload":2}', "[", '"x" y']
)
def test_a_schema_from_the_config_is_used_as_java_does(payload: str, oracle: ConverterOracle) -> None:
    content = '{"type":"struct","fields":[{"type":"string","optional":true,"default":"d","field":"f"}]}'
    for config in (
        {"schema.content": content},
        {"schema.content": content, "schemas.enable": "false"},
        {"schema.content": ""},
    ):
        assert_reads_as_java(oracle, payload.encode(), config)


def test_random_data_with_schemas_is_written_and_read_as_java_does(oracle: ConverterOracle) -> None:
    converters = [converter_with(config) for config in CONFIGS]
    for seed in range(300):
        random = RandomData(seed)
        schema = random.schema()
        value = random.value(schema)
        for config, converter in zip(CONFIGS, converters, strict=True):
            try:
                expected = oracle.from_connect_data(JSON, schema, value, config)
            except JavaError as error:
                with pytest.raises(DataError) as caught:
                    converter.from_connect_data("t", schema, value)
                assert caught.value.message == error.message, f"seed {seed}"
                continue
            assert converter.from_connect_data("t", schema, value) == expected, f"seed {seed}"
            for _ in range(2):
                assert describe(converter.to_connect_data("t", expected)) == oracle.to_connect_data(
                    JSON, expected, config
                )


def test_random_data_without_schemas_is_written_and_read_as_java_does(oracle: ConverterOracle) -> None:
    converter = converter_with(PLAIN)
    for seed in range(300):
        value = RandomData(seed).schemaless()
        expected = oracle.from_connect_data(JSON, None, value, PLAIN)
        assert converter.from_connect_data("t", None, value) == expected, f"seed {seed}"
        assert describe(converter.to_connect_data("t", expected)) == oracle.to_connect_data(JSON, expected, PLAIN)
