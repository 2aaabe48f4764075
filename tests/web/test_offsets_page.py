"""The page of a connector's offsets: a position is picked by looking, tried, taken, and taken back."""

from __future__ import annotations

import re
import time
from pathlib import Path

import confluent_kafka
import pytest
from playwright.sync_api import Locator, Page, expect

from fixtures.worker import Topics
from seamark.client import ConnectorOffset
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually, patience
from web.conftest import WebWorker, open_page
from web.looks import described, overflow, poor_contrasts, unnamed

LONG_MS = patience(90) * 1000
HOUR_MS = 3_600_000
RECORDS = 100
PARTITIONS = 1_000


@pytest.fixture
def hours(broker: EmbeddedBroker, topics: Topics, topic_name: str) -> str:
    """A topic with a hundred records of the last ten hours, evenly spread over time and two partitions."""
    topics.create(topic_name, 2)
    first = int(time.time() * 1000) - 10 * HOUR_MS
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(RECORDS):
        producer.produce(topic_name, f"value {number}", partition=number % 2, timestamp=first + number * HOUR_MS // 10)
    assert producer.flush(30) == 0
    return topic_name


def _sink(worker: WebWorker, topic: str, state: str | None = None) -> Path:
    path = worker.file()
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(path), "tasks.max": "1"}
    worker.client.create(topic, {**config, "consumer.override.auto.offset.reset": "earliest"}, state)
    return path


def _open(page: Page, name: str) -> Page:
    return open_page(page, f"/ui/connectors/{name}/offsets")


def _slider(page: Page) -> Locator:
    return page.get_by_label("Time to go to")


def _move(page: Page) -> Locator:
    return page.get_by_role("button", name="Move it")


def _positions(worker: WebWorker, name: str) -> list[int | None]:
    rows = sorted(worker.client.offset_table(name, with_times=False).partitions, key=lambda row: row.number or 0)
    return [row.position for row in rows]


def test_a_sink_is_rewound_by_looking(page: Page, worker: WebWorker, hours: str) -> None:
    path = _sink(worker, hours)
    eventually(lambda: len(path.read_text().splitlines()) == RECORDS, patience(60))
    eventually(lambda: _positions(worker, hours) == [50, 50], patience(60))
    _open(page, hours)
    expect(page.locator("svg.sm-timeline")).to_be_visible()
    expect(_move(page)).to_have_attribute("aria-disabled", "true")

    slider = _slider(page)
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(6):
        page.keyboard.press("PageUp")
    notice = page.locator(".sm-notice").filter(has_text="will be read again")
    expect(page.locator(".sm-chosen")).to_contain_text("UTC")
    expect(page.locator(".sm-begin")).to_be_visible()
    expect(notice).not_to_contain_text("100 records")
    poor = poor_contrasts(page)
    assert not poor, described(poor)

    page.get_by_label("Why").fill("a bad batch")
    _move(page).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("records will be read again")
    # Not before: the notice may be about where the slider was on its way.
    count = int(re.findall(r"(\d+) records will be read again", dialog.inner_text())[0])
    assert 0 < count < RECORDS
    expect(notice).to_contain_text(f"{count} records will be read again")
    assert len(path.read_text().splitlines()) == RECORDS
    dialog.get_by_role("button", name="Move", exact=True).click()

    expect(page.locator(".sm-progress .sm-notice.sm-ok")).to_be_visible(timeout=LONG_MS)
    worker.client.await_state(hours, "RUNNING", patience(60))
    lines = eventually(
        lambda: found if len(found := path.read_text().splitlines()) >= RECORDS + count else None, patience(60)
    )
    assert len(lines) - len(set(lines)) == count
    assert sorted(set(lines), key=lambda line: int(line[6:]))[-count:] == sorted(
        {line for line in lines if lines.count(line) == 2}, key=lambda line: int(line[6:])
    )
    row = page.locator("table[aria-label='Changes of positions'] tbody tr")
    expect(row).to_contain_text("a bad batch")
    expect(row).to_contain_text("DONE")


def test_a_change_is_undone(page: Page, worker: WebWorker, hours: str) -> None:
    _sink(worker, hours, "STOPPED")
    rows = [
        ConnectorOffset({"kafka_topic": hours, "kafka_partition": number}, {"kafka_offset": 40}) for number in range(2)
    ]
    worker.client.alter_offsets(hours, rows)
    _open(page, hours)
    page.get_by_role("button", name="Earliest").click()
    expect(page.get_by_text("80 records will be read again, in 2 partitions.")).to_be_visible()
    _move(page).click()
    page.get_by_role("dialog").get_by_role("button", name="Move", exact=True).click()
    expect(page.locator(".sm-progress .sm-notice.sm-ok")).to_be_visible(timeout=LONG_MS)
    assert _positions(worker, hours) == [0, 0]

    history = page.locator("table[aria-label='Changes of positions'] tbody tr")
    history.filter(has_text="earliest").get_by_role("button", name="Undo").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("80 records will be skipped")
    dialog.get_by_role("button", name="Undo", exact=True).click()

    eventually(lambda: _positions(worker, hours) == [40, 40], patience(60))
    table = page.locator("table[aria-label=Partitions] tbody tr").first
    expect(table).to_contain_text("40", timeout=LONG_MS)


def test_one_partition_is_moved_to_an_offset(page: Page, worker: WebWorker, hours: str) -> None:
    _sink(worker, hours, "STOPPED")
    worker.client.alter_offsets(
        hours, [ConnectorOffset({"kafka_topic": hours, "kafka_partition": 0}, {"kafka_offset": 40})]
    )
    _open(page, hours)
    page.locator(".sm-picker-tools select").select_option("one partition")
    page.get_by_label("Partition", exact=True).fill("0")
    page.get_by_label("Or write a position").fill("-10")
    expect(page.get_by_text("10 records will be read again, in 1 partition.")).to_be_visible()
    expect(page.locator(".sm-record-begin")).to_contain_text("value 60")

    page.get_by_label("Or write a position").fill("99999")
    expect(page.locator(".sm-notice.sm-bad")).to_contain_text("99999")
    expect(_move(page)).to_have_attribute("aria-disabled", "true")


def test_records_of_a_partition_are_looked_at(page: Page, worker: WebWorker, hours: str) -> None:
    _sink(worker, hours, "STOPPED")
    worker.client.alter_offsets(
        hours, [ConnectorOffset({"kafka_topic": hours, "kafka_partition": 1}, {"kafka_offset": 30})]
    )
    _open(page, hours)
    page.get_by_role("button", name=f"Look at records of {hours}:1").click()
    expect(page.locator(".sm-record-begin")).to_contain_text("value 61")
    page.get_by_role("button", name="Later").click()
    expect(page.locator(".sm-records")).to_contain_text("value 81")


def test_a_source_cannot_be_moved_by_time_and_says_why(page: Page, worker: WebWorker, topic_name: str) -> None:
    path = worker.source(topic_name, topic_name, "one\ntwo\n")
    eventually(lambda: worker.client.offsets(topic_name), patience(60))
    _open(page, topic_name)
    why_not = worker.client.offset_table(topic_name).why_not
    assert why_not

    expect(page.locator(".sm-chosen")).to_have_text(why_not)
    expect(_slider(page)).to_be_disabled()
    for label in ("Earliest", "1 hour ago", "Latest"):
        shortcut = page.get_by_role("button", name=label)
        expect(shortcut).to_have_attribute("aria-disabled", "true")
        expect(shortcut).to_have_attribute("title", why_not)

    # As it is written, it can be set all the same.
    page.get_by_role("button", name="Change the offset").click()
    page.get_by_label("Offset", exact=True).fill('{"position": 4}')
    page.get_by_role("button", name="Next").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("position=4")
    dialog.get_by_role("button", name="Move", exact=True).click()
    expect(page.locator(".sm-progress .sm-notice.sm-ok")).to_be_visible(timeout=LONG_MS)
    assert worker.client.offset_history(topic_name)[0].changes is not None
    worker.client.await_state(topic_name, "RUNNING", patience(60))
    assert path.exists()


@pytest.mark.alone
def test_a_thousand_partitions_stay_responsive(page: Page, worker: WebWorker, topics: Topics, topic_name: str) -> None:
    topics.create(topic_name, PARTITIONS)
    topics.send(topic_name, [f"value {number}" for number in range(3)], partition=777)
    _sink(worker, topic_name, "STOPPED")
    rows = [
        ConnectorOffset({"kafka_topic": topic_name, "kafka_partition": number}, {"kafka_offset": 0})
        for number in range(PARTITIONS)
    ]
    worker.client.alter_offsets(topic_name, rows)
    _open(page, topic_name)
    table = page.locator("table[aria-label=Partitions] tbody tr")
    expect(table).to_have_count(25)

    took = {}
    begun = time.monotonic()
    page.get_by_label("Search partitions").fill(f"{topic_name}:777")
    expect(table).to_have_count(1)
    expect(table).to_contain_text("3")
    took["search"] = time.monotonic() - begun

    page.get_by_label("Search partitions").fill("")
    begun = time.monotonic()
    page.get_by_role("columnheader", name="Lag").get_by_role("button").click()
    expect(table.first).to_contain_text(f"{topic_name}:777")
    took["sort"] = time.monotonic() - begun

    begun = time.monotonic()
    page.get_by_role("navigation", name="Pages of Partitions").get_by_role("button", name="Next").click()
    expect(page.get_by_text("50 of 1,000")).to_be_visible()
    took["turn the page"] = time.monotonic() - begun
    assert all(seconds < patience(1) for seconds in took.values()), took

    page.get_by_role("button", name="Latest").click()
    expect(page.get_by_text("3 records will be skipped, in 1 partition.")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_readable(page: Page, worker: WebWorker, hours: str, width: int) -> None:
    _sink(worker, hours, "STOPPED")
    worker.client.alter_offsets(
        hours, [ConnectorOffset({"kafka_topic": hours, "kafka_partition": 0}, {"kafka_offset": 40})]
    )
    page.set_viewport_size({"width": width, "height": 800})
    _open(page, hours)
    page.get_by_role("button", name="1 hour ago").click()
    expect(page.locator(".sm-begin")).to_be_visible()
    for theme in ("light", "dark"):
        page.get_by_label("Theme").select_option(theme)
        page.wait_for_selector(f"html[data-theme={theme}]")
        poor = poor_contrasts(page)
        assert not poor, described(poor)
    assert not unnamed(page)
    assert overflow(page) <= 0
