"""What is wrong is said clearly, nothing is lost by it, and it works once it is repaired."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.worker import GrowingFile, MakeWorker, Topics, assert_each_once_in_order, file_sink, file_source
from seamark.connector import TopicPartition
from seamark.errors import AlreadyExistsError, ConfigError, NotFoundError, PluginError
from seamark.runtime.states import ConnectorStatus, State
from seamark.runtime.worker import Worker
from seamark.testing.waiting import eventually

pytestmark = pytest.mark.timeout(900)

GIVE_UP_SOON = {"seamark__retry__timeout__ms": "1000", "offset__flush__timeout__ms": "500"}


@pytest.fixture
def lines(tmp_path: Path) -> GrowingFile:
    made = GrowingFile(tmp_path / "lines.txt")
    made.append(100)
    return made


@pytest.fixture
def dead_address() -> Iterator[str]:
    """An address at which nobody listens, and nobody else can meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def await_failed(worker: Worker, name: str, within_s: float = 60.0) -> ConnectorStatus:
    def failed() -> ConnectorStatus | None:
        status = worker.status(name)
        return status if all(task.state is State.FAILED for task in status.tasks) and status.tasks else None

    found = eventually(failed, within_s, f"{name} has not failed")
    assert found is not None
    return found


def await_lines(topics: Topics, topic: str, lines: GrowingFile) -> None:
    eventually(lambda: len(topics.values(topic)) >= lines.written, 60, "not all lines have come")
    assert_each_once_in_order(topics.records(topic), [lines])


def test_an_unknown_class_is_refused_with_those_that_are_known(worker: Worker, topic_name: str) -> None:
    with pytest.raises(PluginError, match=r"com\.example\.NoSuchSource") as refused:
        worker.start_connector(topic_name, {"connector.class": "com.example.NoSuchSource"})
    assert "FileStreamSource" in str(refused.value)
    with pytest.raises(ConfigError, match=r"connector\.class"):
        worker.start_connector(topic_name, {"tasks.max": "1"})
    assert topic_name not in worker.connectors()


def test_a_missing_key_is_named(worker: Worker, topic_name: str, lines: GrowingFile) -> None:
    config = file_source(lines.path, topic_name)
    del config["topic"]
    with pytest.raises(ConfigError) as refused:
        worker.start_connector(topic_name, config)
    assert refused.value.key == "topic"
    assert '"topic"' in str(refused.value)
    with pytest.raises(NotFoundError, match=topic_name):
        worker.status(topic_name)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tasks.max", "0"),
        ("tasks.max", "many"),
        ("batch.size", "big"),
        ("transaction.boundary", "sometimes"),
        ("producer.override.max.in.flight.requests.per.connection", "several"),
        ("value.converter", "com.example.NoSuchConverter"),
    ],
)
def test_a_wrong_value_is_refused(worker: Worker, topic_name: str, lines: GrowingFile, key: str, value: str) -> None:
    with pytest.raises((ConfigError, PluginError), match=value):
        worker.start_connector(topic_name, {**file_source(lines.path, topic_name), key: value})
    assert topic_name not in worker.connectors()


def test_a_name_is_taken_once(worker: Worker, topics: Topics, topic_name: str, lines: GrowingFile) -> None:
    topics.create(topic_name)
    worker.start_connector(topic_name, file_source(lines.path, topic_name))
    with pytest.raises(AlreadyExistsError, match=topic_name):
        worker.start_connector(topic_name, file_source(lines.path, topic_name))
    await_lines(topics, topic_name, lines)


def test_an_unreadable_file_fails_the_task_and_is_read_after_repair(
    exactly_once_worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    topics.create(topic_name)
    path = tmp_path / "not-a-file"
    path.mkdir()
    exactly_once_worker.start_connector(topic_name, file_source(path, topic_name))
    (task,) = await_failed(exactly_once_worker, topic_name).tasks
    assert task.trace is not None
    assert f"{path}: it is a directory" in task.trace
    assert "Traceback" in task.trace
    path.rmdir()
    repaired = GrowingFile(path)
    repaired.append(50)
    exactly_once_worker.restart_connector(topic_name)
    await_lines(topics, topic_name, repaired)
    assert exactly_once_worker.status(topic_name).tasks[0].state is State.RUNNING


def test_a_truncated_file_fails_the_task_and_loses_nothing(
    worker: Worker, topics: Topics, topic_name: str, lines: GrowingFile
) -> None:
    topics.create(topic_name)
    worker.start_connector(topic_name, file_source(lines.path, topic_name))
    await_lines(topics, topic_name, lines)
    whole = lines.path.read_text()
    lines.path.write_text("short\n")
    (task,) = await_failed(worker, topic_name).tasks
    assert "truncated" in (task.trace or "")
    lines.path.write_text(whole)
    lines.append(10)
    worker.restart_connector(topic_name)
    await_lines(topics, topic_name, lines)


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_broker_that_is_away_fails_the_task_in_the_end(
    make_worker: MakeWorker,
    topics: Topics,
    topic_name: str,
    lines: GrowingFile,
    dead_address: str,
    exactly_once: bool,
) -> None:
    support = "enabled" if exactly_once else "disabled"
    worker = make_worker(exactly__once__source__support=support, **GIVE_UP_SOON)
    topics.create(topic_name)
    # With exactly-once the offsets are where the producer writes: a topic there is what cannot be reached first.
    config = file_source(lines.path, topic_name, producer__override__bootstrap__servers=dead_address)
    if exactly_once:
        config["offsets.storage.topic"] = worker.config.offset_storage_topic
        config["admin.override.bootstrap.servers"] = config["consumer.override.bootstrap.servers"] = str(
            worker.config.bootstrap_servers
        )
    worker.start_connector(topic_name, config)
    (task,) = await_failed(worker, topic_name).tasks
    assert task.trace is not None
    assert dead_address in task.trace
    assert "Check that the broker runs" in task.trace
    assert topics.values(topic_name) == []
    worker.stop_connector(topic_name)
    worker.start_connector(topic_name, file_source(lines.path, topic_name))
    await_lines(topics, topic_name, lines)


def test_a_sink_whose_broker_is_away_fails_in_the_end(
    make_worker: MakeWorker, topics: Topics, topic_name: str, tmp_path: Path, dead_address: str
) -> None:
    worker = make_worker(**GIVE_UP_SOON)
    topics.send(topics.create(topic_name), ["one", "two"])
    copy = tmp_path / "copy.txt"
    config = file_sink(copy, topic_name)
    worker.start_connector(topic_name, {**config, "consumer.override.bootstrap.servers": dead_address})
    (task,) = await_failed(worker, topic_name).tasks
    assert dead_address in (task.trace or "")
    assert topics.group_offsets(f"connect-{topic_name}") == {}
    worker.stop_connector(topic_name)
    worker.start_connector(topic_name, config)
    eventually(lambda: copy.read_text() == "one\ntwo\n", 60)
    eventually(lambda: topics.group_offsets(f"connect-{topic_name}") == {TopicPartition(topic_name, 0): 2})


def test_a_sink_that_cannot_open_its_file_fails_and_goes_on_after_repair(
    worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    topics.send(topics.create(topic_name), ["one", "two"])
    folder = tmp_path / "missing"
    worker.start_connector(topic_name, file_sink(folder / "copy.txt", topic_name))
    (task,) = await_failed(worker, topic_name).tasks
    assert "Couldn't find or create file" in (task.trace or "")
    assert topics.group_offsets(f"connect-{topic_name}") == {}
    folder.mkdir()
    worker.restart_connector(topic_name)
    eventually(lambda: (folder / "copy.txt").read_text() == "one\ntwo\n", 60)
