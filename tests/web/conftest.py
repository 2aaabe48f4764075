"""A real worker as a process of its own, and a real Chromium that looks at its page."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from compat.targets import SeamarkDistributed
from seamark.client import ConnectClient
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually, patience

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, NARROW = (1280, 800), (390, 844)


class OneDistributed(SeamarkDistributed):
    """One worker of Seamark."""

    worker_count = 1


class WebWorker:
    """A worker whose page is looked at."""

    def __init__(self, target: OneDistributed) -> None:
        self.target = target
        self.url = target.urls[0]
        self.ui = f"{self.url}/ui"
        self.client = ConnectClient(self.url)
        self.directory = target.directory

    def file(self, text: str = "") -> Path:
        """A file of its own, for file connectors."""
        path = self.directory / f"{uuid.uuid4().hex}.txt"
        path.write_text(text)
        return path

    def source(self, name: str, topic: str, lines: str = "", **settings: str) -> Path:
        """Create a connector that copies a file to a topic; returns the file."""
        path = self.file(lines)
        config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(path), "topic": topic}
        self.client.create(name, {**config, **{key.replace("__", "."): value for key, value in settings.items()}})
        return path


@pytest.fixture(scope="package")
def web_worker(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebWorker]:
    """The worker of all tests of this folder."""
    target = OneDistributed(
        tmp_path_factory.mktemp("web"),
        broker.bootstrap_servers,
        group=f"seamark-web-{uuid.uuid4().hex[:4]}",
        config={"session.timeout.ms": "6000"},
    )
    target.start()
    yield WebWorker(target)
    target.stop()


@pytest.fixture
def worker(web_worker: WebWorker) -> Iterator[WebWorker]:
    """The worker of all tests of this folder; connectors that a test creates are deleted after it."""
    before = set(web_worker.client.connectors())
    yield web_worker
    for name in set(web_worker.client.connectors()) - before:
        web_worker.client.delete(name)


def find_chromium() -> str | None:
    return os.environ.get("SEAMARK_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium. It ends with the tests of this folder: while it runs, this thread has an event loop of its own."""
    path = find_chromium()
    if path is None:
        reason = "There is no Chromium on this machine: `make browser` installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=patience(30) * 1000)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@dataclass
class Seen:
    """What a browser said and asked for while a page was open."""

    host: str
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    are_errors_expected: bool = False
    """For tests that cut the connection: a browser complains about that by itself."""

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location})")

    def on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.host:
            self.outside.append(request.url)

    def check(self) -> None:
        assert not self.outside, "the page asked other hosts"
        assert self.are_errors_expected or not self.errors, self.errors


MakePage = Callable[..., Any]


@pytest.fixture
def make_page(browser: Browser, worker: WebWorker) -> Iterator[MakePage]:
    """Makes browser pages, each with cookies of its own: `make_page(size=NARROW, scheme="dark")`."""
    made: list[tuple[Any, Seen]] = []

    def make(size: tuple[int, int] = WIDE, scheme: str = "light", url: str | None = None) -> Page:
        address = url or worker.url
        context = browser.new_context(
            base_url=address,
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        context.set_default_timeout(patience(30) * 1000)
        opened = context.new_page()
        seen = Seen(urlsplit(address).netloc)
        opened.on("console", seen.on_console)
        opened.on("pageerror", lambda error: seen.errors.append(str(error)))
        opened.on("request", seen.on_request)
        opened.seen = seen
        made.append((context, seen))
        return opened

    yield make
    for context, _ in made:
        context.close()
    for _, seen in made:
        seen.check()


@pytest.fixture
def page(make_page: MakePage) -> Page:
    """A page of a browser, 1280 pixels wide and light; nothing it says or asks for may be wrong at the test's end.

    Go somewhere with `open_page(page, "/ui/...")`.
    """
    return make_page()


def open_dialog(page: Page, button: Locator) -> None:
    """Press a button that asks first, again if what it stood in was drawn anew just then."""
    from playwright.sync_api import Error

    def is_open() -> bool:
        if page.get_by_role("dialog").count() == 0:
            try:
                button.click(timeout=5000)
                page.get_by_role("dialog").first.wait_for(timeout=5000)
            except Error:
                return False
        return True

    eventually(is_open, 60, "no dialog opens")


def open_page(page: Page, path: str = "/ui/") -> Page:
    """Go to a page of the worker and wait until it is alive."""
    page.goto(path)
    page.wait_for_selector("body[data-live=true]")
    return page
