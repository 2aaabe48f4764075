"""Avro without a registry, with fastavro as an independent reader and writer."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from fixtures.avro import plain_bytes, without_logical_types
from seamark.connector.converter import Converter
from seamark.connector.logical import Timestamp
from seamark.connector.schema import INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, Struct
from seamark.engine.plugins import Plugins
from seamark.errors import ConfigError, DataError

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
    ],
}
VALUE = {"id": 7, "note": "fragile", "tags": ["a", "b"], "at": 1_700_000_000_123}


def plain(schema: Any = ORDER) -> Converter:
    return Plugins().converter("PlainAvroConverter", {"schema": json.dumps(schema)}, is_key=False)


def written(value: Any, schema: Any = ORDER) -> bytes:
    return plain_bytes(schema, value)


def test_bytes_of_another_writer_are_read_with_the_schema_of_the_settings() -> None:
    found = plain().to_connect_data("orders", written(VALUE))
    assert found.schema is not None
    assert isinstance(found.value, Struct)
    assert found.schema.name == "shop.Order"
    assert (found.value["id"], found.value["note"], found.value["tags"]) == (7, "fragile", ["a", "b"])
    assert Timestamp.from_logical(Timestamp.SCHEMA, found.value["at"]) == 1_700_000_000_123
    assert plain().to_connect_data("orders", None).value is None


def test_another_reader_reads_what_is_written_and_fields_that_are_missing_have_their_defaults() -> None:
    schema = Schema.struct({"id": INT64_SCHEMA, "note": OPTIONAL_STRING_SCHEMA})
    data = plain().from_connect_data("orders", schema, Struct(schema, id=3))
    assert data is not None
    read = fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(without_logical_types(ORDER)), None)
    assert read == {"id": 3, "note": None, "tags": [], "at": 0}
    assert plain().from_connect_data("orders", schema, None) is None


def test_values_need_not_be_records() -> None:
    assert plain("long").to_connect_data("numbers", written(5, "long")).value == 5
    assert plain("string").from_connect_data("texts", STRING_SCHEMA, "ä") == written("ä", "string")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (written(VALUE)[:-1], "cut off, or was written with another schema"),
        (b"", "cut off"),
        (written(VALUE) + b"\x00", "1 of 23 bytes are left over"),
        (b"\x02\x09", "another schema"),
    ],
)
def test_bytes_that_are_not_of_the_schema_are_told(data: bytes, told: str) -> None:
    with pytest.raises(DataError, match=told) as caught:
        plain().to_connect_data("orders", data)
    assert "topic orders as Avro shop.Order" in caught.value.message


@pytest.mark.parametrize("schema", [None, '{"type": "record"}', "id long", '"number"'])
def test_a_schema_that_is_none_is_refused(schema: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        Plugins().converter("PlainAvro", {} if schema is None else {"schema": schema}, is_key=True)
    assert caught.value.key == "schema"


def test_data_that_does_not_fit_the_schema_is_refused() -> None:
    with pytest.raises(DataError, match="without a schema"):
        plain().from_connect_data("orders", None, {"id": 1})
    other = Schema.struct({"id": STRING_SCHEMA})
    with pytest.raises(DataError, match="cannot be written"):
        plain().from_connect_data("orders", other, Struct(other, id="one"))
