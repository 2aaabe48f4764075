"""Versions of what Seamark writes down for itself, and may read again in an older or a newer version of itself.

What says nothing of its version is of version 1. A field that older readers may leave out of account leaves the version
as it is; what they would misunderstand raises it. Kafka Connect's own formats have no such field and never get one.
All formats, and what a reader does with a newer one: docs/reference/formats.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from seamark.errors import DataError, NewerFormatError

VERSION: Final = "version"
FIRST: Final = 1


def check_version(content: Mapping[str, Any], known: int, what: str) -> None:
    """Refuse what this version cannot read.

    Args:
        content: an object that may have a version.
        known: the highest version that the caller reads.
        what: the object, at the beginning of a sentence.

    Raises:
        NewerFormatError: it is of a later version.
        DataError: it says a version that there cannot be.
    """
    version = content.get(VERSION, FIRST)
    if isinstance(version, bool) or not isinstance(version, int) or version < FIRST:
        raise DataError(f"{what} has the format version {version!r}; it should be a number from {FIRST} on.")
    if version > known:
        raise NewerFormatError(what, version, known)
