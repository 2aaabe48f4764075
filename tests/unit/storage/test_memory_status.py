"""The status store of a standalone worker."""

from __future__ import annotations

from seamark.config.states import State
from seamark.storage.memory_status import MemoryStatusStore
from seamark.storage.status_store import ConnectorStatusRow, TaskStatusRow


def test_rows_are_there_at_once_and_until_they_are_deleted() -> None:
    store = MemoryStatusStore()
    connector = ConnectorStatusRow("c", State.RUNNING, "w:1", 0, version="1")
    tasks = [TaskStatusRow("c", number, State.RUNNING, "w:1", 0) for number in (10, 2)]
    other = TaskStatusRow("d", 0, State.RUNNING, "w:1", 0)
    store.put_connector(connector)
    for row in (*tasks, other):
        store.put_task(row)
    assert store.get_connector("c") == connector
    assert store.get_task("c", 2) == tasks[1]
    assert store.get_tasks("c") == [tasks[1], tasks[0]]
    assert store.connectors() == {"c"}
    store.delete_task("c", 2)
    store.delete_task("c", 2)
    assert store.get_tasks("c") == [tasks[0]]
    store.delete_connector("c")
    assert (store.get_connector("c"), store.get_tasks("c"), store.get_tasks("d")) == (None, [], [other])


def test_a_task_that_runs_may_be_given_up_in_the_same_generation() -> None:
    store = MemoryStatusStore()
    store.put_task_safe(TaskStatusRow("c", 0, State.RUNNING, "w:1", 0))
    store.put_task_safe(TaskStatusRow("c", 0, State.UNASSIGNED, "w:1", 0))
    store.put_connector_safe(ConnectorStatusRow("c", State.FAILED, "w:1", 0, "trace"))
    row, connector = store.get_task("c", 0), store.get_connector("c")
    assert row is not None and row.state is State.UNASSIGNED
    assert connector is not None and connector.trace == "trace"


def test_topics_are_those_used_since_the_last_reset() -> None:
    store = MemoryStatusStore()
    for topic, connector, task in (("b", "c", 0), ("a", "c", 1), ("a", "c", 2), ("x", "d", 0)):
        store.put_topic(topic, connector, task)
    assert [(row.topic, row.task) for row in store.get_topics("c")] == [("a", 1), ("b", 0)]
    store.delete_topics("c")
    assert store.get_topics("c") == []
    assert [row.topic for row in store.get_topics("d")] == ["x"]
