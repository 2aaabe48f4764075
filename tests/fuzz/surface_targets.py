"""Parsers of requests, answers, files of the command line, and what the operator reads of resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fuzz.target import Target, of_text
from seamark.errors import BadRequestError
from seamark.operator.reset_plans import ResetRefusedError, parse_time, require_past
from seamark.rest import bodies, uris
from seamark.rest.answers import to_json
from seamark.rest.basic_auth import credentials_of
from seamark.rest.media import check_headers
from seamark.runtime.herder import RestError
from seamark.runtime.internal_requests import InternalRequest, InternalRequests
from seamark.storage.config_records import SessionKey

# requests


def _body(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """A body; a refusal can be sent as an answer."""

    def parse_body(data: bytes) -> Any:
        try:
            return parse(data)
        except BadRequestError as error:
            to_json({"message": error.message})
            raise

    return parse_body


def _check_texts(data: bytes, found: Mapping[str, str | None]) -> None:
    assert all(isinstance(key, str) and isinstance(value, str | None) for key, value in found.items())
    to_json(found)


def _check_path(data: bytes, found: str) -> None:
    assert found.startswith("/")
    assert "//" not in found
    assert not any(ord(char) < 0x20 or char in "\\\x7f" for char in found)
    assert found.encode().count(b"/") <= data.count(b"/"), "a slash was hidden in it"


def _signature(text: str) -> None:
    algorithm, _, signature = text.partition("\n")
    request = InternalRequest(body=b"[]", algorithm=algorithm, signature=signature)
    InternalRequests().verify(request, SessionKey(b"k" * 32, "HmacSHA256", 0))
    raise AssertionError("a signature that nobody made is right")


def _media(text: str) -> Any:
    content_type, _, accept = text.partition("\n")
    headers = {"content-type": content_type, "accept": accept}
    return check_headers(headers, checks_content_type=True, checks_accept=True)


# resources of Kubernetes


def _reset_time(text: str) -> int | None:
    found = parse_time(text)
    require_past(text, "9999-01-01T00:00:00Z")
    return found


def _check_reset_time(data: bytes, found: int | None) -> None:
    assert (found is None) == (data in (b"earliest", b"latest"))


TARGETS = (
    Target("rest-config", _body(bodies.parse_config), (BadRequestError,), _check_texts, (b'{"a":"b"}', b"1.50")),
    Target("rest-task-configs", _body(bodies.parse_task_configs), (BadRequestError,), None, (b'[{"a":"b"}]',)),
    Target("rest-level", _body(bodies.parse_level), (BadRequestError,), None, (b'{"level":"DEBUG"}',)),
    Target(
        "rest-path",
        uris.decode_path,
        (uris.BadTargetError,),
        _check_path,
        (b"/connectors/", b"%2F", b"%2e%2e", b";a=b", b"%C3%A9", b"/../", b"//", b"%25", b"#"),
    ),
    Target("rest-query", uris.parse_query, (), None, (b"expand=status", b"&", b"%zz", b"+", b"=", b";")),
    Target("rest-credentials", of_text(credentials_of), (), None, (b"Basic ", b"YTpi", b"=", b"Basic YTpi")),
    Target(
        "rest-media-type",
        of_text(_media),
        (uris.BadTargetError,),
        None,
        (b"application/json", b"*/*", b";q=0", b",", b"\n"),
    ),
    Target("rest-signature", of_text(_signature), (RestError,), None, (b"HmacSHA256\n", b"AAAA", b"=", b"==", b"\n")),
    Target(
        "reset-time",
        of_text(_reset_time),
        (ResetRefusedError,),
        _check_reset_time,
        (b"earliest", b"2026-05-01T12:00:00Z", b"+14:00", b"-23:59", b".123456789", b"0001", b"9999"),
    ),
)
