"""The one Java-serialised object that Kafka Connect writes: a HashMap of byte arrays.

A standalone Java worker keeps its offsets in a file of this kind. Only this shape is read; any other class in the
stream is refused, and nothing is ever instantiated or run.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from seamark.errors import DataError

_HEADER: Final = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS, _OBJECT, _ARRAY, _BLOCK, _END = 0x70, 0x71, 0x72, 0x73, 0x75, 0x77, 0x78
_FIRST_HANDLE: Final = 0x7E0000
_MAP_CLASS: Final = (
    b"\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16\x60\xd1\x03\x00\x02F\x00\x0aloadFactorI\x00\x09thresholdxp"
)
_BYTES_CLASS: Final = b"\x00\x02[B\xac\xf3\x17\xf8\x06\x08\x54\xe0\x02\x00\x00xp"
# Handles count every class, object and array in the order of the stream: HashMap's class, the map, then byte[]'s class.
_BYTES_CLASS_HANDLE: Final = _FIRST_HANDLE + 2


def dumps(entries: Mapping[bytes, bytes | None]) -> bytes:
    """The map as Java's ObjectOutputStream writes a ``HashMap<byte[], byte[]>``."""
    buckets = 16
    while len(entries) > buckets * 3 // 4:
        buckets *= 2
    out = [_HEADER, bytes((_OBJECT, _CLASS)), _MAP_CLASS, struct.pack(">fi", 0.75, buckets * 3 // 4)]
    out.append(struct.pack(">BBii", _BLOCK, 8, buckets, len(entries)))
    is_first = True
    for pair in entries.items():
        for item in pair:
            if item is None:
                out.append(bytes((_NULL,)))
                continue
            out.append(bytes((_ARRAY,)))
            out.append(
                bytes((_CLASS,)) + _BYTES_CLASS if is_first else struct.pack(">BI", _REFERENCE, _BYTES_CLASS_HANDLE)
            )
            out.append(struct.pack(">i", len(item)) + item)
            is_first = False
    out.append(bytes((_END,)))
    return b"".join(out)


def loads(data: bytes) -> dict[bytes | None, bytes | None]:
    """The map in a stream that Java's ObjectOutputStream wrote.

    Raises:
        DataError: not such a stream, cut short, or anything but a HashMap of byte arrays.
    """
    return _Reader(data).read()


class _Reader:
    """Reads the grammar of the stream as far as this one shape needs it."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._handles: list[object] = []

    def read(self) -> dict[bytes | None, bytes | None]:
        if self._take(4) != _HEADER:
            raise DataError("Not a Java-serialised file: it does not begin with AC ED 00 05.")
        self._expect(_OBJECT, "an object")
        if self._class() != "java.util.HashMap":
            raise DataError("The Java-serialised file holds something else than a java.util.HashMap.")
        self._handles.append("map")
        self._take(8)  # load factor and threshold: how Java sized its table
        self._expect(_BLOCK, "the map's size")
        if self._take(1) != b"\x08":
            raise DataError("The Java-serialised map does not state its size.")
        _, count = struct.unpack(">ii", self._take(8))
        if count < 0 or count > len(self._data):
            raise DataError(f"The Java-serialised map claims {count} entries.")
        entries = {}
        for _ in range(count):
            key = self._bytes()
            entries[key] = self._bytes()
        self._expect(_END, "the end of the map")
        if self._at != len(self._data):
            raise DataError(f"{len(self._data) - self._at} bytes follow the Java-serialised map.")
        return entries

    def _bytes(self) -> bytes | None:
        kind = self._byte()
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            known = self._reference()
            if not isinstance(known, bytes):
                raise DataError("The Java-serialised map holds something else than byte arrays.")
            return known
        if kind != _ARRAY or self._class() != "[B":
            raise DataError("The Java-serialised map holds something else than byte arrays.")
        handle = len(self._handles)
        self._handles.append(None)
        (length,) = struct.unpack(">i", self._take(4))
        if length < 0:
            raise DataError("A byte array in the Java-serialised map has a negative length.")
        self._handles[handle] = content = self._take(length)
        return content

    def _class(self) -> str:
        kind = self._byte()
        if kind == _REFERENCE:
            known = self._reference()
            if not isinstance(known, str):
                raise DataError("The Java-serialised file names a class that is none.")
            return known
        if kind != _CLASS:
            raise DataError("The Java-serialised file is damaged: a class was expected.")
        name = self._text()
        self._handles.append(name)
        self._take(9)  # serial version and flags
        (fields,) = struct.unpack(">H", self._take(2))
        for _ in range(fields):
            code = self._take(1)
            self._text()
            if code in b"[L":
                raise DataError(f"The Java-serialised file holds a {name}, whose fields are not expected here.")
        self._expect(_END, "the end of a class")
        if self._byte() != _NULL:
            raise DataError(f"The Java-serialised file holds a {name} with a superclass, which is not expected here.")
        return name

    def _reference(self) -> object:
        (handle,) = struct.unpack(">I", self._take(4))
        index = handle - _FIRST_HANDLE
        if not 0 <= index < len(self._handles):
            raise DataError("The Java-serialised file refers to something that is not in it.")
        return self._handles[index]

    def _text(self) -> str:
        (length,) = struct.unpack(">H", self._take(2))
        return self._take(length).decode("utf-8", "replace")

    def _expect(self, kind: int, what: str) -> None:
        if self._byte() != kind:
            raise DataError(f"The Java-serialised file is damaged: {what} was expected at byte {self._at - 1}.")

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise DataError(f"The Java-serialised file ends at byte {len(self._data)}, in the middle of the map.")
        taken, self._at = self._data[self._at : end], end
        return taken
