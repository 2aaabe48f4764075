"""Which requests are the page's, and what is answered before anything of it is loaded."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import httpx
import pytest

from seamark.web import mounting
from seamark.web.mounting import PageApp, is_of_page
from seamark.web.site import Site


class NoSessions:
    def user_of(self, cookies: str) -> tuple[str, str] | None:
        return None

    def token_for(self, user: str, role: str) -> str:
        raise AssertionError


async def rest(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"REST"})


def ask(site: Site, path: str, **options: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(PageApp(rest, site))
        async with httpx.AsyncClient(transport=transport, base_url="http://worker") as client:
            return await client.request(options.pop("method", "GET"), path, **options)

    return asyncio.run(send())


@pytest.mark.parametrize("path", ["/", "/connectors", "/uix", "/ui/session", "/connectors/ui"])
def test_other_paths_are_handed_on(path: str) -> None:
    assert not is_of_page(path)
    assert ask(Site("http://worker"), path).text == "REST"


def test_pages_are_not_shown_inside_others_and_load_nothing_from_elsewhere() -> None:
    answer = ask(Site("http://worker", sessions=NoSessions()), "/ui/login")
    assert answer.headers["x-frame-options"] == "DENY"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "x-frame-options" not in ask(Site("http://worker"), "/connectors").headers


def test_who_is_not_logged_in_is_sent_to_where_one_logs_in() -> None:
    site = Site("http://worker", sessions=NoSessions())
    answer = ask(site, "/ui/connectors/a%2Fb")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login?next=connectors/a%252Fb")
    assert 'data-next="/ui/connectors/a%2Fb"' in ask(site, answer.headers["location"]).text
    assert ask(site, "/ui/_nicegui_ws/socket.io/").status_code == 401


def test_where_a_user_wanted_to_be_cannot_lead_elsewhere() -> None:
    site = Site("http://worker", sessions=NoSessions())
    page = ask(site, '/ui/login?next=//evil.example/"><script>').text
    assert 'data-next="/ui/evil.example/&quot;&gt;&lt;script&gt;"' in page


def test_sockets_for_pages_of_other_sites_are_refused() -> None:
    answer = ask(Site("http://worker"), "/ui/_nicegui_ws/socket.io/", headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403


def test_a_worker_on_another_loop_says_where_the_page_is(monkeypatch: pytest.MonkeyPatch) -> None:
    other = asyncio.new_event_loop()
    running = mounting._Running()
    running._loop, running._address = other, "http://first:8083/ui/"
    monkeypatch.setattr(mounting, "_running", running)
    try:
        answer = ask(Site("http://second"), "/ui/")
    finally:
        other.close()
    assert answer.status_code == 503
    assert 'href="http://first:8083/ui/"' in answer.text
    assert "another one of them" in answer.text


def test_names_keep_their_slashes() -> None:
    assert mounting._decoded("/ui/connectors/a%2Fb%25%20c") == "/ui/connectors/a%2Fb%25 c"


def test_nothing_is_loaded_before_it_is_needed() -> None:
    code = "import seamark.web.mounting, seamark.rest.server, sys; print('nicegui' in sys.modules)"
    import subprocess

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
