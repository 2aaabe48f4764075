"""What a parser is to a fuzzer."""

from __future__ import annotations

import atexit
import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """A parser.

    Attributes:
        name: also that of its folder in the corpus.
        parse: takes any bytes, and does what the program does with them.
        errors: what it may raise. A class of ours stands for its subclasses, too; one of Python's only for itself, so
            that a ValueError on purpose does not excuse a UnicodeDecodeError by accident.
        check: asserts something about what was accepted, by other means than the parser's.
        tokens: words of its language, for new inputs.
    """

    name: str
    parse: Callable[[bytes], Any]
    errors: tuple[type[Exception], ...] = ()
    check: Callable[[bytes, Any], None] | None = None
    tokens: tuple[bytes, ...] = ()

    def may_raise(self, error: Exception) -> bool:
        """Whether the error is one of those."""
        return type(error) in self.errors or any(
            isinstance(error, kind) and kind.__module__.startswith("seamark") for kind in self.errors
        )


def text_of(data: bytes) -> str:
    """Bytes as a text: as it is meant if possible, and any bytes as some text. Half surrogates may be in it."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def of_text(parse: Callable[[str], Any]) -> Callable[[bytes], Any]:
    """A parser of texts."""
    return lambda data: parse(text_of(data))


def of_file(parse: Callable[[Path], Any], name: str = "input") -> Callable[[bytes], Any]:
    """A parser of files."""

    def parse_bytes(data: bytes) -> Any:
        path = scratch() / name
        path.write_bytes(data)
        return parse(path)

    return parse_bytes


@functools.cache
def scratch() -> Path:
    """A directory of this process."""
    made = tempfile.TemporaryDirectory(prefix="seamark-fuzz-")
    atexit.register(made.cleanup)
    return Path(made.name)
