"""What can be set about the mapping between Connect's data and Avro, and the names that it uses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus

from seamark.connector.schema import Schema, Type

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = "ConnectDefault"
MAP_ENTRY: Final = "MapEntry"
KEY: Final = "key"
VALUE: Final = "value"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
FIXED_SIZE: Final = "connect.fixed.size"
DECIMAL_PRECISION: Final = "connect.decimal.precision"
DEFAULT_PRECISION: Final = 64
INTERNAL_TYPE: Final = "connect.internal.type"
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC_PREFIX: Final = f"{NAMESPACE}.field.doc."
ENUM_DOC_PREFIX: Final = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT_PREFIX: Final = f"{NAMESPACE}.enum.default."
FIELD_DEFAULT_FLAG: Final = f"{NAMESPACE}.field.default"

_VALID_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class AvroSettings:
    """Each field is the setting of the same name, with dots."""

    connect_meta_data: bool = True
    enhanced_avro_schema_support: bool = False
    ignore_default_for_nullables: bool = False
    scrub_invalid_names: bool = False
    allow_optional_map_keys: bool = False
    flatten_singleton_unions: bool = True

    def name(self, name: str) -> str:
        """The name of a field or a part of a name in Avro, where not every name is allowed."""
        if not self.scrub_invalid_names or not name or _VALID_NAME.fullmatch(name):
            return name
        encoded = quote_plus(name, safe="*")
        return re.sub("[^A-Za-z0-9_]", "_", f"x{encoded}" if encoded[0].isdigit() else encoded)

    def split_name(self, full_name: str) -> tuple[str | None, str]:
        """Namespace and name of a dotted name."""
        parts = [self.name(part) for part in full_name.rstrip(".").split(".")]
        return ".".join(parts[:-1]) or None, parts[-1]

    def full_name(self, name: str) -> str:
        """A dotted name, as it is in Avro."""
        namespace, simple = self.split_name(name)
        return simple if namespace is None else f"{namespace}.{simple}"

    def is_avro_map(self, schema: Schema) -> bool:
        """Whether a map can be one of Avro's, whose keys are texts; others are arrays of entries."""
        keys = schema.key_schema
        return keys is not None and keys.type is Type.STRING and (not keys.optional or self.allow_optional_map_keys)


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for a union: a field for each branch, of which one is set."""
    return schema.name == UNION


def is_fixed(schema: Schema) -> bool:
    """Whether bytes have a fixed length."""
    return schema.type is Type.BYTES and schema.name is not None and FIXED_SIZE in (schema.parameters or {})


def is_enum(schema: Schema) -> bool:
    """Whether a string stands for an enum."""
    return schema.type is Type.STRING and ENUM in (schema.parameters or {})
