"""What a worker tells of itself, with a herder that is not one."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from seamark.config.states import State
from seamark.errors import ConnectError
from seamark.kafka.admin_pool import AdminPool
from seamark.runtime.observation import POINTS, Observation
from seamark.runtime.series import Sums
from seamark.storage.memory_status import MemoryStatusStore
from seamark.storage.status_store import ConnectorStatusRow, TaskStatusRow

MANY = 1000


class Herder(SimpleNamespace):
    """Enough of one: a thousand connectors, of which all run here but the last."""

    def __init__(self) -> None:
        names = [f"c{number}" for number in range(MANY)]
        statuses = MemoryStatusStore()
        for name in names:
            worker = "other:1" if name == names[-1] else "me:1"
            statuses.put_connector(ConnectorStatusRow(name, State.RUNNING, worker, 0))
            statuses.put_task(TaskStatusRow(name, 0, State.RUNNING, worker, 0))
        trace = "Traceback (most recent call last):\n  File x\nValueError: the disk is full"
        statuses.put_task(TaskStatusRow("c0", 1, State.FAILED, "me:1", 0, trace))
        configs = {name: {"connector.class": "FileStreamSink", "tasks.max": "2"} for name in names}
        super().__init__(
            worker_id="me:1",
            worker=SimpleNamespace(admins=AdminPool(), check_spark=lambda: None, rest_tls=None),
            local=SimpleNamespace(names=lambda: names[:-1]),
            metrics=SimpleNamespace(sums=lambda: {name: Sums(100) for name in names[:-1]}),
            has_connector=lambda name: name in configs,
            config_state=lambda: SimpleNamespace(connectors=configs),
            status_row=statuses.get_connector,
            task_rows=statuses.get_tasks,
            connector_type=lambda config: "sink",
            url_of=lambda worker: f"http://{worker}/",
            is_ready=lambda: True,
            stage=lambda: None,
            membership_problem=lambda: None,
            health_check=lambda timeout_s: None,
        )


@pytest.fixture
def herder() -> Any:
    return Herder()


def test_an_overview_of_a_thousand_connectors_is_quick(herder: Any) -> None:
    seen = Observation(herder)
    for step in range(POINTS):
        sums = {name: Sums(step) for name in herder.local.names()}
        seen.series.take(10_000.0 + 10 * step, sums, dict.fromkeys(sums, 3))
    seen.overview(is_local=False)
    began = time.process_time()
    rows = seen.overview(is_local=False)
    assert time.process_time() - began < 0.2
    assert len(rows) == MANY
    first, last = rows[0], rows[-1]
    assert first["tasks"] == {"RUNNING": 1, "FAILED": 1}
    assert first["error"] == "ValueError: the disk is full"
    assert (first["tasks_max"], first["type"], first["worker_id"]) == (2, "sink", "me:1")
    assert first["rate_points"][-1] == 0.1
    assert first["lag_points"][-1] == 3
    assert (last["records_per_second"], last["rate_points"]) == (None, [None] * POINTS)
    assert seen.owner_urls() == {"other:1": "http://other:1/"}
    assert len(seen.overview(is_local=True)) == MANY - 1


def test_a_worker_is_ready_when_nothing_is_in_the_way(herder: Any) -> None:
    seen = Observation(herder)
    assert seen.ready() is None

    def fails(error: Exception) -> Any:
        def call(*arguments: object) -> None:
            raise error

        return call

    herder.health_check = fails(TimeoutError())
    assert seen.ready() == "Kafka has not answered within 3 s."
    herder.membership_problem = lambda: "The worker is not a member of its group."
    assert seen.ready() == "The worker is not a member of its group."
    herder.worker.check_spark = fails(ConnectError("Spark could not be started: no Java"))
    assert seen.ready() == "Spark could not be started: no Java"
    herder.is_ready = lambda: False
    assert seen.ready() == "The worker is starting."
