r"""Lines of files that grow, by byte positions: where complete ones end, and reading those between two positions.

A line ends with ``\n``; a ``\r`` before it belongs to the end. The driver plans with this, Spark tasks read with it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seamark.errors import ConnectError

CHUNK: Final = 1024 * 1024
_LINES_PER_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a file: bytes from `start` up to `end`, both at the beginning of a line."""

    path: str
    start: int
    end: int


def complete_lines(path: str, start: int, most_lines: int, most_bytes: int) -> tuple[int, int]:
    """How far complete lines reach, and how many they are.

    Args:
        path: the file.
        start: where to begin.
        most_lines: stop after that many.
        most_bytes: stop there, unless the first line is longer.
    """
    position = end = start
    lines = 0
    with open(path, "rb") as file:
        file.seek(start)
        while lines < most_lines and (chunk := file.read(CHUNK)):
            found = chunk.count(b"\n")
            if lines + found > most_lines:
                chunk = chunk[: _nth_line_end(chunk, most_lines - lines)]
            if lines and position + len(chunk) - start > most_bytes:
                chunk = chunk[: max(0, start + most_bytes - position)]
            if not chunk:
                break
            found, last = chunk.count(b"\n"), chunk.rfind(b"\n") + 1
            lines += found
            end = position + last if last else end
            position += len(chunk)
            if lines and position - start >= most_bytes:
                break
    return end, lines


def _nth_line_end(chunk: bytes, number: int) -> int:
    end = 0
    for _ in range(number):
        end = chunk.index(b"\n", end) + 1
    return end


def is_line_start(path: str, position: int) -> bool:
    """Whether a line begins there."""
    if position == 0:
        return True
    with open(path, "rb") as file:
        file.seek(position - 1)
        return file.read(1) == b"\n"


def cut(part: Part, parts: int) -> list[Part]:
    """About equal parts, for several tasks."""
    cuts = [part.start]
    with open(part.path, "rb") as file:
        for number in range(1, parts):
            file.seek(max(cuts[-1], part.start + (part.end - part.start) * number // parts))
            file.readline()
            cuts.append(min(file.tell(), part.end))
    cuts.append(part.end)
    return [Part(part.path, one, other) for one, other in itertools.pairwise(cuts) if one < other]


def read_parts(parts: Sequence[Part], has_header: bool, numbers: Iterator[Any]) -> Iterator[Any]:
    """Runs in a Spark task: the lines of the parts with these numbers, as Arrow batches with the column `value`."""
    import pyarrow as pa

    for batch in numbers:
        for number in batch.column(0).to_pylist():
            lines = _lines(parts[number])
            if has_header and parts[number].start == 0:
                next(lines, None)
            while texts := [text for _, text in zip(range(_LINES_PER_BATCH), lines, strict=False)]:
                yield pa.RecordBatch.from_arrays([pa.array(texts, pa.string())], names=["value"])


def _lines(part: Part) -> Iterator[str]:
    try:
        with open(part.path, "rb") as file:
            file.seek(part.start)
            left = part.end - part.start
            while left:
                line = file.readline(left)
                if not line.endswith(b"\n"):
                    raise ConnectError(
                        f"File {part.path} has lost what was there up to byte {part.end}: it was truncated or replaced."
                    )
                left -= len(line)
                yield line.rstrip(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
    except OSError as error:
        raise ConnectError(
            f"File {part.path} cannot be read where Spark's tasks run: {error.strerror}. It must be there on all "
            "machines, under the same path."
        ) from error
