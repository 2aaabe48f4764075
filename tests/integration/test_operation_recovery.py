"""What becomes of operations that a crash interrupts: the next worker completes them or takes them back, and says so.

A crash leaves what was written down before it: each test writes that for one phase, as the dead worker would have, with
the connector as it is in that phase, and starts a worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fixtures.herders import WAIT_S, Case, Cluster, MakeCase, path_of
from fixtures.operations import RECORDS, finished, given, phases, positions, running_sink, sink_with_records
from fixtures.worker import Topics
from seamark.runtime.operation_context import Origin
from seamark.storage.operation_records import OperationRecord
from seamark.storage.operation_store import operation_store
from seamark.testing.waiting import eventually


@pytest.fixture
def interrupted(make_cluster: Callable[..., Cluster], make_case: MakeCase, topics: Topics) -> Any:
    """Makes a sink at the end of its topic, its worker gone; `resume` starts another one."""
    return _Interrupted(make_cluster, make_case, topics)


class _Interrupted:
    def __init__(self, make_cluster: Any, make_case: MakeCase, topics: Topics) -> None:
        self.cluster: Cluster = make_cluster("distributed")
        self._make_case, self._topics = make_case, topics
        self.case: Case

    def leave(self, phase: str, *, kind: str = "change", is_stopped: bool = True, **fields: Any) -> str:
        """A worker dies in this phase; the id of the operation."""
        self.case = case = running_sink(self._make_case, self._topics, self.cluster)
        if is_stopped:
            case.connect.stop(case.name)
        rows = [
            {"partition": {"kafka_partition": n, "kafka_topic": case.topic}, "offset": {"kafka_offset": RECORDS}}
            for n in (0, 1)
        ]
        new = [{**row, "offset": {"kafka_offset": 5}} for row in rows]
        is_planned = phase in ("CHANGING", "RESUMING")
        operations = self.cluster.nodes[0].herder.operations
        record: OperationRecord = operations._context.new(
            kind,
            case.name,
            Origin("test"),
            fields.pop("request", {"positions": 5}),
            phase,
            former_state=None if phase == "QUEUED" else "STARTED",
            before=rows if is_planned else None,
            after=new if is_planned else None,
            **fields,
        )
        self.cluster.remove(self.cluster.nodes[0])
        store = operation_store(self.cluster.properties, is_distributed=True)
        store.put(record)
        store.stop()
        return record.id

    def resume(self, operation: str) -> dict[str, Any]:
        self.cluster.add()
        self.case.connect = self.cluster.connect()
        return finished(self.case.connect, operation)


@pytest.mark.parametrize(
    ("phase", "is_stopped"),
    [("QUEUED", False), ("STOPPING", False), ("STOPPING", True), ("CHANGING", True), ("RESUMING", True)],
)
def test_a_change_is_completed(interrupted: _Interrupted, phase: str, is_stopped: bool) -> None:
    operation = interrupted.leave(phase, is_stopped=is_stopped)
    done = interrupted.resume(operation)
    case = interrupted.case
    assert (done["phase"], done["error"]) == ("DONE", None)
    assert phases(done)[0] == phase
    case.connect.await_state(case.name, "RUNNING")
    if phase != "RESUMING":
        assert [row["after"] for row in done["changes"]] == [{"kafka_offset": 5}] * 2
        again = list(range(5, RECORDS))
        eventually(
            lambda: [offset for partition, offset in given(case) if partition == 0][RECORDS:] == again,
            WAIT_S,
            "it does not read from 5 on, once",
        )


def test_a_connector_that_somebody_resumed_is_left_alone(interrupted: _Interrupted) -> None:
    operation = interrupted.leave("CHANGING", is_stopped=False)
    done = interrupted.resume(operation)
    assert (done["phase"], "by another request" in done["error"]) == ("FAILED", True)
    interrupted.case.connect.await_state(interrupted.case.name, "RUNNING")
    assert positions(interrupted.case) == {0: RECORDS, 1: RECORDS}


@pytest.mark.parametrize(("is_made", "phase"), [(True, "DONE"), (False, "ROLLED_BACK")])
def test_how_a_plain_request_ended_is_found_out(interrupted: _Interrupted, is_made: bool, phase: str) -> None:
    operation = interrupted.leave("CHANGING", kind="alter")
    if is_made:
        # As if the worker had died after the change.
        node = interrupted.cluster.add()
        eventually(lambda: interrupted.cluster.connect(node).ask("GET", f"/operations/{operation}")["finished"], WAIT_S)
        interrupted.cluster.remove(node)
        operation = _again(interrupted)
    done = interrupted.resume(operation)
    assert done["phase"] == phase
    assert interrupted.case.connect.status(interrupted.case.name)["connector"]["state"] == "STOPPED"


def _again(interrupted: _Interrupted) -> str:
    """A second request, to what is there: the state after its change."""
    store = operation_store(interrupted.cluster.properties, is_distributed=True)
    store.refresh()
    last = store.all()[-1]
    record = OperationRecord(
        "ffffffffff0-000000",
        "alter",
        last.connector,
        "CHANGING",
        last.created_ms,
        last.created_ms,
        before=last.after,
        after=last.before,
    )
    store.put(record)
    store.stop()
    return record.id


@pytest.mark.parametrize(
    ("phase", "is_made"),
    [
        *((phase, False) for phase in ("QUEUED", "STOPPING", "CREATING", "CHANGING", "STARTING", "DELETING")),
        *((phase, True) for phase in ("CREATING", "CHANGING")),
    ],
)
def test_a_migration_is_completed(
    make_cluster: Callable[..., Cluster], make_case: MakeCase, topics: Topics, phase: str, is_made: bool
) -> None:
    """Also when the worker died after what a phase does, and before it could write that down."""
    is_new_there = phase in ("CHANGING", "STARTING", "DELETING") or (phase == "CREATING" and is_made)
    cluster = make_cluster("distributed")
    case = sink_with_records(make_case, topics, cluster).create("stopped")
    old, new = case.name, f"{case.name}-new"
    case.connect.ask("PATCH", f"{path_of(old)}/offsets", {"positions": 7})
    rows = case.connect.ask("GET", f"{path_of(old)}/offsets")["offsets"]
    config = {**case.config, "name": new}
    if is_new_there:
        case.connect.create(new, case.config, "stopped")
        case.connect.await_state(new, "STOPPED")
        if phase in ("STARTING", "DELETING") or (is_made and phase == "CHANGING"):
            case.connect.ask("PATCH", f"{path_of(new)}/offsets", {"positions": 7})
    record = cluster.nodes[0].herder.operations._context.new(
        "migrate",
        old,
        Origin("test"),
        {"name": new},
        phase,
        former_state=None if phase == "QUEUED" else "STARTED",
        before=None if phase in ("QUEUED", "STOPPING") else rows,
        after=None if phase in ("QUEUED", "STOPPING") else rows,
        details={"name": new, "url": None, "config": config, "keep": False}
        | ({"is_created": True} if phase in ("CHANGING", "STARTING", "DELETING") else {}),
    )
    cluster.remove(cluster.nodes[0])
    store = operation_store(cluster.properties, is_distributed=True)
    store.put(record)
    store.stop()
    cluster.add()
    case.connect = connect = cluster.connect()
    done = finished(connect, record.id)
    assert (done["phase"], done["error"]) == ("DONE", None)
    assert connect.ask("GET", "/connectors") == [new]
    case.rename(new)
    if phase in ("QUEUED", "DELETING"):
        # QUEUED: the old one was found stopped, so the new one is left so. DELETING: the worker that wrote this had
        # started the new one; here nobody has.
        assert connect.status(new)["connector"]["state"] == "STOPPED"
        assert positions(case) == {0: 7, 1: 7}
        return
    eventually(lambda: positions(case) == {0: RECORDS, 1: RECORDS}, WAIT_S, "the new one does not read")
    assert sorted(given(case)) == [(partition, n) for partition in (0, 1) for n in range(7, RECORDS)]
