"""Inputs that are kept: valid ones, nearly valid ones, nasty ones, and those that once were too much for a parser.

A file is an input, byte for byte; its name says what is special about it. Those that begin with ``found-`` were found
by a search.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "corpus"


def files(target: str, folder: Path = FOLDER) -> list[Path]:
    """The files of a target, in order."""
    return sorted(path for path in (folder / target).glob("*") if path.is_file())


def inputs(target: str, folder: Path = FOLDER) -> list[bytes]:
    """Their contents."""
    return [path.read_bytes() for path in files(target, folder)]


def keep(target: str, data: bytes, folder: Path = FOLDER) -> Path:
    """Keep an input that was found."""
    path = folder / target / f"found-{hashlib.sha256(data).hexdigest()[:12]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
