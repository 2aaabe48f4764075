from __future__ import annotations

import socket
import threading
from typing import Any

import httpx
import pytest

from seamark.config.worker import WorkerConfig
from seamark.errors import ConnectError
from seamark.rest import RestServer
from unit.rest.herders import MemoryHerder


@pytest.fixture
def started(request: pytest.FixtureRequest, herder: MemoryHerder) -> Any:
    def start(settings: dict[str, str], **arguments: Any) -> RestServer:
        server = RestServer(WorkerConfig(settings))
        server.bind()
        request.addfinalizer(lambda: server.stop(1))
        server.start(herder, **arguments)
        return server

    return start


def get(url: str) -> httpx.Response:
    return httpx.get(url, timeout=30, trust_env=False)


def test_several_listeners(started: Any) -> None:
    server = started({"listeners": "http://127.0.0.1:0,HTTP://localhost:0"})
    assert len(set(server.ports)) == 2
    for port in server.ports:
        assert get(f"http://localhost:{port}/connectors").json() == []


def test_a_listener_without_a_host_is_on_all_interfaces(started: Any) -> None:
    server = started({"listeners": "http://:0"})
    assert get(f"http://127.0.0.1:{server.ports[0]}/").status_code == 200
    own = socket.gethostbyname(socket.gethostname())
    assert server.worker_id == f"{own}:{server.ports[0]}"
    assert server.advertised_url == f"http://{own}:{server.ports[0]}/"
    assert get(server.advertised_url).status_code == 200


@pytest.mark.parametrize(
    ("settings", "worker_id"),
    [
        ({}, "127.0.0.1:PORT"),
        ({"rest.advertised.host.name": "worker.example"}, "worker.example:PORT"),
        ({"rest.advertised.host.name": "::1", "rest.advertised.port": "99"}, "[::1]:99"),
        ({"rest.advertised.port": "99", "rest.advertised.listener": "HTTP"}, "127.0.0.1:99"),
    ],
)
def test_the_advertised_address_is_known_before_the_start(settings: dict[str, str], worker_id: str) -> None:
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0", **settings}))
    server.bind()
    expected = worker_id.replace("PORT", str(server.ports[0]))
    assert (server.worker_id, server.advertised_url) == (expected, f"http://{expected}/")
    server.stop()


def test_an_address_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = RestServer(WorkerConfig({"listeners": f"http://127.0.0.1:0,http://127.0.0.1:{port}"}))
        with pytest.raises(ConnectError, match=f"Cannot listen at http://127.0.0.1:{port} for the REST API") as caught:
            server.bind()
    assert "another worker" in caught.value.message
    with pytest.raises(ConnectError, match="bind"):
        _ = server.ports


def test_an_address_that_is_none() -> None:
    server = RestServer(WorkerConfig({"listeners": "http://no-such-host.invalid:0"}))
    with pytest.raises(ConnectError, match=r"Cannot listen at http://no-such-host\.invalid:0"):
        server.bind()


def test_loggers_are_on_the_main_listener_unless_said_otherwise(started: Any) -> None:
    server = started({"listeners": "http://127.0.0.1:0"})
    assert server.admin_url == server.url
    assert get(f"{server.admin_url}/admin/loggers").status_code == 200


def test_loggers_nowhere(started: Any) -> None:
    server = started({"listeners": "http://127.0.0.1:0", "admin.listeners": ""})
    assert server.admin_url is None
    assert get(f"{server.url}/admin/loggers").status_code == 404


def test_loggers_on_a_listener_of_their_own(started: Any) -> None:
    rules = {"response.http.headers.config": "set X-A: b", "access.control.allow.origin": "*"}
    server = started({"listeners": "http://127.0.0.1:0", "admin.listeners": "http://127.0.0.1:0", **rules})
    assert get(f"{server.url}/admin/loggers").status_code == 404
    answer = get(f"{server.admin_url}/admin/loggers")
    assert answer.json() == {"root": {"level": "INFO", "last_modified": None}}
    assert not {"x-a", "vary"} & set(answer.headers)
    for path in ("/", "/connectors", "/openapi.json", "/docs"):
        assert get(f"{server.admin_url}{path}").status_code == 404


def test_requests_that_are_being_answered_end_before_the_server_does(started: Any, herder: MemoryHerder) -> None:
    server = started({"listeners": "http://127.0.0.1:0"})
    herder.blocks = True
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(get(f"{server.url}/connectors").status_code))
    asking.start()
    assert herder.blocked.wait(30)
    url = server.url
    stopping = threading.Thread(target=server.stop, args=(30,))
    stopping.start()
    stopping.join(0.5)
    assert stopping.is_alive()
    herder.release.set()
    stopping.join(30)
    asking.join(30)
    assert answers == [200]
    with pytest.raises(httpx.ConnectError):
        get(f"{url}/connectors")


def test_a_request_that_hangs_does_not_keep_the_server_from_ending(started: Any, herder: MemoryHerder) -> None:
    server = started({"listeners": "http://127.0.0.1:0"})
    herder.blocks = True
    failures: list[Exception] = []

    def ask() -> None:
        try:
            get(f"{server.url}/connectors").raise_for_status()
        except httpx.HTTPError as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert herder.blocked.wait(30)
    server.stop(0.2)
    asking.join(30)
    herder.release.set()
    assert len(failures) == 1


def test_idle_connections_do_not_keep_the_server_from_ending(started: Any) -> None:
    server = started({"listeners": "http://127.0.0.1:0"})
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"{server.url}/").status_code == 200
        stopping = threading.Thread(target=server.stop, args=(30,))
        stopping.start()
        stopping.join(10)
        assert not stopping.is_alive()


def test_start_without_bind(herder: MemoryHerder) -> None:
    with pytest.raises(ConnectError, match="bind"):
        RestServer(WorkerConfig({})).start(herder)


def test_start_twice(started: Any, herder: MemoryHerder) -> None:
    server = started({"listeners": "http://127.0.0.1:0"})
    with pytest.raises(ConnectError, match="already"):
        server.start(herder)


def test_stop_twice(started: Any) -> None:
    server = started({"listeners": "http://127.0.0.1:0"})
    server.stop()
    server.stop()


def test_answers_are_sent_at_once(started: Any) -> None:
    server = started({"listeners": "http://127.0.0.1:0"})
    assert server._sockets[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
