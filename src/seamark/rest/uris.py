"""Request targets, taken apart as Jetty and Jersey do in a Java worker.

Some targets are refused before routing, since proxies and servers do not agree on what they mean: encoded slashes and
percent signs, encoded dot segments, empty segments, control characters. Matrix parameters (``;name=value``) are cut
off. A connector whose name has such characters can be created but not be addressed.
"""

from __future__ import annotations

import re
import urllib.parse
from typing import Final

_NOT_ALLOWED: Final = re.compile(rb"[^!$%&'()*+,\-./0-9:;=@A-Z_a-z~]")
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_DOTS: Final = (b".", b"..")


class BadTargetError(ValueError):
    """The target is refused; the text says why."""


def decode_path(raw_path: bytes) -> str:
    """The path to route by: decoded, without matrix parameters and without a slash at its end.

    Raises:
        BadTargetError: the path is refused.
    """
    raw_path = raw_path.partition(b"#")[0]
    if not raw_path.startswith(b"/"):
        raise BadTargetError("Bad Request")
    if b"\\" in raw_path:
        raise BadTargetError("Suspicious Path Character")
    if _NOT_ALLOWED.search(raw_path):
        raise BadTargetError("Illegal Path Character")
    if _BAD_ESCAPE.search(raw_path):
        raise BadTargetError("UTF-16 encoding" if b"%u" in raw_path.lower() else "Bad Request")
    segments = raw_path[1:].split(b"/")
    _check_dots(segments)
    decoded = [_decode_segment(segment) for segment in segments]
    if "" in decoded[:-1]:
        raise BadTargetError("Ambiguous URI empty segment")
    if decoded[-1] == "":
        decoded.pop()
    return "/" + "/".join(decoded)


def _check_dots(segments: list[bytes]) -> None:
    depth = 0
    for segment in segments:
        name, semicolon, _ = segment.partition(b";")
        decoded = re.sub(rb"%2[eE]", b".", name)
        if decoded not in _DOTS:
            depth += 1
        elif semicolon:
            raise BadTargetError("Ambiguous URI path parameter")
        elif decoded != name:
            raise BadTargetError("Ambiguous URI path segment")
        elif name == b"..":
            depth -= 1
            if depth < 0:
                raise BadTargetError("Bad Request")


def _decode_segment(segment: bytes) -> str:
    data = urllib.parse.unquote_to_bytes(segment.partition(b";")[0])
    escaped = {match[0].upper() for match in re.finditer(rb"%..", segment)}
    if b"%00" in escaped:
        raise BadTargetError("Bad Request")
    if b"%2F" in escaped:
        raise BadTargetError("Ambiguous URI path separator")
    if b"%25" in escaped:
        raise BadTargetError("Ambiguous URI path encoding")
    if re.search(rb"[\x00-\x1f\x7f\\]", data):
        raise BadTargetError("Suspicious Path Character")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadTargetError("Bad UTF-8 encoding") from None


def parse_query(query: bytes) -> dict[str, list[str]]:
    """All values of each parameter, in order; a name alone has an empty value."""
    text = query.partition(b"#")[0].decode("latin-1")
    found: dict[str, list[str]] = {}
    for name, value in urllib.parse.parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=None):
        found.setdefault(name, []).append(value)
    return found


def connector_path(name: str) -> str:
    """The path of a connector, for a Location header: escapes that are in the name already stay as they are."""
    safe = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", name.removeprefix("/"))
    return "/connectors/" + urllib.parse.quote(safe, safe="/:@!$&'()*+,;=~%", errors="replace")


def error_page(message: str) -> bytes:
    """A page for a target that is refused."""
    text = f"Error 400 {message}"
    return f"<html>\n<head>\n<title>{text}</title>\n</head>\n<body>\n<h2>HTTP {text}</h2>\n</body>\n</html>\n".encode()
