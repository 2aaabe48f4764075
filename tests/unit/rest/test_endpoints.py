"""Each endpoint: what it asks of the herder, and how it shows the answer."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from seamark.errors import AlreadyExistsError, BadRequestError, ConfigError, ConnectError, NotFoundError
from seamark.runtime.herder import InternalRequest, LoggerLevel, RestError, TaskId
from seamark.runtime.states import TargetState
from unit.rest.herders import MemoryHerder

STATUS = {
    "name": "x",
    "connector": {"state": "RUNNING", "worker_id": "worker:8083", "version": None},
    "tasks": [
        {"id": 0, "state": "RUNNING", "worker_id": "worker:8083", "version": "4.2.0"},
        {"id": 1, "state": "FAILED", "worker_id": "worker:8083", "version": "4.2.0", "trace": "trace"},
    ],
    "type": "source",
}
INFO = {"name": "x", "config": {"name": "x"}, "tasks": [{"connector": "x", "task": 0}], "type": "source"}


@pytest.fixture
def x(herder: MemoryHerder) -> MemoryHerder:
    herder.configs["x"] = {"name": "x"}
    return herder


# reading


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/connectors", ["x"]),
        ("/connectors/x", INFO),
        ("/connectors/x/config", {"name": "x"}),
        ("/connectors/x/status", STATUS),
        ("/connectors/x/tasks", [{"id": {"connector": "x", "task": 0}, "config": {"name": "x", "task.class": "T"}}]),
        ("/connectors/x/tasks/3/status", {"id": 3, "state": "RUNNING", "worker_id": "worker:8083", "version": "4.2.0"}),
        ("/connectors/x/topics", {"x": {"topics": ["t"]}}),
        ("/connectors/none/topics", {"none": {"topics": []}}),
        ("/connectors/x/offsets", {"offsets": [{"partition": {"filename": "f"}, "offset": {"position": 6}}]}),
        (
            "/connectors/x/progress",
            {
                "name": "x",
                "tasks": [{"task": 0, "records": 5}],
                "partitions": [
                    {
                        "partition": {"p": 0},
                        "position": {"o": 1},
                        "end": {"o": 3},
                        "lag": 2,
                        "records_per_second": 1.5,
                    }
                ],
            },
        ),
        ("/connectors?expand=info&expand=status", {"x": {"info": INFO, "status": STATUS}}),
        ("/connectors?expand=info", {"x": {"info": INFO}}),
        ("/connectors?expand=info,status", {"x": {}}),
        ("/connectors?expand", {"x": {}}),
        ("/connectors?expand=bogus&expand=info", {"x": {"info": INFO}}),
    ],
)
def test_reads(client: httpx.Client, x: MemoryHerder, path: str, shown: Any) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.content == json.dumps(shown, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/connectors/none", "Connector none not found"),
        ("GET", "/connectors/none/config", "Connector none not found"),
        ("GET", "/connectors/none/tasks", "Connector none not found"),
        ("GET", "/connectors/none/offsets", "Connector none not found"),
        ("GET", "/connectors/none/progress", "Connector none not found"),
        ("GET", "/connectors/none/status", "No status found for connector none"),
        ("GET", "/connectors/none/tasks/0/status", "No status found for task none-0"),
        ("DELETE", "/connectors/none", "Connector none not found"),
        ("DELETE", "/connectors/none/offsets", "Connector none not found"),
        ("PUT", "/connectors/none/pause", "Unknown connector none"),
        ("PUT", "/connectors/none/stop", "Unknown connector none"),
        ("POST", "/connectors/none/restart", "Unknown connector: none"),
        ("POST", "/connectors/none/restart?includeTasks=true", "Unknown connector: none"),
        ("POST", "/connectors/none/tasks/0/restart", "Unknown connector: none"),
    ],
)
def test_unknown_connectors(client: httpx.Client, method: str, path: str, message: str) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")
    assert answer.json() == {"error_code": 404, "message": message}


def test_a_connector_without_status_is_left_out(client: httpx.Client, x: MemoryHerder) -> None:
    x.failure = NotFoundError("gone")
    x.connectors = lambda: ["x"]  # type: ignore[method-assign]
    try:
        assert client.get("/connectors?expand=status").json() == {}
    finally:
        del x.connectors


# configuration


def test_create(client: httpx.Client, herder: MemoryHerder) -> None:
    body = {"name": " a b ", "config": {"connector.class": "C", "n": 2, "on": True}, "initial_state": "stopped"}
    answer = client.post("/connectors", json=body)
    assert answer.status_code == 201
    assert answer.headers["location"] == f"http://127.0.0.1:{client.base_url.port}/connectors/a%20b"
    config = {"connector.class": "C", "n": "2", "on": "true", "name": "a b"}
    assert answer.json() == {"name": "a b", "config": config, "tasks": [], "type": "source"}
    assert herder.calls == [("put", "a b", config, TargetState.STOPPED, False)]


def test_location_has_the_host_that_the_client_used(client: httpx.Client) -> None:
    body = {"connector.class": "C"}
    answer = client.put("/connectors/y/config", json=body, headers={"Host": "worker.example:99"})
    assert (answer.status_code, answer.headers["location"]) == (201, "http://worker.example:99/connectors/y")


def test_create_what_exists(client: httpx.Client, x: MemoryHerder) -> None:
    answer = client.post("/connectors", json={"name": "x", "config": {"connector.class": "C"}})
    assert (answer.status_code, answer.json()["message"]) == (409, "Connector x already exists")


@pytest.mark.parametrize(
    "send",
    [
        lambda client, config: client.post("/connectors", json={"name": "x", "config": config}),
        lambda client, config: client.put("/connectors/x/config", json=config),
    ],
)
def test_another_name_in_the_config(client: httpx.Client, herder: MemoryHerder, send: Any) -> None:
    answer = send(client, {"name": "y"})
    assert answer.status_code == 400
    message = "Connector name configuration (y) doesn't match connector name in the URL (x)"
    assert answer.json() == {"error_code": 400, "message": message}
    assert herder.calls == []


def test_a_null_name_in_the_config_is_filled_in(client: httpx.Client, herder: MemoryHerder) -> None:
    client.put("/connectors/x/config", json={"name": None, "connector.class": "C"})
    assert herder.calls == [("put", "x", {"name": "x", "connector.class": "C"}, None, True)]


def test_put_of_an_existing_config(client: httpx.Client, x: MemoryHerder) -> None:
    answer = client.put("/connectors/x/config", json={"connector.class": "C"})
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    assert answer.json()["config"] == {"connector.class": "C", "name": "x"}


def test_patch_keeps_nulls_and_any_name(client: httpx.Client, x: MemoryHerder) -> None:
    answer = client.patch("/connectors/x/config", json={"a": None, "name": "other", "n": 1.5})
    assert (answer.status_code, answer.json()["name"]) == (200, "x")
    assert x.calls == [("patch", "x", {"a": None, "name": "other", "n": "1.5"})]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/connectors"),
        ("PUT", "/connectors/x/config"),
        ("PATCH", "/connectors/x/config"),
        ("PATCH", "/connectors/x/offsets"),
        ("PUT", "/connector-plugins/x/config/validate"),
        ("PUT", "/admin/loggers/x"),
    ],
)
@pytest.mark.parametrize("body", ["", "null", "{", "[]", '"x"'])
def test_bad_bodies_are_the_clients_fault(
    client: httpx.Client, x: MemoryHerder, method: str, path: str, body: str
) -> None:
    answer = client.request(method, path, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error_code"]) == (400, 400)
    assert x.calls == []


# states


@pytest.mark.parametrize(
    ("method", "path", "status", "call"),
    [
        ("PUT", "/connectors/x/pause", 202, ("pause", "x")),
        ("PUT", "/connectors/x/resume", 202, ("resume", "x")),
        ("PUT", "/connectors/x/stop", 204, ("stop_connector", "x")),
        ("PUT", "/connectors/x/topics/reset", 202, ("reset_topics", "x")),
        ("DELETE", "/connectors/x", 204, ("delete", "x")),
        ("POST", "/connectors/x/restart", 204, ("restart", "x")),
        ("POST", "/connectors/x/restart?includeTasks=no&onlyFailed=1", 204, ("restart", "x")),
        ("POST", "/connectors/x/restart?includeTasks=&onlyFailed=", 204, ("restart", "x")),
        ("POST", "/connectors/x/tasks/1/restart", 204, ("restart_task", TaskId("x", 1))),
    ],
)
def test_answers_without_a_body(
    client: httpx.Client, x: MemoryHerder, method: str, path: str, status: int, call: Any
) -> None:
    answer = client.request(method, path)
    assert (answer.status_code, answer.content, "content-type" in answer.headers) == (status, b"", False)
    assert x.calls == [call]


@pytest.mark.parametrize(
    ("query", "include_tasks", "only_failed"),
    [
        ("includeTasks=true", True, False),
        ("includeTasks=TRUE&onlyFailed=True", True, True),
        ("onlyFailed=true&includeTasks=false", False, True),
        ("includeTasks=true&includeTasks=false", True, False),
    ],
)
def test_restart_of_more(
    client: httpx.Client, x: MemoryHerder, query: str, include_tasks: bool, only_failed: bool
) -> None:
    answer = client.post(f"/connectors/x/restart?{query}")
    assert (answer.status_code, answer.json()) == (202, STATUS)
    assert x.calls[0] == ("restart_all", "x", include_tasks, only_failed)


# offsets


def test_alter_offsets(client: httpx.Client, x: MemoryHerder) -> None:
    body = {"offsets": [{"partition": {"a": 1}, "offset": {"b": 2.0}}, {"partition": {"c": "d"}, "offset": None}, {}]}
    answer = client.patch("/connectors/x/offsets", json=body)
    assert (answer.status_code, answer.json()) == (200, {"message": "altered"})
    assert x.calls == [("alter_offsets", "x", [({"a": 1}, {"b": 2.0}), ({"c": "d"}, None), (None, None)])]


def test_no_offsets_are_refused_before_the_connector_is_looked_for(client: httpx.Client, herder: MemoryHerder) -> None:
    answer = client.patch("/connectors/none/offsets", json={"offsets": []})
    message = "Partitions / offsets need to be provided for an alter offsets request"
    assert (answer.status_code, answer.json()["message"]) == (400, message)
    assert herder.calls == []


def test_reset_offsets(client: httpx.Client, x: MemoryHerder) -> None:
    answer = client.delete("/connectors/x/offsets")
    assert (answer.status_code, answer.json()) == (200, {"message": "reset"})


# topics


def test_topics_that_are_not_tracked(serve: Any, herder: MemoryHerder) -> None:
    client = serve({"topic.tracking.enable": "false"})
    for answer in (client.get("/connectors/x/topics"), client.put("/connectors/x/topics/reset")):
        assert (answer.status_code, answer.json()["message"]) == (403, "Topic tracking is disabled.")
    assert herder.calls == []


def test_topics_that_may_not_be_reset(serve: Any) -> None:
    client = serve({"topic.tracking.allow.reset": "false"})
    assert client.get("/connectors/x/topics").status_code == 200
    answer = client.put("/connectors/x/topics/reset")
    assert (answer.status_code, answer.json()["message"]) == (403, "Topic tracking reset is disabled.")


# errors


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFoundError("m"), 404),
        (AlreadyExistsError("m"), 409),
        (BadRequestError("m"), 400),
        (ConfigError("m"), 400),
        (RestError(418, "m"), 418),
        (ConnectError("m"), 500),
        (ValueError("m"), 500),
    ],
)
def test_statuses_of_errors(client: httpx.Client, herder: MemoryHerder, error: Exception, status: int) -> None:
    herder.failure = error
    answer = client.get("/connectors/x")
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert answer.json() == {"error_code": status, "message": "m"}


def test_an_error_without_words_is_named(client: httpx.Client, herder: MemoryHerder) -> None:
    herder.failure = ZeroDivisionError()
    assert client.get("/connectors/x").json()["message"] == "ZeroDivisionError"


def test_texts_are_utf_8_and_half_pairs_are_escaped(client: httpx.Client, herder: MemoryHerder) -> None:
    herder.configs["é"] = {"a": "\ud800", "b": "😀"}
    assert client.get("/connectors/%C3%A9/config").content == '{"a":"\\ud800","b":"😀"}'.encode()


# plugins


@pytest.mark.parametrize(
    ("query", "connectors_only"),
    [("", True), ("?connectorsOnly=false", False), ("?connectorsOnly=", True), ("?connectorsOnly=no", False)],
)
def test_plugins(client: httpx.Client, herder: MemoryHerder, query: str, connectors_only: bool) -> None:
    sink = {"class": "a.Sink", "type": "sink", "version": "1"}
    cast = {"class": "a.Cast", "type": "transformation"}
    assert client.get(f"/connector-plugins{query}").json() == ([sink] if connectors_only else [sink, cast])
    assert herder.calls == [("plugins", connectors_only)]


@pytest.mark.parametrize(("query", "version"), [("", None), ("?version=latest", None), ("?version=1.0", "1.0")])
def test_plugin_config(client: httpx.Client, herder: MemoryHerder, query: str, version: str | None) -> None:
    answer = client.get(f"/connector-plugins/x.Y/config{query}")
    assert (answer.status_code, answer.json()["message"]) == (404, "Unknown plugin x.Y.")
    assert herder.calls == [("plugin_config", "x.Y", version)]


@pytest.mark.parametrize(
    ("plugin", "given"),
    [("FileSource", "a.FileSourceConnector"), ("Source", "a.FileSource"), ("FileSourceConnector", "FileSource")],
)
def test_validate(client: httpx.Client, plugin: str, given: str) -> None:
    answer = client.put(f"/connector-plugins/{plugin}/config/validate", json={"connector.class": given})
    assert answer.json() == {"name": given, "error_count": 0, "groups": ["Common"], "configs": []}


def test_validate_another_class(client: httpx.Client, herder: MemoryHerder) -> None:
    answer = client.put("/connector-plugins/a.B/config/validate", json={"connector.class": "a.C"})
    assert answer.status_code == 400
    assert answer.json()["message"] == "Included connector type a.C does not match request type a.B"
    assert herder.calls == []


def test_validate_without_a_class_shows_javas_exception(client: httpx.Client) -> None:
    answer = client.put("/connector-plugins/a.B/config/validate", json={})
    java = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException"
    assert answer.status_code == 500
    assert answer.json()["message"] == f"{java}: Connector config {{}} contains no connector type"


# loggers


def test_levels(client: httpx.Client, herder: MemoryHerder) -> None:
    herder.levels["a.b"] = LoggerLevel("DEBUG", 5)
    root, changed = {"level": "INFO", "last_modified": None}, {"level": "DEBUG", "last_modified": 5}
    assert client.get("/admin/loggers").json() == {"root": root, "a.b": changed}
    assert client.get("/admin/loggers/a.b").json() == changed
    answer = client.get("/admin/loggers/none")
    assert (answer.status_code, answer.json()["message"]) == (404, "Logger none not found.")


@pytest.mark.parametrize("query", ["", "?scope=worker", "?scope=WORKER", "?scope=bogus", "?scope="])
def test_level_of_this_worker(client: httpx.Client, herder: MemoryHerder, query: str) -> None:
    answer = client.put(f"/admin/loggers/a.b{query}", json={"level": "Debug"})
    assert (answer.status_code, answer.json()) == (200, ["a.b"])
    assert herder.calls == [("set_level", "a.b", "Debug")]


def test_level_of_all_workers(client: httpx.Client, herder: MemoryHerder) -> None:
    answer = client.put("/admin/loggers/a.b?scope=Cluster", json={"level": "warn"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert herder.calls == [("set_cluster_level", "a.b", "warn")]


@pytest.mark.parametrize("scope", ["worker", "cluster"])
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": None}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": "bogus"}, 404, "invalid log level 'bogus'."),
        ({"level": 5}, 404, "invalid log level '5'."),
        ({"level": ""}, 500, "Illegal null or empty Level name."),
    ],
)
def test_bad_levels(
    client: httpx.Client, herder: MemoryHerder, body: Any, status: int, message: str, scope: str
) -> None:
    answer = client.put(f"/admin/loggers/a?scope={scope}", json=body)
    assert (answer.status_code, answer.json()["message"]) == (status, message)
    assert herder.calls == []


# worker to worker


def test_task_configs_of_another_worker(client: httpx.Client, herder: MemoryHerder) -> None:
    headers = {"X-Connect-Authorization": "c2ln", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    body = b'[{"a": "b"}]'
    answer = client.post("/connectors/x/tasks", content=body, headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    request = InternalRequest(body, "c2ln", "HmacSHA256")
    assert herder.calls == [("put_task_configs", "x", [{"a": "b"}], request)]


def test_fence_for_another_worker(client: httpx.Client, herder: MemoryHerder) -> None:
    headers = {"X-Connect-Authorization": "c2ln", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    assert client.put("/connectors/x/fence", content=b"any", headers=headers).status_code == 204
    assert herder.calls == [("fence", "x", InternalRequest(b"any", "c2ln", "HmacSHA256"))]


@pytest.mark.parametrize(("method", "path", "body"), [("POST", "tasks", b"[]"), ("PUT", "fence", b"")])
def test_requests_of_workers_need_a_signature(client: httpx.Client, method: str, path: str, body: bytes) -> None:
    answer = client.request(method, f"/connectors/x/{path}", content=body, headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()["message"]) == (400, "Internal request missing required signature")
