"""JSON bytes as Java writes them; the examples were observed on a live Kafka Connect 4.2.0 worker."""

from __future__ import annotations

import base64
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.errors import DataError
from seamark.kafka import jars
from seamark.storage import codec

JAVA = Path(__file__).parents[2] / "fixtures" / "java"

texts = st.text(st.characters(codec="utf-8"), max_size=20)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), texts
)


@pytest.mark.parametrize(
    ("given_order", "expected"),
    [
        (["topic", "partition", "cluster"], ["cluster", "partition", "topic"]),
        (["group", "topic", "partition"], ["partition", "topic", "group"]),
        (["targetClusterAlias", "sourceClusterAlias"], ["sourceClusterAlias", "targetClusterAlias"]),
        (["extra", "filename"], ["filename", "extra"]),
        (["position", "extra"], ["extra", "position"]),
    ],
)
def test_map_keys_come_out_by_bucket(given_order: list[str], expected: list[str]) -> None:
    assert codec.hash_map_order(given_order) == expected


def test_colliding_keys_keep_the_order_in_which_they_were_put() -> None:
    assert codec.string_hash("Aa") == codec.string_hash("BB")
    assert codec.hash_map_order(["BB", "Aa"]) == ["BB", "Aa"]
    assert codec.hash_map_order(["Aa", "BB"]) == ["Aa", "BB"]


def test_table_doubles_when_more_than_three_quarters_are_taken() -> None:
    # One-letter names hash to their code: a, 97, is bucket 1 of 16 and of 32; q, 113, is bucket 1 of 16 but 17 of 32.
    twelve = list("qabcdefghijk")
    assert codec.hash_map_order(twelve)[:2] == ["q", "a"]
    assert codec.hash_map_order([*twelve, "l"])[:2] == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["demo", {"filename": "/data/in.txt"}], b'["demo",{"filename":"/data/in.txt"}]'),
        ({"position": 6}, b'{"position":6}'),
        (
            ["mm", {"topic": "t", "partition": 0, "cluster": "src"}],
            b'["mm",{"cluster":"src","partition":0,"topic":"t"}]',
        ),
        ("\x1f\t\n\r\b\f\x00", rb'"\u001F\t\n\r\b\f\u0000"'),
        ('"\\/\x7f', b'"\\"\\\\/\x7f"'),
        ("\u2028ä€", '"\u2028ä€"'.encode()),
        ("😀", rb'"\uD83D\uDE00"'),
        (b"\x00\xff", b'"AP8="'),
        ([None, True, False, -(2**63), 2**63 - 1], b"[null,true,false,-9223372036854775808,9223372036854775807]"),
        ({}, b"{}"),
        ([], b"[]"),
        (float("nan"), b'"NaN"'),
        (float("-inf"), b'"-Infinity"'),
    ],
)
def test_bytes_are_those_of_java(value: Any, expected: bytes) -> None:
    assert codec.dumps(value) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1e10, "1.0E10"),
        (1e-7, "1.0E-7"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.0, "9999999.0"),
        (10000000.0, "1.0E7"),
        (-1234.5678, "-1234.5678"),
        (12345678.9, "1.23456789E7"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (3.0, "3.0"),
    ],
)
def test_doubles_are_printed_as_in_java(number: float, expected: str) -> None:
    assert codec.double_text(number) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_printed_doubles_read_back_the_same(number: float) -> None:
    text = codec.double_text(number)
    assert float(text) == number
    assert "." in text


@given(st.dictionaries(texts, scalars, max_size=40))
def test_maps_read_back_the_same(value: dict[str, Any]) -> None:
    data = codec.dumps(value)
    assert codec.loads(data) == value
    assert codec.dumps(codec.loads(data)) == data


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, {1: "a"}, object(), "\ud800", {"a": {1, 2}}])
def test_what_java_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(DataError):
        codec.dumps(value)


@pytest.mark.parametrize("data", [b"", b"{", b"NaN", b"\xff", b'{"a":Infinity}'])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(DataError):
        codec.loads(data)


def test_integers_beyond_64_bits_lose_their_upper_bits() -> None:
    assert codec.loads(b"9223372036854775808") == -(2**63)
    assert codec.loads(b"-9223372036854775809") == 2**63 - 1


@pytest.mark.java
def test_keys_equal_those_of_kafka_connects_own_converter() -> None:
    cases = [_random_partition(random.Random(seed)) for seed in range(300)]
    lines = "\n".join(_line(f"connector-{number}-ä", case) for number, case in enumerate(cases))
    answer = subprocess.run(
        ["java", "-Xmx128m", "-cp", jars.classpath(jars.CONNECT), str(JAVA / "JsonBytes.java")],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    theirs = [base64.b64decode(line) for line in answer.stdout.split()]
    assert len(theirs) == len(cases)
    for number, (case, expected) in enumerate(zip(cases, theirs, strict=True)):
        assert codec.dumps([f"connector-{number}-ä", case]) == expected


def _random_partition(chance: random.Random) -> dict[str, Any]:
    def text() -> str:
        alphabet = 'abcXYZ019._-/ "\\\t\n\x01\x1f\x7fäß€\u2028\uffee😀𝄞'
        return "".join(chance.choice(alphabet) for _ in range(chance.randint(0, 12)))

    makers = [
        lambda: None,
        lambda: chance.random() < 0.5,
        lambda: chance.randint(-(2**63), 2**63 - 1),
        lambda: chance.randint(-10, 10),
        # Plain numbers, on whose text all JDKs agree.
        lambda: round(chance.uniform(-1e9, 1e9), chance.randint(0, 5)),
        lambda: chance.randint(1, 99) * 10.0 ** -chance.randint(1, 15),
        lambda: chance.randbytes(chance.randint(0, 9)),
        text,
    ]
    return {text(): chance.choice(makers)() for _ in range(chance.choice([0, 1, 1, 2, 3, 5, 11, 12, 13, 24, 25, 60]))}


def _line(connector: str, partition: dict[str, Any]) -> str:
    parts = [_base64(connector)]
    for name, value in partition.items():
        kind = "null" if value is None else type(value).__name__
        shown = value if isinstance(value, bytes) else str(value)
        parts += [_base64(name), _base64(kind), _base64(shown)]
    return ",".join(parts)


def _base64(data: str | bytes) -> str:
    return base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()
