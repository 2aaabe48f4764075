from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.connector.offsets import SourcePartition
from seamark.errors import DataError
from seamark.storage.offset_keys import decode_key, decode_value, encode_key, encode_value, normalised

texts = st.text(st.characters(codec="utf-8"), max_size=15)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
    st.binary(max_size=10),
)
maps = st.dictionaries(texts, scalars, max_size=14)


def test_key_is_the_connectors_name_and_the_partition() -> None:
    assert encode_key("demo", {"filename": "/data/in.txt"}) == b'["demo",{"filename":"/data/in.txt"}]'


def test_a_key_once_seen_is_written_again_byte_for_byte() -> None:
    seen = b'["k", {"filename": "sp"}]'
    assert encode_key("k", {"filename": "sp"}, {SourcePartition(filename="sp"): seen}) == seen
    assert (
        encode_key("k", {"filename": "other"}, {SourcePartition(filename="sp"): seen}) == b'["k",{"filename":"other"}]'
    )


def test_no_offset_is_a_tombstone() -> None:
    assert encode_value(None) is None
    assert encode_value({}) == b"{}"


@given(texts, maps)
def test_keys_read_back_as_they_were_written(connector: str, partition: dict[str, Any]) -> None:
    key = encode_key(connector, partition)
    decoded = decode_key(key)
    assert decoded is not None
    assert decoded == (connector, normalised(partition))
    assert encode_key(connector, decoded[1]) == key


@given(maps)
def test_values_read_back_as_they_were_written(offset: dict[str, Any]) -> None:
    assert decode_value(encode_value(offset)) == dict(normalised(offset))


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"\xff",
        b"not json",
        b'{"connector":"c"}',
        b'["c"]',
        b'["c",{},1]',
        b'[1,{"a":1}]',
        b'["c","p"]',
        b'["c",null]',
        b'["c",{"nested":{"a":1}}]',
    ],
)
def test_keys_of_another_shape_belong_to_nobody(key: bytes | None) -> None:
    assert decode_key(key) is None


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        ({"nested": {"a": 1}}, "may only contain primitive types as values, but field nested"),
        ({"big": 2**63}, "field big contains class java.math.BigInteger"),
        ({1: "a"}, "may only use String keys"),
        ([1], "must be specified as a Map"),
    ],
)
def test_what_connect_cannot_store_is_refused(offset: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        encode_value(offset)
    with pytest.raises(DataError):
        encode_key("c", offset)


def test_a_value_that_is_no_map_is_refused() -> None:
    with pytest.raises(DataError):
        decode_value(b"[1]")
