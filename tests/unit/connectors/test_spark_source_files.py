"""Lines of files, by byte positions."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamark.connectors.spark_source import file_lines
from seamark.connectors.spark_source.file_lines import Part, complete_lines, cut, is_line_start
from seamark.connectors.spark_source.folders import local_path
from seamark.errors import ConnectError

MANY = 1 << 40


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lines, "CHUNK", 5)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("data", "start", "lines", "size", "expected"),
    [
        (b"", 0, 10, MANY, (0, 0)),
        (b"unfinished", 0, 10, MANY, (0, 0)),
        (b"one\ntwo\nthr", 0, 10, MANY, (8, 2)),
        (b"one\ntwo\nthree\n", 4, 10, MANY, (14, 2)),
        (b"one\ntwo\nthree\n", 0, 2, MANY, (8, 2)),
        (b"\n\n\n\n\n\n\n\n", 0, 7, MANY, (7, 7)),
        (b"one\ntwo\nthree\n", 0, 10, 9, (8, 2)),
        (b"a line that is far longer than allowed\nshort\n", 0, 10, 4, (39, 1)),
    ],
)
def test_complete_lines_end_where_they_end(
    tmp_path: Path, data: bytes, start: int, lines: int, size: int, expected: tuple[int, int]
) -> None:
    file = tmp_path / "lines"
    file.write_bytes(data)
    assert complete_lines(str(file), start, lines, size) == expected
    assert is_line_start(str(file), expected[0])


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 50])
def test_parts_of_a_file_hold_every_line_once(tmp_path: Path, parts: int) -> None:
    file = tmp_path / "lines"
    lines = [f"line {number} {'x' * (number % 13)}" for number in range(40)]
    file.write_bytes("".join(f"{line}\r\n" for line in lines).encode() + b"unfinished")
    end, count = complete_lines(str(file), 0, 1000, MANY)
    assert count == 40
    pieces = cut(Part(str(file), 0, end), parts)
    assert len(pieces) <= parts
    assert [line for piece in pieces for line in file_lines._lines(piece)] == lines


def test_a_file_that_lost_its_lines_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"one\ntw")
    with pytest.raises(ConnectError, match="truncated or replaced"):
        list(file_lines._lines(Part(str(file), 0, 8)))


def test_paths_on_this_machine_are_told_from_others() -> None:
    assert local_path("/data/x/") == "/data/x"
    assert local_path("file:///data/x") == "/data/x"
    assert local_path("file:/data/a:b") == "/data/a:b"
    assert local_path("/data/a:b") == "/data/a:b"
    assert local_path("hdfs://name/data") is None
