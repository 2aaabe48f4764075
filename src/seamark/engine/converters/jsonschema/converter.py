"""JsonSchemaConverter: JSON whose schemas are in a Confluent-compatible registry.

Schemas are mapped as Confluent's converter maps them. Data is not validated against a schema when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, Type, ValidString
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import Schema
from seamark.engine.converters.java_text import java_double, json_string
from seamark.engine.converters.json_fast import Unsure, compile_plain, dumps
from seamark.engine.converters.json_parsing import MISSING, Inexact, parse, parse_exact
from seamark.engine.converters.jsonschema.data import JsonSchemaReaders, JsonSchemaWriter, is_like_json_converter
from seamark.engine.converters.jsonschema.from_connect import FromConnect, JsonSchemaSettings
from seamark.engine.converters.jsonschema.to_connect import ToConnect
from seamark.engine.converters.registry import RegistryConverter, registry_config_def
from seamark.errors import DataError


@dataclass(frozen=True)
class JsonSchema:
    """A parsed schema; its text is what the registry is given."""

    document: Any
    references: Mapping[str, Any] = field(default_factory=dict)
    original: str | None = None

    def __str__(self) -> str:
        return self.original if self.original is not None else _text(self.document)


def _text(node: Any) -> str:
    if isinstance(node, str):
        return json_string(node)
    if isinstance(node, float):
        return java_double(node)
    if isinstance(node, dict):
        return "{" + ",".join(f"{json_string(key)}:{_text(item)}" for key, item in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ",".join(map(_text, node)) + "]"
    return json.dumps(node)


class JsonSchemaConverter(RegistryConverter[JsonSchema]):
    """`io.confluent.connect.json.JsonSchemaConverter`."""

    schema_type = "JSON"
    unsupported = ("generalized.sum.type.support", "preserve.additional.properties", "json.fail.invalid.schema")
    data_name = "JSON Schema"

    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = registry_config_def(
            (
                "object.additional.properties",
                True,
                Importance.MEDIUM,
                "Whether the schemas of structs allow members that they do not name.",
            ),
            (
                "use.optional.for.nonrequired",
                False,
                Importance.MEDIUM,
                "Whether properties that are not required are read as optional fields.",
            ),
            (
                "flatten.singleton.unions",
                True,
                Importance.LOW,
                "Whether a choice of one schema is read as that schema.",
            ),
        )
        return definition.define(
            "decimal.format",
            Type.STRING,
            "BASE64",
            validator=ValidString.of_ignoring_case("BASE64", "NUMERIC"),
            importance=Importance.LOW,
            doc="How decimals are written; both forms are read.",
        )

    def configure_data(self, values: Mapping[str, Any]) -> None:
        self._settings = JsonSchemaSettings(
            values["object.additional.properties"],
            values["use.optional.for.nonrequired"],
            values["ignore.default.for.nullables"],
            values["flatten.singleton.unions"],
            values["decimal.format"].upper() == "NUMERIC",
        )
        self._writer = JsonSchemaWriter(
            numeric_decimals=self._settings.numeric_decimals,
            defaults_for_null=not self._settings.ignore_default_for_nullables,
        )
        self._readers = JsonSchemaReaders()
        self._from_connect = FromConnect(self._settings, self._writer)

    def to_registry(self, schema: Schema | None) -> JsonSchema:
        return JsonSchema(self._from_connect.convert(schema))

    def parse(self, text: str, references: Mapping[str, str]) -> JsonSchema:
        try:
            found = {name: json.loads(referred, parse_float=Decimal) for name, referred in references.items()}
            return JsonSchema(json.loads(text, parse_float=Decimal), found, text)
        except (ValueError, ArithmeticError, RecursionError) as error:
            raise DataError(f"Not a JSON schema that can be read: {text[:200]}: {error}") from error

    def record_name(self, parsed: JsonSchema) -> str | None:
        title = parsed.document.get("title") if isinstance(parsed.document, dict) else None
        return title if isinstance(title, str) else None

    def encoder(self, schema: Schema | None, parsed: JsonSchema) -> Callable[[bytearray, Any], None]:
        write = self._writer.write
        plain = compile_plain(schema, self._writer) if is_like_json_converter(schema) else None

        def encode(out: bytearray, value: Any) -> None:
            try:
                if plain is None:
                    raise Unsure
                out += dumps(plain(value))
            except Unsure:
                out += write(schema, value).encode()

        return encode

    def decoder(self, parsed: JsonSchema, version: int | None) -> Callable[[bytes], SchemaAndValue]:
        schema = ToConnect(self._settings, self._readers, parsed.document, parsed.references).convert(version)
        read = self._readers.compile(schema)

        def decode(data: bytes) -> SchemaAndValue:
            content = data[5:]
            try:
                node = parse(content)
                value = read(node)
            except Inexact:
                node = parse_exact(content)
                value = read(node)
            return SchemaAndValue(None, None) if node is MISSING else SchemaAndValue(schema, value)

        return decode

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None and (schema is None or self._writer.write_or_leave_out(schema, None) is None):
            return None
        return self.write(topic, schema, value)
