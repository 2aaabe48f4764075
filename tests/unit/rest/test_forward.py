from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from seamark.rest.answers import Call
from seamark.rest.forward import forward
from seamark.runtime.herder import CONFLICT, NO_LEADER, ForwardError, RestError
from unit.rest.herders import MemoryHerder


class Recorder:
    """A worker that is sent requests."""

    def __init__(self, status: int = 200, content: bytes = b"{}") -> None:
        self.answer = (status, content)
        self.requests: list[tuple[str, str, bytes, dict[str, str]]] = []

    def __call__(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        self.requests.append((method, url, body, dict(headers)))
        return self.answer


def test_the_request_is_sent_on_as_it_came(serve: Any, herder: MemoryHerder) -> None:
    leader = Recorder(202, b'{"a":1}')
    client = serve(forwarder=leader)
    herder.failure = ForwardError("not the leader", "http://leader:8083/")
    answer = client.post(
        "/connectors/a%20b/restart?includeTasks=true&onlyFailed=x%26y",
        headers={"Authorization": "Basic x", "Cookie": "no"},
    )
    assert (answer.status_code, answer.content) == (202, b'{"a":1}')
    url = "http://leader:8083/connectors/a%20b/restart?includeTasks=true&onlyFailed=x%26y&forward=true"
    assert leader.requests == [("POST", url, b"", {"authorization": "Basic x", "x-forwarded-for": "127.0.0.1"})]


def test_a_body_is_sent_on(serve: Any, herder: MemoryHerder) -> None:
    leader = Recorder(201, b'{"name":"x y"}')
    client = serve(forwarder=leader)
    herder.failure = ForwardError("not the leader", "http://leader:8083/")
    answer = client.post("/connectors", content=b'{ "config": {} }', headers={"Content-Type": "application/json"})
    assert answer.status_code == 201
    assert answer.headers["location"] == f"http://127.0.0.1:{client.base_url.port}/connectors/x%20y"
    [(_, url, body, headers)] = leader.requests
    assert (url, body) == ("http://leader:8083/connectors?forward=true", b'{ "config": {} }')
    assert headers == {"content-type": "application/json", "x-forwarded-for": "127.0.0.1"}


def test_a_bad_body_is_not_sent_on(serve: Any, herder: MemoryHerder) -> None:
    leader = Recorder()
    client = serve(forwarder=leader)
    herder.failure = ForwardError("not the leader", "http://leader:8083/")
    assert client.post("/connectors", json=[]).status_code == 400
    assert leader.requests == []


CALL = Call(MemoryHerder(), {"connector": "x"}, base_url="http://me:1")
HERE = ForwardError("elsewhere", "http://other:1/")


def query(text: str) -> Call:
    return Call(MemoryHerder(), {"connector": "x"}, {"forward": [text]})


def test_a_request_that_was_sent_on_may_be_sent_on_once_more() -> None:
    other = Recorder(204, b"")
    answer = forward(HERE, query("true"), "PUT", "/connectors/x/stop", other)
    assert (answer.status, answer.content, answer.media_type) == (204, b"", None)
    assert other.requests[0][1] == "http://other:1/connectors/x/stop?forward=false"


def test_but_not_twice() -> None:
    other = Recorder()
    with pytest.raises(RestError, match=CONFLICT.split("(")[0]) as caught:
        forward(HERE, query("false"), "PUT", "/connectors/x/stop", other)
    assert (caught.value.status, caught.value.message) == (409, CONFLICT)
    assert other.requests == []


def test_nobody_knows_where_to() -> None:
    with pytest.raises(RestError) as caught:
        forward(ForwardError("elsewhere", None), CALL, "PUT", "/connectors/x/stop", Recorder())
    assert (caught.value.status, caught.value.message) == (409, NO_LEADER)


def test_errors_of_the_other_worker_are_passed_on() -> None:
    content = b'{"error_code":404,"message":"m"}'
    answer = forward(HERE, CALL, "PUT", "/connectors/x/stop", Recorder(404, content))
    assert (answer.status, answer.content, answer.media_type) == (404, content, "application/json")


def test_a_status_that_no_worker_gives() -> None:
    answer = forward(HERE, CALL, "PUT", "/connectors/x/stop", Recorder(302, b""))
    assert (answer.status, b"Unexpected status code when handling forwarded request: 302" in answer.content) == (
        500,
        True,
    )


def test_a_worker_that_cannot_be_reached(serve: Any, herder: MemoryHerder) -> None:
    def unreachable(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        raise RestError(500, "IO Error trying to forward REST request: refused")

    client = serve(forwarder=unreachable)
    herder.failure = HERE
    answer = client.put("/connectors/x/stop")
    assert answer.json() == {"error_code": 500, "message": "IO Error trying to forward REST request: refused"}


def test_signatures_are_passed_on() -> None:
    headers = {"x-connect-authorization": "s", "x-connect-request-signature-algorithm": "a", "other": "o"}
    other = Recorder(204, b"")
    forward(HERE, Call(MemoryHerder(), {"connector": "x"}, {}, headers), "PUT", "/connectors/x/fence", other)
    assert other.requests[0][3] == {"x-connect-authorization": "s", "x-connect-request-signature-algorithm": "a"}
