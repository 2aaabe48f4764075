"""Connector files of the standalone command line (KIP-980): properties, a JSON config, or a JSON create request.

What a file is, is told by its content and never by its name. Anything would parse as properties, so whatever begins
like JSON is taken for JSON, and a mistake in it is reported as such, with its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from seamark.config.properties import load_properties
from seamark.config.states import TargetState
from seamark.errors import ConfigError

INITIAL_STATES: Final = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class ConnectorFile:
    """A connector to create."""

    path: str
    name: str
    config: dict[str, str | None]
    initial_state: TargetState | None = None


def read_connector_file(path: Path) -> ConnectorFile:
    """Read a file of whichever kind.

    Raises:
        ConfigError: it cannot be read, or says what cannot be; names the file and, for JSON, line and column.
    """
    text = _text_of(path)
    if text.lstrip().startswith(("{", "[")):
        return _from_json(path, text)
    config: dict[str, str | None] = dict(load_properties(text, str(path)))
    return ConnectorFile(str(path), _named(path, config), config)


def parse_initial_state(value: object) -> TargetState | None:
    """RUNNING, PAUSED or STOPPED, in any case; None for none.

    Raises:
        ConfigError: it is something else.
    """
    if value is None:
        return None
    state = INITIAL_STATES.get(str(value).upper()) if isinstance(value, str) else None
    if state is None:
        raise ConfigError(
            f"Invalid value {json.dumps(value)} for initial_state: it must be one of {', '.join(INITIAL_STATES)}",
            key="initial_state",
            value=value,
        )
    return state


def _text_of(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"Connector file '{path}' cannot be read: {error.strerror}") from error
    try:
        return data.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        if data.lstrip().startswith((b"{", b"[")):
            raise ConfigError(f"Connector file '{path}' is not UTF-8 text: {error}") from error
        return data.decode("iso-8859-1")  # the encoding of Java's properties


def _from_json(path: Path, text: str) -> ConnectorFile:
    def refuse(constant: str) -> None:
        raise ConfigError(f"Connector file '{path}' is not valid JSON: there is no such value as {constant}")

    try:
        # Numbers stay as they are written: 1.50 is not 1.5.
        content = json.loads(text, parse_int=str, parse_float=str, parse_constant=refuse)
    except RecursionError as error:
        raise ConfigError(f"Connector file '{path}' is not valid JSON: its values are nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"Connector file '{path}' is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error
    if not isinstance(content, dict):
        raise ConfigError(f"Connector file '{path}' must hold a JSON object, not a list")
    return connector_of(path, content)


def connector_of(path: Path | str, content: Mapping[str, Any]) -> ConnectorFile:
    """The connector that an object describes: a config, or a create request.

    Raises:
        ConfigError: it has no name, or values that no config can have; names the file.
    """
    if isinstance(content.get("config"), dict):
        return _from_request(path, content)
    config = _scalars(path, content, "")
    return ConnectorFile(str(path), _named(path, config), config)


def _from_request(path: Path | str, content: Mapping[str, Any]) -> ConnectorFile:
    config = _scalars(path, content["config"], "config.")
    name = content.get("name")
    if name is None:
        name = config.get("name")
    if name is None:
        raise ConfigError(f"Connector configuration at '{path}' is missing the mandatory 'name' configuration")
    if config.setdefault("name", str(name)) != str(name):
        raise ConfigError(
            f"Connector name configuration in 'config' doesn't match the one specified in 'name' at '{path}'"
        )
    try:
        state = parse_initial_state(content.get("initial_state"))
    except ConfigError as error:
        raise ConfigError(f"Connector file '{path}': {error}", key="initial_state") from error
    return ConnectorFile(str(path), str(name), config, state)


def _scalars(path: Path | str, content: Mapping[str, Any], prefix: str) -> dict[str, str | None]:
    config: dict[str, str | None] = {}
    for key, value in content.items():
        if not isinstance(key, str):
            raise ConfigError(f"Connector file '{path}': {key!r} is no key: keys are texts")
        if isinstance(value, (dict, list)):
            kind = "an object" if isinstance(value, dict) else "a list"
            raise ConfigError(
                f"Connector file '{path}': the value of '{prefix}{key}' must be a text, a number or a boolean, but is "
                f"{kind}. Expected is a config, or an object with name, config and, if wanted, initial_state."
            )
        config[key] = _text(value)
        if not _is_encodable(key) or not _is_encodable(config[key]):
            raise ConfigError(
                f"Connector file '{path}': half of a surrogate pair, which is no character, is at {key!a}"
            )
    return config


def _is_encodable(text: str | None) -> bool:
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _named(path: Path | str, config: Mapping[str, str | None]) -> str:
    name = config.get("name")
    if name is None:
        raise ConfigError(f"Connector configuration at '{path}' is missing the mandatory 'name' configuration")
    return name
