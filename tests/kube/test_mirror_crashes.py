"""The operator or the API server goes away while offsets of a mirror are listed, altered or reset."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from compat.targets import Target
from fixtures.killing import Killer
from fixtures.kube import Cluster, conditions
from kube.conftest import SEAMARK_ONLY, MakeMirror, MakeOperator, MakeProxy, at_once
from seamark.testing.waiting import eventually, patience

POINTS = {
    "list": [
        ("GET", "/offsets"),
        ("PATCH", "/configmaps*"),
        ("POST", "/configmaps"),
        ("PATCH", "/kafkamirrormaker2s*"),
    ],
    "alter": [("GET", "/configmaps*"), ("PATCH", "/offsets"), ("PATCH", "/kafkamirrormaker2s*")],
    "reset": [("DELETE", "/offsets"), ("PATCH", "/kafkamirrormaker2s*")],
}
CASES = [
    (action, method, end, when)
    for action, points in POINTS.items()
    for (method, end), when in itertools.product(points, ["before", "after"])
]


@pytest.mark.requirement("STR-21")
@pytest.mark.requirement("STR-30")
@pytest.mark.requirement("STR-36")
@SEAMARK_ONLY
def test_a_request_is_served_wherever_the_operator_dies(
    cluster: Cluster,
    target: Target,
    make_namespace: Callable[[], str],
    make_proxy: MakeProxy,
    make_operator: MakeOperator,
    make_mirror: MakeMirror,
) -> None:
    def crash(case: tuple[str, str, str, str]) -> None:
        action, method, end, when = case
        namespace, api, rest = make_namespace(), make_proxy(cluster.url), make_proxy(target.urls[0])
        operator = make_operator(namespace, through=api)
        mirror = make_mirror(namespace, rest, sections=("sourceConnector",)).create()
        mirror.set_offsets(mirror.source, mirror.row("orders", 0, 5))
        if action == "alter":
            mirror.write_entry(mirror.source, [{"topic": "orders", "partition": 0, "offset": 3}])
        killer = Killer(operator.kill, method, end, 1, when)
        killer.attach(api, rest)
        mirror.ask(action, mirror.source)
        assert killer.done.wait(patience(60)), f"{method} {end} has not come"
        rest.before.clear()
        rest.after.clear()
        second = make_operator(namespace)
        mirror.await_served(60)
        expected = {"list": [5], "alter": [3], "reset": []}[action]
        assert [row["offset"]["offset"] for row in mirror.offsets(mirror.source)] == expected
        if action == "list":
            assert mirror.entry(mirror.source) == [{"topic": "orders", "partition": 0, "offset": 5}]
        eventually(lambda: conditions(mirror.get()) == {"Ready": "True"}, 30)
        second.kill()

    at_once(crash, CASES)


@SEAMARK_ONLY
def test_an_api_server_that_restarts_is_waited_for(
    cluster: Cluster, namespace: str, make_operator: MakeOperator, make_mirror: MakeMirror
) -> None:
    operator = make_operator(namespace)
    mirror = make_mirror(namespace, sections=("sourceConnector",)).create()
    cluster.stop_server()
    cluster.start_server()
    mirror.serve("list", mirror.source)
    assert mirror.entry(mirror.source) == []
    other = make_mirror(namespace, sections=("heartbeatConnector",)).create()
    other.serve("list", other.heartbeat)
    assert operator.process is not None and operator.process.exit_code is None


@SEAMARK_ONLY
def test_connectors_come_and_go_with_their_resource(
    cluster: Cluster, namespace: str, make_operator: MakeOperator, make_mirror: MakeMirror
) -> None:
    """Only those that the operator created."""
    make_operator(namespace)
    mirror = make_mirror(namespace)
    foreign = mirror.heartbeat
    mirror.connect.create(foreign, {"connector.class": "FileStreamSource", "topic": "t", "file": "/x"}, "STOPPED")
    mirror.create()
    assert mirror.get()["status"]["createdConnectors"] == sorted([mirror.source, mirror.checkpoint])
    del mirror.mirror["checkpointConnector"]
    mirror.update()
    eventually(lambda: mirror.checkpoint not in mirror.connect.get("/connectors").json(), 30)
    cluster.delete(mirror.body)
    eventually(lambda: mirror.source not in mirror.connect.get("/connectors").json(), 30)
    assert foreign in mirror.connect.get("/connectors").json()
