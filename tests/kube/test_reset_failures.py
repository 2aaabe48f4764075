"""Steps of a ResetOffset that fail: what is told, what goes on, and what is done again."""

from __future__ import annotations

import pytest

from compat.client import path_of
from fixtures.http_proxy import Answer, Request
from kube.resources import STEPS, V1BETA2, Connectors, reasons_of_events
from seamark.testing.waiting import eventually


@pytest.mark.requirement("RST-15")
@pytest.mark.requirement("RST-30")
@pytest.mark.requirement("RST-31")
def test_a_reference_that_leads_nowhere_is_told_and_waited_for(connectors: Connectors) -> None:
    sink = connectors.sink(create=False, state="stopped")
    reset = connectors.reset(sink, "latest").create()
    failure = reset.await_failure("RefMapped")
    assert failure["reason"] == "FailedToMapRef"
    assert failure["message"].startswith("Failed to map 'ref' to Kafka Topic and Group: ")
    assert reset.condition("Succeeded")["message"] == failure["message"]
    assert [reset.conditions()[step] for step in STEPS[1:]] == ["Unknown"] * 4
    eventually(lambda: "InternalError" in reasons_of_events(connectors.cluster, reset), 30)
    sink.create()
    reset.await_done()
    for kind, version in (("Broker", "eventing.knative.dev/v1"), ("KafkaConnect", V1BETA2)):
        ref = {"apiVersion": version, "kind": kind, "name": "any"}
        other = connectors.reset(None, "latest", ref=ref).create()
        assert "is not supported; supported are" in other.await_failure("RefMapped")["message"]
        connectors.cluster.delete(other.body)
        eventually(lambda other=other: connectors.cluster.find(other.body) is None, 30)


@pytest.mark.requirement("RST-17")
@pytest.mark.requirement("RST-29")
@pytest.mark.requirement("RST-30")
@pytest.mark.requirement("RST-32")
@pytest.mark.slow
def test_a_worker_that_is_away_is_waited_for(connectors: Connectors) -> None:
    sink = connectors.sink(lines=4)
    sink.await_offsets(4)
    connectors.rest.before.append(lambda request: Answer(None))
    reset = connectors.reset(sink, "earliest").create()
    failure = reset.await_failure("AcquireDataPlaneServices")
    assert failure["reason"] == "FailedToAcquireDataPlaneServices"
    assert reset.conditions()["RefMapped"] == "True"
    assert [reset.conditions()[step] for step in STEPS[2:]] == ["Unknown"] * 3
    assert (reset.status["topic"], reset.status["group"]) == (sink.name, sink.group)
    assert sink.offsets() == {0: 4}
    assert sink.live_state() == "RUNNING"
    connectors.rest.before.clear()
    reset.await_done()


@pytest.mark.requirement("RST-30")
@pytest.mark.requirement("RST-33")
@pytest.mark.requirement("RST-37")
@pytest.mark.slow
def test_consumers_go_on_after_a_failed_stop(connectors: Connectors) -> None:
    sink = connectors.sink(lines=4)
    sink.await_offsets(4)
    refused: list[int] = []

    def refuse_after(request: Request) -> Answer | None:
        if request.path.endswith("/stop") and not refused:
            # it is carried out, but the answer is an error
            connectors.connect.call("PUT", path_of(sink.name, "stop"))
            refused.append(1)
            return Answer(500, "the brakes are gone")
        return None

    connectors.rest.before.append(refuse_after)
    holds: list[Request] = []

    def hold(request: Request) -> Answer | None:
        # The next attempt waits until this one was looked at.
        if refused and request.path.endswith("/stop"):
            holds.append(request)
            eventually(lambda: not connectors.rest.before, 60)
        return None

    connectors.rest.before.insert(0, hold)
    reset = connectors.reset(sink, "earliest").create()
    failure = reset.await_failure("ConsumerGroupsStopped")
    assert failure["reason"] == "FailedToStopConsumerGroups"
    assert "the brakes are gone" in failure["message"]
    assert reset.conditions()["OffsetsUpdated"] == "Unknown"
    eventually(lambda: sink.calls("resume") == 1, 60, "it was not started again")
    sink.await_state("RUNNING")
    assert sink.offsets() == {0: 4}
    connectors.rest.before.clear()
    reset.await_done()
    assert reset.rows() == [(0, 4, 0)]


@pytest.mark.requirement("RST-19")
@pytest.mark.requirement("RST-28")
@pytest.mark.requirement("RST-30")
@pytest.mark.requirement("RST-34")
@pytest.mark.requirement("RST-37")
@pytest.mark.slow
def test_consumers_go_on_after_a_failed_update(connectors: Connectors) -> None:
    sink = connectors.sink(lines=4, partitions=2)
    sink.await_offsets(4)
    connectors.rest.refuse("PATCH", "/offsets", 500, "the ink is dry")
    reset = connectors.reset(sink, "earliest").create()
    failure = reset.await_failure("OffsetsUpdated")
    assert failure["reason"] == "FailedToUpdateOffsets"
    assert "the ink is dry" in failure["message"]
    assert reset.conditions()["ConsumerGroupsStopped"] == "True"
    assert reset.rows() == [(0, 4, 0), (1, 4, 0)], "what was planned helps with recovery by hand"
    eventually(lambda: sink.calls("resume") >= 1, 60, "it was not started again")
    assert sink.offsets() == {0: 4, 1: 4}
    connectors.rest.before.clear()
    reset.await_done()
    eventually(lambda: len(sink.lines()) == 16, 60)


@pytest.mark.requirement("RST-19")
@pytest.mark.slow
def test_an_update_that_reached_only_some_partitions_is_undone(connectors: Connectors) -> None:
    sink = connectors.sink(lines=4, partitions=2)
    sink.await_offsets(4)
    halves: list[int] = []

    def half(request: Request) -> Answer | None:
        if request.method == "PATCH" and not halves:
            halves.append(1)
            body = {"offsets": request.json["offsets"][:1]}
            assert connectors.connect.call("PATCH", path_of(sink.name, "offsets"), body).status_code == 200
            return Answer(500, "half of it")
        return None

    connectors.rest.before.append(half)
    reset = connectors.reset(sink, "earliest").create()
    reset.await_done()
    sent = [call.json["offsets"] for call in connectors.rest.calls("PATCH")]
    assert [row["offset"]["kafka_offset"] for row in sent[1]] == [4, 4], "the first half was not undone"
    assert [row["offset"]["kafka_offset"] for row in sent[2]] == [0, 0]
    eventually(lambda: len(sink.lines()) == 16, 60)


@pytest.mark.requirement("RST-19")
@pytest.mark.slow
def test_an_update_whose_answer_was_lost_counts(connectors: Connectors) -> None:
    sink = connectors.sink(lines=4)
    sink.await_offsets(4)

    def lose(request: Request) -> Answer | None:
        if request.method == "PATCH":
            assert connectors.connect.call("PATCH", path_of(sink.name, "offsets"), request.json).status_code == 200
            return Answer(None)
        return None

    connectors.rest.before.append(lose)
    connectors.reset(sink, "earliest").create().await_done()
    assert len(connectors.rest.calls("PATCH")) == 1
    eventually(lambda: len(sink.lines()) == 8, 60)


@pytest.mark.requirement("RST-21")
@pytest.mark.requirement("RST-30")
@pytest.mark.requirement("RST-35")
@pytest.mark.slow
def test_after_a_failed_start_only_the_start_is_repeated(connectors: Connectors) -> None:
    sink = connectors.sink(lines=4)
    sink.await_offsets(4)
    connectors.rest.refuse("PUT", "/resume", 500, "the battery is flat")
    reset = connectors.reset(sink, "earliest").create()
    failure = reset.await_failure("ConsumerGroupsStarted")
    assert failure["reason"] == "FailedToStartConsumerGroups"
    assert "the battery is flat" in failure["message"]
    assert [reset.conditions()[step] for step in STEPS[:4]] == ["True"] * 4
    assert reset.rows() == [(0, 4, 0)]
    assert sink.offsets() == {0: 0}
    # the connector's own resource does not start it either
    connectors.cluster.annotate(sink.body, look="here")
    eventually(lambda: sink.calls("resume") >= 3, 60)
    connectors.rest.before.clear()
    reset.await_done()
    assert (sink.calls("stop"), len(connectors.rest.calls("PATCH"))) == (1, 1)
    eventually(lambda: len(sink.lines()) == 8, 60)
