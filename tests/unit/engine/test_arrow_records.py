from __future__ import annotations

import base64
import datetime
import decimal
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.connector import Converter, DataError, Schema, SchemaAndValue, Struct, Type
from seamark.engine.arrow_records import RowConverter, TopicRows, connect_schema
from seamark.engine.converters.json import JsonConverter


class Recording(Converter):
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.seen: list[tuple[Schema | None, Any]] = []

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        self.seen.append((schema, value))
        return None if value is None else b"converted"

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(None, data)


def convert(columns: dict[str, Any], topic: str | None = "t") -> tuple[list[TopicRows], Recording]:
    converter = Recording()
    batch = pa.RecordBatch.from_pydict(columns)
    return list(RowConverter(converter, converter, topic).convert(batch)), converter


def test_text_and_bytes_pass_without_the_converter() -> None:
    rows, converter = convert({"value": pa.array(["ä", None]), "key": pa.array([b"\xff", None])})
    assert rows == [TopicRows("t", ["ä".encode(), None], [b"\xff", None])]
    assert rows[0].bytes == 3
    assert not converter.seen


def test_rows_are_cut_where_the_topic_changes_and_keep_their_order() -> None:
    rows, _ = convert({"value": ["1", "2", "3", "4"], "topic": ["a", "a", None, "a"], "partition": [0, 1, None, 0]})
    assert [(part.topic, part.values, part.partitions) for part in rows] == [
        ("a", [b"1", b"2"], [0, 1]),
        ("t", [b"3"], [None]),
        ("a", [b"4"], [0]),
    ]


def test_a_row_without_a_topic_is_refused() -> None:
    with pytest.raises(DataError, match="topic"):
        convert({"value": ["1"]}, topic=None)


def test_timestamps_become_milliseconds_and_headers_pairs() -> None:
    when = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC)
    headers = pa.array(
        [[{"key": "h", "value": b"1"}, {"key": "h", "value": None}]],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    )
    rows, _ = convert({"value": ["1"], "timestamp": pa.array([when], pa.timestamp("us", "UTC")), "headers": headers})
    assert rows[0].timestamps == [1767323045678]
    assert rows[0].headers == [[("h", b"1"), ("h", None)]]


def test_a_struct_reaches_the_converter_with_its_schema() -> None:
    arrow = pa.struct(
        [("id", pa.int64()), ("tags", pa.list_(pa.string())), ("counts", pa.map_(pa.string(), pa.int32()))]
    )
    value = {"id": 1, "tags": ["x", None], "counts": [("a", 1)]}
    rows, converter = convert({"value": pa.array([value, None], arrow)})
    assert rows[0].values == [b"converted", None]
    schema, struct = converter.seen[0]
    assert schema is not None
    assert [(member.name, member.schema.type) for member in schema.fields] == [
        ("id", Type.INT64),
        ("tags", Type.ARRAY),
        ("counts", Type.MAP),
    ]
    assert struct == Struct(schema, {"id": 1, "tags": ["x", None], "counts": {"a": 1}})


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**12), max_value=10**12))
def test_a_decimal_is_stored_as_java_stores_it(number: decimal.Decimal) -> None:
    schema, to_connect = connect_schema(pa.decimal128(20, 3))
    assert (schema.name, schema.parameters) == ("org.apache.kafka.connect.data.Decimal", {"scale": "3"})
    written = {}
    for form in ("BASE64", "NUMERIC"):
        converter = JsonConverter()
        converter.configure({"schemas.enable": "false", "decimal.format": form}, is_key=False)
        written[form] = json.loads(converter.from_connect_data("t", schema, to_connect(number)), parse_float=str)
    data = base64.b64decode(written["BASE64"])
    unscaled = int.from_bytes(data, "big", signed=True)
    assert decimal.Decimal(unscaled).scaleb(-3) == number
    assert len(data) == max(1, ((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8) + 1)
    assert decimal.Decimal(written["NUMERIC"]) == number


def test_a_type_that_connect_does_not_have_is_refused() -> None:
    with pytest.raises(DataError, match="duration"):
        connect_schema(pa.duration("s"))


def test_structs_are_written_at_once_as_one_by_one() -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "true"})
    day, at = datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC)
    rows = [
        {"id": 1, "name": "a", "amount": decimal.Decimal("1.50"), "day": day, "at": at, "tags": ["x", None]},
        {"id": None, "name": None, "amount": None, "day": None, "at": None, "tags": None},
        {
            "id": -(2**63),
            "name": "\u20ac \U0001f600",
            "amount": decimal.Decimal("-0.01"),
            "day": day,
            "at": at,
            "tags": [],
        },
    ]
    kind = pa.struct(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("amount", pa.decimal128(10, 2)),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", "UTC")),
            ("tags", pa.list_(pa.string())),
        ]
    )
    schema, to_connect = connect_schema(kind)
    one_by_one = [converter.from_connect_data("t", schema, to_connect(row)) for row in rows]
    column = pa.array([rows[1], *rows], kind).slice(1)  # a part of a longer column, as rows of one topic may be
    batch = pa.RecordBatch.from_arrays([column], names=["value"])
    (at_once,) = RowConverter(converter, converter, "t").convert(batch)
    assert at_once.values == one_by_one
