"""Records of the offsets topic: what a key and a value look like, and how they are read.

Key: ``["<connector>",{<source partition>}]``; value: ``{<source offset>}``, or nothing (a tombstone) for "no offset".
Both are JSON as in `seamark.storage.codec`. Keys that are not of that shape belong to nobody and are skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from seamark.connector.offsets import SourceOffset, SourcePartition, as_partition, check_offset_map
from seamark.errors import DataError
from seamark.storage import codec

_log = logging.getLogger(__name__)


def encode_key(
    connector: str, partition: Mapping[str, Any], raw_keys: Mapping[SourcePartition, bytes] | None = None
) -> bytes:
    """The key bytes for a connector's source partition.

    Args:
        connector: the connector's name.
        partition: the source partition.
        raw_keys: keys seen in the topic; one of this partition is used again, byte for byte, whoever wrote it.
    """
    known = raw_keys.get(as_partition(partition)) if raw_keys else None
    if known is not None:
        return known
    check_offset_map(partition)
    return checked_key(connector, partition)


def checked_key(connector: str, partition: Mapping[str, Any]) -> bytes:
    """The key bytes for a partition that has been checked, if nobody wrote it before."""
    return codec.dumps([connector, partition])


def encode_value(offset: SourceOffset | None) -> bytes | None:
    """The value bytes for a source offset; None, a tombstone, for none."""
    if offset is None:
        return None
    check_offset_map(offset)
    return codec.dumps(offset)


def decode_key(key: bytes | None) -> tuple[str, SourcePartition] | None:
    """The connector and source partition of a key; None for a key that is not theirs to read.

    The partition null, which Kafka Connect stores but never lists, is left out too.
    """
    if key is None:
        _log.warning("An offset record has no key and is ignored")
        return None
    try:
        parsed = codec.loads(key)
    except DataError as error:
        _log.warning("The offset key %r is ignored: %s", key[:200], error)
        return None
    match parsed:
        case [str(connector), dict() as partition]:
            try:
                return connector, normalised(partition)
            except DataError as error:
                _log.warning("The offset key %r is ignored: %s", key[:200], error)
                return None
        case [str(), None]:
            return None
        case _:
            _log.warning('The offset key %r is ignored: it is not ["<connector>",{<source partition>}]', key[:200])
            return None


def decode_value(value: bytes | None) -> dict[str, Any] | None:
    """The source offset of a value.

    Raises:
        DataError: the value is no JSON map.
    """
    if value is None:
        return None
    parsed = codec.loads(value)
    if parsed is not None and not isinstance(parsed, dict):
        raise DataError("Offsets must be specified as a Map")
    return parsed


def normalised(partition: Mapping[str, Any]) -> SourcePartition:
    """The partition as it reads back from the topic: bytes become base64 text, numbers 64-bit integers or doubles."""
    check_offset_map(partition)
    if any(isinstance(value, (bytes, float)) for value in partition.values()):
        return SourcePartition(codec.loads(codec.dumps(dict(partition))))
    return as_partition(partition)
