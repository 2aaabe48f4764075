"""The picture of flows, and the checklist of a failover."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from seamark.client import (
    ConnectorInfo,
    ExpandedConnector,
    Mirror,
    MirrorGroup,
    MirrorGroups,
    MirrorSummary,
    MirrorTotals,
)
from seamark.web import failover, flow_picture


def summary(source: str, target: str, name: str = "m", **more: Any) -> MirrorSummary:
    values: dict[str, Any] = {
        "state": "RUNNING",
        "enabled": True,
        "tasks": {"RUNNING": 1},
        "topics": 1,
        "partitions": 3,
        "lag": 0,
    }
    return MirrorSummary(connector=name, source=source, target=target, **{**values, **more})


def href(*parts: str, **query: str) -> str:
    return "/ui/" + "/".join(parts)


@pytest.mark.parametrize("is_narrow", [False, True])
@pytest.mark.parametrize("clusters", [2, 3, 8])
def test_a_picture_is_whole_and_inside_its_frame(clusters: int, is_narrow: bool) -> None:
    names = [f"<cluster {number}>" for number in range(clusters)]
    mirrors = [summary(a, b, lag=1234, lag_ms=5000) for a in names for b in names if a != b]
    drawn = flow_picture.picture(flow_picture.edges(mirrors, href), is_narrow=is_narrow)

    root = ElementTree.fromstring(drawn)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert len(root.findall("a")) == len(mirrors)
    for box in root.iter("rect"):
        assert float(box.attrib["x"]) >= 0
        assert float(box.attrib["y"]) >= 0
        assert float(box.attrib["x"]) + float(box.attrib["width"]) <= width
        assert float(box.attrib["y"]) + float(box.attrib["height"]) <= height


def test_mirrors_of_one_flow_are_one_arrow_with_the_worst_state() -> None:
    [edge] = flow_picture.edges(
        [summary("a", "b", lag=10), summary("a", "b", "n", tasks={"FAILED": 1}, lag=None)], href
    )
    assert (edge.kind, edge.title, edge.note, edge.href) == ("bad", "2 mirrors, FAILED", "lag unknown", "/ui/mirrors/n")


def mirror(state: str = "RUNNING", lag: int | None = 0, tasks: dict[str, int] | None = None, **more: Any) -> Mirror:
    return Mirror("m", state, True, "a", "b", tasks or {"RUNNING": 1}, MirrorTotals(1, 3, lag), [], [], **more)


def checks(of: Mirror, groups: MirrorGroups | None = None, **more: Any) -> dict[str, str]:
    values: dict[str, Any] = {"is_growing": False, "are_groups_moved": False, **more}
    found = failover.checklist(of, groups, values.pop("helpers", {}), **values)
    return dict(
        zip(
            ("producers", "copied", "consumers", "stopped", "groups", "clients"), (c.status for c in found), strict=True
        )
    )


def test_steps_of_a_failover() -> None:
    group = MirrorGroup("g", [], "STABLE", "EMPTY")
    running = checks(mirror(lag=5), MirrorGroups([group]), is_growing=True)
    assert running == {
        "producers": "open",
        "copied": "open",
        "consumers": "open",
        "stopped": "open",
        "groups": "open",
        "clients": "person",
    }
    idle = MirrorGroups([MirrorGroup("g", [], "EMPTY", "EMPTY")])
    done = checks(mirror("STOPPED", tasks={}), idle, are_groups_moved=True, helpers={"c": "STOPPED"})
    assert done == {
        "producers": "done",
        "copied": "done",
        "consumers": "done",
        "stopped": "done",
        "groups": "done",
        "clients": "person",
    }
    assert checks(mirror("STOPPED"), idle, helpers={"c": "RUNNING"})["stopped"] == "open"
    assert checks(mirror("PAUSED", lag=5), idle)["copied"] == "wrong"
    assert checks(mirror(lag=5, tasks={"FAILED": 1}), idle)["copied"] == "wrong"
    assert checks(mirror(lag=None, error="away"), None)["copied"] == "wrong"


def test_whether_a_source_grows() -> None:
    now = 0.0
    growth = failover.Growth(lambda: now)
    growth.look(10)
    assert growth.is_growing is None
    growth.look(11)
    assert growth.is_growing is True
    now = failover.QUIET_S
    growth.look(11)
    assert growth.is_growing is False


def test_checkpoints_of_a_flow_are_found() -> None:
    def expanded(kind: str, **config: str) -> ExpandedConnector:
        aliases = {"source.cluster.alias": "a", "target.cluster.alias": "b"}
        return ExpandedConnector(ConnectorInfo("x", {"connector.class": kind, **aliases, **config}, []))

    found = failover.checkpoints_of(
        mirror(),
        {
            "one": expanded("org.apache.kafka.connect.mirror.MirrorCheckpointConnector"),
            "other": expanded("MirrorCheckpointConnector", **{"source.cluster.alias": "c"}),
            "source": expanded("MirrorSourceConnector"),
        },
    )
    assert found == {"one": "UNASSIGNED"}
