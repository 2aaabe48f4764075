"""The records of MirrorMaker 2's internal topics: bytes that either side writes and the other reads.

All numbers are big endian; a string is an int16 length and that many bytes of UTF-8.

=============  ===================================================  =============================================
record         key                                                  value
=============  ===================================================  =============================================
`OffsetSync`   string source topic, int32 partition                 int64 upstream, int64 downstream
`Checkpoint`   string group, string remote topic, int32 partition   int16 version, int64 upstream, int64
                                                                    downstream, string metadata
`Heartbeat`    string source alias, string target alias             int16 version, int64 timestamp
=============  ===================================================  =============================================

The version is 0 so far. Bytes after the last field are ignored, as MirrorMaker 2 ignores them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Self

from seamark.errors import DataError

VERSION: Final = 0
_MAX_STRING: Final = 0x7FFF
_INT16, _INT32, _INT64 = (struct.Struct(format) for format in (">h", ">i", ">q"))


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """A record of the source topic and the place of its copy on the target: one point of a partition's translation."""

    topic: str
    """On the source cluster."""
    partition: int
    upstream: int
    downstream: int

    def key(self) -> bytes:
        """The record's key: the source partition, so compaction keeps the newest sync of each."""
        return _string(self.topic, "topic") + _packed(_INT32, self.partition, "partition")

    def value(self) -> bytes:
        """The record's value."""
        return _packed(_INT64, self.upstream, "upstream offset") + _packed(_INT64, self.downstream, "downstream offset")

    @classmethod
    def from_record(cls, key: bytes | None, value: bytes | None) -> Self:
        """What a record of an offset-syncs topic says.

        Raises:
            DataError: it is not such a record.
        """
        where = _Reader("offset sync", "key", key)
        topic, partition = where.string("topic"), where.number(_INT32, "partition")
        offsets = _Reader("offset sync", "value", value)
        upstream, downstream = offsets.number(_INT64, "upstream offset"), offsets.number(_INT64, "downstream offset")
        return cls(topic, partition, upstream, downstream)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a consumer group of the source cluster stands in a remote topic."""

    group: str
    topic: str
    """On the target cluster."""
    partition: int
    upstream: int
    downstream: int
    metadata: str = ""

    def key(self) -> bytes:
        """The record's key: the group and its partition."""
        return (
            _string(self.group, "group") + _string(self.topic, "topic") + _packed(_INT32, self.partition, "partition")
        )

    def value(self) -> bytes:
        """The record's value."""
        return (
            _INT16.pack(VERSION)
            + _packed(_INT64, self.upstream, "upstream offset")
            + _packed(_INT64, self.downstream, "downstream offset")
            + _string(self.metadata, "metadata")
        )

    @classmethod
    def from_record(cls, key: bytes | None, value: bytes | None) -> Self:
        """What a record of a checkpoints topic says.

        Raises:
            DataError: it is not such a record, or of a version that is not known.
        """
        offsets = _Reader("checkpoint", "value", value)
        offsets.version()
        upstream, downstream = offsets.number(_INT64, "upstream offset"), offsets.number(_INT64, "downstream offset")
        metadata = offsets.string("metadata")
        where = _Reader("checkpoint", "key", key)
        group, topic, partition = where.string("group"), where.string("topic"), where.number(_INT32, "partition")
        return cls(group, topic, partition, upstream, downstream, metadata)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign that the flow from `source` to `target` is alive."""

    source: str
    target: str
    timestamp_ms: int

    def key(self) -> bytes:
        """The record's key: the flow."""
        return _string(self.source, "source alias") + _string(self.target, "target alias")

    def value(self) -> bytes:
        """The record's value."""
        return _INT16.pack(VERSION) + _packed(_INT64, self.timestamp_ms, "timestamp")

    @classmethod
    def from_record(cls, key: bytes | None, value: bytes | None) -> Self:
        """What a record of a heartbeats topic says.

        Raises:
            DataError: it is not such a record, or of a version that is not known.
        """
        when = _Reader("heartbeat", "value", value)
        when.version()
        timestamp_ms = when.number(_INT64, "timestamp")
        flow = _Reader("heartbeat", "key", key)
        return cls(flow.string("source alias"), flow.string("target alias"), timestamp_ms)


class _Reader:
    """Takes one field after the other."""

    def __init__(self, record: str, part: str, data: bytes | None) -> None:
        self._where = f"the {part} of a {record}" if record[0] not in "aeiou" else f"the {part} of an {record}"
        if data is None:
            raise DataError(f"Not a MirrorMaker record: {self._where} is null.")
        self._data, self._at = data, 0

    def number(self, format: struct.Struct, field: str) -> int:
        number: int = format.unpack(self._take(format.size, field))[0]
        return number

    def string(self, field: str) -> str:
        length = self.number(_INT16, f"length of the {field}")
        if length < 0:
            raise DataError(f"Not a MirrorMaker record: the {field} in {self._where} has the length {length}.")
        try:
            return self._take(length, field).decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"Not a MirrorMaker record: the {field} in {self._where} is not UTF-8 ({error.reason})."
            ) from error

    def version(self) -> None:
        version = self.number(_INT16, "version")
        if version != VERSION:
            raise DataError(
                f"Not a MirrorMaker record that can be read: the version in {self._where} is {version}; only "
                f"{VERSION} is known."
            )

    def _take(self, size: int, field: str) -> bytes:
        left = len(self._data) - self._at
        if size > left:
            raise DataError(
                f"Not a MirrorMaker record: the {field} in {self._where} takes {size} bytes, but only {left} are left."
            )
        self._at += size
        return self._data[self._at - size : self._at]


def _string(text: str, field: str) -> bytes:
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(f"The {field} {text!r} cannot be written as UTF-8: {error.reason}.") from error
    if len(data) > _MAX_STRING:
        raise DataError(f"The {field} is {len(data)} bytes long; a MirrorMaker record can hold {_MAX_STRING}.")
    return _INT16.pack(len(data)) + data


def _packed(format: struct.Struct, number: int, field: str) -> bytes:
    try:
        return format.pack(number)
    except struct.error as error:
        raise DataError(f"The {field} {number!r} is not a {format.size * 8}-bit integer.") from error
