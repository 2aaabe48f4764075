"""The line of every change, and what it does not have."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from seamark.rest.answers import Call
from seamark.rest.identity import Identity, Role
from seamark.rest.operations import origin_of
from seamark.runtime.events import EventLog
from unit.rest import users
from unit.rest.herders import MemoryHerder

SECRET = "hunter2"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.INFO, "seamark.audit")

    def read() -> list[dict[str, Any]]:
        return [json.loads(each.getMessage()) for each in caplog.records if each.name == "seamark.audit"]

    return read


@pytest.fixture
def client(serve: Any, tmp_path: Path, herder: MemoryHerder) -> Any:
    return serve(users.settings(users.write(tmp_path / "users")))


def test_a_change(client: Any, lines: Any, caplog: pytest.LogCaptureFixture) -> None:
    body = {"name": "x", "config": {"connector.class": "C", "password": SECRET}}
    assert client.post("/connectors?reason=because", json=body, auth=users.login("eda")).status_code == 201
    [line] = lines()
    assert line.pop("at").endswith("Z")
    assert len(line.pop("request_id")) == 16
    assert line == {
        "user": "eda",
        "role": "editor",
        "auth": "basic",
        "address": "127.0.0.1",
        "method": "POST",
        "path": "/connectors",
        "status": 201,
        "connector": "x",
    }
    assert SECRET not in caplog.text
    assert "eda-pw" not in caplog.text


def test_what_is_refused_is_told_too(client: Any, lines: Any) -> None:
    client.delete("/connectors/x", auth=users.login("vera"))
    client.delete("/connectors/x")
    client.delete("/connectors/x", auth=users.login("eda"), headers={"Origin": "https://evil.example"})
    client.delete("/connectors/x", auth=users.login("eda"))
    assert [(line["user"], line["role"], line["status"]) for line in lines()] == [
        ("vera", "viewer", 403),
        (None, None, 401),
        (None, None, 403),
        ("eda", "editor", 404),
    ]


def test_reading_is_not(client: Any, lines: Any) -> None:
    client.get("/connectors", auth=users.login("eda"))
    client.head("/connectors", auth=users.login("eda"))
    client.put("/connector-plugins/C/config/validate", json={}, auth=users.login("vera"))
    client.post("/connectors/x/tasks", json=[])
    assert lines() == []


def test_also_where_nobody_is_asked(serve: Any, lines: Any, herder: MemoryHerder) -> None:
    herder.configs["x y"] = {}
    serve().put("/connectors/x%20y/pause", headers={"X-Request-Id": "mine"})
    [line] = lines()
    assert (line["user"], line["role"], line["auth"], line["connector"]) == (None, "editor", "none", "x y")
    assert (line["path"], line["request_id"]) == ("/connectors/x y/pause", "mine")


def test_a_line_stays_one_line(client: Any, lines: Any) -> None:
    client.delete("/connectors/a%0Ab%22", auth=users.login("eda"), headers={"X-Request-Id": 'x" y'})
    for line in lines():
        assert line["request_id"] != 'x" y'
        assert "\n" not in json.dumps(line)


def test_events_of_the_connector(client: Any, herder: MemoryHerder, monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen:
        events = EventLog()

    monkeypatch.setattr(MemoryHerder, "observation", Seen())
    herder.configs["x"] = {}
    client.put("/connectors/x/pause", auth=users.login("olga"), headers={"X-Request-Id": "r"})
    client.delete("/connectors/x", auth=users.login("olga"))
    [event] = [each.shown() for each in Seen.events.of("x")]
    assert (event["kind"], event["who"]) == ("audit", "olga")
    assert event["message"] == "PUT /connectors/x/pause answered with 202"
    assert event["detail"]["request_id"] == "r"


def test_who_has_changed_offsets() -> None:
    call = Call(MemoryHerder(), {}, address="10.1.1.1", identity=Identity("vera", Role.EDITOR, "oidc"))
    assert origin_of(call).who == "vera@10.1.1.1"
