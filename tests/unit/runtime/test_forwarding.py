"""Requests to other workers, over real sockets."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from seamark.runtime.forwarding import RestClient
from seamark.runtime.herder import InternalRequest, RestError
from seamark.runtime.internal_requests import SIGNATURE_ALGORITHM_HEADER, SIGNATURE_HEADER, InternalRequests
from seamark.storage.config_records import SessionKey

KEY = SessionKey(b"k" * 32, "HmacSHA256", 0)


class OtherWorker(ThreadingHTTPServer):
    """Answers every request with `answer` and remembers it."""

    daemon_threads = True
    answer: tuple[int, dict[str, str], bytes] = (200, {}, b"")

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections: set[Any] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: OtherWorker

    def handle_one_request(self) -> None:
        self.server.connections.add(self.client_address)
        super().handle_one_request()

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.command, self.path, headers, body))
        status, extra, content = self.server.answer
        self.send_response(status)
        for name, value in {**extra, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_: object) -> None:
        """Nothing on the console."""


@pytest.fixture
def worker() -> Iterator[OtherWorker]:
    with OtherWorker() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client() -> Iterator[RestClient]:
    made = RestClient(connect_timeout_s=2.0, answer_timeout_s=2.0)
    yield made
    made.close()


def test_a_request_arrives_as_it_was_sent(worker: OtherWorker, client: RestClient) -> None:
    worker.answer = (201, {"Location": "http://elsewhere/connectors/a%20b"}, b'{"name":"a b"}')
    url = f"{worker.url}/connectors/a%20b?forward=true&onlyFailed=true"
    headers = {"authorization": "Basic Zm9v", "content-type": "application/json"}
    assert client("POST", url, b'{"x": 1}', headers) == (201, b'{"name":"a b"}')
    method, path, sent, body = worker.requests[0]
    assert (method, path, body) == ("POST", "/connectors/a%20b?forward=true&onlyFailed=true", b'{"x": 1}')
    assert sent["authorization"] == "Basic Zm9v"
    assert sent["accept"] == "application/json"
    assert "cookie" not in sent


def test_a_request_without_body_has_no_content_type(worker: OtherWorker, client: RestClient) -> None:
    worker.answer = (204, {}, b"")
    assert client("DELETE", f"{worker.url}/connectors/a", b"", {}) == (204, b"")
    assert "content-type" not in worker.requests[0][2]


@pytest.mark.parametrize("status", [302, 404, 409, 500])
def test_other_answers_are_passed_on(worker: OtherWorker, client: RestClient, status: int) -> None:
    content = json.dumps({"error_code": status, "message": "no"}).encode()
    worker.answer = (status, {"Location": f"{worker.url}/elsewhere"}, content)
    assert client("PUT", f"{worker.url}/connectors/a/stop", b"", {}) == (status, content)
    assert len(worker.requests) == 1, "redirects are not followed"


def test_connections_are_shared(worker: OtherWorker, client: RestClient) -> None:
    for _ in range(5):
        client("GET", worker.url, b"", {})
    assert len(worker.connections) == 1


def test_a_worker_that_is_not_there_is_an_error_of_forwarding(client: RestClient) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(RestError) as failed:
            client("GET", f"http://127.0.0.1:{port}/", b"", {})
    assert failed.value.status == 500
    assert failed.value.message.startswith("IO Error trying to forward REST request: ")
    assert "refused" in failed.value.message


def test_a_worker_that_does_not_answer_is_an_error_of_forwarding() -> None:
    client = RestClient(answer_timeout_s=0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(RestError) as failed:
        client("GET", f"http://127.0.0.1:{silent.getsockname()[1]}/", b"", {})
    client.close()
    assert failed.value.status == 500
    assert failed.value.message.startswith("IO Error trying to forward REST request: ReadTimeout")


@pytest.mark.parametrize("url", ["nowhere", "ftp://host/x", "http://host:99999999/"])
def test_an_address_that_is_none_is_an_error_of_forwarding(client: RestClient, url: str) -> None:
    with pytest.raises(RestError) as failed:
        client("GET", url, b"", {})
    assert failed.value.status == 500
    assert "rror trying to forward REST request: " in failed.value.message


def test_an_internal_request_is_signed(worker: OtherWorker, client: RestClient) -> None:
    worker.answer = (200, {}, b"")
    signing, body = InternalRequests(), [{"key": "väl ue"}]
    assert client.internal("POST", f"{worker.url}/connectors/a/tasks", body, signing, KEY) is None
    _, _, headers, sent = worker.requests[0]
    assert sent == '[{"key":"väl ue"}]'.encode()
    assert headers["content-type"] == "application/json"
    signature, algorithm = headers[SIGNATURE_HEADER.lower()], headers[SIGNATURE_ALGORITHM_HEADER.lower()]
    signing.verify(InternalRequest(sent, signature, algorithm), KEY)


def test_an_internal_request_without_body_is_signed_too(worker: OtherWorker, client: RestClient) -> None:
    worker.answer = (200, {}, b'{"done":true}')
    assert client.internal("PUT", f"{worker.url}/connectors/a/fence", None, InternalRequests(), KEY) == {"done": True}
    _, _, headers, sent = worker.requests[0]
    assert sent == b""
    InternalRequests().verify(InternalRequest(b"", headers[SIGNATURE_HEADER.lower()], "HmacSHA256"), KEY)


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        ((403, b'{"error_code":403,"message":"wrong"}'), 403, "wrong"),
        ((500, b'["no object"]'), 500, '["no object"]'),
        ((302, b""), 500, "Unexpected status code when handling forwarded request: 302"),
    ],
)
def test_an_internal_request_that_fails_has_the_other_workers_words(
    worker: OtherWorker, client: RestClient, answer: tuple[int, bytes], status: int, message: str
) -> None:
    worker.answer = (answer[0], {}, answer[1])
    with pytest.raises(RestError) as failed:
        client.internal("PUT", worker.url, None, InternalRequests(), KEY)
    assert (failed.value.status, failed.value.message) == (status, message)


@pytest.mark.parametrize("status", [200, 502])
def test_an_answer_that_is_no_json_is_an_error_of_forwarding(
    worker: OtherWorker, client: RestClient, status: int
) -> None:
    worker.answer = (status, {}, b"<html>")
    with pytest.raises(RestError) as failed:
        client.internal("PUT", worker.url, None, InternalRequests(), KEY)
    assert failed.value.status == 500
    assert failed.value.message.startswith("IO Error trying to forward REST request: ")
    assert "<html>" in failed.value.message
