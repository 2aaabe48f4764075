"""Positions of mirrors: those of the logs of the source cluster."""

from __future__ import annotations

from fixtures.herders import path_of
from fixtures.mirror_flows import Kafka, MakeFlow
from fixtures.operations import finished
from seamark.testing.waiting import eventually

WAIT_S = 90.0


def _numbered(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


def test_a_mirror_is_moved_by_positions(make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str) -> None:
    near.create(topic_name)
    near.send(topic_name, _numbered(0, 10))
    flow = make_flow()
    name = flow.start("Source", topics=topic_name)
    remote, connect, path = flow.remote(topic_name), flow.connect, f"{path_of(name)}/offsets"
    eventually(lambda: far.values(remote) == _numbered(0, 10), WAIT_S)
    # Committed, not only copied: a shift starts from there.
    eventually(lambda: connect.offsets(name)[0][1] == {"offset": 9}, WAIT_S)
    status, message = connect.message("POST", f"{path}/change", {"positions": {topic_name: "-11"}})
    assert (status, "Valid" in message) == (400, True)
    begun = connect.ask("POST", f"{path}/change", {"positions": {topic_name: "-3"}}, 202)
    done = finished(connect, begun["id"])
    assert (done["phase"], done["changes"][0]["after"]) == ("DONE", {"offset": 6})
    eventually(lambda: far.values(remote) == _numbered(0, 10) + _numbered(7, 3), WAIT_S)
    begun = connect.ask("POST", f"{path}/change", {"positions": "earliest"}, 202)
    done = finished(connect, begun["id"])
    assert (done["phase"], done["changes"][0]["after"]) == ("DONE", None), "nothing was copied before the first record"
    everything = _numbered(0, 10) + _numbered(7, 3) + _numbered(0, 10)
    eventually(lambda: far.values(remote) == everything, WAIT_S)
    connect.stop(name)
    near.send(topic_name, _numbered(10, 5))
    connect.ask("PATCH", path, {"positions": "latest"})
    connect.resume(name)
    near.send(topic_name, _numbered(15, 1))
    eventually(lambda: far.values(remote) == [*everything, b"15"], WAIT_S)
