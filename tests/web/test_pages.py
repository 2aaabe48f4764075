"""Plugins, loggers, operations and mirrors: each page shows what the worker says, each action changes the worker."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fixtures.worker import Topics
from seamark.kafka import TopicPartition
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.mirror_admin import GroupOffset, MirrorAdmin
from seamark.testing.waiting import eventually, patience
from web.conftest import WebWorker, open_dialog, open_page


def test_plugins_and_their_keys(page: Page, worker: WebWorker) -> None:
    open_page(page, "/ui/plugins")
    installed = worker.client.plugins(connectors_only=False)
    expect(page.locator(".sm-head")).to_contain_text(f"{len(installed)} plugins")
    page.get_by_label("Search plugins").fill("FileStreamSink")
    page.get_by_role("link", name="FileStreamSinkConnector").first.click()

    page.wait_for_url("**/ui/plugins/*FileStreamSinkConnector")
    keys = page.locator("table[aria-label='Configuration keys'] tbody tr")
    expect(keys.filter(has_text="errors.tolerance")).to_contain_text("none")
    create = page.get_by_role("link", name="Create a connector")
    assert "plugin=org.apache.kafka.connect.file.FileStreamSinkConnector" in str(create.get_attribute("href"))


def test_a_plugin_that_is_not_there(page: Page, worker: WebWorker) -> None:
    open_page(page, "/ui/plugins/no.such.Plugin")
    expect(page.locator(".sm-notice")).to_contain_text("no.such.Plugin")


@pytest.mark.parametrize("scope", ["All workers", "This worker only"])
def test_the_level_of_a_logger_is_set(page: Page, worker: WebWorker, scope: str) -> None:
    name = f"seamark.web.{uuid.uuid4().hex[:6]}"
    open_page(page, "/ui/loggers")
    page.get_by_label("Logger", exact=True).fill(name)
    page.get_by_label("New level").select_option("TRACE")
    page.get_by_label("Where").select_option(scope)
    page.get_by_role("button", name="Set the level").click()

    eventually(lambda: worker.client.loggers().get(name) is not None, patience(20))
    assert worker.client.logger(name).level == "TRACE"
    expect(page.locator(f"tr[data-id='{name}']")).to_contain_text("TRACE")

    page.get_by_role("button", name=f"Change {name}").click()
    expect(page.get_by_label("Logger", exact=True)).to_have_value(name)


def test_what_cannot_be_done_is_said(page: Page, worker: WebWorker) -> None:
    open_page(page, "/ui/mirrors/no-such-mirror")
    expect(page.locator(".sm-notice.sm-bad")).to_contain_text("no-such-mirror")


def test_operations_with_their_steps(page: Page, worker: WebWorker, topics: Topics, topic_name: str) -> None:
    topics.create(topic_name, 2)
    topics.send(topic_name, [str(number) for number in range(10)])
    config = {"connector.class": "FileStreamSink", "topics": topic_name, "file": str(worker.file())}
    worker.client.create(topic_name, config, "STOPPED")
    open_page(page, "/ui/operations")
    operation = worker.client.change_offsets(topic_name, {"positions": "latest"}, "to test the page")

    row = page.locator(f"tr[data-id='{operation.id}']")
    expect(row).to_contain_text("DONE", timeout=patience(60) * 1000)
    expect(row).to_contain_text("to test the page")
    row.get_by_role("button", name="Details").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 partitions")
    expect(dialog.locator("ol")).to_contain_text("DONE")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_flow_is_failed_over(
    page: Page, worker: WebWorker, broker: EmbeddedBroker, topics: Topics, topic_name: str
) -> None:
    source, target = f"paris{uuid.uuid4().hex[:4]}", f"rome{uuid.uuid4().hex[:4]}"
    topics.create(topic_name, 2)
    topics.send(topic_name, [str(number) for number in range(200)])
    group = f"{topic_name}-group"
    admin = MirrorAdmin({"bootstrap.servers": broker.bootstrap_servers})
    admin.commit_for(group, {TopicPartition(topic_name, number): GroupOffset(50, "") for number in range(2)})
    flow = _flow(broker.bootstrap_servers, source, target, topic_name, group)
    name, checkpoints = f"{source}-{target}", f"{source}-{target}-checkpoints"
    worker.client.create(name, {**flow, "connector.class": "MirrorSourceConnector"})
    worker.client.create(checkpoints, {**flow, "connector.class": "MirrorCheckpointConnector"})

    open_page(page, "/ui/mirrors")
    drawn = page.get_by_role("link", name=f"{source} to {target}: RUNNING")
    expect(drawn.first).to_contain_text("up to date", timeout=patience(90) * 1000)
    page.goto(f"/ui/mirrors/{name}")
    partitions = page.locator("table[aria-label=Partitions] tbody tr")
    expect(partitions).to_have_count(2)
    expect(partitions.first).to_contain_text(f"{source}.{topic_name}")
    groups = page.locator("table[aria-label='Consumer groups'] tbody tr")
    expect(groups.first).to_contain_text(group, timeout=patience(60) * 1000)

    stop = page.get_by_role("listitem").filter(has_text="Stop the flow and its checkpoints")
    open_dialog(page, stop.get_by_role("button", name="Stop …"))
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    for each in (name, checkpoints):
        worker.client.await_state(each, "STOPPED", patience(60))
    expect(stop).to_contain_text("Done", timeout=patience(30) * 1000)

    move = page.get_by_role("listitem").filter(has_text="Bring consumer groups")
    open_dialog(page, move.get_by_role("button", name="Commit offsets …"))
    page.get_by_role("dialog").get_by_role("button", name="Commit").click()
    expect(move).to_contain_text("Done", timeout=patience(60) * 1000)
    found, _ = admin.committed([group])
    assert {where.topic for where in found[group]} == {topic_name, f"{source}.{topic_name}"}
    admin.close()


def _flow(servers: str, source: str, target: str, topic: str, group: str) -> dict[str, Any]:
    return {
        "source.cluster.alias": source,
        "target.cluster.alias": target,
        "source.cluster.bootstrap.servers": servers,
        "target.cluster.bootstrap.servers": servers,
        "replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "topics": topic,
        "groups": group,
        "emit.checkpoints.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    }
