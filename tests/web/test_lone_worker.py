"""A standalone worker of the test's own: it is killed and comes back, and it has a thousand connectors."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from compat.targets import SeamarkStandalone
from seamark.client import AsyncConnectClient
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually, patience
from web.conftest import MakePage, open_page

MANY = 1000


@pytest.fixture(scope="module")
def lone(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeamarkStandalone]:
    target = SeamarkStandalone(tmp_path_factory.mktemp("lone"), broker.bootstrap_servers)
    target.start()
    yield target
    target.stop()


def test_a_lost_worker_is_shown_and_comes_back(lone: SeamarkStandalone, make_page: MakePage) -> None:
    page = open_page(make_page(url=lone.urls[0]))
    page.seen.are_errors_expected = True  # browsers complain about each attempt to connect
    banner = page.get_by_role("alert").filter(has_text="Connection to the worker lost")
    expect(banner).to_be_hidden()

    lone.kill()
    expect(banner).to_be_visible()
    lone.start()

    expect(banner).to_be_hidden(timeout=patience(30) * 1000)
    expect(page.locator("table[aria-label=Workers] tbody tr")).to_have_count(1)
    page.evaluate("window.isStillThere = true")
    page.wait_for_function("window.did_handshake && window.isStillThere")


@pytest.mark.alone
def test_a_thousand_connectors(lone: SeamarkStandalone, make_page: MakePage) -> None:
    _create_many(lone.urls[0])
    page = open_page(make_page(url=lone.urls[0]))
    rows = page.locator("table[aria-label=Connectors] tbody tr")
    expect(rows).to_have_count(50)

    took = {
        "search": _timed(page, lambda: _search(page, "many-0777"), lambda: expect(rows).to_have_count(1)),
        "all again": _timed(page, lambda: _search(page, ""), lambda: expect(rows).to_have_count(50)),
        "next page": _timed(
            page,
            lambda: page.get_by_role("button", name="Next").click(),
            lambda: expect(rows.first).to_have_attribute("data-id", "many-0050"),
        ),
        "sort": _timed(
            page,
            lambda: [page.get_by_role("button", name="Connector", exact=True).click() for _ in range(2)],
            lambda: expect(rows.first).to_have_attribute("data-id", "many-0999"),
        ),
        "filter": _timed(
            page,
            lambda: page.get_by_role("button", name="Show only STOPPED").click(),
            lambda: expect(page.locator(".sm-pager")).to_contain_text("1–50 of 1,000"),  # noqa: RUF001
        ),
        "select all": _timed(
            page,
            lambda: page.get_by_label("Select all 1000").check(),
            lambda: expect(page.get_by_text("1,000 connectors selected")).to_be_visible(),
        ),
    }
    print({what: round(seconds, 3) for what, seconds in took.items()})
    assert all(seconds < patience(1) for seconds in took.values()), took


def _search(page: Page, text: str) -> None:
    page.get_by_label("Search connectors").fill(text)


def _timed(page: Page, act: Any, check: Any) -> float:
    began = time.monotonic()
    act()
    check()
    return time.monotonic() - began


def _create_many(url: str) -> None:
    """In a thread: this one has a loop already, that of the browser's driver."""

    async def create() -> None:
        turn = asyncio.Semaphore(16)
        async with AsyncConnectClient(url) as client:

            async def one(number: int) -> None:
                config = {"connector.class": "FileStreamSource", "topic": "many", "file": "/nowhere"}
                async with turn:
                    await client.create(f"many-{number:04d}", config, "STOPPED")

            known = set(await client.connectors())
            await asyncio.gather(*(one(number) for number in range(MANY) if f"many-{number:04d}" not in known))

    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(create())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    eventually(lambda: not thread.is_alive(), patience(60))
    assert not failed, failed
