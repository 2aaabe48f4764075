"""Logging in, and what each role can do by page."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from compat.targets import SeamarkStandalone
from fixtures.worker import Topics
from seamark.client import ConnectClient, Settings
from seamark.config.passwords import User, hash_password, write_users
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually, patience
from web.conftest import MakePage, open_page

PASSWORD = "a long password"


class Guarded(SeamarkStandalone):
    """A standalone worker that lets only users in."""

    def __init__(self, directory: Path, servers: str) -> None:
        file = directory / "users"
        hashed = hash_password(PASSWORD)
        write_users(file, {role: User(role, role, hashed) for role in ("viewer", "operator", "editor")})
        settings = {"seamark.auth.type": "basic", "seamark.auth.basic.users.file": str(file)}
        super().__init__(directory, servers, config=settings)
        self.url = self.urls[0]

    def client(self, role: str) -> ConnectClient:
        return ConnectClient(Settings(self.url, auth=(role, PASSWORD)))


@pytest.fixture(scope="module")
def guarded(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    target = Guarded(tmp_path_factory.mktemp("guarded"), broker.bootstrap_servers)
    target.start()
    yield target
    target.stop()


@pytest.fixture
def connector(guarded: Guarded) -> Iterator[str]:
    """A stopped connector."""
    name = f"guarded-{uuid.uuid4().hex[:6]}"
    config = {"connector.class": "FileStreamSource", "topic": name, "file": "/nowhere", "tasks.max": "1"}
    with guarded.client("editor") as client:
        client.create(name, config, "STOPPED")
        yield name
        client.delete(name)


def log_in(page: Page, role: str, password: str = PASSWORD) -> None:
    page.get_by_label("User").fill(role)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_one_has_to_log_in(guarded: Guarded, make_page: MakePage) -> None:
    page = make_page(url=guarded.url)
    page.seen.are_errors_expected = True  # a browser reports each 401
    page.goto("/ui/operations")
    expect(page).to_have_url(f"{guarded.url}/ui/login?next=operations")
    log_in(page, "viewer", "wrong")
    expect(page.get_by_role("alert")).to_have_text("Name or password is wrong.")

    log_in(page, "viewer")
    page.wait_for_url("**/ui/operations")
    expect(page.locator(".sm-user")).to_have_text("viewer (viewer)")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/ui/login")
    page.goto("/ui/")
    expect(page).to_have_url(f"{guarded.url}/ui/login")


def test_a_viewer_sees_why_he_cannot_act(guarded: Guarded, connector: str, make_page: MakePage) -> None:
    page = _opened(guarded, make_page, "viewer")
    page.get_by_label(f"Select {connector}", exact=True).check()
    bar = page.get_by_role("region", name="Selected connectors")
    for label in ("Resume …", "Pause …", "Stop …", "Restart failed …", "Delete …"):
        button = bar.get_by_role("button", name=label)
        expect(button).to_have_attribute("aria-disabled", "true")
        assert "viewer has the role viewer" in str(button.get_attribute("title"))
        button.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)

    open_page(page, "/ui/loggers")
    expect(page.get_by_role("button", name="Set the level")).to_have_attribute("aria-disabled", "true")
    _forge_clicks(page)
    open_page(page, "/ui/")
    _forge_clicks(page)
    with guarded.client("editor") as client:
        assert client.status(connector).connector.state == "STOPPED"


def test_a_viewer_sees_a_connector_and_cannot_change_it(
    guarded: Guarded, connector: str, topics: Topics, make_page: MakePage
) -> None:
    sink = f"{connector}-sink"
    topics.create(sink)
    topics.send(sink, ["a", "b"])
    config = {"connector.class": "FileStreamSink", "topics": sink, "file": "/nowhere", "db.password": "hunter2"}
    with guarded.client("editor") as client:
        client.create(sink, config, "STOPPED")
    page = _opened(guarded, make_page, "viewer")

    for path in (f"connectors/{sink}", f"connectors/{sink}?tab=configuration", f"connectors/{sink}/offsets", "create"):
        open_page(page, f"/ui/{path}")
        if path == "create":
            page.get_by_role("button", name="FileStreamSinkConnector").click()
        for label in _CHANGING.get(path.rpartition("/")[2].partition("=")[2] or path.rpartition("/")[2], _ACTIONS):
            button = page.get_by_role("button", name=label).first
            expect(button).to_have_attribute("aria-disabled", "true")
            assert "viewer has the role viewer" in str(button.get_attribute("title"))
            button.click(force=True)
        for field in page.locator("input[data-key], select[data-key], .sm-slider").all():
            expect(field).to_be_disabled()
        assert _forge_clicks(page) > 0
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert "hunter2" not in page.content()

    with guarded.client("editor") as client:
        assert client.status(sink).connector.state == "STOPPED"
        assert client.config(sink) == {**config, "name": sink}
        assert client.offset_history(sink) == []
        assert set(client.connectors()) == {sink, connector}
        client.delete(sink)


_ACTIONS = ("Start", "Pause", "Stop", "Restart", "Delete")
_CHANGING = {
    "configuration": (*_ACTIONS, "Review and save"),
    "offsets": (*_ACTIONS, "Earliest", "Latest", "Move it", "Reset"),
    "create": ("Review and create",),
}


def test_a_viewer_cannot_act_by_rest_either(guarded: Guarded, connector: str, make_page: MakePage) -> None:
    page = _opened(guarded, make_page, "viewer")
    cookies = {each["name"]: each["value"] for each in page.context.cookies()}
    for method, path in (("PUT", "pause"), ("PUT", "stop"), ("POST", "restart"), ("DELETE", "")):
        url = f"{guarded.url}/connectors/{connector}/{path}".rstrip("/")
        assert httpx.request(method, url, auth=("viewer", PASSWORD)).status_code == httpx.codes.FORBIDDEN
        assert httpx.request(method, url, cookies=cookies).status_code == httpx.codes.UNAUTHORIZED


def test_an_operator_changes_states_only(guarded: Guarded, connector: str, make_page: MakePage) -> None:
    page = _opened(guarded, make_page, "operator")
    page.get_by_label(f"Select {connector}", exact=True).check()
    bar = page.get_by_role("region", name="Selected connectors")
    expect(bar.get_by_role("button", name="Delete …")).to_have_attribute("aria-disabled", "true")
    bar.get_by_role("button", name="Pause …").click()
    expect(page.get_by_text("There is nothing to do.")).to_be_visible()
    bar.get_by_role("button", name="Resume …").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume (1)").click()
    with guarded.client("editor") as client:
        eventually(lambda: client.status(connector).connector.state != "STOPPED", patience(30))


def test_pages_of_other_sites_get_no_socket(guarded: Guarded, make_page: MakePage) -> None:
    page = _opened(guarded, make_page, "viewer")
    cookie = "; ".join(f"{each['name']}={each['value']}" for each in page.context.cookies())
    url = f"{guarded.url}/ui/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    refused = httpx.get(url, headers={"Cookie": cookie, "Origin": "http://evil.example"})
    assert refused.status_code == httpx.codes.FORBIDDEN
    assert httpx.get(url).status_code == httpx.codes.UNAUTHORIZED


def _opened(guarded: Guarded, make_page: MakePage, role: str) -> Any:
    page = make_page(url=guarded.url)
    page.goto("/ui/")
    log_in(page, role)
    page.wait_for_url(f"{guarded.url}/ui/")
    page.wait_for_selector("body[data-live=true]")
    return page


def _forge_clicks(page: Page) -> int:
    """Send the worker a click on everything that the page has, as a viewer with tools could; how many there were."""
    sent: int = page.evaluate(
        """() => {
          let sent = 0;
          for (const [id, element] of Object.entries(mounted_app.elements)) {
            for (const event of element.events ?? []) {
              if (event.type !== "click") continue;
              sent += 1;
              window.socket.emit("event",
                { id: Number(id), client_id: window.clientId, listener_id: event.listener_id, args: [] });
            }
          }
          return sent;
        }"""
    )
    return sent
