from __future__ import annotations

import datetime
import decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.connector import Schema, Struct, Type
from seamark.connector.logical import Date, Decimal, Time, Timestamp
from seamark.engine.frame_steps import conformed
from seamark.engine.frame_types import (
    TIMESTAMP,
    merge,
    merged,
    settled,
    shape_for,
    text_of,
    type_of_schema,
    type_of_value,
)

INNER = Schema.struct({"a": Schema(Type.INT8), "b": Schema(Type.STRING, optional=True)})
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (Schema(Type.FLOAT32), pa.float32()),
        (Schema.array(Schema(Type.BYTES)), pa.list_(pa.binary())),
        (Schema.map(Schema(Type.INT32), INNER), pa.map_(pa.int32(), pa.struct([("a", pa.int8()), ("b", pa.string())]))),
        (Decimal.schema(2), pa.decimal128(38, 2)),
        (Decimal.schema(-2), pa.decimal128(38, 0)),
        (Date.SCHEMA, pa.date32()),
        (Time.SCHEMA, pa.int32()),
        (Timestamp.SCHEMA, TIMESTAMP),
    ],
)
def test_schemas_have_types(schema: Schema, expected: pa.DataType) -> None:
    assert type_of_schema(schema) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (None, 1, pa.int64()),
        (1, 2.5, pa.float64()),
        (1, 2**70, pa.decimal128(38, 0)),
        (decimal.Decimal("1.25"), 3, pa.decimal128(38, 2)),
        (10**40, 1, pa.string()),
        (True, 1, pa.string()),
        ("x", {"a": 1}, pa.string()),
        ([1], [2.5, None], pa.list_(pa.float64())),
        ({"a": 1}, {"b": "x", "a": None}, pa.struct([("a", pa.int64()), ("b", pa.string())])),
        (datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), TIMESTAMP),
    ],
)
def test_values_of_different_types_share_the_narrowest_that_holds_both(
    one: Any, other: Any, expected: pa.DataType
) -> None:
    assert merge(type_of_value(one), type_of_value(other)) == expected
    if not pa.types.is_struct(expected):  # the order of fields is that of the first
        assert merge(type_of_value(other), type_of_value(one)) == expected


def test_what_has_no_type_is_text() -> None:
    kind = settled(type_of_value({"a": None, "b": [], "c": {}, "d": 1}))
    fields = [("a", pa.string()), ("b", pa.list_(pa.string())), ("c", pa.string()), ("d", pa.int64())]
    assert kind == pa.struct(fields)


def test_values_take_the_form_of_their_column() -> None:
    struct = Struct(INNER, {"a": 1, "b": "x"})
    kind = pa.struct([("a", pa.float64()), ("b", pa.string()), ("c", pa.int8())])
    assert shape_for(kind)(struct) == {"a": 1.0, "b": "x", "c": None}
    assert shape_for(pa.map_(pa.string(), pa.int64()))({"k": 1}) == [("k", 1)]
    assert shape_for(pa.decimal128(38, 2))(b"\x00\x96") == decimal.Decimal("1.50")
    assert shape_for(TIMESTAMP)(1000) == 1_000_000
    assert shape_for(pa.int32())(datetime.time(0, 0, 1)) == 1000
    assert shape_for(pa.string())(struct) == '{"a": 1, "b": "x"}'
    assert text_of({"b": b"\x01"}) == '{"b": "AQ=="}'
    assert shape_for(pa.string())(None) is None


@given(st.lists(st.lists(JSON, min_size=1, max_size=4), min_size=1, max_size=3))
def test_batches_of_any_values_fit_into_the_columns_of_all(batches: list[list[Any]]) -> None:
    kinds = [merged(map(type_of_value, values)) for values in batches]
    shapes = [shape_for(kind) for kind in kinds]
    columns = [
        pa.array([shape(value) for value in values], kind)
        for values, kind, shape in zip(batches, kinds, shapes, strict=True)
    ]
    wanted = settled(merged(kinds))
    for values, column in zip(batches, columns, strict=True):
        result = conformed(column, wanted)
        assert result.type == wanted
        assert [item is None for item in result.to_pylist()] == [value is None for value in values]
