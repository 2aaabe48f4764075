r"""Java properties files, read and written by Java's rules.

Keys end at the first ``=``, ``:`` or blank that is not escaped; a line that ends with an odd number of backslashes
goes on with the next one; ``#`` and ``!`` begin comments; ``\uxxxx`` is a UTF-16 unit. Java reads files as ISO
8859-1; here UTF-8 is tried first, which agrees for ASCII and does what is meant for everything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from seamark.errors import ConfigError

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY = re.compile(r"(?:[^\\=: \t\f]|\\.)*\\?", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPED = re.compile(r"\\(u(?:[0-9a-fA-F]{4})?|.)", re.DOTALL)


def load_properties(text: str, name: str = "properties") -> dict[str, str]:
    r"""The keys and values of a properties text; of a key that occurs twice, the last value.

    Args:
        text: The content.
        name: What to call it in errors, usually the file.

    Raises:
        ConfigError: a ``\u`` without four hexadecimal digits; names the line.
    """
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key = _KEY.match(line)
        end = key.end() if key is not None else 0
        separator = _SEPARATOR.match(line, end)
        value = line[separator.end() if separator is not None else end :]
        where = f"{name}, line {number}"
        found[_unescape(line[:end], where)] = _unescape(value, where)
    return found


def read_properties(path: str | Path) -> dict[str, str]:
    """The keys and values of a properties file.

    Raises:
        ConfigError: it cannot be read, or holds a malformed escape.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"Properties file {path} cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("iso-8859-1")
    return load_properties(text, str(path))


def dump_properties(properties: Mapping[str, str]) -> str:
    """A text that Java and `load_properties` read back; only ASCII, a line per key, in the given order."""
    return "".join(f"{_escape(key, is_key=True)}={_escape(value)}\n" for key, value in properties.items())


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with continuations joined, without comments and blank ones, each with the number of its first line."""
    lines = enumerate(re.split(r"\r\n|\r|\n", text), start=1)
    for number, natural in lines:
        line = natural.lstrip(_BLANKS)
        if not line or line[0] in "#!":
            continue
        while _continues(line):
            following = next(lines, None)
            line = line[:-1] + (following[1].lstrip(_BLANKS) if following is not None else "")
            if following is None or not following[1].lstrip(_BLANKS):
                break
        yield number, line


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str, where: str) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape[0] != "u":
            return _ESCAPES.get(escape, escape)
        if len(escape) == 1:
            raise ConfigError(f"{where}: Malformed \\uxxxx encoding; \\u must be followed by four hexadecimal digits")
        return chr(int(escape[1:], 16))

    plain = _ESCAPED.sub(replace, text)
    # Two escaped halves of a surrogate pair are one character.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(text: str, *, is_key: bool = False) -> str:
    escaped = []
    for index, char in enumerate(text):
        if char in "\\=:#!" or (char == " " and (is_key or index == 0)):
            escaped.append("\\" + char)
        elif char in "\t\n\r\f":
            escaped.append("\\" + {value: name for name, value in _ESCAPES.items()}[char])
        elif " " <= char <= "~":
            escaped.append(char)
        else:
            data = char.encode("utf-16-be", "surrogatepass")
            escaped += [f"\\u{data[at : at + 2].hex().upper()}" for at in range(0, len(data), 2)]
    return "".join(escaped)
