"""Parsers of mirrors: records of MirrorMaker 2, its files, batches of records that are copied unopened."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import google_crc32c

from fuzz.target import Target, of_text
from seamark.config.properties import load_properties
from seamark.connector.offsets import SourcePartition
from seamark.errors import ConfigError, ConnectError, DataError
from seamark.kafka.record_batches import AbortedTransactions, RawBatch, UnknownFormatError, as_produced, batches_of
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.filters import group_filter, topic_filter
from seamark.mirror.maker_config import CONNECTORS, MirrorMakerConfig
from seamark.mirror.offsets import check_checkpoint_offsets, check_heartbeat_offsets, check_source_offsets
from seamark.mirror.start_positions import explicit_offsets
from seamark.mirror.wire import Checkpoint, Heartbeat, OffsetSync
from seamark.storage import codec

_LENGTH = struct.Struct(">H")


def with_key(key: bytes, value: bytes) -> bytes:
    """A record as an input: the length of the key, the key, the value."""
    return _LENGTH.pack(len(key)) + key + value


def _record(parse: Callable[[bytes, bytes], Any]) -> Callable[[bytes], Any]:
    def parse_both(data: bytes) -> Any:
        return parse(*_parts(data))

    return parse_both


def _parts(data: bytes) -> tuple[bytes, bytes]:
    length = _LENGTH.unpack(data[:2].ljust(2, b"\0"))[0]
    return data[2 : 2 + length], data[2 + length :]


def _check_record(data: bytes, found: OffsetSync | Checkpoint | Heartbeat) -> None:
    key, value = _parts(data)
    # What follows the last field is ignored, as MirrorMaker 2 does.
    assert key.startswith(found.key()), "another key is written"
    assert value.startswith(found.value()), "another value is written"
    assert type(found).from_record(found.key(), found.value()) == found


def _mirror_maker(text: str) -> list[dict[str, str]]:
    config = MirrorMakerConfig(load_properties(text))
    made = []
    for flow in config.flows():
        made.append(config.worker_config(flow))
        made += [config.connector_config(flow, connector) for connector in CONNECTORS]
    return made


def _check_mirror_maker(data: bytes, found: list[dict[str, str]]) -> None:
    assert found, "no flow"
    assert all(isinstance(each, str) for config in found for pair in config.items() for each in pair)


def _check_explicit(data: bytes, found: dict[TopicPartition, int]) -> None:
    for where, offset in found.items():
        assert 0 <= where.partition < 2**31, f"{where} is no partition"
        assert 0 <= offset < 2**63, f"{offset} is no offset"


def _filters(text: str) -> tuple[bool, bool]:
    config = {"topics": text, "groups": text}
    return topic_filter(config).should_replicate_topic("orders"), group_filter(config).should_replicate_group("orders")


def _altered(data: bytes) -> None:
    """A list of pairs of source partition and offset, as a request to alter offsets of mirrors has them."""
    found = codec.loads(data)
    if not isinstance(found, list):
        raise DataError("no list")
    offsets = {}
    for pair in found:
        match pair:
            case [dict() as partition, (dict() | None) as offset]:
                if any(isinstance(value, (dict, list)) for value in partition.values()):
                    raise DataError("the runtime has refused such a partition before")
                offsets[SourcePartition(partition)] = offset
            case _:
                raise DataError("no pair")
    for check in (check_source_offsets, check_checkpoint_offsets, check_heartbeat_offsets):
        try:
            check(offsets)
        except ConnectError as error:
            assert str(error)


def with_checksum(data: bytes) -> bytes:
    """The batch with the checksum that its bytes have: else nearly every change would be found by that alone."""
    return data[:17] + struct.pack(">I", google_crc32c.value(data[21:])) + data[21:]


def _batches(data: bytes) -> list[RawBatch]:
    """The first byte says whether the checksum of the first batch is put right."""
    data = with_checksum(data[1:]) if data[:1] == b"\1" and len(data) > 61 else data[1:]
    found = list(batches_of(data))
    aborted = AbortedTransactions([(77, 0), (-1, 2**62)])
    for batch in found:
        aborted.has(batch)
    return found


def _check_batches(data: bytes, found: list[RawBatch]) -> None:
    for batch in found:
        raw = bytes(batch.data)
        assert raw[16] == 2, "it has another format"
        assert int.from_bytes(raw[8:12], "big") == len(raw) - 12
        assert int.from_bytes(raw[17:21], "big") == google_crc32c.value(raw[21:]), "its checksum is wrong"
        assert batch.count >= 0, "fewer than no records"
        assert batch.last_delta >= 0, "it ends before it begins"
        assert batch.offset >= 0, "offsets are not negative"
        (copy,) = batches_of(as_produced(batch, 1, 2, 3, is_transactional=batch.is_transactional))
        assert bytes(copy.data[61:]) == raw[61:], "the records of the copy differ"
        assert (copy.count, copy.last_delta, copy.first_ms) == (batch.count, batch.last_delta, batch.first_ms)


_STRING = (b"\x00\x06orders", b"\x00\x00", b"\xff\xff", b"\x00\x00\x00\x00", b"\x00" * 8, b"\x00\x01")

TARGETS = (
    Target("offset-sync", _record(OffsetSync.from_record), (DataError,), _check_record, _STRING),
    Target("mm2-checkpoint", _record(Checkpoint.from_record), (DataError,), _check_record, _STRING),
    Target("heartbeat", _record(Heartbeat.from_record), (DataError,), _check_record, _STRING),
    Target(
        "mirror-maker-file",
        of_text(_mirror_maker),
        (ConfigError,),
        _check_mirror_maker,
        (
            b"clusters = a, b",
            b"a->b.enabled = true",
            b"->",
            b"emit.heartbeats.enabled = false",
            b"\n",
            b"a.",
            b"${env:X}",
        ),
    ),
    Target(
        "mirror-start",
        of_text(explicit_offsets),
        (ConfigError,),
        _check_explicit,
        (b'{"orders":{"0":17}}', b'"-1"', b'" 1"', b'"1_0"', b'"\xd9\xa1"'),
    ),
    Target(
        "mirror-filters", of_text(_filters), (ConfigError,), None, (b".*", b",", b"orders", b"(?i)", b"[a-", b"\\Q")
    ),
    Target(
        "mirror-offsets",
        _altered,
        (DataError,),
        None,
        (b'"cluster"', b'"topic"', b'"partition"', b'"offset"', b'"group"', b'"sourceClusterAlias"'),
    ),
    Target("record-batches", _batches, (UnknownFormatError,), _check_batches, (b"\x00\x00\x00\x31", b"\x02", b"\x01")),
)
