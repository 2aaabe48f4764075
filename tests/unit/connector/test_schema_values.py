from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from seamark.connector import logical
from seamark.connector.schema import (
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Struct,
    Type,
    validate_value,
)
from seamark.errors import DataError

PAIR = Schema.struct({"a": STRING_SCHEMA, "b": OPTIONAL_STRING_SCHEMA, "c": Schema(Type.INT32, default=3)})


def test_a_field_that_was_never_put_equals_one_that_was_put_as_none() -> None:
    assert Struct(PAIR, a="x") == Struct(PAIR, a="x", b=None)
    assert hash(Struct(PAIR, a="x")) == hash(Struct(PAIR, a="x", b=None))
    assert Struct(PAIR, a="x") != Struct(PAIR, a="x", b="y")


def test_structs_of_different_schemas_differ() -> None:
    other = Schema.struct({"a": STRING_SCHEMA, "b": OPTIONAL_STRING_SCHEMA})
    assert Struct(PAIR, a="x") != Struct(other, a="x")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INT8_SCHEMA, 127),
        (FLOAT64_SCHEMA, 1),
        (FLOAT64_SCHEMA, 1.5),
        (OPTIONAL_STRING_SCHEMA, None),
        (logical.Date.SCHEMA, datetime.date(2024, 1, 1)),
        (logical.Timestamp.SCHEMA, 5),
        (logical.Decimal.schema(2), Decimal("1.00")),
        (Schema.array(INT32_SCHEMA), [1, 2]),
        (Schema.map(STRING_SCHEMA, INT64_SCHEMA), {"a": 1}),
        (PAIR, Struct(PAIR, a="x")),
    ],
)
def test_values_that_fit(schema: Schema, value: Any) -> None:
    validate_value(schema, value)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (STRING_SCHEMA, None, "Invalid value: null used for required value, schema type: STRING"),
        (STRING_SCHEMA, 5, "Invalid Java object for schema with type STRING: class java.lang.Long for value"),
        (INT8_SCHEMA, 128, "Invalid Java object for schema with type INT8: class java.lang.Long for value"),
        (INT32_SCHEMA, True, "Invalid Java object for schema with type INT32: class java.lang.Boolean for value"),
        (
            logical.Date.SCHEMA,
            "x",
            'Invalid Java object for schema "org.apache.kafka.connect.data.Date" with type INT32: '
            "class java.lang.String for value",
        ),
        (
            Schema.array(INT32_SCHEMA),
            [1, None],
            "Invalid value: null used for required element of array value, schema type: INT32",
        ),
        (
            Schema.map(STRING_SCHEMA, INT64_SCHEMA),
            {"a": "b"},
            "Invalid Java object for schema with type INT64: class java.lang.String for value of map value",
        ),
        (Schema(Type.ARRAY), [1], "No schema defined for element of array value"),
        (PAIR, Struct(Schema.struct({"a": STRING_SCHEMA}), a="x"), "Struct schemas do not match."),
        (PAIR, Struct(PAIR), 'Invalid value: null used for required field: "a", schema type: STRING'),
    ],
)
def test_values_that_do_not_fit_are_refused_in_connects_words(schema: Schema, value: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        validate_value(schema, value)
    assert caught.value.message == message


def test_put_refuses_what_does_not_fit() -> None:
    with pytest.raises(DataError, match='for field: "a"'):
        Struct(PAIR, a=1)
    with pytest.raises(DataError, match="nope is not a valid field name"):
        Struct(PAIR).put("nope", 1)


def test_a_struct_without_a_field_that_has_a_default_is_valid() -> None:
    struct = Struct(PAIR, a="x")
    struct.validate()
    assert struct["c"] == 3
    assert struct.stored == {"a": "x"}
    assert PAIR.required_fields == {"a", "c"}
    assert PAIR.field_defaults == {"c": 3}
