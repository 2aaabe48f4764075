"""The expected orders were printed by Java's HashMap."""

from __future__ import annotations

import pytest

from seamark.connector.schema import Type
from seamark.engine.converters.java_maps import hash_map, hash_map_copy, java_hash


@pytest.mark.parametrize(
    ("value", "kind", "code"),
    [
        ("", None, 0),
        ("hello", None, 99162322),
        ("😀", None, 1772899),
        (True, None, 1231),
        (False, None, 1237),
        (-1, Type.INT32, 0xFFFFFFFF),
        (-1, Type.INT64, 0),
        (-1, None, 0),
        (2**40 + 5, None, 261),
        (1.5, None, 1073217536),
        (1.5, Type.FLOAT32, 1069547520),
        (None, None, 0),
    ],
)
def test_hashes_are_javas(value: object, kind: Type | None, code: int) -> None:
    assert java_hash(value, kind) == code


def test_entries_come_by_bucket_and_within_it_as_they_were_put() -> None:
    assert list(hash_map({"name": 1, "id": 2, "email": 3, "active": 4})) == ["name", "active", "id", "email"]
    assert list(hash_map({"BB": 1, "Aa": 2})) == ["BB", "Aa"]
    assert list(hash_map({"Aa": 2, "BB": 1})) == ["Aa", "BB"]


def test_values_stay_with_their_keys() -> None:
    entries = {"b": 1, "a": 2, "c": 3}
    assert hash_map(entries) == entries
    assert hash_map_copy(entries) == entries


def test_a_copy_may_have_a_larger_table() -> None:
    # Twelve entries fit a table of 16 when put one by one; the copying constructor makes one of 32.
    letters = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"
    entries = dict.fromkeys(letters.split())
    put = "epsilon zeta iota lambda eta alpha delta mu kappa theta beta gamma"
    copied = "zeta iota delta mu theta epsilon lambda eta alpha kappa beta gamma"
    assert list(hash_map(entries)) == put.split()
    assert list(hash_map_copy(entries)) == copied.split()


def test_what_has_no_known_hash_stays_in_order() -> None:
    entries = {("b",): 1, ("a",): 2}
    assert list(hash_map(entries)) == [("b",), ("a",)]


def test_equal_keys_of_different_classes_are_not_mixed_up() -> None:
    # 1 and True are equal in Python: an order that was remembered for one must not be used for the other.
    assert hash_map({1: "a", 0: "b"}) == {1: "a", 0: "b"}
    assert list(hash_map({1: "a", 0: "b"})) == [0, 1]
    assert list(hash_map({True: "a", False: "b"})) == [False, True]
    assert list(map(type, hash_map({True: "a", False: "b"}))) == [bool, bool]
