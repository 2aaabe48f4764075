"""The page of a connector: each action changes the worker, what is wrong is said where it is."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from fixtures.worker import Topics
from seamark.client import NotFound
from seamark.testing.waiting import eventually, patience
from web.conftest import WebWorker, open_page
from web.looks import described, poor_contrasts

LONG_MS = patience(60) * 1000
HTTP = "seamark.connectors.http_sink.HttpSinkConnector"


def _open(page: Page, name: str, tab: str = "status") -> Page:
    return open_page(page, f"/ui/connectors/{name}?tab={tab}")


def _state(page: Page) -> Locator:
    return page.locator(".sm-title .sm-state")


def _do(page: Page, label: str) -> None:
    """Click an action and say yes."""
    page.get_by_role("button", name=label, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()


def _field(page: Page, key: str) -> Locator:
    return page.locator(f"[data-key='{key}']")


def _is_gone(worker: WebWorker, name: str) -> bool:
    try:
        worker.client.connector(name)
    except NotFound:
        return True
    return False


def test_actions_change_the_worker(page: Page, worker: WebWorker, topic_name: str) -> None:
    worker.source(topic_name, topic_name, "one\ntwo\n")
    client = worker.client
    client.await_state(topic_name, "RUNNING", patience(60))
    _open(page, topic_name)
    expect(_state(page)).to_contain_text("RUNNING")
    expect(page.get_by_role("button", name="Start", exact=True)).to_have_attribute("aria-disabled", "true")

    _do(page, "Pause")
    client.await_state(topic_name, "PAUSED", patience(60))
    expect(_state(page)).to_contain_text("PAUSED")

    page.get_by_role("button", name="Start", exact=True).click()
    client.await_state(topic_name, "RUNNING", patience(60))
    expect(_state(page)).to_contain_text("RUNNING")

    _do(page, "Stop")
    client.await_state(topic_name, "STOPPED", patience(60))
    expect(_state(page)).to_contain_text("STOPPED")
    expect(page.locator(".sm-task-list")).to_contain_text("It is stopped")

    page.get_by_role("link", name="Events").click()
    expect(page.locator("table[aria-label='Events, newest first']")).to_contain_text("STOPPED")


def test_a_question_can_be_answered_with_no(page: Page, worker: WebWorker, topic_name: str) -> None:
    worker.source(topic_name, topic_name)
    worker.client.await_state(topic_name, "RUNNING", patience(60))
    _open(page, topic_name)

    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("goes on where it was")
    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_be_hidden()
    assert worker.client.status(topic_name).connector.state == "RUNNING"


def test_a_failed_task_shows_why_and_is_restarted(
    page: Page, worker: WebWorker, topics: Topics, topic_name: str
) -> None:
    topics.create(topic_name)
    topics.send(topic_name, ["a", "b"])
    folder = worker.directory / topic_name
    config = {"connector.class": "FileStreamSink", "topics": topic_name, "file": str(folder / "out.txt")}
    worker.client.create(topic_name, config)
    eventually(lambda: worker.client.status(topic_name).failed, patience(60))

    _open(page, topic_name)
    expect(page.get_by_role("alert").filter(has_text="Task 0 has failed")).to_contain_text("No such file or directory")
    task = page.locator(".sm-task-item")
    task.locator("summary").click()
    expect(task.locator("pre")).to_contain_text("Traceback")
    poor = poor_contrasts(page)
    assert not poor, described(poor)

    folder.mkdir()
    _do(page, "Restart")
    expect(_state(page)).to_contain_text("RUNNING", timeout=LONG_MS)
    expect(page.get_by_text("Task 0 has failed")).to_be_hidden()
    eventually(lambda: (folder / "out.txt").read_text() == "a\nb\n", patience(60))


def test_charts_topics_and_logs(page: Page, worker: WebWorker, topic_name: str) -> None:
    worker.source(topic_name, topic_name, "a line\n" * 100)
    _open(page, topic_name)

    expect(page.locator(".sm-plain")).to_contain_text(topic_name, timeout=LONG_MS)
    throughput = page.locator(".sm-chart-card").filter(has_text="Throughput")
    expect(throughput.locator("svg")).to_be_visible(timeout=LONG_MS)
    assert "records/s" in (throughput.locator("svg").get_attribute("aria-label") or "")

    page.get_by_role("link", name="Logs").click()
    expect(page.locator(".sm-log-line").first).to_be_visible()
    page.get_by_label("Filter lines").fill("no line has this text")
    expect(page.locator(".sm-log")).to_have_text("No line matches.")


def test_a_wrong_value_is_refused_at_its_field(page: Page, worker: WebWorker, topic_name: str) -> None:
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": "x", "topic": topic_name}
    worker.client.create(topic_name, config, "STOPPED")
    before = worker.client.config(topic_name)
    _open(page, topic_name, "configuration")

    field = _field(page, "tasks.max")
    field.fill("abc")
    message = field.locator("xpath=following-sibling::p[@role='alert']")
    expect(message).to_have_text("Invalid value abc for configuration tasks.max: Not a number of type INT")
    expect(field).to_have_attribute("aria-invalid", "true")
    save = page.get_by_role("button", name="Review and save")
    expect(save).to_have_attribute("aria-disabled", "true")
    save.click(force=True)
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert worker.client.config(topic_name) == before

    field.fill("1")
    expect(message).to_be_hidden()
    expect(field).to_be_focused()


def test_what_differs_is_shown_before_it_is_saved_and_secrets_stay_hidden(
    page: Page, worker: WebWorker, topic_name: str
) -> None:
    secret = "Bearer hunter2-hunter2"
    config = {"connector.class": HTTP, "topics": topic_name, "http.url": "http://localhost:1/", "tasks.max": "1"}
    worker.client.create(topic_name, {**config, "http.authorization": secret}, "STOPPED")
    frames: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
    _open(page, topic_name, "configuration")
    expect(_field(page, "http.authorization")).to_have_value("[hidden]")

    _field(page, "tasks.max").fill("3")
    page.get_by_label("Show all keys").check()
    _field(page, "errors.tolerance").fill("all")
    expect(page.get_by_role("status").filter(has_text="2 changes")).to_be_visible()
    page.get_by_role("button", name="Review and save").click()

    difference = page.get_by_role("dialog").locator(".sm-diff")
    expect(difference.locator("span")).to_have_text(["+ errors.tolerance = all", "- tasks.max = 1", "+ tasks.max = 3"])
    assert worker.client.config(topic_name)["tasks.max"] == "1"
    # What somebody else changes meanwhile is kept.
    worker.client.patch_config(topic_name, {"http.retries": "3"})
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_role("dialog")).to_be_hidden()
    saved = worker.client.config(topic_name)
    assert (saved["tasks.max"], saved["errors.tolerance"], saved["http.retries"]) == ("3", "all", "3")
    assert saved["http.authorization"] == secret
    expect(page.get_by_role("status").filter(has_text="No changes")).to_be_visible()
    assert "hunter2" not in page.content()
    assert not [frame for frame in frames if "hunter2" in str(frame)]


def test_a_transform_brings_its_fields_while_one_types(page: Page, worker: WebWorker, topic_name: str) -> None:
    config = {"connector.class": "FileStreamSource", "file": "x", "topic": topic_name}
    worker.client.create(topic_name, config, "STOPPED")
    _open(page, topic_name, "configuration")
    page.get_by_label("Filter keys").fill("transforms")
    field = _field(page, "transforms")
    field.press_sequentially("host", delay=20)

    page.get_by_label("Filter keys").fill("")
    expect(page.get_by_text("Transforms: host")).to_be_visible()
    kind = _field(page, "transforms.host.type")
    kind.fill("org.apache.kafka.connect.transforms.InsertField$Value")
    static = _field(page, "transforms.host.static.field")
    page.get_by_label("Show all keys").check()
    expect(static).to_be_visible()
    expect(field).to_have_value("host")


def test_a_connector_is_deleted_with_its_offsets(page: Page, worker: WebWorker, topic_name: str) -> None:
    worker.source(topic_name, topic_name, "one\n")
    eventually(lambda: worker.client.offsets(topic_name), patience(60))
    _open(page, topic_name)

    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    delete = dialog.get_by_role("button", name="Delete", exact=True)
    expect(delete).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Delete its offsets").check()
    dialog.get_by_label("to go on").fill(topic_name)
    delete.click()

    page.wait_for_url("**/ui/", timeout=LONG_MS)
    assert _is_gone(worker, topic_name)
    config = {"connector.class": "FileStreamSource", "file": "x", "topic": topic_name}
    worker.client.create(topic_name, config, "STOPPED")
    assert worker.client.offsets(topic_name) == []


def test_a_connector_that_is_not_there(page: Page, worker: WebWorker) -> None:
    open_page(page, "/ui/connectors/no such")
    expect(page.locator(".sm-notice")).to_have_text("There is no connector no such.")
