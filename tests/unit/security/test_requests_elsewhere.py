"""A worker sends requests to addresses from requests for migrations alone; which ones, its settings say."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, cast

import pytest

from seamark.client import ClientError, ConnectClient
from seamark.errors import BadRequestError
from seamark.runtime.operation_context import OperationContext
from seamark.runtime.operations import Operations


class Inside(HTTPServer):
    """A service that is not for everybody."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = cast("Inside", self.server)
        server.asked.append(self.path)
        self.send_response(302)
        self.send_header("Location", f"{server.url}/secret")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def inside() -> Iterator[Inside]:
    server = Inside()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(30)


def test_only_addresses_that_the_settings_allow_are_asked(inside: Inside) -> None:
    nothing = cast("OperationContext", None)  # an address that is not allowed is refused before anything is needed
    operations = Operations(nothing, allowed_urls=r"https://connect-\d\.example\.com(:\d+)?")
    port = inside.server_port
    tried = (
        inside.url,
        f"https://connect-1.example.com@127.0.0.1:{port}",
        f"https://connect-1.example.com.127.0.0.1.nip.io:{port}",
        f"http://127.0.0.1:{port}/?https://connect-1.example.com",
        f"http://127.0.0.1:{port}\nhttps://connect-1.example.com",
        "file:///etc/passwd",
    )
    for url in tried:
        with pytest.raises(BadRequestError, match=r"seamark\.migration\.urls"):
            operations._check_destination("name", {}, url, "new")
    assert inside.asked == []


def test_redirects_lead_nowhere(inside: Inside) -> None:
    with ConnectClient(inside.url) as client, pytest.raises(ClientError, match="sends us to"):
        client.connectors()
    assert inside.asked == ["/connectors"]
