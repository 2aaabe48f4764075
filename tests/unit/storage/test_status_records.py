"""The records of the status topic: their bytes, and the rules by which they are read."""

from __future__ import annotations

import pytest

from seamark.config.states import State
from seamark.storage import status_records as records
from seamark.storage.status_records import StatusTable, is_safe
from seamark.storage.status_store import ConnectorStatusRow, TaskStatusRow, TopicStatusRow


def task(state: State, generation: int, worker: str = "w:1", number: int = 0) -> TaskStatusRow:
    return TaskStatusRow("c", number, state, worker, generation)


@pytest.fixture
def table() -> StatusTable:
    return StatusTable()


def take_task(table: StatusTable, row: TaskStatusRow) -> None:
    table.take(records.task_key(row.name, row.task), records.status_value(row))


def test_bytes_are_those_of_a_java_worker() -> None:
    row = ConnectorStatusRow("c", State.RUNNING, "host:8083", 6, version="4.2.0")
    assert records.connector_key("c") == "status-connector-c"
    assert records.status_value(row) == (
        b'{"state":"RUNNING","trace":null,"worker_id":"host:8083","generation":6,"version":"4.2.0"}'
    )
    failed = TaskStatusRow("my-c", 2, State.FAILED, "host:8083", 6, 'x: "y"\n\tat z')
    assert records.task_key("my-c", 2) == "status-task-my-c-2"
    assert records.status_value(failed) == (
        b'{"state":"FAILED","trace":"x: \\"y\\"\\n\\tat z","worker_id":"host:8083","generation":6,"version":null}'
    )
    assert records.topic_key("t", "c") == "status-topic-t:connector-c"
    assert records.topic_value(TopicStatusRow("t", "c", 0, 1700000000000)) == (
        b'{"topic":{"name":"t","connector":"c","task":0,"discoverTimestamp":1700000000000}}'
    )


def test_rows_are_read_as_they_were_written(table: StatusTable) -> None:
    connector = ConnectorStatusRow("my-c", State.PAUSED, "w:1", 2, version="1")
    first, second = task(State.RUNNING, 2), TaskStatusRow("c", 1, State.FAILED, "w:2", 2, "trace", "1")
    topic = TopicStatusRow("t", "my-c", 1, 5)
    table.take("status-connector-my-c", records.status_value(connector))
    take_task(table, first)
    take_task(table, second)
    table.take("status-topic-t:connector-my-c", records.topic_value(topic))
    assert table.connectors == {"my-c": connector}
    assert table.tasks == {"c": {0: first, 1: second}}
    assert table.topics == {"my-c": {"t": topic}}


def test_rows_of_older_workers_have_no_version(table: StatusTable) -> None:
    table.take("status-connector-c", b'{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":1}')
    assert table.connectors == {"c": ConnectorStatusRow("c", State.RUNNING, "w:1", 1)}


def test_a_null_deletes_a_row_and_twice_is_normal(table: StatusTable) -> None:
    take_task(table, task(State.RUNNING, 1))
    take_task(table, task(State.RUNNING, 1, number=1))
    table.take("status-topic-t:connector-c", records.topic_value(TopicStatusRow("t", "c", 0, 5)))
    for _ in range(2):
        table.take("status-task-c-1", None)
        assert set(table.tasks["c"]) == {0}
    for _ in range(2):
        table.take("status-connector-c", None)
        assert table.tasks == {}
    for _ in range(2):
        table.take("status-topic-t:connector-c", None)
        assert table.topics == {}


@pytest.mark.parametrize(
    ("known", "new", "is_taken"),
    [
        (task(State.RUNNING, 5, "w:2"), task(State.UNASSIGNED, 5), False),
        (task(State.RUNNING, 5, "w:2"), task(State.UNASSIGNED, 4), False),
        (task(State.RUNNING, 5, "w:2"), task(State.UNASSIGNED, 6), True),
        (task(State.PAUSED, 5, "w:2"), task(State.UNASSIGNED, 4), True),
        (task(State.RUNNING, 5, "w:2"), task(State.FAILED, 4), True),
    ],
)
def test_who_gave_a_task_up_does_not_overrule_who_runs_it(
    table: StatusTable, known: TaskStatusRow, new: TaskStatusRow, is_taken: bool
) -> None:
    take_task(table, known)
    take_task(table, new)
    assert table.tasks["c"][0] == (new if is_taken else known)


@pytest.mark.parametrize(
    ("known", "is_allowed"),
    [
        (None, True),
        (task(State.RUNNING, 5, "w:1"), True),
        (task(State.RUNNING, 4, "w:2"), True),
        (task(State.RUNNING, 3, "w:2"), True),
        (task(State.RUNNING, 5, "w:2"), False),
    ],
)
def test_a_safe_write_gives_way_to_a_later_generation_of_another_worker(
    known: TaskStatusRow | None, is_allowed: bool
) -> None:
    assert is_safe(known, task(State.FAILED, 4, "w:1")) is is_allowed


def test_names_may_contain_dashes_and_colons(table: StatusTable) -> None:
    row = TaskStatusRow("a-1-", 3, State.RUNNING, "w:1", 1)
    take_task(table, row)
    assert table.tasks == {"a-1-": {3: row}}
    name = "a:connector-b"
    table.take(records.topic_key("t", name), records.topic_value(TopicStatusRow("t", name, 0, 5)))
    assert set(table.topics) == {name}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("", b"{}"),
        ("junk", b"{}"),
        ("status-connector-", b'{"state":"RUNNING","worker_id":"w","generation":1}'),
        ("status-task-0", b'{"state":"RUNNING","worker_id":"w","generation":1}'),
        ("status-task-c-x", b'{"state":"RUNNING","worker_id":"w","generation":1}'),
        ("status-connector-c", b"junk"),
        ("status-connector-c", b"[]"),
        ("status-connector-c", b"{}"),
        ("status-connector-c", b'{"state":"DONE","worker_id":"w","generation":1}'),
        ("status-connector-c", b'{"state":"RUNNING","worker_id":"w","generation":"1"}'),
        ("status-topic-t", b"{}"),
        ("status-topic-:connector-c", b'{"topic":{"name":"t","connector":"c","task":0,"discoverTimestamp":5}}'),
        ("status-topic-t:connector-", b'{"topic":{"name":"t","connector":"c","task":0,"discoverTimestamp":5}}'),
        ("status-topic-t:connector-c", b'{"topic":[]}'),
        ("status-topic-t:connector-c", b'{"topic":{"name":"t"}}'),
    ],
)
def test_what_is_no_status_is_skipped(table: StatusTable, key: str, value: bytes) -> None:
    table.take(key, value)
    assert (table.connectors, table.tasks, table.topics) == ({}, {}, {})
