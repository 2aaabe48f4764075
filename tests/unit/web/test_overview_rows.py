"""What the overview says, and what an action on several connectors would do."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.client import Cluster, ClusterWorker, Overview, OverviewConnector, SparkState
from seamark.web import bulk, overview_rows


def connector(name: str, state: str = "RUNNING", **more: Any) -> OverviewConnector:
    values: dict[str, Any] = {
        "type": "sink",
        "class_name": "FileStreamSink",
        "worker_id": "a:1",
        "tasks": {state: 1},
        "tasks_max": 1,
        "records_per_second": 0.0,
        "lag": None,
        "rate_points": [],
        "lag_points": [],
        "error": None,
    }
    return OverviewConnector(name=name, state=state, **{**values, **more})


def overview(*connectors: OverviewConnector, unreachable: tuple[str, ...] = ()) -> Overview:
    return Overview(0, connectors, unreachable)


def cluster(*workers: ClusterWorker) -> Cluster:
    return Cluster("kafka", "group", "distributed", "a:1", workers)


def href(*parts: str, **query: str) -> str:
    return "/ui/" + "/".join(parts)


def test_what_has_failed_comes_first_and_a_failed_task_counts() -> None:
    found = overview(
        connector("a"),
        connector("b", "STOPPED"),
        connector("c", tasks={"RUNNING": 1, "FAILED": 1}),
        connector("d", "FAILED"),
    )
    rows = overview_rows.connector_rows(found, href)
    assert [row["id"] for row in rows] == ["c", "d", "a", "b"]
    assert rows[0]["state"]["text"] == "FAILED"
    assert rows[0]["tone"] == "bad"


def test_the_class_of_an_exception_is_left_out_of_its_words() -> None:
    error = "seamark.errors.ConnectError: No such file: /nowhere"
    [row] = overview_rows.connector_rows(overview(connector("a", "FAILED", error=error)), href)
    assert row["name"]["sub"] == "No such file: /nowhere"
    assert row["name"]["title"] == error


def test_a_flat_line_is_not_sent() -> None:
    [row] = overview_rows.connector_rows(overview(connector("a", rate_points=[0.0] * 30, lag_points=[None] * 30)), href)
    assert row["rate"]["points"] == row["lag"]["points"] == []


@pytest.mark.parametrize(
    ("found", "workers", "text", "kind"),
    [
        (overview(), (), "No connectors yet", "off"),
        (overview(connector("a")), (), "Nothing has failed: 1 connector running", "ok"),
        (overview(connector("a", "FAILED"), connector("b", "FAILED")), (), "2 connectors failed", "bad"),
        (overview(connector("a", "UNASSIGNED")), (), "1 connector not started yet", "warn"),
        (overview(connector("a"), unreachable=("b:1",)), (), "1 worker does not answer", "bad"),
        (overview(connector("a")), (ClusterWorker("b:1", error="away"),), "1 worker does not answer", "bad"),
        (
            overview(connector("a")),
            (ClusterWorker("a:1", spark=SparkState("failed", "local[1]", error="no memory")),),
            "Spark failed on a:1",
            "bad",
        ),
    ],
)
def test_the_headline_is_what_matters_most(
    found: Overview, workers: tuple[ClusterWorker, ...], text: str, kind: str
) -> None:
    said = overview_rows.headline(found, cluster(*workers))
    assert (said.text, said.kind) == (text, kind)


def test_a_worker_that_does_not_answer_is_first() -> None:
    rows = overview_rows.worker_rows(cluster(ClusterWorker("a:1", tasks=2), ClusterWorker("b:1", error="timed out")))
    assert [row["id"] for row in rows] == ["b:1", "a:1"]
    assert rows[0]["name"]["sub"] == "timed out"


def test_what_an_action_would_do() -> None:
    actions = {action.label: action for action in bulk.ACTIONS}
    chosen = [connector("a"), connector("b", "PAUSED"), connector("c", "STOPPED"), connector("d", tasks={"FAILED": 1})]
    assert bulk.preview(actions["Pause"], chosen).changed == ["a", "d"]
    assert bulk.preview(actions["Pause"], chosen).skipped == [("b", "PAUSED already"), ("c", "STOPPED already")]
    assert bulk.preview(actions["Restart failed"], chosen).changed == ["d"]
    assert bulk.preview(actions["Stop"], chosen).changed == ["a", "b", "d"]
    assert bulk.preview(actions["Delete"], chosen).changed == ["a", "b", "c", "d"]
    assert {action.label: action.role for action in bulk.ACTIONS if action.role != "operator"} == {"Delete": "editor"}
