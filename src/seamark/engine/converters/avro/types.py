"""Avro schemas: parsed from JSON, and written as Avro's Java library writes them.

The order of members matters: a registry that is given the same schema in the same words gives it the same id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import Any

from seamark.connector.numbers import Float32
from seamark.engine.converters.json_writer import json_float
from seamark.errors import DataError

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAMED = frozenset({"record", "enum", "fixed"})
_RESERVED = frozenset(
    {"type", "name", "namespace", "doc", "fields", "items", "values", "symbols", "size", "aliases", "default", "order"}
)
_NO_DEFAULT = object()


@dataclass(eq=False)
class AvroField:
    """A member of a record."""

    name: str
    type: AvroType
    doc: str | None = None
    default: Any = _NO_DEFAULT
    """The default as JSON."""
    props: dict[str, Any] = field(default_factory=dict)

    @property
    def has_default(self) -> bool:
        return self.default is not _NO_DEFAULT


@dataclass(eq=False)
class AvroType:
    """A schema. Named types are the same object wherever they are referred to, and so may contain themselves."""

    kind: str
    """A primitive type, or ``record``, ``enum``, ``fixed``, ``array``, ``map`` or ``union``."""
    name: str | None = None
    namespace: str | None = None
    doc: str | None = None
    props: dict[str, Any] = field(default_factory=dict)
    fields: list[AvroField] = field(default_factory=list)
    items: AvroType | None = None
    """What is in an array or a map."""
    branches: list[AvroType] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    enum_default: str | None = None
    size: int = 0

    @property
    def full_name(self) -> str:
        """The name with its namespace; the kind, for what has no name."""
        if self.name is None:
            return self.kind
        return f"{self.namespace}.{self.name}" if self.namespace else self.name

    def field(self, name: str) -> AvroField | None:
        """The field of that name of a record."""
        for candidate in self.fields:
            if candidate.name == name:
                return candidate
        return None

    @property
    def element(self) -> AvroType:
        """What is in an array or a map."""
        if self.items is None:
            raise DataError(f"Avro schema of type {self.kind} has no items")
        return self.items

    def __str__(self) -> str:
        return _write(self, None, set())


# from JSON


def parse(text: str, references: Mapping[str, str] | None = None) -> AvroType:
    """The schema of a JSON text.

    Args:
        text: The schema.
        references: Schemas whose names it uses, each after those that it uses itself.

    Raises:
        DataError: it is not an Avro schema.
    """
    names: dict[str, AvroType] = {}
    try:
        for referred in (references or {}).values():
            _parse(json.loads(referred), None, names)
        return _parse(json.loads(text), None, names)
    except RecursionError as error:
        raise DataError(f"Not an Avro schema that can be read: {text[:200]}: it is nested too deeply") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"Not an Avro schema: {text[:200]}: {type(error).__name__}: {error}") from error


def _parse(node: Any, namespace: str | None, names: dict[str, AvroType]) -> AvroType:
    if isinstance(node, str):
        return _named(node, namespace, names)
    if isinstance(node, list):
        return AvroType("union", branches=[_parse(branch, namespace, names) for branch in node])
    kind = node["type"]
    if not isinstance(kind, str):
        return _parse(kind, namespace, names)
    if kind not in PRIMITIVES | NAMED | {"array", "map"}:
        return _named(kind, namespace, names)
    made = AvroType(kind, doc=_text(node.get("doc")), props={key: node[key] for key in node if key not in _RESERVED})
    if kind in NAMED:
        _parse_named(made, node, namespace, names)
    elif kind in ("array", "map"):
        made.items = _parse(node["items" if kind == "array" else "values"], namespace, names)
    return made


def _named(name: str, namespace: str | None, names: dict[str, AvroType]) -> AvroType:
    if name in PRIMITIVES:
        return AvroType(name)
    for full_name in (name if "." in name or not namespace else f"{namespace}.{name}", name):
        if full_name in names:
            return names[full_name]
    raise DataError(f'Undefined name: "{name}"')


def _parse_named(made: AvroType, node: dict[str, Any], namespace: str | None, names: dict[str, AvroType]) -> None:
    space, dot, name = node["name"].rpartition(".")
    made.name = name
    made.namespace = (space if dot else _text(node.get("namespace")) if "namespace" in node else namespace) or None
    names[made.full_name] = made
    if made.kind == "enum":
        made.symbols, made.enum_default = _texts(node["symbols"]), _text(node.get("default"))
    elif made.kind == "fixed":
        made.size = int(node["size"])
    else:
        made.fields = [
            AvroField(
                _texts([member["name"]])[0],
                _parse(member["type"], made.namespace, names),
                _text(member.get("doc")),
                member.get("default", _NO_DEFAULT),
                {key: member[key] for key in member if key not in _RESERVED},
            )
            for member in node["fields"]
        ]
        if len({member.name for member in made.fields}) < len(made.fields):
            raise DataError(f"Not an Avro schema: a field of record {made.full_name} is there twice")


def _text(value: Any) -> str | None:
    """What Avro's Java library takes for a text: nothing else."""
    return value if isinstance(value, str) else None


def _texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DataError(f"Not an Avro schema: names should be texts, but are {str(values)[:100]}")
    return values


# to JSON

_ESCAPES = re.compile(r"(\\\\)|\\u00(..)")


def _quoted(text: str) -> str:
    """A JSON string as Jackson writes it to text: with upper-case hex, but without escapes beyond U+FFFF."""
    return _ESCAPES.sub(lambda match: match[1] or f"\\u00{match[2].upper()}", encode_basestring(text))


def json_text(value: Any) -> str:
    """JSON of plain values, with Java's numbers."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return json_float(value, is_single=isinstance(value, Float32))
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_quoted(key)}:{json_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(json_text, value)) + "]"
    return json.dumps(value)


def _write(schema: AvroType, namespace: str | None, known: set[str]) -> str:
    kind = schema.kind
    if kind == "union":
        return "[" + ",".join(_write(branch, namespace, known) for branch in schema.branches) + "]"
    if kind in PRIMITIVES and not schema.props:
        return f'"{kind}"'
    members = [f'"type":"{kind}"']
    if kind in NAMED:
        if schema.full_name in known:
            return _quoted(str(schema.name) if schema.namespace == namespace else schema.full_name)
        known.add(schema.full_name)
        members += _write_name(schema, namespace)
    if kind == "record":
        fields = ",".join(_write_field(member, schema.namespace, known) for member in schema.fields)
        members.append(f'"fields":[{fields}]')
    elif kind == "enum":
        members.append(f'"symbols":{json_text(schema.symbols)}')
        if schema.enum_default is not None:
            members.append(f'"default":{_quoted(schema.enum_default)}')
    elif kind == "fixed":
        members.append(f'"size":{schema.size}')
    elif kind in ("array", "map"):
        members.append(f'"{"items" if kind == "array" else "values"}":{_write(schema.element, namespace, known)}')
    return "{" + ",".join(members + _write_props(schema.props)) + "}"


def _write_name(schema: AvroType, namespace: str | None) -> list[str]:
    members = [f'"name":{_quoted(str(schema.name))}']
    if schema.namespace != namespace:
        members.append(f'"namespace":{_quoted(schema.namespace or "")}')
    if schema.doc is not None:
        members.append(f'"doc":{_quoted(schema.doc)}')
    return members


def _write_field(member: AvroField, namespace: str | None, known: set[str]) -> str:
    members = [f'"name":{_quoted(member.name)}', f'"type":{_write(member.type, namespace, known)}']
    if member.doc is not None:
        members.append(f'"doc":{_quoted(member.doc)}')
    if member.has_default:
        members.append(f'"default":{json_text(member.default)}')
    return "{" + ",".join(members + _write_props(member.props)) + "}"


def _write_props(props: Mapping[str, Any]) -> list[str]:
    return [f"{_quoted(key)}:{json_text(value)}" for key, value in props.items()]
