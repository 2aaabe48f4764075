"""A user's request that one worker sends on to another: two real servers that share a key."""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from seamark.config.worker import WorkerConfig
from seamark.rest import RestServer, signed_identity
from seamark.rest.identity import Identity, Role
from seamark.rest.signed_identity import HEADER, NotSignedError, SignedIdentities
from seamark.runtime.forwarding import RestClient
from seamark.runtime.herder import ForwardError
from unit.rest import users
from unit.rest.herders import MemoryHerder

EDA = Identity("eda", Role.EDITOR, "basic")


class ClusterHerder(MemoryHerder):
    """One of several workers that share a key."""

    def reset(self) -> None:
        super().reset()
        self.key: bytes | None = b"k" * 32
        self.fresh_key: bytes | None = None
        self.refreshed = 0

    def session_key(self, *, is_fresh: bool = False) -> bytes | None:
        if is_fresh:
            self.refreshed += 1
            self.key = self.fresh_key or self.key
        return self.key


class Worker:
    def __init__(self, file: Path, **settings: str) -> None:
        self.herder = ClusterHerder()
        self.forwarder = RestClient()
        config = {"listeners": "http://127.0.0.1:0", **users.settings(file), **settings}
        self.server = RestServer(WorkerConfig(config))
        self.server.bind()
        self.herder.rest_url = self.server.advertised_url
        self.server.start(self.herder, forwarder=self.forwarder)
        self.client = httpx.Client(base_url=self.server.url, timeout=60, trust_env=False, verify=False)

    def stop(self) -> None:
        self.client.close()
        self.server.stop(5)
        self.forwarder.close()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[tuple[Worker, Worker]]:
    """A follower, and a leader that knows none of the users: it must believe the follower."""
    follower = Worker(users.write(tmp_path / "users"))
    leader = Worker(users.write(tmp_path / "others", {"somebody": "viewer"}))
    follower.herder.failure = ForwardError("not the leader", leader.server.advertised_url)
    leader.herder.configs["x"] = {}
    yield follower, leader
    follower.stop()
    leader.stop()


def audited(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(each.getMessage()) for each in caplog.records if each.name == "seamark.audit"]


@pytest.fixture(autouse=True)
def _audit_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "seamark.audit")


def test_the_leader_knows_who_asks(workers: tuple[Worker, Worker], caplog: pytest.LogCaptureFixture) -> None:
    follower, _ = workers
    answer = follower.client.put(
        "/connectors/x/pause", auth=users.login("olga"), headers={"X-Request-Id": "r-1", "X-Forwarded-For": "1.2.3.4"}
    )
    assert answer.status_code == 202
    [line] = audited(caplog)
    assert {name: line[name] for name in ("user", "role", "address", "status", "request_id", "connector")} == {
        "user": "olga",
        "role": "operator",
        "address": "127.0.0.1",
        "status": 202,
        "request_id": "r-1",
        "connector": "x",
    }


def test_with_a_body_and_odd_characters(workers: tuple[Worker, Worker]) -> None:
    follower, leader = workers
    auth = users.login("eda")
    answer = follower.client.post(
        "/connectors", json={"name": "a b|c~ü", "config": {"connector.class": "C"}}, auth=auth
    )
    assert answer.status_code == 201
    answer = follower.client.delete("/connectors/a%20b%7Cc~%C3%BC?reason=a%26b+c", auth=auth)
    assert answer.status_code == 204
    assert [call[:2] for call in leader.herder.calls] == [("put", "a b|c~ü"), ("delete", "a b|c~ü")]


def test_the_role_is_checked_before_it_is_sent_on(workers: tuple[Worker, Worker]) -> None:
    follower, leader = workers
    assert follower.client.delete("/connectors/x", auth=users.login("olga")).status_code == 403
    assert leader.herder.calls == []


def test_the_pages_token_goes_no_further_but_the_user_does(workers: tuple[Worker, Worker]) -> None:
    follower, leader = workers
    assert follower.server.sessions is not None
    follower.client.post("/ui/session", auth=users.login("olga"))
    token = follower.server.sessions.token_for("olga", "operator")
    headers = {"Authorization": f"Bearer {token}"}
    assert follower.client.put("/connectors/x/pause", headers=headers).status_code == 202
    assert leader.client.put("/connectors/x/pause", headers=headers).status_code == 401, "of another process"


# what clients send


def forged(follower: Worker, leader: Worker, method: str = "DELETE", path: str = "/connectors/x", **more: Any) -> str:
    """A header that the follower has really signed for a request to the leader."""
    signing = SignedIdentities(follower.herder, **more)
    url = leader.server.advertised_url.rstrip("/") + path
    return signing.headers(EDA, "10.0.0.1", "id", method, url, b"")[HEADER]


def test_a_header_counts_once_and_for_its_own_request(workers: tuple[Worker, Worker]) -> None:
    follower, leader = workers
    leader.herder.configs["y"] = {}
    header = forged(follower, leader)

    def send(method: str, path: str, header: str, body: bytes = b"") -> int:
        return leader.client.request(method, path, headers={HEADER: header}, content=body).status_code

    assert send("DELETE", "/connectors/y", header) == 403
    assert send("PUT", "/connectors/x/pause", header) == 403
    assert send("DELETE", "/connectors/x?include_offsets=true", header) == 403
    assert leader.herder.calls == []
    assert send("DELETE", "/connectors/x", header) == 204
    leader.herder.configs["x"] = {}
    assert send("DELETE", "/connectors/x", header) == 403, "a replay"
    assert "x" in leader.herder.configs


def test_a_header_is_bound_to_the_body(workers: tuple[Worker, Worker]) -> None:
    follower, leader = workers
    header = forged(follower, leader, "PUT", "/connectors/x/config")
    body = {"connector.class": "Evil"}
    assert leader.client.put("/connectors/x/config", json=body, headers={HEADER: header}).status_code == 403
    assert leader.herder.calls == []


def test_and_to_the_worker(workers: tuple[Worker, Worker]) -> None:
    follower, leader = workers
    follower.herder.failure = None
    assert follower.client.delete("/connectors/x", headers={HEADER: forged(follower, leader)}).status_code == 403


def test_what_is_not_signed_with_the_key_of_the_workers(workers: tuple[Worker, Worker]) -> None:
    follower, leader = workers
    good = forged(follower, leader)
    payload, _, signature = good.partition(".")
    content = json.loads(base64.urlsafe_b64decode(payload))
    other = base64.urlsafe_b64encode(json.dumps({**content, "once": "new"}).encode()).decode()
    for header in ("", "x", "x.y", payload, f"{payload}.", f"{other}.{signature}", f".{signature}", "eda:editor"):
        answer = leader.client.delete("/connectors/x", headers={HEADER: header})
        assert answer.status_code == 403, header
        # Not even with a password that would do.
        answer = leader.client.get("/connectors", headers={HEADER: header}, auth=users.login("somebody"))
        assert answer.status_code == 403
    follower.herder.key = b"other"
    assert leader.client.delete("/connectors/x", headers={HEADER: forged(follower, leader)}).status_code == 403
    leader.herder.key = None
    follower.herder.key = b""
    assert leader.client.delete("/connectors/x", headers={HEADER: forged(follower, leader)}).status_code == 403
    assert leader.herder.calls == []


@pytest.mark.parametrize("seconds", [-121, 121])
def test_an_old_header(workers: tuple[Worker, Worker], seconds: float) -> None:
    follower, leader = workers
    header = forged(follower, leader, clock=lambda: time.time() + seconds)
    answer = leader.client.delete("/connectors/x", headers={HEADER: header})
    assert answer.status_code == 403
    assert "too old" in answer.json()["message"]


def test_a_worker_without_others_believes_nobody(serve: Any, tmp_path: Path) -> None:
    client = serve(users.settings(users.write(tmp_path / "users")))
    assert client.get("/connectors", headers={HEADER: "x.y"}).status_code == 403


# keys that are replaced


def test_the_sender_has_an_older_key() -> None:
    sender, receiver = ClusterHerder(), ClusterHerder()
    receiver.rest_url = "http://b:1/"
    signing, reading = SignedIdentities(sender), SignedIdentities(receiver)

    def header() -> str:
        return signing.headers(EDA, "", "id", "GET", "http://b:1/x?forward=true", b"")[HEADER]

    assert reading.read(header(), "GET", "/x?forward=true").identity == EDA
    receiver.key = b"n" * 32
    assert reading.read(header(), "GET", "/x?forward=true").identity == EDA
    sender.key = receiver.key
    assert reading.read(header(), "GET", "/x?forward=true").identity == EDA


def test_the_sender_has_a_newer_key(monkeypatch: pytest.MonkeyPatch) -> None:
    sender, receiver = ClusterHerder(), ClusterHerder()
    receiver.rest_url = "http://b:1/"
    signing, reading = SignedIdentities(sender), SignedIdentities(receiver)
    sender.key = receiver.fresh_key = b"n" * 32
    header = signing.headers(EDA, "", "id", "GET", "http://b:1/x", b"")[HEADER]
    assert reading.read(header, "GET", "/x").identity == EDA
    assert receiver.refreshed == 1
    for _ in range(5):
        with pytest.raises(NotSignedError):
            reading.read("a.b", "GET", "/x")
    assert receiver.refreshed == 1, "strangers cannot make a worker read the key all the time"
    monkeypatch.setattr(signed_identity, "REFRESH_S", 0.0)
    with pytest.raises(NotSignedError):
        reading.read("a.b", "GET", "/x")
    assert receiver.refreshed == 2
