"""Record batches as they are on the wire, so that they can go from one topic to another without being opened.

A batch (format 2, since Kafka 0.11) is a header of 61 bytes and its records, compressed or not. A producer's copy
needs another header: its own id and sequence number in place of those of whoever wrote it first, and a checksum over
that. The records stay as they are. A request to produce has one batch for each partition.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import google_crc32c

HEADER_SIZE: Final = 61
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_LENGTH: Final = struct.Struct(">qi")
_BEFORE_CHECKSUM: Final = struct.Struct(">qiibI")
_PRODUCER: Final = struct.Struct(">qhi")
_ATTRIBUTES_AT: Final = 21  # all from here on is what the checksum is of
_PRODUCER_AT: Final = 43
_PREFIX_SIZE: Final = 12  # the base offset and the length, which the length does not count
_MAGIC: Final = 2
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_DELETE_HORIZON: Final = 0x40
_CONTROL_KEY_AT: Final = HEADER_SIZE + 5
_KEY_OF_FOUR: Final = 8  # as a number of variable length


@dataclass(frozen=True, slots=True)
class RawBatch:
    """A batch in the answer to a fetch.

    Attributes:
        offset: of its first record.
        count: how many records it has.
        last_delta: the offset of its last record, less that of its first one when it was written.
        attributes: compression and kinds, as bits.
        first_ms: timestamp of its first record.
        last_ms: the greatest timestamp.
        producer_id: whose it is.
        data: all its bytes.
    """

    offset: int
    count: int
    last_delta: int
    attributes: int
    first_ms: int
    last_ms: int
    producer_id: int
    data: memoryview

    @property
    def next_offset(self) -> int:
        """Where reading goes on after it."""
        return self.offset + self.last_delta + 1

    @property
    def is_control(self) -> bool:
        """Whether it is the end of a transaction, and no record of anybody."""
        return bool(self.attributes & _CONTROL)

    @property
    def is_abort(self) -> bool:
        """Whether it is the end of a transaction that was aborted.

        Raises:
            UnknownFormatError: it is another kind of end than those that are known.
        """
        if not self.is_control:
            return False
        # One record, all of whose numbers before the key fit into a byte; the key is a version and a kind.
        key = self.data[_CONTROL_KEY_AT : _CONTROL_KEY_AT + 4]
        if len(key) < 4 or self.data[_CONTROL_KEY_AT - 1] != _KEY_OF_FOUR:
            raise UnknownFormatError(f"The end of a transaction at offset {self.offset} cannot be read.")
        return int.from_bytes(key[2:], "big") == 0

    @property
    def is_transactional(self) -> bool:
        """Whether it is part of a transaction, which may have been aborted."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_whole(self) -> bool:
        """Whether it is as it was written: compaction has taken nothing out, and its timestamps are its records'."""
        return self.count == self.last_delta + 1 and not self.attributes & (_LOG_APPEND_TIME | _DELETE_HORIZON)


class UnknownFormatError(ValueError):
    """Bytes that are no batch of format 2."""


def batches_of(data: bytes) -> Iterator[RawBatch]:
    """The complete batches in the answer to a fetch; the last one may be cut off, and is left out then.

    Raises:
        UnknownFormatError: a batch has another format, or is damaged.
    """
    view, start = memoryview(data), 0
    while len(view) - start >= HEADER_SIZE:
        _, length = _LENGTH.unpack_from(view, start)
        end = start + _PREFIX_SIZE + length
        if length < HEADER_SIZE - _PREFIX_SIZE:
            raise UnknownFormatError(f"A batch is said to have {length} bytes.")
        if end > len(view):
            return
        (offset, _, _, magic, checksum, attributes, last_delta, first_ms, last_ms, producer, _, _, count) = (
            _HEADER.unpack_from(view, start)
        )
        if magic != _MAGIC:
            raise UnknownFormatError(f"A batch has format {magic}.")
        if google_crc32c.value(bytes(view[start + _ATTRIBUTES_AT : end])) != checksum:
            raise UnknownFormatError(f"The batch at offset {offset} is damaged: its checksum is wrong.")
        if offset < 0 or last_delta < 0 or count < 0:
            raise UnknownFormatError(
                f"The batch at offset {offset} is damaged: it has {count} records, the last one {last_delta} behind "
                "the first."
            )
        yield RawBatch(offset, count, last_delta, attributes, first_ms, last_ms, producer, view[start:end])
        start = end


class AbortedTransactions:
    """Which batches in the answer to a fetch belong to transactions that were aborted."""

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        """`aborted` is what the broker says of them: producer ids, and the offsets at which they begin."""
        self._begin = sorted(((offset, producer) for producer, offset in aborted), reverse=True)
        self._open: set[int] = set()

    def has(self, batch: RawBatch) -> bool:
        """Whether this batch does; to be asked of all of them, in order."""
        while self._begin and self._begin[-1][0] < batch.next_offset:
            self._open.add(self._begin.pop()[1])
        if batch.is_abort:
            self._open.discard(batch.producer_id)
        return batch.is_transactional and not batch.is_control and batch.producer_id in self._open


def as_produced(
    batch: RawBatch, producer_id: int, epoch: int, sequence: int, *, is_transactional: bool = False
) -> bytes:
    """The batch as a producer sends it.

    Args:
        batch: of a topic.
        producer_id: of an idempotent producer.
        epoch: of that producer.
        sequence: of the batch's first record; counts the records of a partition.
        is_transactional: whether it is part of a transaction of that producer.
    """
    made = bytearray(batch.data)
    kept = batch.attributes & ~(_TRANSACTIONAL | _CONTROL) | (_TRANSACTIONAL if is_transactional else 0)
    made[_ATTRIBUTES_AT : _ATTRIBUTES_AT + 2] = kept.to_bytes(2, "big")
    _PRODUCER.pack_into(made, _PRODUCER_AT, producer_id, epoch, sequence)
    checksum = google_crc32c.value(bytes(memoryview(made)[_ATTRIBUTES_AT:]))
    _BEFORE_CHECKSUM.pack_into(made, 0, 0, len(made) - _PREFIX_SIZE, -1, _MAGIC, checksum)
    return bytes(made)


def next_sequence(sequence: int, count: int) -> int:
    """The sequence number after so many records; it begins again after the greatest number of 32 bits."""
    return (sequence + count) % 2**31
