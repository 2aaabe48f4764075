from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.connector.schema import INT8_SCHEMA, STRING_SCHEMA, Schema, Struct, Type
from seamark.engine.converters.simple_header import SimpleHeaderConverter
from seamark.engine.converters.values import format_value, parse_value
from seamark.errors import DataError


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("", Type.STRING, ""),
        ("  ", Type.STRING, "  "),
        (" true ", Type.BOOLEAN, True),
        ("false", Type.BOOLEAN, False),
        ("127", Type.INT8, 127),
        ("-129", Type.INT16, -129),
        ("+40000", Type.INT32, 40000),
        ("3000000000", Type.INT64, 3000000000),
        ("1.0", Type.INT8, 1),
        ("1.5", Type.FLOAT32, 1.5),
        ("1e60", Type.FLOAT64, 1e60),
        ("1.5e60", Type.FLOAT64, 1.5e60),
        ("99999999999999999999", Type.BYTES, Decimal("99999999999999999999")),
        ("hello", Type.STRING, "hello"),
        ("true}", Type.STRING, "true}"),
        ("a:b", Type.STRING, "a:b"),
        ("1_000", Type.STRING, "1_000"),
        ("-", Type.STRING, "-"),
        ('"quoted"', Type.STRING, '"quoted"'),
        ("[]", Type.ARRAY, []),
        ("[1, 2]", Type.ARRAY, [1, 2]),
        ("[1,2.5]", Type.ARRAY, [1.0, 2.5]),
        ('["a,b", "]"]', Type.ARRAY, ["a,b", "]"]),
        ('["", " "]', Type.ARRAY, ["", ""]),  # Java loses blanks between quotes
        ("[1", Type.STRING, "[1"),
        ("[a]", Type.STRING, "[a]"),
        ("[1 2]", Type.STRING, "[1 2]"),
        ("{}", Type.MAP, {}),
        ('{"a": 1, "b":null}', Type.STRING, '{"a": 1, "b":null}'),
        ('{"a": null}', Type.MAP, {"a": None}),
        ('{"a":[1,{"b":true}]}', Type.MAP, {"a": [1, {"b": True}]}),
        ('{"a"}', Type.STRING, '{"a"}'),
        ("{null:1}", Type.STRING, "{null:1}"),
        ("2020-02-03", Type.INT32, date(2020, 2, 3)),
        ("12:34:56.789Z", Type.INT32, time(12, 34, 56, 789000)),
        ("2020-02-03T12:34:56.789Z", Type.INT64, datetime(2020, 2, 3, 12, 34, 56, 789000, tzinfo=UTC)),
        ("[12:34:56.789Z]", Type.ARRAY, [time(12, 34, 56, 789000)]),
        ("2020-13-32", Type.INT32, date(2021, 2, 1)),
        ("12:34", Type.INT8, 12),
    ],
)
def test_types_are_guessed(text: str, kind: Type, value: Any) -> None:
    parsed = parse_value(text)
    assert parsed.schema is not None
    assert parsed.schema.type is kind
    assert parsed.value == value


def test_null_has_no_schema() -> None:
    assert parse_value("null").schema is None


def test_members_of_different_kinds_have_no_common_schema() -> None:
    parsed = parse_value('{"a":1,"b":"x"}')
    assert parsed.schema is not None
    assert parsed.schema.key_schema == STRING_SCHEMA
    assert parsed.schema.value_schema is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"), (True, "true"), (1.0, "1.0"), (Decimal("1.20"), "1.20"), (b"zz", "eno="),
        ({"a": [1, 'x"y\\', b"zz", None]}, '{"a":[1,"x\\"y\\\\","eno=",null]}'), (time(1, 2, 3, 4000), "01:02:03.004Z"),
        (date(2020, 1, 2), "2020-01-02"), (datetime(2020, 1, 2, 3, 4, 5, 6000, tzinfo=UTC), "2020-01-02T03:04:05.006Z"),
        (Struct(Schema.struct({"a": INT8_SCHEMA}), a=1), '{"a":1}'),
    ],
)  # fmt: skip
def test_values_are_written_as_text(value: Any, text: str) -> None:
    assert format_value(value) == text


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(DataError, match=r"unexpected value type builtins.object"):
        format_value(object())


@given(st.text())
def test_reading_never_fails(text: str) -> None:
    parse_value(text)


def test_the_converter_uses_utf8_and_keeps_null() -> None:
    converter = SimpleHeaderConverter()
    assert converter.from_connect_header("t", "h", None, None) is None
    assert converter.to_connect_header("t", "h", None).value is None
    data = converter.from_connect_header("t", "h", None, ["ü"])
    assert data == '["ü"]'.encode()
    assert converter.to_connect_header("t", "h", data).value == ["ü"]
