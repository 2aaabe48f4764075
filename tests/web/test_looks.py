"""Every page in Chromium: readable in both themes and at both widths; the screenshots of the documentation."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from playwright.sync_api import Page

from fixtures.worker import Topics
from seamark.kafka import TopicPartition
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.mirror_admin import GroupOffset, MirrorAdmin
from seamark.testing.waiting import eventually, patience
from web.conftest import NARROW, WIDE, MakePage, WebWorker, open_page
from web.looks import described, overflow, poor_contrasts, unnamed

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PAGES = {
    "overview": "/ui/",
    "connector": "/ui/connectors/invoices-out",
    "configuration": "/ui/connectors/orders-archive?tab=configuration",
    "offsets": "/ui/connectors/orders-archive/offsets",
    "create": "/ui/create?plugin=FileStreamSinkConnector",
    "mirrors": "/ui/mirrors",
    "mirror": "/ui/mirrors/paris-to-rome",
    "plugins": "/ui/plugins",
    "plugin": "/ui/plugins/org.apache.kafka.connect.file.FileStreamSinkConnector",
    "loggers": "/ui/loggers",
    "operations": "/ui/operations",
}
READY = {
    "overview": "[data-id=invoices-out] .sm-state.sm-bad",
    "connector": ".sm-wrong-box",
    "configuration": "[data-key=topics]",
    "offsets": "svg.sm-timeline",
    "create": "[data-key=topics]",
    "mirrors": ".sm-flow",
    "mirror": "table[aria-label='Consumer groups'] tbody tr",
    "operations": "tbody .sm-ok",
}
# Everything in light; a dark one and a narrow one stand for the others.
KEPT = {
    *((name, WIDE, "light") for name in PAGES if name != "plugin"),
    ("overview", WIDE, "dark"),
    ("overview", NARROW, "light"),
}


@pytest.fixture(scope="module")
def scene(web_worker: WebWorker, broker: EmbeddedBroker) -> Iterator[WebWorker]:
    """Pipelines as an operator would have them: most are well, one has failed."""
    client, topics = web_worker.client, Topics(broker.bootstrap_servers)
    before = set(client.connectors())
    topics.create("orders", 3)
    _send_orders(broker)
    directory = web_worker.directory
    sink = {"connector.class": "FileStreamSink", "topics": "orders", "tasks.max": "2"}
    client.create("invoices-out", {**sink, "file": "/data/invoices/out.txt"})
    client.create("orders-archive", {**sink, "file": str(directory / "archive.txt")})
    client.create("orders-replay", {**sink, "file": str(directory / "replay.txt")}, "STOPPED")
    for name in ("clicks-in", "payments-in", "shipments-in"):
        web_worker.source(name, name, "one\ntwo\n" * 200)
    client.pause("shipments-in")
    _mirror(web_worker, broker)
    client.await_state("orders-archive", "RUNNING", patience(60))
    eventually(lambda: len(client.status("invoices-out").failed) > 0, patience(60))
    client.await_state("paris-to-rome", "RUNNING", patience(60))
    client.change_offsets("orders-archive", {"positions": "earliest"}, "the archive was lost")
    eventually(lambda: all(each.finished for each in client.operations()), patience(90))
    eventually(lambda: client.mirror("paris-to-rome").totals.lag == 0, patience(90))
    yield web_worker
    for name in set(client.connectors()) - before:
        client.delete(name)
    topics.close()


def _send_orders(broker: EmbeddedBroker) -> None:
    """Orders of the last six hours, more of them around noon, so that there is something to look at."""
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    begun, length_ms = time.time() * 1000 - 6 * 3_600_000, 6 * 3_600_000
    for number in range(3000):
        share = number / 3000
        at = begun + (share - math.sin(4 * math.pi * share) / 18) * length_ms
        value = json.dumps({"order": number, "customer": number % 17, "total": number * 137 % 50_000 / 100})
        producer.produce("orders", value, f"customer-{number % 17}", partition=number % 3, timestamp=int(at))
    assert producer.flush(30) == 0


def _mirror(worker: WebWorker, broker: EmbeddedBroker) -> None:
    servers = broker.bootstrap_servers
    base = {
        "source.cluster.alias": "paris",
        "target.cluster.alias": "rome",
        "source.cluster.bootstrap.servers": servers,
        "target.cluster.bootstrap.servers": servers,
        "replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "topics": "orders",
        "groups": "billing",
        "emit.checkpoints.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    }
    admin = MirrorAdmin({"bootstrap.servers": servers})
    admin.commit_for("billing", {TopicPartition("orders", number): GroupOffset(900, "") for number in range(3)})
    admin.close()
    worker.client.create("paris-to-rome", {**base, "connector.class": "MirrorSourceConnector", "tasks.max": "2"})
    worker.client.create("paris-to-rome-checkpoints", {**base, "connector.class": "MirrorCheckpointConnector"})


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "390"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_readable(name: str, size: tuple[int, int], scene: WebWorker, make_page: MakePage) -> None:
    page = open_page(make_page(size), PAGES[name])
    if name in READY:
        page.locator(READY[name]).locator("visible=true").first.wait_for()
    if name == "offsets":
        page.get_by_role("button", name="1 hour ago").click()
        page.locator(".sm-begin").wait_for()

    for theme in ("light", "dark"):
        page.get_by_label("Theme").select_option(theme)
        page.wait_for_selector(f"html[data-theme={theme}]")
        poor = poor_contrasts(page)
        assert not poor, described(poor)
        _photograph(page, name, size, theme)
    nameless = unnamed(page)
    assert not nameless, described(nameless)
    assert overflow(page) <= 0


def _photograph(page: Page, name: str, size: tuple[int, int], theme: str) -> None:
    wanted = os.environ.get("SEAMARK_SCREENSHOTS")
    folder = IMAGES if wanted == "1" else Path(wanted) if wanted else None
    if folder is None or (wanted == "1" and (name, size, theme) not in KEPT):
        return
    folder.mkdir(parents=True, exist_ok=True)
    suffix = "" if (size, theme) == (WIDE, "light") else f"-{size[0]}-{theme}"
    page.get_by_label("Theme").select_option("auto" if theme == "light" else theme)
    page.screenshot(path=folder / f"web-{name}{suffix}.png", animations="disabled")
