"""Cookies of the web page, the page's own tokens, and pages of other sites."""

from __future__ import annotations

import base64
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import httpx
import pytest

from seamark.config.worker import WorkerConfig
from seamark.rest import RestServer, basic_auth
from seamark.rest.identity import Identity, Role
from seamark.rest.origins import Origins, is_own
from seamark.rest.sessions import COOKIE, Sessions
from seamark.web.mounting import PageApp
from seamark.web.site import Site
from unit.rest import users
from unit.rest.herders import MemoryHerder

VERA = Identity("vera", Role.VIEWER, "basic", "stamp")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


# what is signed


def test_a_token_counts_for_a_short_time_and_in_this_process() -> None:
    clock = Clock()
    sessions = Sessions(clock=clock)
    token = sessions.token_for("vera", "viewer")
    found = sessions.identity_of(token)
    assert found is not None
    assert (found.user, found.role) == ("vera", Role.VIEWER)
    assert Sessions(clock=clock).identity_of(token) is None, "of another process"
    clock.now += 121
    assert sessions.identity_of(token) is None


def test_what_is_signed_cannot_be_changed() -> None:
    sessions = Sessions()
    token = sessions.token_for("vera", "viewer")
    prefix, payload, signature = token.split(".")
    content = base64.urlsafe_b64decode(payload + "==").replace(b"viewer", b"editor")
    forged = base64.urlsafe_b64encode(content).decode().rstrip("=")
    for text in (
        f"{prefix}.{forged}.{signature}",
        f"{prefix}.{payload}.",
        f"{prefix}..{signature}",
        prefix,
        token + "x",
    ):
        assert sessions.identity_of(text) is None


def test_a_cookie_is_no_token_and_a_token_no_cookie() -> None:
    sessions = Sessions()
    cookie, token = sessions.open(VERA), sessions.token_for("vera", "viewer")
    assert sessions.identity_of(f"seamark.{cookie}") is None
    assert sessions.read(token.removeprefix("seamark.")) is None


def test_sessions_end() -> None:
    clock = Clock()
    sessions = Sessions(100, clock=clock)
    cookie, other = sessions.open(VERA), sessions.open(VERA)
    assert sessions.read(cookie) == Identity("vera", Role.VIEWER, "basic", "stamp", 1100)
    sessions.close(cookie)
    sessions.close("nonsense")
    assert sessions.read(cookie) is None
    assert sessions.read(other) is not None
    clock.now += 100
    assert sessions.read(other) is None
    short = Identity("o", Role.VIEWER, "oidc", expires_at=clock.now + 5)
    assert sessions.remaining_s(sessions.read(sessions.open(short)) or VERA) == 5, "no longer than the token"


# logging in


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return users.write(tmp_path / "users")


@pytest.fixture
def server(file: Path, herder: MemoryHerder) -> Any:
    """A worker with its page; what is behind the login is not loaded by these tests."""
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0", **users.settings(file)}))
    server.bind()
    server.start(herder, page=lambda app: PageApp(app, Site(server.url, sessions=server.sessions)))
    yield server
    server.stop(5)


@pytest.fixture
def client(server: RestServer) -> Any:
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False, verify=False) as client:
        yield client


def log_in(client: httpx.Client, user: str = "vera", **headers: str) -> httpx.Response:
    return client.post("/ui/session", auth=users.login(user), headers=headers)


def test_the_cookie_of_a_login(client: httpx.Client) -> None:
    answer = log_in(client)
    assert answer.status_code == 200
    assert answer.json() == {"user": "vera", "role": "viewer", "expires_in": pytest.approx(8 * 3600, abs=5)}
    [cookie] = SimpleCookie(answer.headers["set-cookie"]).values()
    assert (cookie["path"], cookie["samesite"], cookie["httponly"]) == ("/ui", "Strict", True)
    assert not cookie["secure"]
    assert "; Secure" in log_in(client, **{"X-Forwarded-Proto": "https"}).headers["set-cookie"]
    assert log_in(client).headers["cache-control"] == "no-store"


def test_a_wrong_password_gets_no_cookie_and_no_dialogue(client: httpx.Client) -> None:
    answer = client.post("/ui/session", auth=("vera", "wrong"))
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "www-authenticate" not in answer.headers


def test_rest_does_not_look_at_cookies(client: httpx.Client, herder: MemoryHerder) -> None:
    cookie = SimpleCookie(log_in(client, "eda").headers["set-cookie"])[COOKIE].value
    headers = {"Cookie": f"{COOKIE}={cookie}"}
    assert client.get("/connectors", headers=headers).status_code == 401
    assert client.delete("/connectors/x", headers=headers).status_code == 401
    assert client.post("/ui/session", headers=headers).status_code == 401, "a session makes no session"
    assert client.get("/connectors", headers={"Authorization": f"Bearer {cookie}"}).status_code == 401
    assert herder.calls == []


def test_the_page_asks_with_its_own_token(client: httpx.Client, server: RestServer, herder: MemoryHerder) -> None:
    assert server.sessions is not None
    log_in(client, "olga")
    headers = {"Authorization": f"Bearer {server.sessions.token_for('olga', 'operator')}"}
    assert client.get("/whoami", headers=headers).json() == {"user": "olga", "role": "operator", "auth": "basic"}
    herder.configs["x"] = {}
    assert client.put("/connectors/x/pause", headers=headers).status_code == 202
    assert client.delete("/connectors/x", headers=headers).status_code == 403


def test_a_page_that_stays_open(
    client: httpx.Client, server: RestServer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(basic_auth, "LOOK_S", 0.0)

    def role() -> str | int:
        assert server.sessions is not None
        token = server.sessions.token_for("eda", "editor")
        answer = client.get("/whoami", headers={"Authorization": f"Bearer {token}"})
        return str(answer.json()["role"]) if answer.status_code == 200 else answer.status_code

    assert role() == 401, "nobody is logged in"
    cookies = [log_in(client, "eda").headers["set-cookie"].partition(";")[0] for _ in range(2)]
    assert role() == "editor"
    users.write(file, {"eda": "viewer"})
    assert role() == "viewer", "less than when it was opened"
    users.write(file, {"vera": "viewer"})
    assert role() == 401
    users.write(file)
    for cookie, expected in zip(cookies, ["editor", 401], strict=True):
        client.cookies.clear()
        client.delete("/ui/session", headers={"Cookie": cookie})
        assert role() == expected, "the last one has logged out"


def test_the_session_of_a_user_that_is_gone(
    client: httpx.Client, server: RestServer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(basic_auth, "LOOK_S", 0.0)
    assert server.sessions is not None
    cookie = "other=1; " + log_in(client).headers["set-cookie"].partition(";")[0]
    assert server.sessions.user_of(cookie) == ("vera", "viewer")
    users.write(file, {"vera": "operator"})
    assert server.sessions.user_of(cookie) == ("vera", "operator")
    users.write(file, {"eda": "editor"})
    assert server.sessions.user_of(cookie) is None
    assert server.sessions.user_of("") is None
    assert server.sessions.user_of(f"{COOKIE}=a.b") is None


def test_logging_out(client: httpx.Client, server: RestServer) -> None:
    assert server.sessions is not None
    cookie = log_in(client).headers["set-cookie"].partition(";")[0]
    client.cookies.clear()
    answer = client.delete("/ui/session", headers={"Cookie": cookie})
    assert answer.status_code == 204
    assert f"{COOKIE}=; Path=/ui; Max-Age=0" in answer.headers["set-cookie"]
    assert server.sessions.user_of(cookie) is None, "also where it was copied to"
    assert server.sessions.user_of(f"{cookie}~~~~") is None, "a signature can be written in several ways"


def test_who_has_not_logged_in_is_sent_to_the_login(client: httpx.Client) -> None:
    answer = client.get("/ui/connectors/x", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login?next=connectors/x")


# pages of other sites


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://["])
def test_pages_of_other_sites_change_nothing(client: httpx.Client, herder: MemoryHerder, origin: str) -> None:
    answer = client.put("/connectors/x/pause", auth=users.login("eda"), headers={"Origin": origin})
    assert answer.json() == {"error_code": 403, "message": "Requests from pages of this origin are not allowed"}
    assert log_in(client, Origin=origin).status_code == 403, "nor do they log a browser in as somebody else"
    assert herder.calls == []
    assert client.get("/connectors", auth=users.login("eda"), headers={"Origin": origin}).status_code == 200


def test_pages_of_this_worker_may(client: httpx.Client, server: RestServer) -> None:
    assert log_in(client, Origin=server.url).status_code == 200


def test_pages_of_allowed_origins_may(serve: Any, file: Path) -> None:
    client = serve({**users.settings(file), "access.control.allow.origin": "https://[a-z]+.example"})
    headers = {"Origin": "https://tools.example"}
    assert client.put("/connectors/x/pause", auth=users.login("eda"), headers=headers).status_code == 404
    preflight = client.options("/connectors/x", headers={**headers, "Access-Control-Request-Method": "PUT"})
    assert preflight.headers["access-control-allow-headers"] == "Content-Type,Authorization"
    headers = {"Origin": "https://tools.example.evil"}
    assert client.put("/connectors/x/pause", auth=users.login("eda"), headers=headers).status_code == 403


SOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode(),
}


@pytest.mark.parametrize("path", ["/ui/_nicegui_ws/socket.io/", "/ui/", "/ui/other", "/connectors", "/"])
def test_sockets_of_other_sites_are_refused(client: httpx.Client, path: str) -> None:
    cookie = log_in(client, "eda").headers["set-cookie"].partition(";")[0]
    headers = {**SOCKET, "Origin": "https://evil.example", "Cookie": cookie}
    assert client.get(path, params={"transport": "websocket"}, headers=headers).status_code == 403


def test_also_where_nobody_has_to_log_in(herder: MemoryHerder) -> None:
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0"}))
    server.bind()
    server.start(herder, page=lambda app: PageApp(app, Site(server.url, sessions=server.sessions)))
    try:
        with httpx.Client(base_url=server.url, timeout=60, trust_env=False, verify=False) as client:
            headers = {**SOCKET, "Origin": "https://evil.example"}
            assert client.get("/ui/_nicegui_ws/socket.io/", headers=headers).status_code == 403
            # The other way of the same protocol, which needs no socket.
            del headers["Upgrade"], headers["Connection"]
            assert client.get("/ui/_nicegui_ws/socket.io/?transport=polling", headers=headers).status_code == 403
            assert client.post("/ui/_nicegui_ws/socket.io/?transport=polling", headers=headers).status_code == 403
    finally:
        server.stop(5)


@pytest.mark.parametrize(
    ("origin", "host", "expected"),
    [
        ("http://a:1", "a:1", True),
        ("http://A:1", "a:1", True),
        ("https://a", "a", True),
        ("https://a", "a:443", True),
        ("http://a:80", "a", True),
        ("https://a:80", "a", False),
        ("http://a:1", "a:2", False),
        ("http://b", "a", False),
        ("http://a.b", "a", False),
        ("null", "a", False),
        ("", "", False),
        ("ftp://a", "a", False),
    ],
)
def test_own_origins(origin: str, host: str, expected: bool) -> None:
    assert is_own(origin, host) is expected


def test_programs_have_no_origin() -> None:
    assert Origins("").allows({"host": "a"})
    assert Origins("*").allows({"host": "a", "origin": "https://b"})
