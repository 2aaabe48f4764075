"""String, bytes, boolean, number and header converters against the Java classes themselves."""

from __future__ import annotations

import random
import struct
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from fixtures.converter_oracle import CONVERTERS, SIMPLE_HEADER, STRING, ConverterOracle, JavaError, describe
from fixtures.random_data import RandomData
from seamark.connector import logical
from seamark.connector.converter import Converter
from seamark.connector.numbers import Float32
from seamark.connector.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Struct,
)
from seamark.engine.converters.java_text import java_double, java_float
from seamark.engine.converters.simple_header import SimpleHeaderConverter
from seamark.engine.converters.string import StringConverter
from seamark.engine.plugins import Plugins
from seamark.errors import DataError

pytestmark = pytest.mark.java

NUMBERS = ("Short", "Integer", "Long", "Float", "Double")
POINT = Schema.struct({"x": INT32_SCHEMA, "y": FLOAT32_SCHEMA, "label": Schema(STRING_SCHEMA.type, optional=True)})


def is_printed_alike(ours: str, java: str) -> bool:
    """Java before 19 shows too many digits of some numbers; they must still be the same number."""
    return ours == java or (len(ours) <= len(java) and float(ours) == float(java))


def test_numbers_are_printed_as_java_does(oracle: ConverterOracle) -> None:
    numbers = random.Random(7)
    for _ in range(400):
        double: float = struct.unpack(">d", numbers.randbytes(8))[0]
        single: float = struct.unpack(">f", numbers.randbytes(4))[0]
        usual = numbers.uniform(-1e6, 1e6)
        if double == double:
            assert is_printed_alike(java_double(double), oracle.double_text(double))
        if single == single:
            ours, java = java_float(single), oracle.float_text(single)
            assert len(ours) <= len(java)
            assert struct.pack(">f", float(ours)) == struct.pack(">f", float(java))
        assert java_double(usual) == oracle.double_text(usual)


def converter_of(name: str) -> Converter:
    return Plugins().converter(f"{CONVERTERS}.{name}Converter", {}, is_key=False)


@pytest.mark.parametrize("name", [*NUMBERS, "Boolean", "ByteArray"])
def test_values_become_the_same_bytes_or_are_refused_alike(name: str, oracle: ConverterOracle) -> None:
    converter = converter_of(name)
    cases: list[tuple[Schema | None, Any]] = [
        (None, None),
        (BOOLEAN_SCHEMA, True),
        (BOOLEAN_SCHEMA, False),
        (INT8_SCHEMA, 5),
        *((INT16_SCHEMA, number) for number in (0, 1, -1, 2**15 - 1, -(2**15))),
        *((INT32_SCHEMA, number) for number in (0, 1, -1, 2**31 - 1, -(2**31))),
        *((INT64_SCHEMA, number) for number in (0, 1, -1, 2**63 - 1, -(2**63))),
        *((FLOAT32_SCHEMA, number) for number in (0.0, -0.0, 1.5, float("inf"), float("nan"), 2.0**-149)),
        *((FLOAT64_SCHEMA, number) for number in (0.0, -0.0, 0.1, float("-inf"), float("nan"), 5e-324)),
        (STRING_SCHEMA, "x"),
        (BYTES_SCHEMA, b"\x00\xff"),
        (BYTES_SCHEMA, b""),
        (None, "text"),
        (None, b"bytes"),
    ]
    for schema, value in cases:
        try:
            expected = oracle.from_connect_data(f"{CONVERTERS}.{name}Converter", schema, value)
        except JavaError as error:
            with pytest.raises(DataError) as caught:
                converter.from_connect_data("t", schema, value)
            assert caught.value.message.startswith(str(error.message))
        else:
            assert converter.from_connect_data("t", schema, value) == expected


@pytest.mark.parametrize("name", [*NUMBERS, "Boolean", "ByteArray"])
def test_bytes_become_the_same_values_or_are_refused_alike(name: str, oracle: ConverterOracle) -> None:
    converter = converter_of(name)
    lengths = random.Random(3)
    cases = [None, b"", b"\x00", b"\x01", b"\x02", b"\xff"] + [lengths.randbytes(size) for size in range(1, 10)] * 3
    for data in cases:
        try:
            expected = oracle.to_connect_data(f"{CONVERTERS}.{name}Converter", data)
        except JavaError as error:
            with pytest.raises(DataError) as caught:
                converter.to_connect_data("t", data)
            assert caught.value.message.startswith(str(error.message))
        else:
            assert describe(converter.to_connect_data("t", data)) == expected


@pytest.mark.parametrize(
    "encoding",
    [
        "UTF-8",
        "UTF8",
        "UTF-16",
        "UTF-16LE",
        "UTF-16BE",
        "UTF-32",
        "ISO-8859-1",
        "ISO8859_1",
        "US-ASCII",
        "windows-1252",
        "Cp1252",
        "ISO-8859-15",
        "Shift_JIS",
        "GB18030",
        "KOI8-R",
        "windows-1251",
        "IBM437",
    ],
)
def test_texts_are_encoded_and_decoded_as_java_does(encoding: str, oracle: ConverterOracle) -> None:
    config = {"converter.encoding": encoding}
    converter = StringConverter()
    converter.configure(config)
    for text in ("", "abc", "ü€ß", "日本語 テスト", "Привет", "한국어", "a\nb", "😀"):
        data = converter.from_connect_data("t", None, text)
        assert data == oracle.from_connect_data(STRING, None, text, config)
        assert describe(converter.to_connect_data("t", data)) == oracle.to_connect_data(STRING, data, config)


def test_broken_utf8_is_read_as_java_does(oracle: ConverterOracle) -> None:
    converter, numbers = StringConverter(), random.Random(11)
    whole = "日本ü😀a".encode()
    for data in [numbers.randbytes(numbers.randint(0, 8)) for _ in range(150)] + [whole[:end] for end in range(15)]:
        assert describe(converter.to_connect_data("t", data)) == oracle.to_connect_data(STRING, data)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (None, None),
        (None, True),
        (None, -12),
        (None, 1e10),
        (None, 1e-5),
        (None, 0.1),
        (None, float("nan")),
        (FLOAT32_SCHEMA, 0.10000000149011612),
        (None, [1, "a", None, [2.5]]),
        (None, {"a": 1, "b": {"c": None}}),
        (None, {}),
        (POINT, Struct(POINT, x=1, y=2.5)),
        (POINT, Struct(POINT, x=1, y=2.5, label="p")),
        (Schema.array(POINT), [Struct(POINT, x=1, y=0.10000000149011612)]),
        (Schema.map(INT32_SCHEMA, FLOAT64_SCHEMA), {1: 1.0}),
        (logical.Decimal.schema(3), Decimal("1.500")),
        (logical.Decimal.schema(-2), Decimal("1E+2")),
        (logical.Decimal.schema(9), Decimal("1E-9")),
        (logical.Date.SCHEMA, date(2024, 2, 29)),
        (logical.Time.SCHEMA, time(1, 2, 3)),
        (logical.Timestamp.SCHEMA, datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
    ],
)
def test_other_values_are_written_as_java_prints_them(
    schema: Schema | None, value: Any, oracle: ConverterOracle
) -> None:
    expected = oracle.from_connect_data(STRING, schema, value)
    assert StringConverter().from_connect_data("t", schema, value) == expected


HEADERS = [
    "",
    " ",
    "null",
    " null ",
    "true",
    " true ",
    "false",
    "true}",
    "TRUE",
    "12",
    "-129",
    "40000",
    "3000000000",
    "1.5",
    "-1.5e3",
    "1e60",
    "1e400",
    "1e20",
    "3.14159265358979",
    "1.",
    ".5",
    "+5",
    "01",
    "1_000",
    "0x10",
    "1e2147483648",
    "99999999999999999999",
    "-",
    "NaN",
    "x:y",
    "12:34",
    "12,13",
    "1.2.3.4",
    "a,b",
    '"quoted"',
    "[a]",
    "[1, 2.5]",
    "[1,]",
    "[,]",
    "[1 2]",
    "[]",
    "{}",
    "[null]",
    "[1,null]",
    "[null,null]",
    "[ ]",
    "[1",
    "[1]x",
    '[1,"a"]',
    '["a","b"]',
    '["a b", "]"]',
    '["", " "]',
    '["\\""]',
    "[true,false]",
    "[[1],[2.5]]",
    '[{"a":1}]',
    '{"a":1,"b":2000}',
    '{"a":1 "b":2}',
    '{"a":1,}',
    '{"a"}',
    "{null:1}",
    '{"a":null}',
    '{"a":[1,{"b":true}]}',
    "{1:2}",
    "{[1]:2}",
    "{1.5:x}",
    '{"a":"b","c":1}',
    "2020-01-02",
    "2020-1-2",
    "2020-1-2xx",
    "2020-13-45",
    "1500-02-29",
    "12:00:01.002Z",
    "99:99:99.999Z",
    "2020-01-02T12:00:01.002Z",
    "2020-01-02T12:00:01.002X",
    "[12:00:01.002Z]",
    '["12:00:01.002Z"]',
    "[2020-01-02,5]",
    "[2020-01-02,12:00:01.002Z]",
    "12\\:00\\:01.002Z",
    "\u00a012",
    "\t12\n",
    "٣",
    "ü😀",
    "\\",
    "[\\]",
    '{"k":"v:w"}',
    "[1,300,70000]",
    "[1,3000000000,0.5]",
    "[1.5,1e60]",
    "[99999999999999999999,1]",
]


@pytest.mark.parametrize("text", HEADERS)
def test_header_values_are_guessed_as_java_does(text: str, oracle: ConverterOracle) -> None:
    found = SimpleHeaderConverter().to_connect_header("t", "h", text.encode())
    assert describe(found) == oracle.to_connect_data(SIMPLE_HEADER, text.encode())


def test_random_header_texts_are_guessed_as_java_does(oracle: ConverterOracle) -> None:
    converter, choices = SimpleHeaderConverter(), random.Random(5)
    words = [
        *'[]{},:" x',
        "1",
        "-3",
        "300",
        "1.5",
        "1e60",
        "null",
        "true",
        '"a"',
        "\\",
        "2020-01-02",
        "12:34:56.789Z",
        "é",
    ]
    for _ in range(1500):
        opening, closing = choices.choice([("", ""), ("[", "]"), ("{", "}"), ('{"k":', "}")])
        text = opening + "".join(choices.choices(words, k=choices.randint(1, 6))) + closing
        if "{{" in text or ",{" in text:  # a map cannot be a key in Python
            continue
        found = SimpleHeaderConverter().to_connect_header("t", "h", text.encode())
        assert describe(found) == oracle.to_connect_data(SIMPLE_HEADER, text.encode()), text
        assert converter.to_connect_header("t", "h", converter.from_connect_header("t", "h", None, "x")).value == "x"


def test_random_values_are_written_to_headers_as_java_does(oracle: ConverterOracle) -> None:
    converter = SimpleHeaderConverter()
    for seed in range(300):
        data = RandomData(seed)
        schema = data.schema(depth=2)
        value = data.value(schema)
        expected = oracle.from_connect_data(SIMPLE_HEADER, schema, value)
        assert converter.from_connect_header("t", "h", schema, value) == expected, f"seed {seed}"


def test_schemaless_single_precision_numbers_keep_their_digits(oracle: ConverterOracle) -> None:
    value = Float32(struct.unpack(">f", struct.pack(">f", 0.1))[0])
    for converter, java in ((SimpleHeaderConverter(), SIMPLE_HEADER), (StringConverter(), STRING)):
        assert converter.from_connect_header("t", "h", None, value) == b"0.1"
        assert oracle.from_connect_data(java, None, value) == b"0.1"
