"""The operator is killed between any two steps of a ResetOffset; whatever was under way is finished, once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import pytest

from compat.targets import Target
from fixtures.http_proxy import Request
from fixtures.killing import Killer
from fixtures.kube import Cluster
from kube.conftest import MakeOperator, MakeProxy, at_once
from kube.resources import Connectors
from seamark.testing.waiting import eventually, patience

pytestmark = pytest.mark.slow

STATUS = "/status"
POINTS = [
    ("PATCH", STATUS, 1),  # conditions are there
    ("PATCH", STATUS, 2),  # the reference is mapped
    ("PATCH", STATUS, 3),  # workers are reached
    ("POST", "/leases", 1),
    ("PATCH", "/resetoffsets*", 1),  # the finalizer
    ("PATCH", STATUS, 4),  # which connectors will be stopped
    ("PUT", "/stop", 1),
    ("PATCH", STATUS, 5),  # stopped, and from where to where
    ("PATCH", "/offsets", 1),
    ("PATCH", STATUS, 6),  # offsets are moved
    ("PUT", "/resume", 1),
    ("PATCH", STATUS, 7),  # started
    ("PATCH", STATUS, 8),  # succeeded
]
CASES = list(itertools.product(POINTS, ["before", "after"]))
# Both kinds of workers, in turn: each point is tried with both.
OF_SEAMARK = [case for number, case in enumerate(CASES) if number % 4 in (0, 3)]
OF_JAVA = [case for case in CASES if case not in OF_SEAMARK]


@pytest.mark.requirement("RST-02")
@pytest.mark.requirement("RST-21")
@pytest.mark.requirement("RST-22")
@pytest.mark.parametrize(
    ("target", "cases"),
    [("seamark", OF_SEAMARK), pytest.param("java", OF_JAVA, marks=pytest.mark.java)],
    indirect=["target"],
    ids=["seamark", "java"],
)
def test_offsets_are_moved_once_wherever_the_operator_dies(
    cluster: Cluster,
    target: Target,
    make_namespace: Callable[[], str],
    make_proxy: MakeProxy,
    make_operator: MakeOperator,
    make_connectors: Callable[..., Connectors],
    cases: list[tuple[tuple[str, str, int], str]],
) -> None:
    def crash(case: tuple[tuple[str, str, int], str]) -> None:
        (method, end, nth), when = case
        namespace, api, rest = make_namespace(), make_proxy(cluster.url), make_proxy(target.urls[0])
        connectors = make_connectors(namespace, rest)
        operator = make_operator(namespace, through=api)
        sink = connectors.sink(lines=5)
        sink.await_offsets(5)
        reset = connectors.reset(sink, "earliest")
        # of the ResetOffset, not of others
        path = f"/{reset.body['metadata']['name']}/status" if end == STATUS else end
        killer = Killer(operator.kill, method, path, nth, when)
        killer.attach(api, rest)
        reset.create()
        assert killer.done.wait(patience(90)), f"it has not come: {reset.status}"
        rest.before.clear()
        rest.after.clear()
        # Moving on from the new offsets must not be mistaken for having to move again.
        second = make_operator(namespace)
        reset.await_done()
        assert reset.rows() == [(0, 5, 0)]
        eventually(lambda: len(sink.lines()) == 10, 60, f"{sink.lines()}")
        sink.await_offsets(5)
        assert sink.lines() == 2 * [f"0:{number}" for number in range(5)]
        moves = [each for each in list(rest.accepted) if each.method == "PATCH"]
        assert len(moves) <= 1 + (when == "before" and end == "/offsets")
        sink.await_state("RUNNING")
        eventually(lambda: not reset.get()["metadata"].get("finalizers"), 30)
        second.kill()

    at_once(crash, cases)


@pytest.mark.requirement("RST-22")
def test_offsets_are_not_moved_again_when_consumers_have_gone_on(
    cluster: Cluster, namespace: str, make_operator: MakeOperator, make_connectors: Callable[..., Connectors]
) -> None:
    """Somebody starts the consumer by hand while the operator is dead."""
    connectors = make_connectors(namespace)
    operator = make_operator(namespace)
    sink = connectors.sink(lines=5)
    sink.await_offsets(5)
    killer = Killer(operator.kill, "PATCH", "/offsets", 1, "after")
    killer.attach(connectors.rest)
    reset = connectors.reset(sink, "earliest").create()
    assert killer.done.wait(patience(90))
    connectors.rest.after.clear()
    assert reset.conditions()["OffsetsUpdated"] == "Unknown"
    connectors.connect.call("PUT", f"/connectors/{sink.name}/resume")
    sink.send(2)
    sink.await_offsets(7)
    make_operator(namespace)
    reset.await_done()
    sink.send(1)
    sink.await_offsets(8)
    assert len(sink.lines()) == 5 + 8
    assert len(connectors.rest.calls("PATCH")) == 1


@pytest.mark.requirement("RST-06")
@pytest.mark.requirement("RST-37")
@pytest.mark.parametrize(("method", "end"), [("PUT", "/stop"), ("PATCH", "/offsets")])
def test_an_unfinished_reset_that_is_deleted_starts_what_it_stopped(
    cluster: Cluster,
    namespace: str,
    make_operator: MakeOperator,
    make_connectors: Callable[..., Connectors],
    method: str,
    end: str,
) -> None:
    connectors = make_connectors(namespace)
    operator = make_operator(namespace)
    sink = connectors.sink(lines=5)
    sink.await_offsets(5)
    killer = Killer(operator.kill, method, end, 1, "after")
    killer.attach(connectors.rest)
    reset = connectors.reset(sink, "earliest").create()
    assert killer.done.wait(patience(90))
    connectors.rest.after.clear()
    sink.await_state("STOPPED")
    cluster.delete(reset.body)
    assert cluster.find(reset.body) is not None, "the finalizer keeps it"
    make_operator(namespace)
    eventually(lambda: cluster.find(reset.body) is None, 60)
    sink.await_state("RUNNING")


@pytest.mark.requirement("RST-29")
def test_an_api_server_that_restarts_is_waited_for(
    cluster: Cluster, namespace: str, make_operator: MakeOperator, make_connectors: Callable[..., Connectors]
) -> None:
    connectors = make_connectors(namespace)
    make_operator(namespace)
    sink = connectors.sink(lines=5)
    sink.await_offsets(5)
    stopped = threading.Event()

    def stop_server(request: Request) -> None:
        if request.path.endswith("/stop") and not stopped.is_set():
            stopped.set()
            cluster.stop_server()

    connectors.rest.after.append(stop_server)
    reset = connectors.reset(sink, "earliest").create()
    assert stopped.wait(patience(90))
    try:
        eventually(lambda: sink.calls("status") > 3, 60)
    finally:
        cluster.start_server()
    reset.await_done()
    eventually(lambda: len(sink.lines()) == 10, 60)
    assert len(connectors.rest.calls("PATCH")) == 1
    # and it still sees what is new
    connectors.reset(sink, "earliest").create().await_done()
