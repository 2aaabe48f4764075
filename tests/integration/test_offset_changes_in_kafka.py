"""KIP-875 from the inside: what a change of offsets leaves in Kafka, and in which Kafka."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fixtures.herders import MakeCase, Rows, in_order
from fixtures.offset_changes import (
    CALLS,
    MOODY,
    covered,
    end_of,
    entries,
    put_offset,
    read_by,
    since,
    stopped,
    zombie,
)
from fixtures.segments import Batch, batches
from fixtures.worker import Topics
from seamark.connector import SourcePartition, TopicPartition
from seamark.errors import FencedError
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.storage.offset_keys import encode_value
from seamark.testing.waiting import eventually

MANY: Rows = [({"source": f"s{number}"}, {"seq": number}) for number in range(12)]


@pytest.mark.requirement("K875-19")
@pytest.mark.requirement("K875-20")
@pytest.mark.parametrize("has_own_topic", [False, True])
def test_offsets_change_in_one_transaction_of_task_0(
    make_case: MakeCase, topics: Topics, broker: EmbeddedBroker, topic_name: str, has_own_topic: bool
) -> None:
    settings = {"offsets__storage__topic": topic_name} if has_own_topic else {}
    case = make_case("exactly-once", MOODY["source"], **settings).create("stopped")
    topic = settings.get("offsets__storage__topic") or case.cluster.properties["offset.storage.topic"]
    scratch = topics.create(case.topic)
    task = RecordProducer({"bootstrap.servers": broker.bootstrap_servers}, f"{case.cluster.group}-{case.name}-0")
    with task:
        task.init_transactions(30)
        task.begin()
        task.send(scratch, b"x")
        task.commit(30)
        theirs = next(batch for batch in batches(broker.data_dir, scratch) if not batch.is_control)
        for rows in (MANY, [(partition, None) for partition, _ in MANY]):
            end = end_of(broker, topic)
            assert case.connect.alter(case.name, *rows)[0] == 200
            assert_one_transaction(since(broker, topic, end), theirs, len(MANY))
        assert case.connect.alter(case.name, *MANY)[0] == 200
        end = end_of(broker, topic)
        assert case.connect.reset(case.name)[0] == 200
        assert_one_transaction(since(broker, topic, end), theirs, len(MANY))
        with pytest.raises(FencedError):
            task.begin()
            task.send(scratch, b"y")
            task.commit(30)


def assert_one_transaction(found: list[Batch], theirs: Batch, records: int) -> None:
    """Fail unless these batches are one committed transaction of the producer id, taken over from `theirs`."""
    written = [batch for batch in found if not batch.is_control]
    assert sum(batch.records for batch in written) == records
    assert all(batch.is_transactional for batch in written)
    assert {batch.producer_id for batch in found} == {theirs.producer_id}
    assert len({batch.producer_epoch for batch in written}) == 1
    assert written[0].producer_epoch > theirs.producer_epoch
    markers = [batch for batch in found if batch.is_control]
    assert all(marker.is_commit for marker in markers)
    # One marker in each partition, after all of its records: one transaction, not one after the other.
    assert sorted(marker.partition for marker in markers) == sorted({batch.partition for batch in written})
    assert len({batch.partition for batch in written}) > 1
    for marker in markers:
        assert all(batch.offset < marker.offset for batch in written if batch.partition == marker.partition)


@pytest.mark.requirement("K875-18")
def test_former_tasks_are_fenced_before_the_hook(make_case: MakeCase, topics: Topics, broker: EmbeddedBroker) -> None:
    case = make_case("exactly-once", MOODY["source"], tasks__max=2, max__messages=5, has__work="auto")
    topics.create(case.topic)
    case.create()
    before: Rows = [({"source": "0"}, {"seq": 5}), ({"source": "1"}, {"seq": 5})]
    eventually(lambda: case.connect.offsets(case.name) == before, 60)
    with ThreadPoolExecutor(1) as pool:
        for verb in CALLS:
            case.connect.await_state(case.name, "RUNNING", ["RUNNING"] * 2)
            case.connect.stop(case.name)
            asked = len(case.observed.calls("alter_offsets"))
            # Task 1: changing the offsets themselves would only put task 0 out.
            late = zombie(broker, f"{case.cluster.group}-{case.name}-1", case.topic)
            case.say("hook.blocks", verb)
            work = (
                (lambda: case.connect.reset(case.name))
                if verb == "reset"
                else (lambda: case.connect.alter(case.name, ({"source": "0"}, {"seq": 2})))
            )
            answer = pool.submit(work)
            case.observed.wait_for("alter_offsets", lambda calls, asked=asked: len(calls) > asked)  # type: ignore[misc]
            with late, pytest.raises(FencedError):
                late.commit(30)
            assert case.connect.offsets(case.name) == before, "changed before the hook had agreed"
            case.observed.release(verb)
            assert answer.result(60)[0] == 200
            if verb == "alter":
                case.connect.resume(case.name, ["RUNNING"] * 2)
                eventually(lambda: case.connect.offsets(case.name) == before, 60)
    assert case.connect.offsets(case.name) == []
    assert not any(value == "late" for value in topics.values(case.topic))


@pytest.mark.requirement("K875-21")
@pytest.mark.parametrize("cluster", ["distributed", "exactly-once"])
def test_tombstones_are_there_when_the_answer_is(
    make_case: MakeCase, topics: Topics, broker: EmbeddedBroker, cluster: str
) -> None:
    offsets = stopped(make_case, topics, cluster, "source", MOODY)
    case, servers = offsets.case, broker.bootstrap_servers
    topic = case.cluster.properties["offset.storage.topic"]
    # What another worker wrote a moment ago is known only to one who reads to the end.
    put_offset(servers, topic, case.name, {"source": "late"}, {"seq": 1})
    assert case.connect.reset(case.name)[0] == 200
    assert entries(servers, topic, case.name) == dict.fromkeys(
        map(SourcePartition, ({"source": "0.0"}, {"source": "0.1"}, {"source": "late"}))
    )
    asked = case.observed.calls("alter_offsets")[-1]["offsets"]
    assert [{"source": "late"}, None] in asked
    assert case.connect.offsets(case.name) == []


@pytest.mark.requirement("K875-22")
@pytest.mark.requirement("K875-23")
@pytest.mark.requirement("K875-48")
@pytest.mark.requirement("K875-50")
@pytest.mark.parametrize("cluster", ["distributed", "exactly-once"])
def test_reset_clears_both_topics(
    make_case: MakeCase, topics: Topics, broker: EmbeddedBroker, topic_name: str, cluster: str
) -> None:
    case = make_case(cluster, MOODY["source"], offsets__storage__topic=topic_name).create("stopped")
    servers, shared = broker.bootstrap_servers, case.cluster.properties["offset.storage.topic"]
    a, b, both = {"source": "a"}, {"source": "b"}, {"source": "both"}
    assert case.connect.alter(case.name, (both, {"seq": 1}), (a, {"seq": 1}))[0] == 200
    put_offset(servers, shared, case.name, a, None)  # now only in its own topic
    put_offset(servers, shared, case.name, b, {"seq": 2})  # from before it had a topic of its own
    assert case.connect.offsets(case.name) == in_order([(both, {"seq": 1}), (a, {"seq": 1}), (b, {"seq": 2})])
    ends = {topic: end_of(broker, topic) for topic in (shared, topic_name)}
    assert case.connect.reset(case.name) == (200, covered("reset"))
    every = dict.fromkeys(map(SourcePartition, (a, b, both)))
    assert entries(servers, shared, case.name) == every
    assert entries(servers, topic_name, case.name) == every
    assert case.connect.offsets(case.name) == []
    assert case.observed.calls("alter_offsets")[-1]["types"] == ["NoneType", "SourcePartition"]
    if cluster == "exactly-once":
        assert all(batch.is_transactional for batch in since(broker, topic_name, ends[topic_name]))
        assert not any(batch.is_transactional for batch in since(broker, shared, ends[shared]))
    for _ in range(2):
        assert case.connect.reset(case.name) == (200, covered("reset"))


@pytest.mark.requirement("K875-25")
@pytest.mark.requirement("K875-10")
@pytest.mark.parametrize("cluster", ["standalone", "distributed"])
def test_group_with_foreign_members(make_case: MakeCase, topics: Topics, broker: EmbeddedBroker, cluster: str) -> None:
    import confluent_kafka

    offsets = stopped(make_case, topics, cluster, "sink", MOODY)
    case, group = offsets.case, f"connect-{offsets.case.name}"
    config = {"bootstrap.servers": broker.bootstrap_servers, "group.id": group, "enable.auto.commit": False}
    member = confluent_kafka.Consumer(config)
    try:
        member.subscribe([case.topic])

        def joined() -> bool:
            member.poll(0.1)
            return bool(member.assignment())

        eventually(joined, 60)
        for verb in CALLS:
            status, message = offsets.change(verb)
            assert status == 500
            assert f"Failed to {verb} consumer group offsets for connector {case.name}" in message
            assert "this operation can be safely retried" in message
            assert offsets.stored() == offsets.before
    finally:
        member.close()
    assert offsets.change("reset") == (200, covered("reset"))
    assert offsets.stored() == []


@pytest.mark.requirement("K875-24")
def test_reset_of_a_sink_deletes_its_group(make_case: MakeCase, topics: Topics) -> None:
    offsets = stopped(make_case, topics, "distributed", "sink", MOODY)
    group = f"connect-{offsets.case.name}"
    assert topics.admin.describe_group(group).state == "EMPTY"
    assert offsets.change("reset")[0] == 200
    assert topics.admin.describe_group(group).state == "DEAD"
    assert offsets.change("reset")[0] == 200


# --- other clusters ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Another Kafka."""
    with EmbeddedBroker(tmp_path_factory.mktemp("elsewhere")) as running:
        yield running


def overridden(broker: EmbeddedBroker) -> dict[str, str]:
    roles = ("producer", "consumer", "admin")
    return {f"{role}__override__bootstrap__servers": broker.bootstrap_servers for role in roles}


@pytest.mark.requirement("K875-51")
@pytest.mark.requirement("K875-18")
@pytest.mark.parametrize("cluster", ["distributed", "exactly-once"])
def test_source_on_another_cluster(
    make_case: MakeCase, broker: EmbeddedBroker, elsewhere: EmbeddedBroker, cluster: str
) -> None:
    there = Topics(elsewhere.bootstrap_servers)
    settings = {"tasks__max": 2, "max__messages": 4, "has__work": "auto", **overridden(elsewhere)}
    case = make_case(cluster, MOODY["source"], **settings)
    if cluster == "distributed":  # with exactly-once its offsets are there anyway, as its records are
        case.config["offsets.storage.topic"] = f"{case.name}-offsets"
    there.create(case.topic)
    case.create()
    here = case.cluster.properties["offset.storage.topic"]
    topic = case.config.get("offsets.storage.topic", here)
    sources = {"source": "0"}, {"source": "1"}
    at_end: Rows = [(source, {"seq": 4}) for source in sources]
    eventually(lambda: case.connect.offsets(case.name) == at_end, 60)
    case.connect.stop(case.name)
    # Task 1 on the other cluster: changing the offsets themselves would only put task 0 out.
    late = zombie(elsewhere, f"{case.cluster.group}-{case.name}-1", case.topic) if cluster == "exactly-once" else None
    assert case.connect.alter(case.name, (sources[0], {"seq": 2}))[0] == 200
    if late is not None:
        with late, pytest.raises(FencedError):
            late.commit(30)
    assert case.connect.offsets(case.name) == [(sources[0], {"seq": 2}), (sources[1], {"seq": 4})]
    assert entries(elsewhere.bootstrap_servers, topic, case.name) == {
        SourcePartition(sources[0]): encode_value({"seq": 2}),
        SourcePartition(sources[1]): encode_value({"seq": 4}),
    }
    case.connect.resume(case.name, ["RUNNING"] * 2)
    eventually(lambda: case.connect.offsets(case.name) == at_end, 60)
    values = there.values(case.topic)
    assert [value for value in values if value.startswith("0-")] == ["0-1", "0-2", "0-3", "0-4", "0-3", "0-4"]
    assert [value for value in values if value.startswith("1-")] == ["1-1", "1-2", "1-3", "1-4"]
    case.connect.stop(case.name)
    assert case.connect.reset(case.name)[0] == 200
    assert case.connect.offsets(case.name) == []
    for servers, name in ((elsewhere.bootstrap_servers, topic), (broker.bootstrap_servers, here)):
        assert entries(servers, name, case.name) == dict.fromkeys(map(SourcePartition, sources))
    there.close()


@pytest.mark.requirement("K875-51")
@pytest.mark.parametrize("cluster", ["standalone", "distributed"])
def test_sink_on_another_cluster(make_case: MakeCase, topics: Topics, elsewhere: EmbeddedBroker, cluster: str) -> None:
    there = Topics(elsewhere.bootstrap_servers)
    case = make_case(cluster, MOODY["sink"], **overridden(elsewhere))
    there.create(case.topic)
    there.send(case.topic, [f"r{number}" for number in range(5)])
    case.create()
    where, group = {"kafka_partition": 0, "kafka_topic": case.topic}, f"connect-{case.name}"
    eventually(lambda: case.connect.offsets(case.name) == [(where, {"kafka_offset": 5})], 60)
    case.connect.stop(case.name)
    assert case.connect.alter(case.name, (where, {"kafka_offset": 3}))[0] == 200
    assert case.connect.offsets(case.name) == [(where, {"kafka_offset": 3})]
    assert there.group_offsets(group) == {TopicPartition(case.topic, 0): 3}
    case.connect.resume(case.name)
    eventually(lambda: read_by(case) == [*range(5), 3, 4], 60)
    case.connect.stop(case.name)
    assert case.connect.reset(case.name)[0] == 200
    assert case.connect.offsets(case.name) == []
    assert there.group_offsets(group) == {}
    assert topics.admin.describe_group(group).state == "DEAD", "the worker's own cluster knows nothing of it"
    there.close()
