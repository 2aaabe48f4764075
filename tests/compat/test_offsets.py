"""Offsets, whatever the connector: who may change them, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compat.client import Connect, expect, path_of
from compat.conftest import Files, Parked

UNKNOWN = "no-such-connector"
EMPTY = "Partitions / offsets need to be provided for an alter offsets request"
ALTERED = {"message": "The offsets for this connector have been altered successfully"}
RESET = {"message": "The offsets for this connector have been reset successfully"}
FRAMEWORK = (
    "The Connect framework-managed offsets for this connector have been {0} successfully. However, if this connector "
    "manages offsets externally, they will need to be manually {0} in the system that the connector uses."
)
Park = Callable[[str, str], Parked]


def not_stopped(name: str) -> str:
    return (
        "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the "
        f"specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
    )


SOME: dict[str, Any] = {
    "source": {"offsets": [{"partition": {"filename": "f"}, "offset": {"position": 0}}]},
    "sink": {"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 0}}]},
}


@pytest.mark.parametrize("body", [{}, {"offsets": None}, {"offsets": []}], ids=["missing", "null", "empty"])
@pytest.mark.parametrize("of", ["unknown", "running", "stopped"])
def test_no_offsets(connect: Connect, running_source: Parked, stopped_source: Parked, body: Any, of: str) -> None:
    name = {"unknown": UNKNOWN, "running": running_source.name, "stopped": stopped_source.name}[of]
    connect.refuses(connect.patch(path_of(name, "offsets"), body), 400, EMPTY)


@pytest.mark.requirement("K875-11")
@pytest.mark.requirement("K875-46")
def test_unknown_connector(connect: Connect) -> None:
    message = f"Connector {UNKNOWN} not found"
    connect.refuses(connect.get(path_of(UNKNOWN, "offsets")), 404, message)
    connect.refuses(connect.patch(path_of(UNKNOWN, "offsets"), SOME["source"]), 404, message)
    connect.refuses(connect.delete(path_of(UNKNOWN, "offsets")), 404, message)


@pytest.mark.requirement("K875-12")
@pytest.mark.requirement("K875-46")
@pytest.mark.parametrize("state", ["RUNNING", "PAUSED"])
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_connector_that_is_not_stopped(connect: Connect, park: Park, kind: str, state: str) -> None:
    parked = park(kind, state)
    before = connect.offsets(parked.name)
    connect.refuses(connect.patch(parked.offsets, SOME[kind]), 400, not_stopped(parked.name))
    connect.refuses(connect.delete(parked.offsets), 400, not_stopped(parked.name))
    assert connect.offsets(parked.name) == before


@pytest.mark.requirement("K875-01")
@pytest.mark.requirement("K875-03")
@pytest.mark.requirement("K875-04")
@pytest.mark.requirement("K875-44")
@pytest.mark.parametrize("state", ["RUNNING", "PAUSED", "STOPPED"])
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_offsets_can_be_read_in_every_state(connect: Connect, park: Park, kind: str, state: str) -> None:
    parked = park(kind, state)
    answer = expect(connect.get(parked.offsets), 200)
    assert list(answer) == ["offsets"]
    (row,) = answer["offsets"]
    assert list(row) == ["partition", "offset"]
    if kind == "source":
        assert row == {"partition": parked.partition, "offset": {"position": 12}}
    else:
        assert list(row["partition"]) == ["kafka_partition", "kafka_topic"]
        assert row == {
            "partition": {"kafka_partition": 0, "kafka_topic": parked.config["topics"]},
            "offset": {"kafka_offset": 3},
        }


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_no_offsets_yet(connect: Connect, files: Files, name: str, kind: str) -> None:
    connect.create(name, files.source(name, 1) if kind == "source" else files.sink(name, 1), "STOPPED")
    assert expect(connect.get(path_of(name, "offsets")), 200) == {"offsets": []}
    connect.await_state(name, "STOPPED")
    assert connect.reset(name).status_code == 200
