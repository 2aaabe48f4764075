"""Tasks that fail, and FileStream connectors, in a real Kafka Connect worker and in ours."""

from __future__ import annotations

from typing import Any

import pytest

from fixtures.transform_oracle import one
from fixtures.transform_records import ALL as EVERYTHING
from fixtures.transform_records import SMALL, full_struct, java_map, plain_map, source, zoo
from fixtures.two_workers import TwoWorkers
from fixtures.worker_outcomes import RawRecord, alike, differences, raw
from seamark.connector.schema import STRING_SCHEMA, Struct
from seamark.connector.transform import Record

pytestmark = [pytest.mark.java, pytest.mark.slow]

JSON = "org.apache.kafka.connect.json.JsonConverter"
CONVERTERS = "org.apache.kafka.connect.converters"
WITH_SCHEMAS = {"key.converter": JSON, "value.converter": JSON}
WITHOUT_SCHEMAS = {**WITH_SCHEMAS, "key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"}
GOOD = source(full_struct(), EVERYTHING, key=Struct(SMALL, a="x", b=1), key_schema=SMALL)
TEXT = source("text", STRING_SCHEMA)
# A transform that takes GOOD, and a record that it refuses.
POISON: dict[str, tuple[dict[str, str], Record]] = {
    "Cast$Value": ({"spec": "text:int8"}, source(java_map({"text": "no number"}))),
    "ExtractField$Value": ({"field": "text"}, TEXT),
    "Flatten$Value": ({}, TEXT),
    "HeaderFrom$Value": ({"fields": "text", "headers": "h", "operation": "move"}, TEXT),
    "InsertField$Value": ({"static.field": "s", "static.value": "v"}, TEXT),
    "MaskField$Value": ({"fields": "text", "replacement": "x"}, source(java_map({"text": [1]}))),
    "ReplaceField$Value": ({"exclude": "text"}, TEXT),
    "SetSchemaMetadata$Value": ({"schema.name": "S"}, source(plain_map())),
    "TimestampConverter$Value": (
        {"target.type": "unix", "field": "when", "format": "yyyy-MM-dd HH:mm:ss"},
        source(java_map({"when": "never"})),
    ),
    "ValueToKey": ({"fields": "text"}, source(Struct(SMALL, a="x"), SMALL)),
}
BYTES_POISON = {
    "json": (JSON, b'{"schema": {"type": "nothing"}, "payload": 5}', b'{"schema": {"type": "int32"}, "payload": 5}'),
    "json without an envelope": (JSON, b'{"n": 1}', b'{"schema": null, "payload": {"n": 1}}'),
    "long": (f"{CONVERTERS}.LongConverter", b"1234567", b"12345678"),
    "boolean": (f"{CONVERTERS}.BooleanConverter", b"\x05", b"\x01"),
}


@pytest.mark.parametrize("name", POISON)
def test_a_transform_that_refuses_a_record_ends_both_sources_there(name: str, two_workers: TwoWorkers) -> None:
    settings, poison = POISON[name]
    records = {str(number): GOOD for number in range(7)} | {"7": poison, "8": GOOD}
    config = {**WITH_SCHEMAS, **one(name, settings).config}
    java, ours = two_workers.replay(records, config, fails=True)
    assert java.cause
    assert ours.cause == java.cause
    assert set(java.delivered) == {str(number).encode() for number in range(7)}
    assert differences(java.delivered, ours.delivered) == []
    assert java.positions == ours.positions == [{"n": 7}]


@pytest.mark.parametrize("name", BYTES_POISON)
def test_bytes_that_a_converter_refuses_end_both_sinks_there(name: str, two_workers: TwoWorkers) -> None:
    converter, poison, good = BYTES_POISON[name]
    records = [RawRecord(good)] * 4 + [RawRecord(poison)] + [RawRecord(good)] * 3
    java, ours = two_workers.consume(records, {"value.converter": converter}, tolerance="none")
    assert java.cause
    assert alike(java.cause, ours.cause)
    # What a task had not been given when the conversion failed it never saw: of one read, all or nothing.
    assert max([*java.delivered, *ours.delivered], default=0) < 4
    for outcome in (java, ours):
        assert list(outcome.dead) == [4]
    assert differences(java.dead, ours.dead) == []
    assert ours.errors["total-record-failures"] == ours.errors["total-record-errors"] == 1
    assert ours.errors["total-records-skipped"] == 0


WITHOUT_BYTES = {
    "transforms": "drop",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.drop.exclude": "blob",
}


@pytest.mark.parametrize("structs", [True, False])
def test_file_sinks_write_the_same_lines(structs: bool, two_workers: TwoWorkers) -> None:
    """Bytes are left out: Java would write their address."""
    found = [each for each in zoo() if isinstance(each.value, (Struct, dict)) is structs]
    records = [encoded for each in found if not _is_bytes(each) and (encoded := raw(each)) is not None]
    config = {**WITH_SCHEMAS, "connector.class": "FileStreamSink", **(WITHOUT_BYTES if structs else {})}
    java, ours = two_workers.consume(records, config)
    assert len(java.delivered) == len(records) > 4
    assert differences(java.delivered, ours.delivered) == []


def _is_bytes(record: Record) -> bool:
    return isinstance(record.value, bytes)


LINES = ["one", "", " two words ", "ünï¢ode 😀", '{"a": 1}', "x" * 3000, "tab\there", "five"]
CHAINS: dict[str, dict[str, Any]] = {
    "no transforms": {},
    "a struct with a key": {
        "transforms": "hoist,static,key,header",
        "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.static.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.static.static.field": "from",
        "transforms.static.static.value": "file",
        "transforms.static.topic.field": "topic",
        "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
        "transforms.key.fields": "line",
        "transforms.header.type": "org.apache.kafka.connect.transforms.HeaderFrom$Value",
        "transforms.header.fields": "from",
        "transforms.header.headers": "h",
        "transforms.header.operation": "copy",
    },
    "some lines only": {
        "transforms": "cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "boolean",
        "errors.tolerance": "all",
    },
}


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("schemas", [True, False])
def test_file_sources_write_the_same_bytes(chain: str, schemas: bool, two_workers: TwoWorkers) -> None:
    lines = [*LINES, "true"]
    config = {"topic": "lines", **(WITH_SCHEMAS if schemas else WITHOUT_SCHEMAS), **CHAINS[chain]}
    java, ours = two_workers.copy_lines(lines, config)
    assert java
    assert differences(java, ours) == []
