"""Connectors are created on the page: a plugin is chosen, filled in, and begins as and where it is told to."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from fixtures.worker import Topics
from seamark.testing.waiting import eventually, patience
from web.conftest import WebWorker, open_page
from web.looks import described, overflow, poor_contrasts, unnamed

LONG_MS = patience(60) * 1000


def _field(page: Page, key: str) -> Locator:
    return page.locator(f"[data-key='{key}']")


def _create(page: Page) -> None:
    page.get_by_role("button", name="Review and create").click()
    page.get_by_role("dialog").get_by_role("button", name="Create", exact=True).click()


def test_a_sink_begins_where_it_is_told_to(page: Page, worker: WebWorker, topics: Topics, topic_name: str) -> None:
    topics.create(topic_name, 2)
    topics.send(topic_name, [str(number) for number in range(10)], partition=0)
    open_page(page, "/ui/create")
    page.get_by_label("Search plugins").fill("filestream")
    expect(page.get_by_role("button", name="HttpSinkConnector")).to_be_hidden()
    page.get_by_role("button", name="FileStreamSinkConnector").click()
    _field(page, "name").fill(topic_name)
    _field(page, "topics").fill(topic_name)
    _field(page, "file").fill(str(worker.file()))
    page.get_by_label("State").select_option("STOPPED")
    page.get_by_label("Where it begins").select_option("A time or position …")
    page.get_by_label("Position", exact=True).fill("-1h")
    page.get_by_role("button", name="Review and create").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("It will be stopped, and begin at -1h, or at the nearest record there is.")
    expect(dialog.locator(".sm-diff")).to_contain_text(f"+ topics = {topic_name}")
    assert topic_name not in worker.client.connectors()
    dialog.get_by_role("button", name="Create", exact=True).click()

    page.wait_for_url(f"**/ui/connectors/{topic_name}", timeout=LONG_MS)
    worker.client.await_state(topic_name, "STOPPED", patience(60))
    rows = worker.client.offset_table(topic_name, with_times=False).partitions
    assert {row.number: row.position for row in rows} == {0: 0, 1: 0}


def test_what_is_missing_is_said_when_it_is_needed(page: Page, worker: WebWorker, topic_name: str) -> None:
    open_page(page, "/ui/create?plugin=org.apache.kafka.connect.file.FileStreamSourceConnector")
    topic = _field(page, "topic")
    expect(topic).to_be_visible()
    expect(page.locator(".sm-form-error").locator("visible=true")).to_have_count(0)
    expect(page.get_by_label("Where it begins")).to_be_disabled()

    page.get_by_role("button", name="Review and create").click()
    message = topic.locator("xpath=following-sibling::p[@role='alert']")
    expect(message).to_have_text('Missing required configuration "topic" which has no default value.')
    expect(topic).to_be_focused()
    expect(page.get_by_text("A connector needs a name.")).to_be_visible()
    expect(page.get_by_role("dialog")).to_be_hidden()

    path = worker.file("one\ntwo\n")
    topic.fill(topic_name)
    _field(page, "file").fill(str(path))
    _field(page, "name").fill(topic_name)
    expect(message).to_be_hidden()
    _create(page)

    page.wait_for_url(f"**/ui/connectors/{topic_name}", timeout=LONG_MS)
    eventually(lambda: worker.client.offsets(topic_name), patience(60))
    expect(page.locator(".sm-title .sm-state")).to_contain_text("RUNNING", timeout=LONG_MS)


def test_a_name_that_is_taken_is_refused(page: Page, worker: WebWorker, topic_name: str) -> None:
    worker.source(topic_name, topic_name)
    open_page(page, "/ui/create?plugin=FileStreamSourceConnector")
    _field(page, "name").fill(topic_name)
    _field(page, "topic").fill("another")
    _field(page, "file").fill("x")
    _create(page)
    expect(page.get_by_role("dialog").locator(".sm-notice.sm-bad")).to_contain_text(f"{topic_name} already exists")
    assert worker.client.config(topic_name)["topic"] == topic_name


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_readable(page: Page, worker: WebWorker, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    open_page(page, "/ui/create?plugin=HttpSinkConnector")
    expect(_field(page, "http.url")).to_be_visible()
    page.get_by_role("button", name="Review and create").click()
    expect(page.locator(".sm-form-error").locator("visible=true").first).to_be_visible()
    for theme in ("light", "dark"):
        page.get_by_label("Theme").select_option(theme)
        page.wait_for_selector(f"html[data-theme={theme}]")
        poor = poor_contrasts(page)
        assert not poor, described(poor)
    assert not unnamed(page)
    assert overflow(page) <= 0
