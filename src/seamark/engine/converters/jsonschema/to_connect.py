"""JSON Schema to Connect's schemas, in the words of Confluent's mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import unquote

from seamark.connector.schema import STRING_SCHEMA, Field, Schema, Type, validate_value
from seamark.engine.converters.jsonschema.data import JsonSchemaReaders
from seamark.engine.converters.jsonschema.from_connect import ENUM, NULL_MARKER, ONE_OF, JsonSchemaSettings
from seamark.errors import DataError

_CONNECT_TYPES = {
    "int8": Type.INT8,
    "int16": Type.INT16,
    "int32": Type.INT32,
    "int64": Type.INT64,
    "float32": Type.FLOAT32,
    "float64": Type.FLOAT64,
    "bytes": Type.BYTES,
}
_T = TypeVar("_T", str, int)
_OBJECT_MEMBERS = ("properties", "additionalProperties", "required", "patternProperties", "minProperties")


class ToConnect:
    """Converts one JSON Schema document, together with those it refers to."""

    def __init__(
        self, settings: JsonSchemaSettings, readers: JsonSchemaReaders, document: Any, references: Mapping[str, Any]
    ) -> None:
        self._settings, self._readers = settings, readers
        self._document, self._references = document, references
        self._open: list[Any] = []

    def convert(self, version: int | None = None) -> Schema:
        """The Connect schema of the document.

        Args:
            version: The version that it has unless it says so itself.

        Raises:
            DataError: there is no such schema.
        """
        try:
            return self._convert(self._document, version=version)
        except RecursionError as error:
            raise DataError("Not a JSON schema that can be read: it is nested too deeply") from error
        except (TypeError, AttributeError, KeyError, ValueError) as error:
            raise DataError(f"Not a JSON schema: {type(error).__name__}: {error}") from error

    def _convert(self, node: Any, *, optional: bool = False, version: int | None = None) -> Schema:
        if not isinstance(node, dict):
            raise DataError(f"Unsupported schema type {type(node).__name__}: {node}")
        if any(node is other for other in self._open):
            raise DataError("A JSON schema contains itself; such schemas cannot be read")
        self._open.append(node)
        try:
            return self._convert_node(node, optional, version)
        finally:
            self._open.pop()

    def _convert_node(self, node: dict[str, Any], optional: bool, version: int | None) -> Schema:
        if "$ref" in node:
            return self._convert(self._resolve(node["$ref"]), optional=optional, version=version)
        if "allOf" in node:
            return self._all_of(node["allOf"], optional, version)
        for criterion in ("oneOf", "anyOf"):
            if criterion in node:
                return self._one_of(node, node[criterion], optional, version)
        kinds = node.get("type")
        if isinstance(kinds, list):
            return self._one_of(node, [{**node, "type": kind} for kind in kinds], optional, version)
        return self._annotated(self._base(node, kinds), node, optional, version)

    def _one_of(self, node: dict[str, Any], alternatives: list[Any], optional: bool, version: int | None) -> Schema:
        if len(alternatives) == 1 and self._settings.flatten_singleton_unions:
            return self._convert(alternatives[0])
        others = [alternative for alternative in alternatives if not _is_null(alternative)]
        if len(alternatives) == 2 and len(others) == 1:
            return self._convert(others[0], optional=True, version=version)
        members = [self._convert(alternative, optional=True) for alternative in others]
        fields = tuple(Field(f"{ONE_OF}.field.{index}", index, member) for index, member in enumerate(members))
        made = Schema(Type.STRUCT, len(others) < len(alternatives), name=ONE_OF, fields=fields)
        return self._annotated(made, node, optional, version)

    def _all_of(self, parts: list[Any], optional: bool, version: int | None) -> Schema:
        properties: dict[str, Any] = {}
        required: dict[str, bool] = {}
        for part in parts:
            self._collect(part, properties, required)
        if properties:
            fields = [
                Field(name, index, self._convert(part, optional=self._is_optional(required[name])))
                for index, (name, part) in enumerate(properties.items())
            ]
            return Schema(Type.STRUCT, optional, fields=tuple(fields))
        for members in (("oneOf", "anyOf", "allOf"), ("enum",), ("type",), ("$ref",)):
            for part in parts:
                if isinstance(part, dict) and any(member in part for member in members):
                    return self._convert(part, optional=optional, version=version)
        raise DataError(f"Unsupported criterion allOf for {parts}")

    def _collect(self, node: Any, properties: dict[str, Any], required: dict[str, bool]) -> None:
        if not isinstance(node, dict):
            return
        if "$ref" in node:
            self._collect(self._resolve(node["$ref"]), properties, required)
        for part in node.get("allOf", ()):
            self._collect(part, properties, required)
        for name, part in node.get("properties", {}).items():
            properties[name] = part
            required[name] = name in node.get("required", ())

    def _is_optional(self, is_required: bool) -> bool:
        return self._settings.use_optional_for_nonrequired and not is_required

    def _base(self, node: dict[str, Any], kind: Any) -> Schema:
        connect_type = node.get("connect.type")
        if kind in ("integer", "number"):
            usual = Type.INT64 if kind == "integer" else Type.FLOAT64
            if connect_type is not None and connect_type not in _CONNECT_TYPES:
                raise DataError(f"Unsupported type {connect_type}")
            return Schema(usual if connect_type is None else _CONNECT_TYPES[connect_type])
        if "enum" in node or "const" in node:
            return _enum(node["enum"] if "enum" in node else [node["const"]])
        if kind == "boolean":
            return Schema(Type.BOOLEAN)
        if kind == "string":
            return Schema(Type.BYTES if connect_type == "bytes" else Type.STRING)
        if kind == "array" or (kind is None and "items" in node):
            return self._array(node, connect_type)
        if kind == "object" or (kind is None and any(member in node for member in _OBJECT_MEMBERS)):
            return self._object(node, connect_type)
        raise DataError(f"Unsupported schema type {kind}: {node}")

    def _array(self, node: dict[str, Any], connect_type: Any) -> Schema:
        items = node.get("items")
        if not isinstance(items, dict):
            raise DataError("Array schema did not specify the items type")
        if connect_type == "map" and "properties" in items:
            keys, values = (self._convert(items["properties"][name]) for name in ("key", "value"))
            return Schema.map(keys, values)
        return Schema.array(self._convert(items))

    def _object(self, node: dict[str, Any], connect_type: Any) -> Schema:
        if connect_type == "map":
            return Schema.map(STRING_SCHEMA, self._convert(node.get("additionalProperties")))
        placed: dict[int, tuple[str, Any]] = {}
        for name, part in node.get("properties", {}).items():
            index = _member(part, "connect.index", int) if isinstance(part, dict) else None
            placed[len(placed) if index is None else index] = (name, part)
        required = node.get("required", ())
        members = [(name, part) for _, (name, part) in sorted(placed.items())]
        fields = [
            Field(name, index, self._convert(part, optional=self._is_optional(name in required)))
            for index, (name, part) in enumerate(members)
        ]
        return Schema(Type.STRUCT, fields=tuple(fields))

    def _annotated(self, made: Schema, node: dict[str, Any], optional: bool, version: int | None) -> Schema:
        parameters = {**(made.parameters or {}), **node.get("connect.parameters", {})}
        made = replace(
            made,
            name=made.name if made.name is not None else _member(node, "title", str),
            version=_member(node, "connect.version", int) if "connect.version" in node else version,
            doc=_member(node, "description", str),
            parameters={key: str(value) for key, value in parameters.items()} or None,
        )
        if node.get("default") is not None:
            default = self._readers.read(made, node["default"])
            validate_value(made, default)
            made = replace(made, default=default)
        return replace(made, optional=True) if optional or made.optional else made

    def _resolve(self, reference: str) -> Any:
        name, _, pointer = reference.partition("#")
        document = self._document if not name else self._references.get(name)
        for part in filter(None, pointer.split("/")):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            document = document.get(key) if isinstance(document, dict) else None
        if document is None:
            raise DataError(f"JSON schema refers to {reference}, which is not there")
        return document


def _member(node: Mapping[str, Any], name: str, kind: type[_T]) -> _T | None:
    value = node.get(name)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise DataError(f"Not a JSON schema: {name!r} should be of type {kind.__name__}, but is {str(value)[:100]}")
    return value


def _is_null(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "null"


def _enum(values: list[Any]) -> Schema:
    texts = [NULL_MARKER if value is None else str(value) for value in values]
    return Schema(Type.STRING, parameters={ENUM: "", **{f"{ENUM}.{text}": text for text in texts}})
