"""Values of the worker's REST settings: listeners, and rules for response headers in Jetty's syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from seamark.errors import ConfigError

_LISTENER: Final = re.compile(r"(?P<protocol>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]+)")
_HIGHEST_PORT: Final = 65535
PROTOCOLS: Final = ("http", "https")
ACTIONS: Final = {action.lower(): action for action in ("set", "add", "setDate", "addDate")}


@dataclass(frozen=True, slots=True)
class Listener:
    """Where to listen; an empty host stands for all interfaces, port 0 for any free one."""

    host: str
    port: int
    text: str
    protocol: str = "http"


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """One header of every answer; the value of a date rule is a number of milliseconds from now."""

    action: str
    name: str
    value: str


def parse_listener(text: str, key: str = "listeners") -> Listener:
    """A listener from ``http://host:port`` or ``https://host:port``.

    Raises:
        ConfigError: it has another form, or another protocol.
    """
    match = _LISTENER.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f"Invalid value {text} for configuration {key}: Listener doesn't have the right format "
            "(protocol://hostname:port).",
            key=key,
            value=text,
        )
    protocol = match["protocol"].lower()
    if protocol not in PROTOCOLS:
        raise ConfigError(
            f"Invalid value {text} for configuration {key}: Listener protocol must be one of [{', '.join(PROTOCOLS)}].",
            key=key,
            value=text,
        )
    port = int(match["port"])
    if not 0 <= port <= _HIGHEST_PORT:
        raise ConfigError(
            f"Invalid value {text} for configuration {key}: The port must be from 0 to {_HIGHEST_PORT}.",
            key=key,
            value=text,
        )
    return Listener(match["host"], port, text.strip(), protocol)


def advertised_protocol(listeners: Sequence[str], advertised: str | None) -> str:
    """The protocol under which other workers reach this one: as is said, else http if any listener has it."""
    if advertised:
        return advertised.lower()
    found = {parse_listener(text).protocol for text in listeners}
    return "https" if found == {"https"} else "http"


def check_listeners(name: str, value: Any) -> None:
    """Validator of `listeners`."""
    if not value:
        raise ConfigError(
            f"Invalid value {value} for configuration {name}: at least one URL is expected, ex: http://localhost:8083.",
            key=name,
            value=value,
        )
    check_admin_listeners(name, value)


def check_admin_listeners(name: str, value: Any) -> None:
    """Validator of `admin.listeners`: may be empty."""
    for item in value or ():
        parse_listener(item, name)


def check_header_rules(name: str, value: Any) -> None:
    """Validator of `response.http.headers.config`."""
    parse_header_rules(value or "", name)


def parse_header_rules(text: str, key: str = "response.http.headers.config") -> list[HeaderRule]:
    """Rules from ``action name:value`` items, separated by commas, each in double quotes if it has a comma.

    Raises:
        ConfigError: a rule has another form.
    """
    return [_header_rule(item, key) for item in split_csv(text)] if text.strip() else []


def _header_rule(item: str, key: str) -> HeaderRule:
    def wrong(reason: str) -> ConfigError:
        return ConfigError(f"Invalid value {item} for configuration {key}: {reason}", key=key, value=item)

    action, header = [*item.split(maxsplit=1), "", ""][:2]
    if not header:
        raise wrong(f"Invalid format of header config '{item}'. Expected: '[action] [header name]:[header value]'")
    if action.lower() not in ACTIONS:
        raise wrong(f"Invalid header config action: '{action}'. Expected one of [{', '.join(ACTIONS.values())}]")
    name, colon, value = header.strip().partition(":")
    if not colon or not value or ":" in value:
        raise wrong(
            f"Invalid format of header name and header value pair '{header.strip()}'. "
            "Expected: '[header name]:[header value]'"
        )
    name, value = name.strip(), value.strip()
    if not name or re.search(r"\s", name):
        raise wrong(f"Invalid header name '{name}'. The '[header name]' cannot contain whitespace")
    rule = HeaderRule(ACTIONS[action.lower()], name, value)
    if rule.action.endswith("Date") and re.fullmatch(r"[+-]?[0-9]+", value) is None:
        raise wrong(f"Invalid header value '{value}'. A date is a number of milliseconds from now")
    if re.fullmatch(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", name) is None or re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
        raise wrong(f"Invalid header '{name}': there are characters that HTTP does not allow in headers")
    return rule


def split_csv(text: str) -> list[str]:
    """Items between commas, trimmed; double quotes keep commas together, a backslash keeps the next character."""
    items, item, is_quoted, was_quoted = [], "", False, False
    characters = iter(text)
    for character in characters:
        if is_quoted:
            if character == "\\":
                item += next(characters, "")
            elif character == '"':
                is_quoted = False
            else:
                item += character
        elif character == '"' and not item.strip():
            item, is_quoted, was_quoted = "", True, True
        elif character == ",":
            items.append(item if was_quoted else item.strip())
            item, was_quoted = "", False
        elif not (was_quoted and character.isspace()):
            item += character
    if item.strip() or was_quoted:
        items.append(item if was_quoted else item.strip())
    return items
