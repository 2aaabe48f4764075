"""JAAS files: which login modules an application uses, with their options, as Java reads them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seamark.errors import ConfigError

_TOKEN: Final = re.compile(r"""\s+|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{};=]|[^\s{};="']+""", re.S)
_OPTION: Final = "-Djava.security.auth.login.config="
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One login module of an entry."""

    class_name: str
    flag: str
    options: Mapping[str, str]


def jaas_file_of_environment(environment: Mapping[str, str] | None = None) -> str | None:
    """The file that a Java worker would be started with: of ``KAFKA_OPTS``, a system property."""
    environment = os.environ if environment is None else environment
    for word in shlex.split(environment.get("KAFKA_OPTS", "")):
        if word.startswith(_OPTION):
            return word.removeprefix(_OPTION).lstrip("=")  # two of them make it the only file
    return None


def read_jaas(path: str) -> dict[str, list[LoginModule]]:
    """The entries of a JAAS file.

    Raises:
        ConfigError: it cannot be read or understood.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The JAAS file {path} cannot be read: {error}") from error
    return parse_jaas_file(text, path)


def parse_jaas_file(text: str, name: str) -> dict[str, list[LoginModule]]:
    """The entries in a JAAS file's text: ``Entry { class flag option="value" ...; ... };``.

    Raises:
        ConfigError: it has another form.
    """
    tokens = _tokens(text, name)
    found: dict[str, list[LoginModule]] = {}
    try:
        for entry in tokens:
            _expect(next(tokens), "{", name)
            modules = []
            while (word := next(tokens)) != "}":
                modules.append(_module(word, tokens, name))
            _expect(next(tokens), ";", name)
            found[_unquoted(entry)] = modules
    except StopIteration:
        raise ConfigError(f"The JAAS file {name} ends in the middle of an entry") from None
    return found


def _module(class_name: str, tokens: Iterator[str], name: str) -> LoginModule:
    flag = next(tokens).lower()
    if flag not in _FLAGS:
        raise ConfigError(f"The JAAS file {name}: {class_name} should be followed by one of {', '.join(_FLAGS)}")
    options: dict[str, str] = {}
    while (key := next(tokens)) != ";":
        _expect(next(tokens), "=", name)
        options[_unquoted(key)] = _unquoted(next(tokens))
    return LoginModule(_unquoted(class_name), flag, options)


def _tokens(text: str, name: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            raise ConfigError(f"The JAAS file {name}, line {line}: a quotation mark without its other half")
        at = found.end()
        if not found.group().isspace() and not found.group().startswith(("//", "/*")):
            yield found.group()


def _expect(found: str, wanted: str, name: str) -> None:
    if found != wanted:
        raise ConfigError(f"The JAAS file {name}: expected {wanted!r}, found {found!r}")


def _unquoted(token: str) -> str:
    if token[0] not in "\"'":
        return token
    return re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.S)
