"""Record batches on the wire: found in the answer to a fetch, and given another producer's header."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

import google_crc32c
import pytest

from seamark.kafka.group_members import kafka_python
from seamark.kafka.record_batches import (
    HEADER_SIZE,
    AbortedTransactions,
    UnknownFormatError,
    as_produced,
    batches_of,
    next_sequence,
)

GZIP = 1


def theirs() -> Any:
    """kafka-python's own reader and writer of batches."""
    kafka_python()  # without its warnings
    from kafka.record import default_records

    return default_records


def made(offset: int, values: list[bytes], *, codec: int = 0, is_transactional: bool = False) -> bytes:
    """A batch as kafka-python's own producer writes it, at an offset of a log."""
    builder = theirs().DefaultRecordBatchBuilder(2, codec, is_transactional, 77, 3, 9, 1_000_000)
    for number, value in enumerate(values):
        builder.append(number, 1_700_000_000_000 + number, b"k", value, [("h", b"\x00")])
    data = bytearray(builder.build())
    struct.pack_into(">q", data, 0, offset)
    return bytes(data)


def records(data: bytes) -> list[tuple[int, int, bytes, bytes, list[tuple[str, bytes]]]]:
    """What kafka-python's consumer reads from a batch."""
    batch = theirs().DefaultRecordBatch(data)
    assert batch.validate_crc()
    return [(each.offset, each.timestamp, each.key, each.value, each.headers) for each in batch]


@pytest.mark.parametrize("codec", [0, GZIP])
def test_a_copy_has_the_same_records_and_another_producer(codec: int) -> None:
    (batch,) = batches_of(made(5000, [b"a", b"", b"c" * 500], codec=codec, is_transactional=True))
    assert (batch.offset, batch.count, batch.next_offset) == (5000, 3, 5003)
    assert (batch.is_whole, batch.is_transactional, batch.is_control) == (True, True, False)
    assert (batch.first_ms, batch.last_ms) == (1_700_000_000_000, 1_700_000_000_002)
    copy = as_produced(batch, 1234, 1, 42)
    header = theirs().DefaultRecordBatch(copy)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1234, 1, 42)
    assert (header.is_transactional, header.base_offset, header.compression_type) == (False, 0, codec)
    assert [each[1:] for each in records(copy)] == [each[1:] for each in records(bytes(batch.data))]


def ended(offset: int, producer_id: int, kind: int) -> bytes:
    """The end of a transaction, as a broker writes it."""
    data = bytearray(made(offset, [b"\x00\x00\x00\x00\x00\x00"], is_transactional=True))
    (batch,) = batches_of(bytes(data))
    body = bytes([2 * (4 + 4 + 1 + 6 + 1), 0, 0, 0, 8]) + struct.pack(">hh", 0, kind) + bytes([12]) + bytes(6) + b"\x00"
    data = data[:HEADER_SIZE] + body
    struct.pack_into(">h", data, 21, batch.attributes | 0x20)
    struct.pack_into(">q", data, 43, producer_id)
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">I", data, 17, google_crc32c.value(bytes(data[21:])))
    return bytes(data)


def of(producer_id: int, offset: int) -> bytes:
    """A batch of two records in a transaction."""
    data = bytearray(made(offset, [b"a", b"b"], is_transactional=True))
    struct.pack_into(">q", data, 43, producer_id)
    struct.pack_into(">I", data, 17, google_crc32c.value(bytes(data[21:])))
    return bytes(data)


def test_batches_of_aborted_transactions_are_told_apart() -> None:
    answer = b"".join(
        [
            of(1, 0),  # aborted
            of(2, 2),
            of(1, 4),  # aborted
            ended(6, 1, 0),
            of(1, 7),  # of the next transaction, which is committed
            ended(9, 2, 1),
            of(2, 10),  # aborted
            ended(12, 1, 1),
            ended(13, 2, 0),
            made(14, [b"c"]),
        ]
    )
    aborted = AbortedTransactions([(2, 10), (1, 0)])
    assert [batch.offset for batch in batches_of(answer) if aborted.has(batch)] == [0, 4, 10]
    ends = [(batch.offset, batch.is_abort) for batch in batches_of(answer) if batch.is_control]
    assert ends == [(6, True), (9, False), (12, False), (13, True)]
    nothing = AbortedTransactions([])
    assert not any(nothing.has(batch) for batch in batches_of(answer))


def test_an_end_that_cannot_be_read_is_not_guessed() -> None:
    (batch,) = batches_of(made(0, [b"x"], is_transactional=True))
    strange = dataclasses.replace(batch, attributes=batch.attributes | 0x20)
    with pytest.raises(UnknownFormatError, match="offset 0"):
        _ = strange.is_abort


def test_all_batches_of_an_answer_are_found_and_the_cut_one_is_left() -> None:
    answer = made(0, [b"a"] * 3) + made(3, [b"b"] * 2) + made(5, [b"c"])[:-1]
    assert [(each.offset, each.count) for each in batches_of(answer)] == [(0, 3), (3, 2)]
    assert list(batches_of(answer[: HEADER_SIZE - 1])) == []
    assert list(batches_of(b"")) == []


def test_what_is_damaged_or_of_another_format_is_refused() -> None:
    good = made(0, [b"abc"])
    damaged = good[:-2] + bytes([good[-2] ^ 1]) + good[-1:]
    with pytest.raises(UnknownFormatError, match="checksum"):
        list(batches_of(damaged))
    older = good[:16] + b"\x01" + good[17:]
    with pytest.raises(UnknownFormatError, match="format 1"):
        list(batches_of(older))
    with pytest.raises(UnknownFormatError, match="bytes"):
        list(batches_of(struct.pack(">qi", 0, 3) + b"\x00" * 100))


def test_a_batch_that_compaction_has_thinned_is_not_whole() -> None:
    data = bytearray(made(0, [b"a", b"b"]))
    struct.pack_into(">i", data, 23, 4)  # its last record was once the fifth
    (batch,) = batches_of(as_checked(data))
    assert (batch.is_whole, batch.next_offset) == (False, 5)


def as_checked(data: bytearray) -> bytes:
    """With the right checksum."""
    import google_crc32c

    struct.pack_into(">I", data, 17, google_crc32c.value(bytes(data[21:])))
    return bytes(data)


def test_sequence_numbers_begin_again() -> None:
    assert next_sequence(0, 500) == 500
    assert next_sequence(2**31 - 1, 1) == 0
    assert next_sequence(2**31 - 5, 10) == 5
