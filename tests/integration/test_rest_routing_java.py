"""The same requests to Kafka Connect's own REST server and to ours: which are refused, and how, must not differ.

Our side has a herder in memory that knows no connector, so what is compared is the REST layer alone: every request here
ends in it, or with "not found".
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.raw_http import RawAnswer, raw_request
from seamark.config.worker import WorkerConfig
from seamark.kafka.broker import EmbeddedBroker
from seamark.rest import RestServer
from seamark.testing.java_connect import JavaConnect, Mode
from unit.rest.herders import MemoryHerder

pytestmark = pytest.mark.java

JSON = "Content-Type: application/json"
PLAIN = "Content-Type: text/plain"
HEADERS = {
    "access.control.allow.origin": r"http://a.example,http://[a-z]+\.b\.example",
    "access.control.allow.methods": "GET,PUT",
    "response.http.headers.config": 'set X-Frame-Options:DENY, "add Cache-Control: no-cache, no-store", add X-Two: 1, '
    "add X-Two: 2, set Content-Type: text/x",
    "topic.tracking.allow.reset": "false",
}
COMPARED = ("content-type", "allow", "cache-control", "vary", "x-frame-options", "x-two")


def paths() -> list[tuple[Any, ...]]:
    names = [
        *(
            "x",
            "a%20b",
            "a+b",
            "a;b",
            "a%3Bb",
            "a/",
            "a/?q",
            ";b",
            ".",
            "..",
            "./x",
            "../connectors",
            "a..b",
            "%20",
            "%3F",
        ),
        *("%23", "%7B%7D", "a#b", "%C3%A9", "%E2%82%AC", "%C2%85", "%EF%BF%BE", "a%2Fb", "a%5Cb", "a%25b", "%252F"),
        *("a%0Ab", "a%00b", "a%7Fb", "a%80b", "a%C3", "%C0%AF", "%ED%A0%80", "%zz", "a%2", "%u0041", "%2e%2e", "%2e"),
        *("..;x/y", ".;x", "/x", ";b/status", "{x}", "a|b", 'a"b', "a<b>", "a^b`", "a[b]", "a\\b", "../..", "x/.."),
    ]
    others = [
        "//",
        "/nope",
        "/Connectors",
        "/admin",
        "/favicon.ico",
        "/connectors/x/Status",
        "/connectors/x/tasks-config",
    ]
    tasks = ["a", "-1", "+1", "007", "2147483648", "%201", "%D9%A1", "1.0", "1_0"]
    return [
        *(("GET", f"/connectors/{name}") for name in names),
        *(("GET", path) for path in [*others, "/health/", "/..", "/./connectors", "/nope%2F", "/connectors;x=y"]),
        *(("GET", f"/connectors/x/tasks/{task}/status") for task in tasks),
        *((method, "/connectors/a%2Fb") for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH")),
        *(("GET", f"/connectors{query}") for query in ("", "/", "?expand", "?expand=%zz", "?%", "?expand=info,status")),
        ("GET", "/connectors", (), b"", "HTTP/1.0"),
    ]


def methods() -> list[tuple[Any, ...]]:
    known = [
        *("/", "/health", "/connectors", "/connectors/x", "/connectors/x/config", "/connectors/x/status"),
        *(
            "/connectors/x/tasks",
            "/connectors/x/tasks/a/status",
            "/connectors/x/tasks/0/restart",
            "/connectors/x/offsets",
        ),
        *("/connectors/x/pause", "/connectors/x/resume", "/connectors/x/stop", "/connectors/x/restart"),
        *("/connectors/x/topics", "/connectors/x/topics/reset", "/connectors/x/fence", "/connector-plugins"),
        *("/connector-plugins/x/config", "/connector-plugins/x/config/validate", "/admin/loggers", "/admin/loggers/x"),
    ]
    heads = ["/connectors", "/connectors/x", "/nope", "/connectors/x/pause", "/health"]
    return [
        *(("OPTIONS", path) for path in [*known, "/nope"]),
        *(
            ("OPTIONS", "/connectors", (f"Accept: {kind}",))
            for kind in ("application/json", "text/html", "*/*", "text/*")
        ),
        ("OPTIONS", "/connectors", (PLAIN,), b"x"),
        *(("HEAD", path) for path in heads),
        *((method, "/connectors") for method in ("DELETE", "PUT", "PATCH", "TRACE")),
        *((method, "/nope") for method in ("POST", "TRACE")),
        *(("PUT", path) for path in ("/connectors/x/pause", "/connectors/x/resume", "/connectors/none/stop?forward=x")),
        *(("POST", f"/connectors/x/restart{query}") for query in ("", "?includeTasks=x", "?includeTasks=TRUE")),
        ("POST", "/connectors/x/tasks/a/restart"),
        ("DELETE", "/connectors/none"),
        ("DELETE", "/connectors/none/offsets"),
        ("GET", "/connectors/none/topics"),
        ("PUT", "/connectors/none/topics/reset"),
    ]


def media() -> list[tuple[Any, ...]]:
    accepts = [
        "text/html",
        "text/*",
        "bogus",
        "application/*",
        "*/json",
        "application/json;q=0",
        "text/html,*/*;q=0.1",
        "",
    ]
    types = [
        *("text/plain", "application/*", "*/*", "bogus", "application/vnd.x+json", "", "application/json, text/plain"),
        *("APPLICATION/JSON", "application/json;charset=x"),
    ]
    named = b'{"name":"x","config":{"name":"y"}}'
    return [
        *(("GET", path, (f"Accept: {kind}",)) for kind in accepts for path in ("/connectors", "/connectors/x")),
        *(("POST", "/connectors", (f"Content-Type: {kind}",), named) for kind in types),
        ("POST", "/connectors", (), named),
        ("POST", "/connectors", (PLAIN, "Accept: text/html"), named),
        ("POST", "/connectors", (JSON, "Accept: text/html"), b"{bad"),
        ("GET", "/nope", ("Accept: text/html",)),
        ("POST", "/", ("Accept: text/html",)),
        ("GET", "/health", ("Accept: text/html",)),
        ("GET", "/health", (PLAIN,), b"x"),
        ("GET", "/connectors/x", (PLAIN,)),
        ("PUT", "/connectors/x/pause", (PLAIN,)),
        ("PUT", "/connectors/x/pause", (), b"x"),
        ("PUT", "/connectors/x/pause", (JSON,), b"{bad"),
        ("POST", "/connectors/x/tasks", (PLAIN,), b"[]"),
        ("POST", "/connectors/x/tasks", (), b'[{"a":1}]'),
        ("PUT", "/connectors/x/fence"),
    ]


def bodies() -> list[tuple[Any, ...]]:
    """Bodies that both answer alike."""
    created = [
        *('{"name":"a","config":{}}', '{"name":"a","name":"b","config":{}}', '{"name":null,"config":{}}'),
        *('{"name":"  \\u00a0q ","config":{}}', '{"name":5,"config":{"name":"5"}}', '{"name":true,"config":{}}'),
        *('{"name":"a","config":{"name":"b"}}', '{"name":1.50,"config":{}}', '{"name":"é","config":{}}'),
        "\ufeff" + '{"name":"a","config":{}}',
    ]
    levels = ['{"level":"bogus"}', '{"level":""}', '{"level":5}', '{"level":null}', "{}", '{"x":"y"}']
    offsets = ['{"offsets":[]}', '{"offsets":null}', "{}", '{"offsets":[{}]}', '{"offsets":[{"partition":{"a":1}}]}']
    validate = "/connector-plugins/Nope/config/validate"
    return [
        *(("POST", "/connectors", (JSON,), body.encode()) for body in created),
        ("POST", "/connectors", (JSON,), '{"name":"a","config":{}}'.encode("utf-16")),
        *(("PUT", "/admin/loggers/x", (JSON,), body.encode()) for body in levels),
        *(("PATCH", "/connectors/none/offsets", (JSON,), body.encode()) for body in offsets),
        ("PUT", "/connectors/q/config", (JSON,), b'{"name":"r"}'),
        ("PUT", "/connectors/q/config", (JSON,), b"{}"),
        ("PATCH", "/connectors/none/config", (JSON,), b"{}"),
        ("PUT", validate, (JSON,), b'{"connector.class":"x.Yes"}'),
        ("PUT", validate, (JSON,), b"{}"),
    ]


BAD_BODIES = [
    ("POST", "/connectors", "{", "Unexpected end-of-input"),
    ("POST", "/connectors", "not", "Unrecognized token 'not'"),
    ("POST", "/connectors", '{"config":{}} x', "Unrecognized token 'x'"),
    ("POST", "/connectors", "[]", "Cannot deserialize value"),
    ("POST", "/connectors", '"x"', "Cannot construct instance"),
    ("POST", "/connectors", "5", "Cannot construct instance"),
    ("POST", "/connectors", '{"bogus":1}', 'Unrecognized field "bogus"'),
    ("POST", "/connectors", '{"config":"x"}', "Cannot construct instance"),
    ("POST", "/connectors", '{"config":5}', "Cannot deserialize value"),
    ("POST", "/connectors", '{"config":{"a":{}}}', "Cannot deserialize value"),
    ("POST", "/connectors", '{"initial_state":"bogus"}', "Cannot construct instance"),
    ("POST", "/connectors", '{"initial_state":5}', "Cannot construct instance"),
    ("POST", "/connectors", '{"config":{"x":NaN}}', "Non-standard token 'NaN'"),
    ("POST", "/connectors", '{"config":{"x":' + "9" * 1100 + "}}", "Number value length"),
    ("POST", "/connectors", "null", ""),
    ("POST", "/connectors", "", ""),
    ("POST", "/connectors", "{}", ""),
    ("PUT", "/connectors/q/config", "[]", "Cannot deserialize value"),
    ("PUT", "/connectors/q/config", "", ""),
    ("PATCH", "/connectors/q/config", '{"a":[]}', "Cannot deserialize value"),
    ("PATCH", "/connectors/q/offsets", '{"offsets":[{"x":1}]}', 'Unrecognized field "x"'),
    ("PATCH", "/connectors/q/offsets", '{"offsets":[5]}', "Cannot construct instance"),
    ("PATCH", "/connectors/q/offsets", '{"offsets":[{"partition":[]}]}', "Cannot deserialize value"),
    ("PATCH", "/connectors/q/offsets", '{"offsets":[null]}', ""),
    ("PUT", "/connector-plugins/x/config/validate", "", ""),
    ("PUT", "/admin/loggers/x", '{"level":"debug","y":[1]}', "Cannot deserialize value"),
    ("PUT", "/admin/loggers/x", "null", ""),
    ("POST", "/connectors/q/tasks", "{}", "Cannot deserialize value"),
]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    yield from serving({})


@pytest.fixture(scope="module")
def port_with_headers() -> Iterator[int]:
    yield from serving(HEADERS)


def serving(settings: dict[str, str]) -> Iterator[int]:
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0", **settings}))
    server.bind()
    server.start(MemoryHerder())
    yield server.ports[0]
    server.stop(5)


@pytest.fixture(scope="module")
def java_with_headers(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    directory = tmp_path_factory.mktemp("java-headers")
    java = JavaConnect(directory, broker.bootstrap_servers, mode=Mode.STANDALONE, heap="160m", config=HEADERS)
    with java:
        yield java.rest_port


def essence(answer: RawAnswer) -> tuple[Any, ...]:
    names = [*COMPARED, *(name for name in answer.headers if name.startswith("access-control"))]
    headers = {name: answer.headers[name] for name in names if name in answer.headers}
    if "access-control-allow-methods" in headers:  # in the order of a Java set, another one in every run
        headers["access-control-allow-methods"] = sorted(headers["access-control-allow-methods"][0].split(","))
    try:
        body = json.loads(answer.body)
    except ValueError:
        # The page is the server's own.
        body = answer.body if b"<html>" not in answer.body else b"<html>"
    return answer.status, headers, body


def assert_same(java: int, ours: int, request: tuple[Any, ...]) -> None:
    assert essence(raw_request(ours, *request)) == essence(raw_request(java, *request))


@pytest.mark.parametrize("request_", [*paths(), *methods(), *media(), *bodies()], ids=lambda each: str(each)[:70])
def test_the_same_answer(java_connect: JavaConnect, port: int, request_: tuple[Any, ...]) -> None:
    assert_same(java_connect.rest_port, port, request_)


@pytest.mark.parametrize(("method", "path", "body", "fragment"), BAD_BODIES)
def test_bad_bodies_are_500_there_and_400_here_with_the_same_words(
    java_connect: JavaConnect, port: int, method: str, path: str, body: str, fragment: str
) -> None:
    for worker, status in ((java_connect.rest_port, 500), (port, 400)):
        answer = raw_request(worker, method, path, (JSON,), body.encode())
        shown = json.loads(answer.body)
        assert (answer.status, answer.content_type, shown["error_code"]) == (status, "application/json", status)
        assert fragment in shown["message"]


@pytest.mark.parametrize(
    "name", ["a b", "é", "a;b", "a?b#c", "a+b&c=d", "a:b@c!$'()*,", "😀", "~-._", "[x]", 'a|b^`"<>']
)
def test_location(java_connect: JavaConnect, port: int, name: str, tmp_path: Path) -> None:
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": str(tmp_path / "none")}
    body = json.dumps({"name": name, "config": config, "initial_state": "stopped"}).encode()
    found = []
    for worker in (java_connect.rest_port, port):
        answer = raw_request(worker, "POST", "/connectors", (JSON,), body)
        assert answer.status == 201
        [location] = answer.headers["location"]
        found.append(location.replace(str(worker), "PORT"))
    java_connect.delete(name)
    raw_request(port, "DELETE", "/connectors/" + urllib.parse.quote(name, safe=""))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "request_",
    [
        *(
            (method, path, (f"Origin: {origin}",))
            for origin in (
                "http://a.example",
                "http://x.b.example",
                "http://evil.example",
                "http://e.x http://a.example",
            )
            for method, path in (("GET", "/connectors"), ("GET", "/nope"), ("GET", "/connectors/a%2Fb"))
        ),
        *(
            ("OPTIONS", path, (f"Origin: {origin}", f"Access-Control-Request-Method: {method}"))
            for origin in ("http://a.example", "http://evil.example")
            for method in ("PUT", "DELETE")
            for path in ("/connectors/x/pause", "/nope")
        ),
        ("GET", "/connectors"),
        ("PUT", "/connectors/x/topics/reset"),
    ],
    ids=str,
)
def test_the_same_headers(java_with_headers: int, port_with_headers: int, request_: tuple[Any, ...]) -> None:
    assert_same(java_with_headers, port_with_headers, request_)
