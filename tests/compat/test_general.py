"""What holds for every endpoint: shapes, routing errors, paths, query parameters, headers."""

from __future__ import annotations

import json

import pytest

from compat.client import NOT_FOUND, Connect, expect, path_of
from compat.conftest import Files, Parked
from compat.targets import ORIGIN

UNKNOWN = "no-such-connector"


def test_answers_are_compact_json_without_charset(connect: Connect, running_source: Parked) -> None:
    for path in (
        "/",
        "/health",
        "/connectors",
        "/connector-plugins",
        running_source.path,
        f"{running_source.path}/tasks",
    ):
        response = connect.get(path)
        assert response.headers["content-type"] == "application/json", path
        assert response.text == json.dumps(response.json(), separators=(",", ":"), ensure_ascii=False), path


def test_errors_of_connect_carry_a_content_type(connect: Connect) -> None:
    response = connect.get(path_of(UNKNOWN))
    connect.refuses(response, 404, f"Connector {UNKNOWN} not found")
    assert response.headers["content-type"] == "application/json"
    assert response.text == f'{{"error_code":404,"message":"Connector {UNKNOWN} not found"}}'


@pytest.mark.parametrize(
    "path",
    [
        "/nope",
        "/connectors/x/nope",
        "/connectors/x/tasks-config",
        "/connectors/x/tasks/0",
        "/connector-plugins/x",
        "/admin",
    ],
)
def test_unknown_path(connect: Connect, path: str) -> None:
    response = connect.get(path)
    connect.refuses(response, 404, NOT_FOUND)
    assert "content-type" not in response.headers


@pytest.mark.parametrize("task", ["zero", "1.5", "99999999999", "0x0"])
def test_task_number_that_is_none(connect: Connect, running_source: Parked, task: str) -> None:
    connect.refuses(connect.get(f"{running_source.path}/tasks/{task}/status"), 404, NOT_FOUND)
    connect.refuses(connect.post(f"{running_source.path}/tasks/{task}/restart"), 404, NOT_FOUND)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/connectors"),
        ("PATCH", "/connectors"),
        ("POST", "/"),
        ("POST", "/health"),
        ("POST", "/connectors/x"),
        ("PUT", "/connectors/x"),
        ("GET", "/connectors/x/pause"),
        ("POST", "/connectors/x/stop"),
        ("PUT", "/connectors/x/restart"),
        ("DELETE", "/connectors/x/config"),
        ("POST", "/connectors/x/offsets"),
        ("PUT", "/connectors/x/offsets"),
        ("GET", "/connectors/x/topics/reset"),
        ("POST", "/connector-plugins"),
        ("GET", "/connector-plugins/x/config/validate"),
        ("DELETE", "/admin/loggers/root"),
    ],
)
def test_wrong_method(connect: Connect, method: str, path: str) -> None:
    response = connect.call(method, path)
    connect.refuses(response, 405, "HTTP 405 Method Not Allowed")
    assert "content-type" not in response.headers


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/connectors"), ("PUT", "/connectors/x/config"), ("PATCH", "/connectors/x/offsets")],
)
@pytest.mark.parametrize("kind", ["text/plain", "application/xml", None])
def test_body_that_does_not_say_it_is_json(connect: Connect, method: str, path: str, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    response = connect.call(method, path, content=b"{}", headers=headers)
    connect.refuses(response, 415, "HTTP 415 Unsupported Media Type")
    assert ("content-type" in response.headers) == (kind is None)


def test_json_content_type_may_have_a_charset(connect: Connect) -> None:
    headers = {"Content-Type": "application/json; charset=UTF-8"}
    response = connect.call("PUT", path_of(UNKNOWN, "config"), content=b'{"tasks.max":"1"}', headers=headers)
    connect.refuses(response, 400, ["contains no connector type"])


@pytest.mark.parametrize("path", ["/connectors", "/", "/connector-plugins"])
def test_unacceptable_answer(connect: Connect, path: str) -> None:
    response = connect.call("GET", path, headers={"Accept": "text/html"})
    connect.refuses(response, 406, "HTTP 406 Not Acceptable")
    assert "content-type" not in response.headers


@pytest.mark.parametrize(
    "accept", ["*/*", "application/*", "text/html, */*;q=0.1", "application/json", "*", "text/html, image/gif, *; q=.2"]
)
def test_acceptable_answer(connect: Connect, accept: str) -> None:
    assert isinstance(expect(connect.call("GET", "/connectors", headers={"Accept": accept}), 200), list)


@pytest.mark.parametrize("path", ["/", "/connectors", "/connector-plugins", "/health", "/admin/loggers"])
def test_head_is_get_without_a_body(connect: Connect, path: str) -> None:
    response = connect.call("HEAD", path)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.content == b""


def test_head_of_an_unknown_connector(connect: Connect) -> None:
    response = connect.call("HEAD", path_of(UNKNOWN))
    assert (response.status_code, response.content) == (404, b"")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/connectors", {"HEAD", "POST", "GET", "OPTIONS"}),
        ("/connectors/x", {"HEAD", "DELETE", "GET", "OPTIONS"}),
        ("/connectors/x/config", {"HEAD", "PUT", "PATCH", "GET", "OPTIONS"}),
        ("/connectors/x/offsets", {"HEAD", "PATCH", "DELETE", "GET", "OPTIONS"}),
        ("/connectors/x/pause", {"PUT", "OPTIONS"}),
    ],
)
def test_options(connect: Connect, path: str, allowed: set[str]) -> None:
    response = connect.call("OPTIONS", path)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    assert set(response.headers["allow"].replace(" ", "").split(",")) == allowed


@pytest.mark.parametrize("path", ["/connectors/", "/connector-plugins/", "/health/", "/admin/loggers/"])
def test_trailing_slash_is_tolerated(connect: Connect, path: str) -> None:
    expect(connect.get(path), 200)


def test_path_is_percent_decoded(connect: Connect, files: Files, name: str) -> None:
    for decoded, encoded in ((f"{name} b", f"{name}%20b"), (f"{name}+c", f"{name}+c"), (f"{name}ü", f"{name}%C3%BC")):
        connect.create(decoded, files.source(name), "STOPPED")
        assert expect(connect.get(f"/connectors/{encoded}"), 200)["name"] == decoded
        expect(connect.delete(f"/connectors/{encoded}"), 204)


def test_matrix_parameters_are_cut_off(connect: Connect, running_source: Parked) -> None:
    assert expect(connect.get(f"{running_source.path};x=1"), 200)["name"] == running_source.name
    assert expect(connect.get(f"{running_source.path};x/config"), 200)["name"] == running_source.name


@pytest.mark.parametrize("segment", ["a%2Fb", "a%5Cb", "a%25b", "a%01b", "%2e%2e", "a//b", "a%0Ab"])
def test_path_that_the_server_refuses(connect: Connect, segment: str) -> None:
    status, kind, content = connect.raw("GET", f"/connectors/{segment}/status")
    assert status == 400
    assert kind.startswith("text/html")
    assert content
    status, _, content = connect.raw("PUT", f"/connectors/{segment}/pause")
    assert (status, content) == (400, b"")


def test_name_with_a_slash_can_be_created_but_not_addressed(connect: Connect, files: Files, name: str) -> None:
    slashed = f"{name}/b"
    body = {"name": slashed, "config": files.source(name), "initial_state": "STOPPED"}
    response = connect.post("/connectors", body)
    assert expect(response, 201)["name"] == slashed
    assert connect.raw("GET", f"/connectors/{name}%2Fb")[0] == 400
    connect.refuses(connect.get(f"/connectors/{slashed}"), 404, NOT_FOUND)


@pytest.mark.parametrize("content", ["{", "nonsense", "[]", "null", '{"a":'])
def test_body_that_nobody_needs_is_ignored(connect: Connect, running_source: Parked, content: str) -> None:
    path = running_source.path
    assert connect.call("PUT", f"{path}/resume", content=content).status_code == 202
    assert connect.call("POST", f"{path}/restart?onlyFailed=true", content=content).status_code == 202
    connect.refuses(
        connect.call("PUT", path_of(UNKNOWN, "pause"), content=content), 404, f"Unknown connector {UNKNOWN}"
    )
    response = connect.call("DELETE", path_of(UNKNOWN), content=content)
    connect.refuses(response, 404, f"Connector {UNKNOWN} not found")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 204),
        ("?includeTasks=false&onlyFailed=false", 204),
        ("?includeTasks=", 204),
        ("?includeTasks=yes", 204),
        ("?includeTasks=1", 204),
        ("?onlyFailed=", 204),
        ("?onlyFailed=TRUE", 202),
        ("?onlyFailed=true&includeTasks=True", 202),
    ],
)
def test_booleans_in_a_query(connect: Connect, running_source: Parked, query: str, status: int) -> None:
    expect(connect.post(f"{running_source.path}/restart{query}"), status)
    connect.await_state(running_source.name, "RUNNING")


@pytest.mark.parametrize(("value", "is_all"), [("", False), ("TRUE", False), ("false", True), ("no", True)])
def test_booleans_in_the_query_for_plugins(connect: Connect, value: str, is_all: bool) -> None:
    types = {plugin["type"] for plugin in expect(connect.get(f"/connector-plugins?connectorsOnly={value}"), 200)}
    assert ("transformation" in types) == is_all


def test_location_is_absolute_and_encoded(connect: Connect, files: Files, name: str) -> None:
    spaced = f"{name} é"
    response = connect.post("/connectors", {"name": spaced, "config": files.source(name), "initial_state": "STOPPED"})
    expect(response, 201)
    assert response.headers["location"].endswith(f"/connectors/{name}%20%C3%A9")
    assert response.headers["location"].removesuffix(f"/connectors/{name}%20%C3%A9") in connect.target.urls


def test_scalars_in_a_config_become_strings(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name) | {"tasks.max": 2, "some.flag": True, "some.number": 1.5, "other": "x"}
    created = connect.create(name, config, "STOPPED")
    wanted = config | {"name": name, "tasks.max": "2", "some.flag": "true", "some.number": "1.5"}
    assert created["config"] == wanted
    assert expect(connect.get(path_of(name, "config")), 200) == wanted


def test_last_of_duplicate_keys_wins(connect: Connect, files: Files, name: str) -> None:
    config = json.dumps(files.source(name))
    content = (
        f'{{"name":"other","name":"{name}","initial_state":"RUNNING","initial_state":"STOPPED","config":{config}}}'
    )
    assert expect(connect.call("POST", "/connectors", content=content), 201)["name"] == name
    connect.await_state(name, "STOPPED")


def test_cross_origin_requests_are_answered_as_configured(connect: Connect) -> None:
    response = connect.call("GET", "/", headers={"Origin": ORIGIN})
    assert response.headers["access-control-allow-origin"] == ORIGIN
    other = connect.call("GET", "/", headers={"Origin": "http://other.example"})
    assert "access-control-allow-origin" not in other.headers
    preflight = connect.call("OPTIONS", "/", headers={"Origin": ORIGIN, "Access-Control-Request-Method": "GET"})
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == ORIGIN
    assert set(preflight.headers["access-control-allow-methods"].split(",")) == {"GET", "POST"}


def test_extra_headers_are_sent_as_configured(connect: Connect) -> None:
    assert connect.get("/").headers["x-compat"] == "served"
    assert connect.get(path_of(UNKNOWN)).headers["x-compat"] == "served"
