from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.errors import DataError
from seamark.storage import java_serialization

JAVA = Path(__file__).parents[2] / "fixtures" / "java" / "OffsetFile.java"
# Written by Java's ObjectOutputStream: {"k" -> "v"}.
SAMPLE = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f7249000974687265"
    "73686f6c6478703f4000000000000c770800000010000000017572"
    "00025b42acf317f8060854e002000078700000000"
    "16b7571007e000200000001"
    "7678"
)


def java(*arguments: str) -> str:
    run = subprocess.run(
        ["java", "-Xmx64m", str(JAVA), *arguments], capture_output=True, text=True, check=True, timeout=120
    )
    return run.stdout


def test_javas_bytes_are_read_and_written() -> None:
    assert java_serialization.loads(SAMPLE) == {b"k": b"v"}
    assert java_serialization.dumps({b"k": b"v"}) == SAMPLE


@given(st.dictionaries(st.binary(max_size=20), st.one_of(st.none(), st.binary(max_size=20)), max_size=30))
def test_maps_read_back_as_they_were_written(entries: dict[bytes, bytes | None]) -> None:
    assert java_serialization.loads(java_serialization.dumps(entries)) == entries


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_clearly(data: bytes) -> None:
    for candidate in (data, SAMPLE[:4] + data, SAMPLE[:77] + data):
        try:
            java_serialization.loads(candidate)
        except DataError:
            continue


@given(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255))
def test_a_damaged_file_is_read_or_refused_clearly(position: int, byte: int) -> None:
    damaged = bytearray(SAMPLE)
    damaged[position] = byte
    try:
        java_serialization.loads(bytes(damaged))
    except DataError as error:
        assert str(error)


@pytest.mark.parametrize("length", range(len(SAMPLE)))
def test_a_file_cut_short_is_refused(length: int) -> None:
    with pytest.raises(DataError):
        java_serialization.loads(SAMPLE[:length])


def test_another_class_is_refused() -> None:
    with pytest.raises(DataError, match=r"something else than a java\.util\.HashMap"):
        java_serialization.loads(SAMPLE.replace(b"java.util.HashMap", b"java.util.Hashtab"))


def test_java_reads_what_was_written(tmp_path: Path) -> None:
    entries: dict[bytes, bytes | None] = {
        f'["c",{{"n":{n}}}]'.encode(): f'{{"position":{n}}}'.encode() for n in range(40)
    }
    entries[b"empty"], entries[b"gone"] = b"", None
    path = tmp_path / "offsets"
    path.write_bytes(java_serialization.dumps(entries))
    read = dict(line.split(" ") for line in java("read", str(path)).splitlines())
    assert {base64.b64decode(k): None if v == "-" else base64.b64decode(v) for k, v in read.items()} == entries


def test_what_java_wrote_is_read(tmp_path: Path) -> None:
    path = tmp_path / "offsets"
    entries = {f"key-{n}".encode(): f"value-{n}".encode() * n for n in range(30)}
    arguments = [base64.b64encode(item).decode() for pair in entries.items() for item in pair]
    java("write", str(path), *arguments, "-", "-")
    assert java_serialization.loads(path.read_bytes()) == {**entries, None: None}
