"""The short way to JSON must end where the long one does, or not end at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.random_data import RandomData
from seamark.connector.schema import FLOAT64_SCHEMA, INT8_SCHEMA, STRING_SCHEMA, Schema
from seamark.engine.converters.json_fast import Unsure, compile_plain, dumps, plain_value
from seamark.engine.converters.json_writer import JsonWriter
from seamark.errors import DataError

WRITERS = [
    JsonWriter(numeric_decimals=numeric, defaults_for_null=defaults)
    for numeric in (True, False)
    for defaults in (True, False)
]


@pytest.mark.parametrize("seed", range(200))
def test_random_data_takes_both_ways(seed: int) -> None:
    random = RandomData(seed)
    schema = random.schema()
    value, schemaless = random.value(schema), random.schemaless()
    for writer in WRITERS:
        try:
            expected = writer.write(schema, value).encode()
        except DataError:
            with pytest.raises((DataError, Unsure)):
                dumps(compile_plain(schema, writer)(value))
            continue
        try:
            found = dumps(compile_plain(schema, writer)(value))
        except Unsure:
            found = expected
        assert found == expected
    try:
        found = dumps(plain_value(schemaless))
    except Unsure:
        return
    assert found == WRITERS[0].write(None, schemaless).encode()


@given(st.text())
def test_texts_take_both_ways(text: str) -> None:
    expected = WRITERS[0].write(None, {text: text}).encode()
    try:
        assert dumps(plain_value({text: text})) == expected
    except Unsure:
        assert any(character < " " or character > "\uffff" for character in text)


@given(st.floats() | st.integers(-(2**70), 2**70))
def test_numbers_take_both_ways(number: float) -> None:
    try:
        found = dumps(plain_value([number]))
    except Unsure:
        assert abs(number) >= 2**63 - 1
    else:
        assert found == WRITERS[0].write(None, [number]).encode()


def test_usual_records_are_not_left_to_the_long_way() -> None:
    """Otherwise the tests above would prove nothing."""
    assert dumps(plain_value({"a": [1, 2.5, 1e10, "ü", None, True], "b": {"c": b"x"}})) == (
        '{"a":[1,2.5,1.0E10,"ü",null,true],"b":{"c":"eA=="}}'.encode()
    )
    schema = Schema.map(STRING_SCHEMA, Schema.array(FLOAT64_SCHEMA))
    assert dumps(compile_plain(schema, WRITERS[0])({"x": [float("nan"), -0.0]})) == b'{"x":["NaN",-0.0]}'


@pytest.mark.parametrize(("schema", "value"), [(INT8_SCHEMA, 128), (INT8_SCHEMA, True), (STRING_SCHEMA, None)])
def test_what_is_wrong_is_left_to_the_long_way(schema: Schema, value: object) -> None:
    with pytest.raises(Unsure):
        compile_plain(schema, WRITERS[0])(value)
