"""From JSON to the classes of `seamark.client.models` and back, by their type hints.

How to read a type is worked out once: an overview of a thousand connectors has some ten thousand values.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Reader = Callable[[Any], Any]


class DecodingError(ValueError):
    """The JSON is not what was expected; the message names the place."""


class _MisfitError(Exception):
    """Something does not fit; the place is put together on the way out."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem, self.steps = problem, list[str]()


def decode(kind: type[T], value: Any, place: str = "$") -> T:
    """A value of a model class, or of `list[...]` or `dict[str, ...]` of them.

    Raises:
        DecodingError: the JSON does not fit.
    """
    wanted: Any = kind
    try:
        decoded: T = _reader(wanted)(value)
    except _MisfitError as error:
        raise DecodingError(f"{place}{''.join(reversed(error.steps))} {error.problem}") from None
    return decoded


def encode(value: Any) -> Any:
    """JSON of a model, with the names that the API uses; what is None stays, as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {_json_name(each): encode(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(each) for each in value]
    return value


@functools.cache
def _reader(kind: Any) -> Reader:
    if kind is Any:
        return lambda value: value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _optional_reader(arguments)
    if dataclasses.is_dataclass(kind):
        return _model_reader(kind)
    if origin in (list, Sequence):
        return _list_reader(arguments[0])
    if origin in (dict, Mapping):
        return _object_reader(arguments[1])
    return _number if kind is float else _scalar_reader(kind)


def _optional_reader(kinds: Sequence[Any]) -> Reader:
    """Ours are all ``X | None``."""
    read = _reader(next(kind for kind in kinds if kind is not types.NoneType))
    return lambda value: None if value is None else read(value)


def _list_reader(kind: Any) -> Reader:
    read = _reader(kind)

    def read_list(value: Any) -> list[Any]:
        _require(isinstance(value, list), "a list", value)
        found: list[Any] = []
        try:
            for each in value:
                found.append(read(each))
        except _MisfitError as error:
            error.steps.append(f"[{len(found)}]")
            raise
        return found

    return read_list


def _object_reader(kind: Any) -> Reader:
    read = _reader(kind)

    def read_object(value: Any) -> dict[str, Any]:
        _require(isinstance(value, dict), "an object", value)
        found: dict[str, Any] = {}
        for key, each in value.items():
            try:
                found[key] = read(each)
            except _MisfitError as error:
                error.steps.append(f".{key}")
                raise
        return found

    return read_object


def _model_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    fields = [
        (each.name, _json_name(each), _reader(hints[each.name]), each.default is dataclasses.MISSING)
        for each in dataclasses.fields(kind)
    ]

    def read_model(value: Any) -> Any:
        _require(isinstance(value, dict), "an object", value)
        arguments = {}
        for name, json_name, read, is_required in fields:
            if json_name in value:
                try:
                    arguments[name] = read(value[json_name])
                except _MisfitError as error:
                    error.steps.append(f".{json_name}")
                    raise
            elif is_required:
                raise _MisfitError(f"has no {json_name!r}")
        return kind(**arguments)

    return read_model


def _number(value: Any) -> float:
    if type(value) is float:
        return value
    _require(isinstance(value, (int, float)) and not isinstance(value, bool), "a number", value)
    return float(value)


def _scalar_reader(kind: Any) -> Reader:
    def read(value: Any) -> Any:
        # A bool is an int to Python, but not to JSON.
        _require(isinstance(value, kind) and isinstance(value, bool) == (kind is bool), kind.__name__, value)
        return value

    return read


def _json_name(field: dataclasses.Field[Any]) -> str:
    return str(field.metadata.get("json", field.name))


def _require(fits: bool, expected: str, value: Any) -> None:
    if not fits:
        raise _MisfitError(f"should be {expected}, but is {str(value)[:100]!r}")
