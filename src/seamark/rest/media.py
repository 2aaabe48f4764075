"""Content-Type and Accept, by the rules of a Java worker: it takes and gives JSON only, and pays no heed to ``q``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from seamark.rest.answers import JSON, Answer, error_answer
from seamark.rest.uris import BadTargetError

_TYPE: Final = re.compile(r"\s*([^\s/;,]+)/([^\s/;,]+)\s*(;.*)?")
_ALONE: Final = re.compile(r"^\s*\*(?=\s*(;|$))")  # as Java's own HTTP client has it: `text/html, *; q=.2`
UNSUPPORTED: Final = "HTTP 415 Unsupported Media Type"
NOT_ACCEPTABLE: Final = "HTTP 406 Not Acceptable"


def check_headers(headers: Mapping[str, str], *, checks_content_type: bool, checks_accept: bool) -> Answer | None:
    """The answer to a request whose headers do not fit; None if they do.

    Raises:
        BadTargetError: the Content-Type is none.
    """
    content_type = headers.get("content-type")
    if checks_content_type and content_type is not None:
        found = _TYPE.fullmatch(content_type)
        if found is None:
            raise BadTargetError("Bad Request")
        if not _is_compatible(found[1], found[2], JSON):
            return error_answer(415, UNSUPPORTED, None)
    if checks_accept and not accepts(headers, JSON):
        return error_answer(406, NOT_ACCEPTABLE, None)
    return None


def check_body(headers: Mapping[str, str], body: bytes) -> Answer | None:
    """The answer to a body that does not say that it is JSON; None if it does."""
    found = _TYPE.fullmatch(headers.get("content-type", ""))
    is_json = found is not None and f"{found[1]}/{found[2]}".lower() == JSON
    return None if is_json or not body else error_answer(415, UNSUPPORTED)


def accepts(headers: Mapping[str, str], media_type: str) -> bool:
    """Whether the client takes this type; without a header it takes all."""
    ranges = accepted(headers)
    return not ranges or any(_is_compatible(*each, media_type) for each in ranges)


def accepted(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The types and subtypes that the client takes; empty if it does not say."""
    header = headers.get("accept", "")
    if not header.strip():
        return []
    found = [_TYPE.fullmatch(_ALONE.sub("*/*", item)) for item in header.split(",")]
    return [(match[1].lower(), match[2].lower()) for match in found if match is not None] or [("none", "none")]


def _is_compatible(kind: str, subtype: str, media_type: str) -> bool:
    wanted_kind, wanted_subtype = media_type.split("/")
    return kind.lower() in ("*", wanted_kind) and subtype.lower() in ("*", wanted_subtype)
