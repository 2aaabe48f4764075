"""Every endpoint of the API with every role: what a viewer cannot change, nobody forgot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import Route

from seamark.config.worker import WorkerConfig
from seamark.rest import RestServer, create_admin_app, create_app
from seamark.rest.identity import Role
from unit.rest import users
from unit.rest.herders import MemoryHerder

# Everything that is not a GET. An endpoint that is not listed here fails the test: decide who may use it.
VIEWER, OPERATOR, EDITOR, ANYONE = Role.VIEWER, Role.OPERATOR, Role.EDITOR, Role.ANYONE
CHANGES: dict[tuple[str, str], Role] = {
    ("POST", "/connectors"): EDITOR,
    ("DELETE", "/connectors/{connector}"): EDITOR,
    ("PUT", "/connectors/{connector}/config"): EDITOR,
    ("PATCH", "/connectors/{connector}/config"): EDITOR,
    ("PUT", "/connectors/{connector}/pause"): OPERATOR,
    ("PUT", "/connectors/{connector}/resume"): OPERATOR,
    ("PUT", "/connectors/{connector}/stop"): OPERATOR,
    ("POST", "/connectors/{connector}/restart"): OPERATOR,
    ("POST", "/connectors/{connector}/tasks/{task}/restart"): OPERATOR,
    ("PUT", "/connectors/{connector}/topics/reset"): EDITOR,
    ("PATCH", "/connectors/{connector}/offsets"): EDITOR,
    ("DELETE", "/connectors/{connector}/offsets"): EDITOR,
    ("POST", "/connectors/{connector}/offsets/change"): EDITOR,
    ("POST", "/connectors/{connector}/offsets/undo"): EDITOR,
    ("POST", "/connectors/{connector}/migrate"): EDITOR,
    ("POST", "/operations"): OPERATOR,  # states; anything else is an editor's, see below
    ("POST", "/mirrors/{connector}/groups/sync"): EDITOR,
    ("PUT", "/connector-plugins/{plugin}/config/validate"): VIEWER,
    ("PUT", "/admin/loggers/{logger}"): EDITOR,
    ("POST", "/ui/session"): VIEWER,
    ("DELETE", "/ui/session"): ANYONE,
    # Signed by a worker, or refused by the herder.
    ("POST", "/connectors/{connector}/tasks"): ANYONE,
    ("PUT", "/connectors/{connector}/fence"): ANYONE,
}
OPEN_READS = {("GET", "/health"), ("GET", "/ready")}


class _Nothing:
    """Stands for a part of a worker of which only must be known that it is there; who asks it is answered with 500."""


class FullHerder(MemoryHerder):
    """Has all that endpoints are added for."""

    operations = observation = offset_views = _Nothing()


class _Asker:
    """Sends one request for an endpoint as one user."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=60, trust_env=False, verify=False)

    def __call__(self, method: str, path: str, user: str | None, **request: Any) -> httpx.Response:
        target = re.sub(r"{\w+}", "0", path)
        auth = None if user is None else users.login(user)
        body: Any = {"connectors": "*", "action": "delete"} if path == "/operations" else {}
        return self.client.request(method, target, auth=auth, **({"json": body} | request))


def routes(app: FastAPI) -> list[tuple[str, str]]:
    """All of the application, whoever has added them: not only those that are documented."""
    found = [route for route in app.routes if isinstance(route, Route)]
    assert len(found) == len(app.routes), "there is something that is no plain route: who guards it?"
    return sorted((method, route.path) for route in found for method in route.methods or () if method != "HEAD")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> WorkerConfig:
    path = users.write(tmp_path_factory.mktemp("users") / "users")
    return WorkerConfig({"listeners": "http://127.0.0.1:0", **users.settings(path)})


@pytest.fixture(scope="module")
def full_herder() -> FullHerder:
    return FullHerder()


@pytest.fixture(scope="module")
def app(config: WorkerConfig, full_herder: FullHerder) -> FastAPI:
    return create_app(full_herder, config, render_metrics=lambda: b"")


@pytest.fixture(scope="module")
def ask(config: WorkerConfig, app: FastAPI) -> Iterator[_Asker]:
    server = RestServer(config)
    server.bind()
    server.serve(app)
    yield _Asker(server.url)
    server.stop(5)


def test_every_endpoint_that_may_change_something_has_a_role(app: FastAPI) -> None:
    changes = {each for each in routes(app) if each[0] != "GET"}
    assert changes == set(CHANGES)


def test_who_is_unknown_may_do_nothing(app: FastAPI, ask: _Asker, full_herder: FullHerder) -> None:
    full_herder.calls.clear()
    for method, path in routes(app):
        answer = ask(method, path, None)
        if (method, path) in OPEN_READS or CHANGES.get((method, path)) is ANYONE:
            assert answer.status_code not in (401, 403), path
            continue
        assert answer.status_code == 401, (method, path)
        assert ("www-authenticate" in answer.headers) == (path != "/ui/session")
        assert answer.json()["error_code"] == 401
    assert {call[0] for call in full_herder.calls} <= {"put_task_configs", "fence"}


@pytest.mark.parametrize(("user", "role"), [("vera", VIEWER), ("olga", OPERATOR), ("eda", EDITOR)])
def test_a_role_is_enough_or_not(app: FastAPI, ask: _Asker, full_herder: FullHerder, user: str, role: Role) -> None:
    full_herder.calls.clear()
    for (method, path), needed in CHANGES.items():
        answer = ask(method, path, user)
        if role.allows(needed) and (role is EDITOR or path != "/operations"):
            assert answer.status_code not in (401, 403), (method, path)
            continue
        assert answer.status_code == 403, (method, path)
        needed = EDITOR if role is OPERATOR else needed  # the request to /operations is to delete
        target = re.sub(r"{\w+}", "0", path)
        assert answer.json() == {
            "error_code": 403,
            "message": f"{method} {target} needs role {needed.value}; {user} is {role.value}",
        }
    called = {call[0] for call in full_herder.calls}
    if role is VIEWER:
        assert called <= {"validate", "put_task_configs", "fence"}
    if role is OPERATOR:
        states = {"pause", "resume", "stop_connector", "restart", "restart_task"}
        assert called <= {"validate", "put_task_configs", "fence"} | states
        assert states <= called


@pytest.mark.parametrize("user", ["vera", "olga", "eda"])
def test_all_may_read(app: FastAPI, ask: _Asker, user: str) -> None:
    for method, path in routes(app):
        if method == "GET":
            assert ask(method, path, user).status_code not in (401, 403), path


def test_loggers_on_an_address_of_their_own_are_guarded(config: WorkerConfig) -> None:
    herder = MemoryHerder()
    app = create_admin_app(herder, config)
    assert {each for each in routes(app) if each[0] != "GET"} == {("PUT", "/admin/loggers/{logger}")}
    server = RestServer(config)
    server.bind()
    server.serve(app)
    try:
        ask = _Asker(server.url)
        assert ask("PUT", "/admin/loggers/root", None).status_code == 401
        assert ask("PUT", "/admin/loggers/root", "olga").status_code == 403
        assert ask("GET", "/admin/loggers", "vera").status_code == 200
    finally:
        server.stop(5)
    assert [call[0] for call in herder.calls] == ["levels"]


@pytest.mark.parametrize("action", ["pause", "resume", "stop", "restart"])
def test_an_operator_changes_the_states_of_many(ask: _Asker, action: str) -> None:
    body = {"connectors": "*", "action": action}
    assert ask("POST", "/operations", "vera", json=body).status_code == 403
    assert ask("POST", "/operations", "olga", json=body).status_code not in (401, 403)
    assert ask("POST", "/operations", "olga", json={**body, "action": [action]}).status_code == 403
