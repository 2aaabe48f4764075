"""Request bodies, parsed as Kafka Connect's JSON library would: the only place where raw JSON of a client is looked at.

What cannot be parsed is a `BadRequestError`: the client's fault, so 400. Its message has the words that clients of the
Java worker look for (``Cannot deserialize value``, ``Unrecognized field``), where it is, and what would be right.

Texts stay as they are, also those of numbers: ``1.50`` as the value of a config key is the text ``1.50``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seamark.errors import BadRequestError
from seamark.runtime.offset_requests import OffsetRequest
from seamark.runtime.request_bodies import parse_request
from seamark.runtime.states import TargetState

INITIAL_STATES: Final = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}
MAX_NUMBER_LENGTH: Final = 1000
NO_OFFSETS: Final = "Partitions / offsets need to be provided for an alter offsets request"
_BLANKS: Final = "".join(map(chr, range(0x21)))  # what Java's `trim` takes away
_START: Final = ("offsets", "positions", "clamp")
_VALUES: Final = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"


@dataclass(frozen=True, slots=True)
class CreateConnectorRequest:
    """The body of `POST /connectors`."""

    name: str
    config: dict[str, str | None]
    initial_state: TargetState | None = None
    start: OffsetRequest | None = None
    """Where it begins; an addition to what Kafka Connect takes."""


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


class _Integer(_Number):
    __slots__ = ()


def parse_create_request(body: bytes) -> CreateConnectorRequest:
    """The body of `POST /connectors`; a missing name is empty, for the config's validation to find."""
    what = 'a JSON object with "name" and "config"'
    known = ("config", "name", "initial_state", *_START)
    fields = _bean(_decode(body), "CreateConnectorRequest", known, what, "$")
    if fields is None:
        raise BadRequestError(f"The request has no body: expected {what}")
    name = _text(fields.get("name"), "$.name")
    config = _text_map(fields.get("config"), "$.config")
    state = _initial_state(fields.get("initial_state"))
    if config is None:
        raise BadRequestError('"config" is missing or null: expected a JSON object with the connector\'s configuration')
    start = {key: _numbers(fields[key]) for key in _START if fields.get(key) is not None}
    return CreateConnectorRequest(
        "" if name is None else name.strip(_BLANKS), config, state, parse_request(start) if start else None
    )


def parse_config(body: bytes) -> dict[str, str | None]:
    """A body that is a connector's configuration, or a part of it."""
    config = _text_map(_decode(body), "$")
    if config is None:
        raise BadRequestError("The request has no body: expected a JSON object with configuration keys and values")
    return config


def parse_level(body: bytes) -> str | None:
    """The level in the body of `PUT /admin/loggers/{logger}`."""
    fields = _text_map(_decode(body), "$")
    if fields is None:
        raise BadRequestError('The request has no body: expected a JSON object with "level"')
    return fields.get("level")


def parse_offsets(body: bytes) -> list[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    """Partitions and offsets of `PATCH /connectors/{connector}/offsets`, in order."""
    return _offsets(_decode(body))


def _offsets(value: Any) -> list[tuple[dict[str, Any] | None, dict[str, Any] | None]]:
    what = 'a JSON object with "offsets"'
    fields = _bean(value, "ConnectorOffsets", ("offsets",), what, "$")
    if fields is None:
        raise BadRequestError(f"The request has no body: expected {what}")
    items = _list(fields.get("offsets"), "$.offsets")
    return [_offset(item, f"$.offsets[{number}]") for number, item in enumerate(_some(items))]


def parse_offset_request(body: bytes) -> OffsetRequest:
    """The body of `PATCH /connectors/{connector}/offsets`: Kafka Connect's, or positions."""
    value = _decode(body)
    if isinstance(value, dict) and value.get("positions") is not None:
        return parse_request(_fields(value, ("positions", "clamp", "offsets"), 'a JSON object with "positions"'))
    return OffsetRequest(offsets=tuple(_offsets(value)))


def parse_fields(body: bytes, known: Sequence[str], expected: str, *, is_optional: bool = False) -> dict[str, Any]:
    """A JSON object with some of these fields, numbers as numbers. With `is_optional` there may be no body."""
    return _fields(_decode(body), known, expected, is_optional=is_optional)


def _fields(value: Any, known: Sequence[str], expected: str, *, is_optional: bool = False) -> dict[str, Any]:
    fields = _bean(value, "Request", known, expected, "$")
    if fields is None:
        if is_optional:
            return {}
        raise BadRequestError(f"The request has no body: expected {expected}")
    return {key: _numbers(value) for key, value in fields.items()}


def parse_task_configs(body: bytes) -> list[dict[str, str]]:
    """Configurations of tasks, as another worker sends them."""
    items = _list(_decode(body), "$")
    if items is None:
        raise BadRequestError("The request has no body: expected a JSON array of task configurations")
    configs = []
    for number, item in enumerate(items):
        config = _text_map(item, f"$[{number}]")
        if config is None or None in config.values():
            raise BadRequestError(f"Configuration {number} is null or has a value that is null")
        configs.append({key: value for key, value in config.items() if value is not None})
    return configs


def _some(items: Sequence[Any] | None) -> Sequence[Any]:
    if not items:
        raise BadRequestError(NO_OFFSETS)
    return items


def _offset(item: Any, path: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    what = 'a JSON object with "partition" and "offset"'
    fields = _bean(item, "ConnectorOffset", ("partition", "offset"), what, path)
    if fields is None:
        raise BadRequestError(f"The value is null: expected {what}{_at(path)}")
    partition = _map(fields.get("partition"), f"{path}.partition")
    offset = _map(fields.get("offset"), f"{path}.offset")
    return _numbers(partition), _numbers(offset)


# types


def _bean(value: Any, name: str, known: Sequence[str], expected: str, path: str) -> dict[str, Any] | None:
    if value is None:
        return None
    if isinstance(value, list):
        raise _mismatch(name, value, path, expected)
    if not isinstance(value, dict):
        raise BadRequestError(
            f"Cannot construct instance of `{name}` from {_kind(value)} value ({_shown(value)}): "
            f"expected {expected}{_at(path)}"
        )
    for field in value:
        if field not in known:
            names = ", ".join(f'"{each}"' for each in known)
            raise BadRequestError(
                f'Unrecognized field "{field}" (class {name}), not marked as ignorable: known are {names}{_at(path)}',
            )
    return value


def _map(value: Any, path: str) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, str) and not isinstance(value, _Number):
        raise BadRequestError(
            f"Cannot construct instance of a map from String value ({_shown(value)}): expected a JSON object{_at(path)}"
        )
    raise _mismatch("map", value, path, "a JSON object")


def _text_map(value: Any, path: str) -> dict[str, str | None] | None:
    fields = _map(value, path)
    if fields is None:
        return None
    return {key: _text(item, f"{path}[{json.dumps(key, ensure_ascii=False)}]") for key, item in fields.items()}


def _list(value: Any, path: str) -> list[Any] | None:
    if value is None or isinstance(value, list):
        return value
    raise _mismatch("list", value, path, "a JSON array")


def _text(value: Any, path: str) -> str | None:
    """Scalars are accepted as texts."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    raise _mismatch("string", value, path, "a string, a number or a boolean")


def _initial_state(value: Any) -> TargetState | None:
    text = _text(value, "$.initial_state")
    if text is None:
        return None
    if text.upper() not in INITIAL_STATES:
        raise BadRequestError(
            f"Cannot construct instance of `InitialState`, problem: No enum constant InitialState.{text.upper()}: "
            f'"initial_state" must be one of {", ".join(INITIAL_STATES)}'
        )
    return INITIAL_STATES[text.upper()]


def _numbers(value: Any) -> Any:
    """The value with numbers in place of their texts: offsets are stored as numbers."""
    try:
        return _with_numbers(value)
    except RecursionError:
        raise _too_deep() from None


def _with_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    if isinstance(value, _Integer):
        return int(value)
    if isinstance(value, _Number):
        number = float(value)
        if math.isinf(number):
            raise BadRequestError(f"Number {_shown(value)} is out of range: it is larger than a double can be")
        return number
    return value


def _mismatch(expected_type: str, value: Any, path: str, expected: str) -> BadRequestError:
    return BadRequestError(
        f"Cannot deserialize value of type `{expected_type}` from {_kind(value)} value: expected {expected}{_at(path)}"
    )


def _kind(value: Any) -> str:
    kinds = ((bool, "Boolean"), (_Integer, "Integer"), (_Number, "Floating-point"), (str, "String"), (list, "Array"))
    return next((name for type_, name in kinds if isinstance(value, type_)), "Object")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if len(value) <= 100 else value[:100] + "..."
    return text if isinstance(value, _Number) else f"'{text}'"


def _at(path: str) -> str:
    return "" if path == "$" else f" (at {path.removeprefix('$').removeprefix('.')})"


# text


def _decode(body: bytes) -> Any:
    """The JSON value of a body; None if there is nothing in it. Of equal keys the last one wins."""
    try:
        text = body.decode(json.detect_encoding(body))
    except UnicodeDecodeError as error:
        raise BadRequestError(
            f"Invalid {error.encoding.upper()} at byte {error.start} of the request's body: {error.reason}"
        ) from None
    if not text.strip(" \t\r\n"):
        return None
    try:
        value = json.loads(
            text,
            parse_int=_limited(_Integer),
            parse_float=_limited(_Number),
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise BadRequestError(_describe(error)) from None
    except RecursionError:
        raise _too_deep() from None
    if "\\u" in text:
        _refuse_surrogates(value)
    return value


def _limited(number: Callable[[str], _Number]) -> Callable[[str], _Number]:
    def parse(text: str) -> _Number:
        if len(text) > MAX_NUMBER_LENGTH:
            raise BadRequestError(
                f"Number value length ({len(text)}) exceeds the maximum allowed ({MAX_NUMBER_LENGTH})"
            )
        return number(text)

    return parse


def _too_deep() -> BadRequestError:
    return BadRequestError("The request's body is nested too deeply: hundreds of levels")


def _refuse_constant(text: str) -> None:
    raise BadRequestError(f"Non-standard token '{text}': expected {_VALUES}")


def _refuse_surrogates(value: Any) -> None:
    # Half of a pair is no character: it could be kept in memory, but not be written to a topic.
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise _too_deep() from None
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise BadRequestError(
            f"The request's body has {half}, half of a surrogate pair, without its other half"
        ) from None


def _describe(error: json.JSONDecodeError) -> str:
    where = f" (line: {error.lineno}, column: {error.colno})"
    rest = error.doc[error.pos :]
    if not rest.strip(" \t\r\n") or error.msg.startswith("Unterminated string"):
        return f"Unexpected end-of-input: the JSON text is not complete{where}"
    character = f"('{rest[0]}' (code {ord(rest[0])}))"
    if error.msg.startswith(("Expecting value", "Extra data")):
        token = re.match(r"\w+", rest)
        if token is not None and not token[0][0].isdigit():
            return f"Unrecognized token '{token[0][:100]}': was expecting {_VALUES}{where}"
        if error.msg.startswith("Extra data"):
            return f"Unexpected character {character}: expected the end of the JSON text{where}"
        return f"Unexpected character {character}: expected a valid value {_VALUES}{where}"
    if error.msg.startswith("Expecting property name"):
        return f"Unexpected character {character}: was expecting double-quote to start field name{where}"
    if error.msg.startswith("Expecting"):
        return f"Unexpected character {character}: was {error.msg[0].lower()}{error.msg[1:]}{where}"
    if error.msg.startswith("Invalid control"):
        return (
            f"Illegal unquoted character ((CTRL-CHAR, code {ord(rest[0])})): has to be escaped using backslash to be "
            f"included in string value{where}"
        )
    return f"Unrecognized character escape: {error.msg}{where}"
