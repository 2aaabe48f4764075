"""Every converter of Kafka Connect's in a real worker and in ours: the same records, bytes and dead letters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fixtures.random_data import RandomData
from fixtures.transform_records import HEADERS, java_map, plain_map, source, zoo
from fixtures.two_workers import TwoWorkers
from fixtures.worker_outcomes import Outcome, RawRecord, assert_same_fates, is_encodable, plain_id
from seamark.connector.records import Header, SourceRecord
from seamark.connector.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
)
from seamark.connector.transform import Record

pytestmark = [pytest.mark.java, pytest.mark.slow]

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE_HEADER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_OTHERS = "org.apache.kafka.connect.converters"
CONTENT = {"type": "struct", "fields": [{"field": "a", "type": "int32", "optional": True, "default": 7}]}
CONVERTERS: dict[str, tuple[str, dict[str, str]]] = {
    "json": (JSON, {}),
    "json without schemas": (JSON, {"schemas.enable": "false"}),
    "json with numeric decimals": (JSON, {"decimal.format": "NUMERIC", "replace.null.with.default": "false"}),
    "json with a schema of its own": (JSON, {"schema.content": json.dumps(CONTENT)}),
    "string": (STRING, {}),
    "string in another encoding": (STRING, {"converter.encoding": "UTF-16"}),
    **{
        kind: (f"{_OTHERS}.{kind}Converter", {})
        for kind in ("ByteArray", "Boolean", "Short", "Integer", "Long", "Float", "Double")
    },
}
HEADER_CONVERTERS: dict[str, tuple[str, dict[str, str]]] = {
    "simple": (SIMPLE_HEADER, {}),
    **{name: CONVERTERS[name] for name in ("string", "json", "json without schemas", "json with numeric decimals")},
}


def converter(kind: str, chosen: tuple[str, dict[str, str]]) -> dict[str, str]:
    """Config of a key, value or header converter."""
    name, settings = chosen
    return {f"{kind}.converter": name, **{f"{kind}.converter.{key}": value for key, value in settings.items()}}


def envelope(schema: Any, payload: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}).encode()


_DECIMAL = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
_STRUCT = {
    "type": "struct",
    "name": "S",
    "fields": [
        {"field": "a", "type": "int32", "default": 5},
        {"field": "b", "type": "string", "optional": True},
        {"field": "c", "type": "array", "items": {"type": "int64"}, "optional": True},
    ],
}
INPUTS: list[bytes | None] = [
    None,
    b"",
    *(bytes([first]) for first in (0, 1, 2, 255)),
    *(bytes(range(200, 200 + length)) for length in (2, 3, 4, 5, 7, 8, 9)),
    b"\x7f\xc0\x00\x00",
    b"text",
    "näïve 日本 😀".encode(),
    b"\xff\xfe broken \xc3",
    b"null",
    b"true",
    b"5",
    b"-5.25e3",
    b"123456789012345678901234567890",
    b"1e400",
    b"NaN",
    b'"quoted \\u00e9"',
    b'[1, "two", null, {"a": []}]',
    b'{"a": 1, "b": {"c": [1.5, false]}, "a": 2}',
    b'{"a": null, "x": 1}',
    b'{"a": "text"}',
    b'{"a": 99999999999}',
    b"{",
    b'{"a": 1} trailing',
    b"{'a': 1}",
    b"not json",
    b'{"payload": 1}',
    b'{"schema": {"type": "string"}}',
    b'{"schema": {"type": "string"}, "payload": "x", "more": 1}',
    envelope(None, {"a": 1, "b": [1, 2.5]}),
    envelope({"type": "string"}, "x"),
    envelope({"type": "string"}, None),
    envelope({"type": "string", "optional": True}, None),
    envelope({"type": "string"}, 5),
    envelope({"type": "int8"}, 5),
    envelope({"type": "int8"}, 500),
    envelope({"type": "int32"}, "5"),
    envelope({"type": "int64"}, 2**40),
    envelope({"type": "float"}, 1.1),
    envelope({"type": "double"}, 1),
    envelope({"type": "boolean"}, True),
    envelope({"type": "bytes"}, "AAH/"),
    envelope({"type": "bytes"}, "not base64!"),
    envelope({"type": "nothing"}, 1),
    envelope({"type": 5}, 1),
    envelope({}, 1),
    envelope("string", "x"),
    envelope(_STRUCT, {"a": 1, "b": "x", "c": [1, 2]}),
    envelope(_STRUCT, {}),
    envelope(_STRUCT, {"a": None, "b": None}),
    envelope(_STRUCT, {"a": "wrong"}),
    envelope(_STRUCT, [1]),
    envelope(_DECIMAL, "AN0="),
    envelope(_DECIMAL, 1.23),
    envelope({"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}}, {"a": 1}),
    envelope({"type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}}, [[1, 2], [3, 4]]),
    envelope({"type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}}, [[1]]),
    envelope({"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}, 1709210096789),
    envelope({"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1}, 19782),
]
HEADER_INPUTS = [
    *INPUTS,
    *(b"1.5", b"12", b"300", b"70000", b"2024-02-29", b"2024-02-29T12:34:56.789Z", b"12:34:56.789Z", b"[1,2.5]"),
    *(b'{"a":1,"b":null}', b"[", b"{a:1}", b"\\", b'"a', b"  12  ", b"TRUE", b'[1,"a"]'),
]


def consume(workers: TwoWorkers, records: list[RawRecord], config: dict[str, str]) -> Outcome:
    java, ours = workers.consume(records, config)
    assert_same_fates(java, ours, {offset: f"{config}: {record}" for offset, record in enumerate(records)})
    assert len(java.delivered) + len(java.dead) == len(records)
    return java


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_sink_reads_the_same_or_refuses_it_alike(name: str, two_workers: TwoWorkers) -> None:
    chosen = CONVERTERS[name]
    records = [RawRecord(data) for data in INPUTS] + [RawRecord(None, data) for data in INPUTS]
    java = consume(two_workers, records, {**converter("key", chosen), **converter("value", chosen)})
    assert java.delivered


@pytest.mark.parametrize("name", HEADER_CONVERTERS)
def test_a_sink_reads_the_same_headers(name: str, two_workers: TwoWorkers) -> None:
    records = [RawRecord(b"v", None, (("h", data), ("h", None))) for data in HEADER_INPUTS]
    java = consume(two_workers, records, converter("header", HEADER_CONVERTERS[name]))
    assert java.delivered


def values() -> list[Record]:
    """Records with values of all types, with and without a schema."""
    found = [each.with_(key=None, key_schema=None, headers=()) for each in zoo()]
    cases: list[tuple[Any, Any]] = [
        *((BOOLEAN_SCHEMA, flag) for flag in (True, False)),
        *((INT8_SCHEMA, number) for number in (0, -128, 127)),
        *((INT16_SCHEMA, number) for number in (1, -(2**15), 2**15 - 1)),
        *((INT32_SCHEMA, number) for number in (1, -(2**31), 2**31 - 1)),
        *((INT64_SCHEMA, number) for number in (1, -(2**63), 2**63 - 1)),
        *((FLOAT32_SCHEMA, number) for number in (0.0, -0.0, 1.5, 16777216.0)),
        *((FLOAT64_SCHEMA, number) for number in (0.0, 0.1, -1e300, 5e-324)),
        *((STRING_SCHEMA, text) for text in ("", "x", "näïve 日本 😀", 'q"uo\\te')),
        (OPTIONAL_STRING_SCHEMA, None),
        *((BYTES_SCHEMA, data) for data in (b"", b"\x00\xff")),
        *((None, value) for value in ("text", 1, 1.5, True, [1, "a"], java_map({"a": {"b": None}}), plain_map())),
    ]
    found += [source(value, schema) for schema, value in cases]
    data = RandomData(11)
    for _ in range(60):
        schema = data.schema()
        found.append(source(data.value(schema), schema))
    return [record.with_(kafka_partition=None) for record in found if is_encodable(record)]


# Converters of one type refuse everything else; the record that tells the end must pass.
LAST = {
    name: SourceRecord("end", value, value_schema=schema, timestamp=1)
    for name, value, schema in (
        ("ByteArray", b"end", BYTES_SCHEMA),
        ("Boolean", True, BOOLEAN_SCHEMA),
        ("Short", 1, INT16_SCHEMA),
        ("Integer", 1, INT32_SCHEMA),
        ("Long", 1, INT64_SCHEMA),
        ("Float", 1.5, FLOAT32_SCHEMA),
        ("Double", 1.5, FLOAT64_SCHEMA),
    )
}


def replay(workers: TwoWorkers, found: list[Record], config: dict[str, str], last: Record | None = None) -> Outcome:
    records = {str(index): record for index, record in enumerate(found)}
    java, ours = workers.replay(records, {**config, "errors.tolerance": "all"}, last=last)
    told = {identity: f"{config}: {records.get(plain_id(identity))}" for identity in {*java.delivered, *ours.delivered}}
    assert_same_fates(java, ours, told)
    return java


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_source_writes_the_same_bytes(name: str, two_workers: TwoWorkers) -> None:
    chosen = CONVERTERS[name]
    found = [each for each in values() if is_comparable(name, each)]
    keyed = [each.with_(key=each.value, key_schema=each.value_schema, value=None, value_schema=None) for each in found]
    config = {**converter("key", chosen), **converter("value", chosen)}
    java = replay(two_workers, [*found, *keyed], config, LAST.get(name))
    assert len(java.delivered) > 6


def is_comparable(name: str, record: Record) -> bool:
    """Java writes the address of bytes as text; and a Python number without a schema is as wide as is asked for."""
    if name.startswith("string"):
        return "b'" not in str(record) and 'b"' not in str(record)
    return not name.istitle() or record.value_schema is not None or not isinstance(record.value, (int, float))


@pytest.mark.parametrize("name", HEADER_CONVERTERS)
def test_a_source_writes_the_same_headers(name: str, two_workers: TwoWorkers) -> None:
    headed = [
        source("v", STRING_SCHEMA, headers=(Header("h", each.value, each.value_schema), *HEADERS))
        for each in values()
        if is_comparable(name, each)
    ]
    java = replay(two_workers, headed, converter("header", HEADER_CONVERTERS[name]))
    assert java.delivered
