"""ResetOffset: what it does, and what it refuses."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from fixtures.kube import Cluster, KubeRefused
from fixtures.worker import Topics
from kube.conftest import MakeOperator
from kube.resources import ALL_TRUE, V1BETA2, Connectors, reasons_of_events, rfc3339
from seamark.testing.waiting import eventually


@pytest.mark.requirement("RST-01")
@pytest.mark.requirement("RST-02")
@pytest.mark.requirement("RST-03")
@pytest.mark.requirement("RST-10")
@pytest.mark.requirement("RST-16")
@pytest.mark.requirement("RST-20")
@pytest.mark.requirement("RST-24")
@pytest.mark.requirement("RST-25")
@pytest.mark.requirement("RST-26")
@pytest.mark.requirement("RST-27")
@pytest.mark.requirement("RST-36")
@pytest.mark.slow
def test_records_come_again_from_the_beginning(connectors: Connectors) -> None:
    sink = connectors.sink(lines=10, partitions=2)
    sink.await_offsets(10)
    reset = connectors.reset(sink, "earliest").create().await_done()
    status = reset.status
    assert reset.conditions() == ALL_TRUE
    assert [each["type"] for each in status["conditions"]] == sorted(ALL_TRUE)
    assert all(each["lastTransitionTime"] for each in status["conditions"])
    assert status["topic"] == sink.name
    assert status["group"] == sink.group
    assert status["observedGeneration"] == 1
    assert [{**each} for each in status["partitions"]] == [
        {"topic": sink.name, "partition": partition, "oldOffset": 10, "newOffset": 0} for partition in range(2)
    ]
    eventually(lambda: len(sink.lines()) == 40, 60, "the records did not come again")
    assert sorted(sink.lines()) == sorted(2 * [f"{p}:{n}" for p in range(2) for n in range(10)])
    order = [call.path.rpartition("/")[2] for call in connectors.rest.calls("PUT", "PATCH") if sink.name in call.path]
    assert order == ["stop", "offsets", "resume"]
    # once: what the consumer does afterwards is its own affair
    sink.send(5)
    sink.await_offsets(15)
    assert sink.calls("stop") == 1


@pytest.mark.requirement("RST-03")
@pytest.mark.requirement("RST-05")
@pytest.mark.requirement("RST-10")
@pytest.mark.slow
def test_records_are_skipped_to_the_end(connectors: Connectors) -> None:
    sink = connectors.sink(lines=3)
    sink.await_offsets(3)
    connectors.cluster.merge(sink.body, {"spec": {"state": "paused"}})
    sink.await_state("PAUSED")
    sink.send(50)
    reset = connectors.reset(sink, "latest").create().await_done()
    assert reset.rows() == [(0, 3, 53)]
    assert sink.live_state() == "PAUSED", "it is what it was before"
    assert sink.offsets() == {0: 53}
    connectors.cluster.merge(sink.body, {"spec": {"state": "running"}})
    sink.await_state("RUNNING")
    sink.send(1)
    eventually(lambda: "0:53" in sink.lines(), 60)
    assert sink.lines() == ["0:0", "0:1", "0:2", "0:53"]


@pytest.mark.requirement("RST-11")
@pytest.mark.requirement("RST-13")
@pytest.mark.requirement("RST-14")
@pytest.mark.slow
def test_a_time_is_found_in_every_partition_or_refused(connectors: Connectors, topics: Topics) -> None:
    now = int(time.time() * 1000)
    hour = 3_600_000
    sink = connectors.sink(partitions=4, state="stopped")
    sink.send_at(0, now - 5 * hour, now - 3 * hour, now - hour)
    sink.send_at(1, now - 2 * hour, now - hour)
    sink.send_at(2, now - 4 * hour)
    # partition 3 stays empty
    sink.await_state("STOPPED")
    reset = connectors.reset(sink, rfc3339(now - 3 * hour)).create().await_done()
    # none of its offsets is committed: -2 stands for the beginning
    assert reset.rows() == [(0, -2, 1), (1, -2, 0), (2, -2, 1), (3, -2, 0)]
    assert sink.offsets() == {0: 1, 1: 0, 2: 1, 3: 0}
    assert sink.live_state() == "STOPPED"
    # before the oldest record of the topic
    early = connectors.reset(sink, rfc3339(now - 6 * hour)).create()
    failure = early.await_failure("OffsetsUpdated")
    assert failure["reason"] == "FailedToUpdateOffsets"
    assert "outside the retention window" in failure["message"]
    assert early.conditions() == {
        "RefMapped": "True",
        "AcquireDataPlaneServices": "True",
        "ConsumerGroupsStopped": "Unknown",
        "OffsetsUpdated": "False",
        "ConsumerGroupsStarted": "Unknown",
        "Succeeded": "False",
    }
    # records of a partition were lost: what was before its first one is not known any more
    for deleted in topics.admin._client.delete_records([_partition(sink.name, 0, 1)]).values():
        deleted.result()
    lost = connectors.reset(sink, rfc3339(now - 4 * hour)).create()
    assert "0 is offset 1" in lost.await_failure("OffsetsUpdated")["message"]
    assert sink.offsets() == {0: 1, 1: 0, 2: 1, 3: 0}
    # after the last record, but not in the future
    late = connectors.reset(sink, rfc3339(now - hour // 2)).create().await_done()
    assert [row[2] for row in late.rows()] == [3, 2, 1, 0]


def _partition(topic: str, partition: int, offset: int) -> object:
    import confluent_kafka

    return confluent_kafka.TopicPartition(topic, partition, offset)


@pytest.mark.requirement("RST-13")
@pytest.mark.requirement("RST-14")
@pytest.mark.requirement("RST-29")
@pytest.mark.slow
def test_a_time_in_the_future_never_becomes_valid_and_disturbs_nobody(connectors: Connectors) -> None:
    sink = connectors.sink(lines=3)
    sink.await_offsets(3)
    at_ms = int(time.time() * 1000) + 6000
    reset = connectors.reset(sink, rfc3339(at_ms)).create()
    assert "in the future" in reset.await_failure("OffsetsUpdated")["message"]

    def attempts() -> int:
        return len(connectors.cluster.events(reset.body))

    eventually(lambda: time.time() * 1000 > at_ms, 15)
    before = attempts()
    eventually(lambda: attempts() > max(before, 3), 60, "it was not tried again")
    assert {each["reason"] for each in connectors.cluster.events(reset.body)} == {"InternalError"}
    assert reset.conditions()["Succeeded"] == "False"
    assert sink.calls("stop") == 0
    assert sink.offsets() == {0: 3}
    connectors.cluster.delete(reset.body)
    eventually(lambda: connectors.cluster.find(reset.body) is None, 30)


@pytest.mark.requirement("RST-01")
@pytest.mark.requirement("RST-12")
@pytest.mark.parametrize(
    "value",
    [
        "Earliest", "LATEST", "", "yesterday", "2026-05-01", "2026-05-01T12:00:00", "2026-05-01 12:00:00Z",
        "2026-13-01T00:00:00Z", "2026-05-01T25:00:00Z", "1780000000", "-2",
    ],
)  # fmt: skip
def test_other_times_are_refused_at_once(cluster: Cluster, namespace: str, value: str) -> None:
    with pytest.raises(KubeRefused) as refused:
        cluster.create(_reset(namespace, value))
    assert refused.value.status == 422
    assert "spec.offset.time" in refused.value.message


@pytest.mark.requirement("RST-12")
@pytest.mark.parametrize("value", ["earliest", "latest", "2026-05-01T12:00:00Z", "2026-05-01T12:00:00.123456789+02:00"])
def test_valid_times_are_accepted(cluster: Cluster, namespace: str, value: str) -> None:
    cluster.create(_reset(namespace, value))


@pytest.mark.requirement("RST-01")
@pytest.mark.parametrize("missing", ["apiVersion", "kind", "name"])
def test_a_reference_is_complete(cluster: Cluster, namespace: str, missing: str) -> None:
    body = _reset(namespace, "latest")
    del body["spec"]["ref"][missing]
    with pytest.raises(KubeRefused) as refused:
        cluster.create(body)
    assert f"spec.ref.{missing}" in refused.value.message


@pytest.mark.requirement("RST-04")
def test_the_spec_cannot_be_changed(cluster: Cluster, namespace: str) -> None:
    body = _reset(namespace, "latest")
    cluster.create(body)
    for change in ({"offset": {"time": "earliest"}}, {"ref": {"name": "another"}}, {"ref": {"namespace": "another"}}):
        with pytest.raises(KubeRefused) as refused:
            cluster.merge(body, {"spec": change})
        assert "Immutable fields changed" in refused.value.message
    cluster.merge(body, {"metadata": {"labels": {"may": "change"}}})


def _reset(namespace: str, value: str) -> dict[str, object]:
    ref = {"apiVersion": V1BETA2, "kind": "KafkaConnector", "name": "nobody"}
    return {
        "apiVersion": "kafka.eventing.knative.dev/v1alpha1",
        "kind": "ResetOffset",
        "metadata": {"name": f"reset-{uuid.uuid4().hex[:8]}", "namespace": namespace},
        "spec": {"offset": {"time": value}, "ref": ref},
    }


@pytest.mark.requirement("RST-04")
@pytest.mark.requirement("RST-06")
@pytest.mark.slow
def test_what_is_done_is_done(
    cluster: Cluster, namespace: str, make_operator: MakeOperator, make_connectors: Callable[..., Connectors]
) -> None:
    operator = make_operator(namespace)
    connectors = make_connectors(namespace)
    sink = connectors.sink(lines=4)
    sink.await_offsets(4)
    reset = connectors.reset(sink, "earliest").create().await_done()
    eventually(lambda: not reset.get()["metadata"].get("finalizers"), 30)
    sink.await_offsets(4)
    operator.kill()
    connectors.rest.clear()
    cluster.merge(reset.body, {"metadata": {"labels": {"changed": "yes"}}})
    version = reset.get()["metadata"]["resourceVersion"]
    make_operator(namespace)
    eventually(lambda: "ResetOffsetSkipped" in reasons_of_events(cluster, reset), 60)
    assert reset.get()["metadata"]["resourceVersion"] == version
    cluster.delete(reset.body)
    assert cluster.find(reset.body) is None
    sink.send(1)
    sink.await_offsets(5)
    assert connectors.rest.calls("PATCH") == []
    assert sink.calls("stop") == 0
    assert len(sink.lines()) == 9


@pytest.mark.requirement("RST-18")
@pytest.mark.requirement("RST-20")
@pytest.mark.requirement("RST-23")
@pytest.mark.slow
def test_all_connectors_of_the_group_are_stopped_and_each_is_started_once(connectors: Connectors) -> None:
    group = f"together-{uuid.uuid4().hex[:8]}"
    first = connectors.sink(lines=4, consumer__override__group__id=group)
    second = connectors.sink(lines=2, consumer__override__group__id=group)
    first.await_offsets(4)
    eventually(lambda: len(second.lines()) == 2, 90)
    later = max(first, second, key=lambda sink: sink.name != first.name)
    connectors.rest.refuse("PUT", f"/{later.name}/resume", 500, "not yet")
    reset = connectors.reset(first, "earliest").create()
    assert "not yet" in reset.await_failure("ConsumerGroupsStarted")["message"]
    eventually(lambda: second.calls("resume") >= 2, 60)
    calls = [
        call for call in connectors.rest.calls("PUT", "PATCH") if call.path.rpartition("/")[2] in ("stop", "offsets")
    ]
    assert {call.path.split("/")[2] for call in calls[:2]} == {first.name, second.name}
    assert calls[2].method == "PATCH"
    connectors.rest.before.clear()
    reset.await_done()
    assert first.calls("resume") == 1
    assert reset.status["topic"] == first.name
    eventually(lambda: len(first.lines()) == 8, 60)
    assert len(second.lines()) == 2


@pytest.mark.requirement("RST-07")
@pytest.mark.slow
def test_two_resets_of_one_group_run_one_after_the_other(connectors: Connectors) -> None:
    sink = connectors.sink(lines=4)
    sink.await_offsets(4)
    resets = [connectors.reset(sink, time).create() for time in ("earliest", "latest")]
    for reset in resets:
        reset.await_done()
    verbs = [call.path.rpartition("/")[2] for call in connectors.rest.calls("PUT", "PATCH")]
    steps = [verb for verb in verbs if verb in ("stop", "resume")]
    assert steps == ["stop", "resume", "stop", "resume"]

    def leases() -> list[str]:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{connectors.namespace}/leases"
        found = connectors.cluster.ask("GET", path)["items"]
        return [each for each in found if each["metadata"]["annotations"].get("seamark.dev/group") == sink.group]

    eventually(lambda: leases() == [], 30, "the lock was not given back")


@pytest.mark.requirement("RST-08")
@pytest.mark.slow
def test_a_lock_whose_holder_is_gone_runs_out(connectors: Connectors) -> None:
    from seamark.operator.leases import GroupLease

    sink = connectors.sink(lines=4)
    sink.await_offsets(4)
    lease = GroupLease(None, connectors.namespace, sink.group, "somebody/else/1")  # type: ignore[arg-type]
    body = lease._body(datetime.now(UTC))
    body["spec"]["leaseDurationSeconds"] = 8
    connectors.cluster.create(body)
    reset = connectors.reset(sink, "earliest").create()
    eventually(lambda: reset.conditions().get("AcquireDataPlaneServices") == "True", 30)
    assert reset.conditions()["ConsumerGroupsStopped"] == "Unknown"
    assert sink.calls("stop") == 0
    reset.await_done(60)
