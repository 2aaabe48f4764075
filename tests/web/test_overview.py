"""The overview: what is wrong comes first, several connectors are changed at once, and all of it by keyboard."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from seamark.testing.waiting import eventually, patience
from web.conftest import WebWorker, open_page

MakeConnectors = Callable[..., list[str]]


@pytest.fixture
def stopped(worker: WebWorker) -> MakeConnectors:
    """Makes file sources with a mark in their names that no others have; they are gone after the test."""

    def make(count: int, state: str = "STOPPED") -> list[str]:
        mark = uuid.uuid4().hex[:6]
        config = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": f"overview-{mark}"}
        names = [f"{mark}-source-{number}" for number in range(count)]
        for name in names:
            worker.client.create(name, {**config, "file": str(worker.file("a line\n"))}, state)
        return names

    return make


def _rows(page: Page) -> list[str]:
    rows = page.locator("table[aria-label=Connectors] tbody tr")
    return list(rows.evaluate_all("rows => rows.map((row) => row.dataset.id)"))


def _search(page: Page, text: str) -> None:
    page.get_by_label("Search connectors").fill(text)


def test_what_has_failed_comes_first(page: Page, worker: WebWorker, stopped: MakeConnectors) -> None:
    names = stopped(2)
    failing = f"{names[0][:6]}-zz-failing"
    config = {"connector.class": "FileStreamSink", "topics": "__consumer_offsets", "tasks.max": "1"}
    worker.client.create(failing, {**config, "file": str(worker.directory / "nowhere" / "file")})
    eventually(lambda: len(worker.client.status(failing).failed) > 0, patience(60))

    open_page(page)

    row = page.locator(f"tr[data-id='{failing}']")
    expect(row.locator(".sm-state")).to_have_text("▲FAILED")
    expect(row).to_contain_text("No such file or directory")
    _search(page, names[0][:6])
    assert _rows(page) == [failing, *names]
    expect(page.locator(".sm-headline")).to_contain_text("failed")

    page.get_by_role("button", name="Show only STOPPED").click()
    eventually(lambda: _rows(page) == names, patience(30))
    page.get_by_role("button", name="Show all states").click()
    eventually(lambda: len(_rows(page)) == 3, patience(30))


def test_news_appear_without_a_reload(page: Page, worker: WebWorker, stopped: MakeConnectors) -> None:
    open_page(page)
    [name] = stopped(1)
    state = page.locator(f"tr[data-id='{name}'] .sm-state")
    expect(state).to_contain_text("STOPPED")

    worker.client.resume(name)
    expect(state).to_contain_text("RUNNING", timeout=patience(60) * 1000)


def test_several_are_changed_at_once_after_a_preview(page: Page, worker: WebWorker, stopped: MakeConnectors) -> None:
    names = stopped(2)
    paused = stopped(1, "PAUSED")
    open_page(page)
    page.get_by_label(f"Select {paused[0]}", exact=True).check()
    _search(page, names[0][:6])
    page.get_by_label("Select all 2").check()
    bar = page.get_by_role("region", name="Selected connectors")
    expect(bar).to_contain_text("3 connectors selected")

    bar.get_by_role("button", name="Stop …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Left alone: 2 (STOPPED already)")
    assert dialog.get_by_role("listitem").all_inner_texts() == paused
    dialog.get_by_role("button", name="Stop (1)").click()

    worker.client.await_state(paused[0], "STOPPED", patience(60))
    expect(bar).to_be_hidden()

    page.get_by_label("Select all 2").check()
    bar.get_by_role("button", name="Delete …").click()
    delete = dialog.get_by_role("button", name="Delete (2)")
    delete.click(force=True)  # does nothing yet
    dialog.get_by_label("Type 2 to go on").fill("2")
    expect(delete).not_to_have_attribute("aria-disabled", "true")
    delete.click()
    eventually(lambda: not set(names) & set(worker.client.connectors()), patience(30))
    assert paused[0] in worker.client.connectors()


def test_all_of_it_works_by_keyboard(page: Page, worker: WebWorker, stopped: MakeConnectors) -> None:
    [name] = stopped(1)
    open_page(page)
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")

    page.keyboard.press("/")
    expect(page.get_by_label("Search connectors")).to_be_focused()
    page.keyboard.type(name)
    expect(page.locator("table[aria-label=Connectors] tbody tr")).to_have_count(1)
    box = page.get_by_label(f"Select {name}", exact=True)
    for _ in range(20):
        page.keyboard.press("Tab")
        if box.evaluate("it => it === document.activeElement"):
            break
    outline = page.locator(":focus").evaluate("it => getComputedStyle(it).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Space")
    resume = page.get_by_role("button", name="Resume …")
    resume.wait_for()
    for _ in range(20):
        page.keyboard.press("Shift+Tab")
        if resume.evaluate("it => it === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="Resume (1)")).to_be_focused()
    page.keyboard.press("Enter")

    worker.client.await_state(name, "RUNNING", patience(60))


def test_workers_and_their_spark_are_shown(page: Page, worker: WebWorker) -> None:
    open_page(page)
    [found] = worker.client.cluster().workers
    row = page.locator("table[aria-label=Workers] tbody tr")
    expect(row).to_contain_text(found.id)
    expect(row).to_contain_text("MB")
    expect(row).to_contain_text("leader")
    expect(row).to_contain_text("local[")
