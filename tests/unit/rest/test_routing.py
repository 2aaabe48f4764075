"""Which requests reach an endpoint at all, and how the others are answered."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from fixtures.raw_http import RawAnswer, raw_request
from unit.rest.herders import MemoryHerder

JSON = "Content-Type: application/json"
PLAIN = "Content-Type: text/plain"


def send(client: httpx.Client, *request: Any) -> RawAnswer:
    assert client.base_url.port is not None
    return raw_request(client.base_url.port, *request)


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        (("GET", "/nope"), 404, "HTTP 404 Not Found"),
        (("GET", "/Connectors"), 404, "HTTP 404 Not Found"),
        (("GET", "/connectors/x/tasks-config"), 404, "HTTP 404 Not Found"),
        (("OPTIONS", "/nope"), 404, "HTTP 404 Not Found"),
        (("POST", "/"), 405, "HTTP 405 Method Not Allowed"),
        (("TRACE", "/connectors"), 405, "HTTP 405 Method Not Allowed"),
        (("DELETE", "/connectors"), 405, "HTTP 405 Method Not Allowed"),
        (("GET", "/connectors", ("Accept: text/html",)), 406, "HTTP 406 Not Acceptable"),
        (("GET", "/connectors", ("Accept: bogus",)), 406, "HTTP 406 Not Acceptable"),
        (("POST", "/connectors", (JSON, "Accept: text/html"), b"{bad"), 406, "HTTP 406 Not Acceptable"),
        (("POST", "/connectors", (PLAIN,), b"{}"), 415, "HTTP 415 Unsupported Media Type"),
        (("POST", "/connectors", (PLAIN, "Accept: text/html"), b"{}"), 415, "HTTP 415 Unsupported Media Type"),
        (("POST", "/connectors", ("Content-Type: a/b+json",), b"{}"), 415, "HTTP 415 Unsupported Media Type"),
        (("PUT", "/connectors/x/pause", (PLAIN,)), 415, "HTTP 415 Unsupported Media Type"),
        (("GET", "/connectors/x", (PLAIN,)), 415, "HTTP 415 Unsupported Media Type"),
    ],
)
def test_routing_errors_have_the_shape_of_all_errors_but_no_content_type(
    client: httpx.Client, request_: tuple[Any, ...], status: int, message: str
) -> None:
    answer = send(client, *request_)
    assert (answer.status, answer.content_type) == (status, None)
    assert json.loads(answer.body) == {"error_code": status, "message": message}


@pytest.mark.parametrize("headers", [(), ("Content-Type: application/*",), ("Content-Type: */*",)])
def test_a_body_that_does_not_say_what_it_is(client: httpx.Client, headers: tuple[str, ...]) -> None:
    answer = send(client, "POST", "/connectors", headers, b"{}")
    assert (answer.status, answer.content_type) == (415, "application/json")


@pytest.mark.parametrize(
    "accept",
    ["*/*", "application/*", "application/json;q=0", "text/html,*/*;q=0.1", "text/html, application/json", "", "*"],
)
def test_accepted(client: httpx.Client, accept: str) -> None:
    answer = send(client, "GET", "/connectors", (f"Accept: {accept}",))
    assert (answer.status, answer.content_type, answer.body) == (200, "application/json", b"[]")


@pytest.mark.parametrize("content_type", ["application/json", "APPLICATION/JSON", "application/json;charset=x"])
def test_json_by_any_name(client: httpx.Client, content_type: str) -> None:
    answer = send(client, "PUT", "/connectors/x/config", (f"Content-Type: {content_type}",), b'{"connector.class":"C"}')
    assert answer.status == 201


@pytest.mark.parametrize("body", [b"", b"{bad", b"[1]"])
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/connectors/x/pause", 202),
        ("PUT", "/connectors/x/resume", 202),
        ("PUT", "/connectors/x/stop", 204),
        ("POST", "/connectors/x/restart", 204),
        ("DELETE", "/connectors/x", 204),
        ("DELETE", "/connectors/x/offsets", 200),
    ],
)
def test_bodies_that_nobody_needs_are_ignored(
    client: httpx.Client, herder: MemoryHerder, method: str, path: str, status: int, body: bytes
) -> None:
    herder.configs["x"] = {}
    assert send(client, method, path, (JSON,), body).status == status


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_refused_targets_are_answered_with_a_page(client: httpx.Client, method: str) -> None:
    answer = send(client, method, "/connectors/a%2Fb", ("Accept: application/json",))
    assert (answer.status, answer.content_type) == (400, "text/html;charset=iso-8859-1")
    assert b"Ambiguous URI path separator" in answer.body


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_refused_targets_of_other_methods_have_no_body(client: httpx.Client, method: str) -> None:
    answer = send(client, method, "/connectors/a%2Fb")
    assert (answer.status, answer.content_type, answer.body) == (400, None, b"")


def test_a_content_type_that_is_none(client: httpx.Client) -> None:
    answer = send(client, "POST", "/connectors", ("Content-Type: bogus",), b"{}")
    assert (answer.status, answer.content_type) == (400, "text/html;charset=iso-8859-1")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("a%20b", "a b"),
        ("a+b", "a+b"),
        ("a;b", "a"),
        ("a/", "a"),
        ("%C3%A9", "é"),
        ("%23", "#"),
        ("%20", " "),
        ("..", ".."),
    ],
)
def test_names_in_paths(client: httpx.Client, herder: MemoryHerder, target: str, name: str) -> None:
    answer = send(client, "GET", f"/connectors/{target}")
    assert json.loads(answer.body) == {"error_code": 404, "message": f"Connector {name} not found"}
    assert ("connector_info", name) in herder.calls


@pytest.mark.parametrize("task", ["a", "2147483648", "%201", "1_0", "1.0", "-2147483649"])
def test_a_task_that_is_no_number_is_an_unknown_path(client: httpx.Client, herder: MemoryHerder, task: str) -> None:
    answer = send(client, "GET", f"/connectors/x/tasks/{task}/status")
    assert (answer.status, answer.content_type) == (404, "application/json")
    assert json.loads(answer.body)["message"] == "HTTP 404 Not Found"
    assert herder.calls == []


@pytest.mark.parametrize(("task", "number"), [("0", 0), ("-1", -1), ("+1", 1), ("007", 7), ("%D9%A1", 1)])
def test_numbers_of_tasks(client: httpx.Client, task: str, number: int) -> None:
    answer = send(client, "GET", f"/connectors/x/tasks/{task}/status")
    assert json.loads(answer.body)["message"] == f"No status found for task x-{number}"


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/", "HEAD,GET,OPTIONS"),
        ("/connectors", "HEAD,POST,GET,OPTIONS"),
        ("/connectors/x", "HEAD,DELETE,GET,OPTIONS"),
        ("/connectors/x/config", "HEAD,GET,OPTIONS,PUT,PATCH"),
        ("/connectors/x/offsets", "HEAD,DELETE,GET,OPTIONS,PATCH"),
        ("/connectors/x/pause", "OPTIONS,PUT"),
        ("/connectors/x/tasks/a/status", "HEAD,GET,OPTIONS"),
        ("/admin/loggers/x", "HEAD,GET,OPTIONS,PUT"),
    ],
)
def test_options(client: httpx.Client, path: str, allow: str) -> None:
    answer = send(client, "OPTIONS", path, (PLAIN,), b"x")
    assert (answer.status, answer.content_type, answer.headers["allow"]) == (200, "text/plain", [allow])
    assert answer.body.decode() == allow.replace(",", ", ")


def test_options_of_another_type_have_no_body(client: httpx.Client) -> None:
    answer = send(client, "OPTIONS", "/connectors", ("Accept: application/json",))
    assert (answer.status, answer.content_type, answer.body) == (200, "application/json", b"")


@pytest.mark.parametrize(
    ("path", "status", "content_type"),
    [
        ("/connectors", 200, "application/json"),
        ("/connectors/x", 404, "application/json"),
        ("/nope", 404, None),
        ("/connectors/x/pause", 405, None),
    ],
)
def test_head_is_get_without_a_body(client: httpx.Client, path: str, status: int, content_type: str | None) -> None:
    answer = send(client, "HEAD", path)
    assert (answer.status, answer.content_type, answer.body) == (status, content_type, b"")


def test_http_1_0_without_a_host(client: httpx.Client) -> None:
    answer = send(client, "GET", "/connectors", (), b"", "HTTP/1.0")
    assert (answer.status, answer.body) == (200, b"[]")


def test_bytes_that_are_no_http_are_refused(client: httpx.Client) -> None:
    assert send(client, "GET", "/connectors/\xe9").status == 400


def test_a_body_that_is_too_long(serve: Any, herder: MemoryHerder) -> None:
    client = serve({"seamark.rest.max.request.bytes": "100"})
    answer = client.put("/connectors/x/config", json={"a": "x" * 100})
    assert answer.status_code == 413
    assert "seamark.rest.max.request.bytes" in answer.json()["message"]
    assert client.put("/connectors/x/config", json={"connector.class": "x"}).status_code == 201
    assert [call[0] for call in herder.calls] == ["put"]


def test_a_body_of_unknown_length_that_is_too_long(serve: Any) -> None:
    client = serve({"seamark.rest.max.request.bytes": "100"})
    chunks = (b" " * 60 for _ in range(100))
    answer = client.put("/connectors/x/config", content=chunks, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_no_header_tells_which_server_it_is(client: httpx.Client) -> None:
    assert "server" not in client.get("/").headers
