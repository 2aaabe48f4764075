"""What is written is read back: a value, its writer, its reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from seamark.checkpoint.entries import OffsetEntry, SourceOffsets, parse_offsets, parse_positions, render_positions
from seamark.checkpoint.guards import Guard, parse_guard
from seamark.config.positions import AtOffset, PositionRule, Selector, Shift, parse_rule
from seamark.config.properties import dump_properties, load_properties
from seamark.connector.schema import FLOAT64_SCHEMA, INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, Schema, Struct
from seamark.engine.converters.json import JsonConverter
from seamark.engine.converters.values import format_value, parse_value
from seamark.mirror.wire import Checkpoint, Heartbeat, OffsetSync
from seamark.storage import codec, java_serialization
from seamark.storage.offset_keys import decode_key, decode_value, encode_key, encode_value
from seamark.storage.operation_records import OperationRecord, decode_operation


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Values, and `read(write(value)) == value` for all of them."""

    name: str
    values: st.SearchStrategy[Any]
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_names = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True).filter(lambda name: name not in (".", ".."))
_longs = st.integers(-(2**63), 2**63 - 1)
_offsets = st.integers(0, 2**63 - 1)
_partitions = st.integers(0, 2**31 - 1)
_floats = st.floats(allow_nan=False, allow_infinity=False)
_scalars = st.none() | st.booleans() | _longs | _floats | _texts
_documents = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3), max_leaves=8
)
_maps = st.dictionaries(_texts, _scalars, max_size=4)
_positions = st.dictionaries(st.tuples(_texts, _partitions), _offsets, min_size=1, max_size=4)
_rows = st.none() | st.lists(st.fixed_dictionaries({"partition": _maps, "offset": st.none() | _maps}), max_size=2)
_PERSON: Final = Schema.struct({"id": INT64_SCHEMA, "name": OPTIONAL_STRING_SCHEMA, "size": FLOAT64_SCHEMA}, name="P")
_JSON: Final = JsonConverter()


def _record(kind: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return lambda value: (value.key(), value.value()), lambda pair: kind.from_record(*pair)


def _entry(positions: dict[Any, int], metadata: dict[str, int]) -> OffsetEntry:
    lines = (SourceOffsets("0", render_positions(positions)), SourceOffsets("1", "-"))
    return OffsetEntry("v1", json.dumps(metadata), lines)


ROUND_TRIPS: Final = (
    RoundTrip("properties", st.dictionaries(_texts, _texts, max_size=5), dump_properties, load_properties),
    RoundTrip("stored JSON", _documents, codec.dumps, codec.loads),
    RoundTrip(
        "offset key",
        st.tuples(_texts, _maps),
        lambda value: encode_key(*value),
        lambda key: (found := decode_key(key)) and (found[0], dict(found[1])),
    ),
    RoundTrip("offset value", st.none() | _maps, encode_value, decode_value),
    RoundTrip(
        "standalone offsets",
        st.dictionaries(st.binary(max_size=30), st.none() | st.binary(max_size=30), max_size=20),
        java_serialization.dumps,
        java_serialization.loads,
    ),
    RoundTrip(
        "operation",
        st.builds(
            OperationRecord,
            _texts,
            _texts,
            _texts,
            _texts,
            _longs,
            _longs,
            reason=st.none() | _texts,
            request=_maps,
            before=_rows,
            after=_rows,
            steps=st.lists(_maps, max_size=2),
            details=_maps,
        ),
        OperationRecord.encoded,
        decode_operation,
    ),
    RoundTrip("offset sync", st.builds(OffsetSync, _texts, _partitions, _longs, _longs), *_record(OffsetSync)),
    RoundTrip(
        "checkpoint of MirrorMaker 2",
        st.builds(Checkpoint, _texts, _texts, _partitions, _longs, _longs, _texts),
        *_record(Checkpoint),
    ),
    RoundTrip("heartbeat", st.builds(Heartbeat, _texts, _texts, _longs), *_record(Heartbeat)),
    RoundTrip("positions in a checkpoint", _positions, render_positions, parse_positions),
    RoundTrip(
        "offsets in a checkpoint",
        st.builds(_entry, _positions, st.dictionaries(_names, _offsets, max_size=3)),
        OffsetEntry.render,
        lambda text: parse_offsets(text, "offsets/5"),
    ),
    RoundTrip(
        "guard",
        st.builds(Guard, st.just(5), _texts, _texts, st.integers(0, 2**31 - 1), _floats),
        Guard.render,
        lambda text: parse_guard(text, 5),
    ),
    RoundTrip(
        "position",
        st.builds(
            PositionRule,
            st.just(Selector()) | st.builds(Selector, _names) | st.builds(Selector, _names, _partitions),
            st.builds(AtOffset, _offsets) | st.builds(Shift, st.integers(-(2**63) + 1, 2**63 - 1)),
        ),
        str,
        parse_rule,
    ),
    RoundTrip(
        "JSON with a schema",
        st.builds(lambda number, name, size: Struct(_PERSON, id=number, name=name, size=size), _longs, _texts, _floats),
        lambda value: _JSON.from_connect_data("orders", _PERSON, value),
        lambda data: _JSON.to_connect_data("orders", data).value,
    ),
    RoundTrip(
        "header",
        st.booleans() | _longs | st.lists(_longs, min_size=1, max_size=4),
        format_value,
        lambda text: parse_value(text).value,
    ),
)
