"""Bytes of MirrorMaker 2's internal topics."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.errors import DataError
from seamark.mirror.wire import Checkpoint, Heartbeat, OffsetSync

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
CHECKPOINT = Checkpoint("g", "t", 0, 1, 2)
TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            OffsetSync("probe-s", 1, 14, 14),
            "00 07 70 72 6f 62 65 2d 73 00 00 00 01",
            "00 00 00 00 00 00 00 0e 00 00 00 00 00 00 00 0e",
        ),
        (
            Checkpoint("probe-g", "pra.probe-s", 1, 5, 1),
            "00 07 70 72 6f 62 65 2d 67 00 0b 70 72 61 2e 70 72 6f 62 65 2d 73 00 00 00 01",
            "00 00 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 01 00 00",
        ),
        (
            Heartbeat("pra", "prb", 0x1A1E0C941F1),
            "00 03 70 72 61 00 03 70 72 62",
            "00 00 00 00 01 a1 e0 c9 41 f1",
        ),
    ],
)
def test_records_of_a_live_mirror_maker(record: Any, key: str, value: str) -> None:
    assert record.key() == bytes.fromhex(key)
    assert record.value() == bytes.fromhex(value)
    assert type(record).from_record(bytes.fromhex(key), bytes.fromhex(value)) == record


@settings(deadline=None)
@given(
    st.one_of(
        st.builds(OffsetSync, TEXT, INT32, INT64, INT64),
        st.builds(Checkpoint, TEXT, TEXT, INT32, INT64, INT64, TEXT),
        st.builds(Heartbeat, TEXT, TEXT, INT64),
    )
)
def test_what_is_written_is_read(record: Any) -> None:
    assert type(record).from_record(record.key(), record.value()) == record


@settings(deadline=None)
@given(
    st.sampled_from([OffsetSync("topic", 3, 1, 2), Checkpoint("g", "t", 0, 1, 2, "meta"), Heartbeat("a", "b", 5)]),
    st.booleans(),
    st.data(),
)
def test_a_record_that_is_cut_off_is_refused(record: Any, is_key: bool, data: st.DataObject) -> None:
    key, value = record.key(), record.value()
    cut = data.draw(st.integers(0, len(key if is_key else value) - 1))
    with pytest.raises(DataError, match="Not a MirrorMaker record"):
        type(record).from_record(key[:cut] if is_key else key, value if is_key else value[:cut])


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (None, CHECKPOINT.value(), "the key of a checkpoint is null"),
        (CHECKPOINT.key(), None, "the value of a checkpoint is null"),
        (b"\xff\xff", CHECKPOINT.value(), "the group in the key of a checkpoint has the length -1"),
        (b"\x00\x01\xff", CHECKPOINT.value(), "the group in the key of a checkpoint is not UTF-8"),
        (CHECKPOINT.key(), b"\x00\x01" + bytes(18), "the version in the value of a checkpoint is 1"),
        (
            CHECKPOINT.key(),
            bytes(12),
            "the downstream offset in the value of a checkpoint takes 8 bytes, but only 2 are left",
        ),
    ],
)
def test_the_error_says_which_part_is_wrong(key: bytes | None, value: bytes | None, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        Checkpoint.from_record(key, value)
    assert problem in caught.value.message


def test_the_error_names_an_offset_sync() -> None:
    with pytest.raises(DataError, match="the topic in the key of an offset sync"):
        OffsetSync.from_record(b"\x00\x05abc", bytes(16))


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (OffsetSync("t" * 0x8000, 0, 0, 0), "The topic is 32768 bytes long; a MirrorMaker record can hold 32767."),
        (OffsetSync("t", 2**31, 0, 0), "The partition 2147483648 is not a 32-bit integer."),
        (OffsetSync("\ud800", 0, 0, 0), "cannot be written as UTF-8"),
    ],
)
def test_what_does_not_fit_is_refused(record: OffsetSync, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        record.key()
    assert problem in caught.value.message
