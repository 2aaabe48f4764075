"""CORS and `response.http.headers.config`."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from fixtures.raw_http import raw_request

ORIGINS = {"access.control.allow.origin": r"http://a.example,http://[a-z]+\.b\.example"}
PREFLIGHT = ("Origin: http://a.example", "Access-Control-Request-Method: PUT")


def cors(answer: Any) -> dict[str, list[str]]:
    names = [name for name in answer.headers if name.startswith("access-control") or name == "vary"]
    return {name: answer.headers[name] for name in names}


@pytest.mark.parametrize("origin", ["http://a.example", "http://x.b.example", "http://evil.example http://a.example"])
def test_allowed_origins(serve: Any, origin: str) -> None:
    port = serve(ORIGINS).base_url.port
    answer = raw_request(port, "GET", "/connectors", (f"Origin: {origin}",))
    assert cors(answer) == {"vary": ["Origin"], "access-control-allow-origin": [origin]}


@pytest.mark.parametrize("headers", [(), ("Origin: http://evil.example",), ("Origin: http://a.example.evil.example",)])
def test_other_origins(serve: Any, headers: tuple[str, ...]) -> None:
    answer = raw_request(serve(ORIGINS).base_url.port, "GET", "/connectors", headers)
    assert cors(answer) == {"vary": ["Origin"]}


def test_any_origin(serve: Any) -> None:
    port = serve({"access.control.allow.origin": "*"}).base_url.port
    answer = raw_request(port, "GET", "/nope", ("Origin: http://any.example",))
    assert cors(answer) == {"vary": ["Origin"], "access-control-allow-origin": ["http://any.example"]}


@pytest.mark.parametrize(("methods", "shown"), [("", "GET,POST,HEAD"), ("GET, PUT", "GET,PUT")])
def test_preflight(serve: Any, methods: str, shown: str) -> None:
    port = serve({**ORIGINS, "access.control.allow.methods": methods}).base_url.port
    answer = raw_request(port, "OPTIONS", "/connectors/x/pause", PREFLIGHT)
    assert (answer.status, answer.body) == (200, b"OPTIONS, PUT")
    assert cors(answer) == {
        "vary": ["Origin"],
        "access-control-allow-origin": ["http://a.example"],
        "access-control-allow-methods": [shown],
        "access-control-allow-headers": ["Content-Type"],
        "access-control-max-age": ["60"],
    }


def test_no_cors_unless_configured(client: Any) -> None:
    assert cors(raw_request(client.base_url.port, "OPTIONS", "/connectors", PREFLIGHT)) == {}


def test_configured_headers(serve: Any) -> None:
    rules = (
        'set X-Frame-Options:DENY, "add Cache-Control: no-cache, no-store", setDate Expires: 60000, add X-Two: 1, '
        "add X-Two: 2, SET X-Frame-Options: SAMEORIGIN, set Content-Type: text/x"
    )
    port = serve({"response.http.headers.config": rules}).base_url.port
    answer = raw_request(port, "GET", "/connectors")
    assert answer.headers["x-frame-options"] == ["SAMEORIGIN"]
    assert answer.headers["cache-control"] == ["no-cache, no-store"]
    assert answer.headers["x-two"] == ["1", "2"]
    assert answer.content_type == "application/json"
    until = (parsedate_to_datetime(answer.headers["expires"][0]) - datetime.now(UTC)).total_seconds()
    assert 0 < until <= 60
    assert raw_request(port, "GET", "/nope").content_type == "text/x"
    assert "x-frame-options" not in raw_request(port, "GET", "/connectors/a%2Fb").headers
