"""KIP-875 from the inside: what the hook of a connector is asked when, and what is left in Kafka.

The connectors are made to be observed, on herders in this process. What any client can see of FileStream connectors is
in tests/compat.
"""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fixtures.herders import KINDS, Case, MakeCase, Rows, in_order
from fixtures.segments import Batch, batches
from fixtures.worker import Topics
from seamark.connector import SinkConnector, SourceConnector, SourcePartition, TopicPartition
from seamark.errors import FencedError
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.consumer import RecordConsumer
from seamark.kafka.producer import RecordProducer
from seamark.storage.offset_keys import decode_key, encode_key, encode_value
from seamark.testing.waiting import eventually

MOODY = {"source": "offset_plugins:MoodySource", "sink": "offset_plugins:MoodySink"}
UNHOOKED = {"source": "offset_plugins:UnhookedSource", "sink": "offset_plugins:UnhookedSink"}
CALLS = {"alter": "altered", "reset": "reset"}
REFUSAL = "these offsets are not to be had"
DOCS = Path(__file__).parents[2] / "docs"


class Offsets:
    """What a test of one kind of connector changes."""

    def __init__(self, case: Case, kind: str) -> None:
        self.case, self.kind = case, kind
        self.before = self.rows(3, 5)
        self.after = self.rows(8, 5)

    def rows(self, first: int | None, second: int | None) -> Rows:
        if self.kind == "source":
            return [
                ({"source": name}, None if seq is None else {"seq": seq})
                for name, seq in (("0.0", first), ("0.1", second))
            ]
        return [
            (
                {"kafka_partition": number, "kafka_topic": self.case.topic},
                None if offset is None else {"kafka_offset": offset},
            )
            for number, offset in enumerate((first, second))
        ]

    def hook_rows(self, *values: int | None) -> list[list[Any]]:
        """How the plugin notes what it was given."""
        if self.kind == "source":
            return [[{"source": f"0.{n}"}, None if v is None else {"seq": v}] for n, v in enumerate(values)]
        return [[[self.case.topic, number], value] for number, value in enumerate(values)]

    def change(self, verb: str, **options: bool) -> tuple[int, str]:
        connect, name = self.case.connect, self.case.name
        return connect.reset(name, **options) if verb == "reset" else connect.alter(name, self.after[0], **options)

    def stored(self) -> Rows:
        return self.case.connect.offsets(self.case.name)


def stopped(make_case: MakeCase, topics: Topics, cluster: Any, kind: str, classes: dict[str, str], **more: Any) -> Any:
    """A connector that was created stopped and given offsets; nothing of it has ever run."""
    case = make_case(cluster, classes[kind], **({"partitions": 2} if kind == "source" else {}), **more)
    if kind == "sink":
        topics.create(case.topic, 2)
        topics.send(case.topic, [f"r{n}" for n in range(10)], 0)
        topics.send(case.topic, [f"r{n}" for n in range(10)], 1)
    offsets = Offsets(case.create("stopped"), kind)
    assert case.connect.alter(case.name, *offsets.before)[0] == 200
    return offsets


def covered(verb: str) -> str:
    return f"The offsets for this connector have been {CALLS[verb]} successfully"


def not_covered(verb: str) -> str:
    return (
        f"The Connect framework-managed offsets for this connector have been {CALLS[verb]} successfully. However, if "
        f"this connector manages offsets externally, they will need to be manually {CALLS[verb]} in the system that "
        "the connector uses."
    )


# --- the hook ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("K875-36")
@pytest.mark.parametrize("base", [SourceConnector, SinkConnector])
def test_the_hook_is_optional_and_says_no_by_default(base: type[Any]) -> None:
    assert list(inspect.signature(base.alter_offsets).parameters) == ["self", "config", "offsets"]
    assert "alter_offsets" not in base.__abstractmethods__
    assert base.alter_offsets(object(), {}, {}) is False


@pytest.mark.requirement("K875-38")
@pytest.mark.parametrize("base", [SourceConnector, SinkConnector])
def test_the_documentation_of_the_hook_says_what_it_should_not_do(base: type[Any]) -> None:
    text = " ".join((base.alter_offsets.__doc__ or "").split())
    assert "NotImplementedError" in text
    assert "should not clear data" in text
    assert "may be called twice" in text


@pytest.mark.requirement("K875-08")
@pytest.mark.requirement("K875-09")
@pytest.mark.requirement("K875-10")
@pytest.mark.requirement("K875-16")
@pytest.mark.requirement("K875-38")
@pytest.mark.requirement("K875-45")
@pytest.mark.parametrize("kind", MOODY)
@pytest.mark.parametrize("cluster", KINDS)
def test_what_the_hook_does_decides_the_answer(make_case: MakeCase, topics: Topics, cluster: str, kind: str) -> None:
    offsets = stopped(make_case, topics, cluster, kind, MOODY)
    case = offsets.case
    failures = {
        "unsupported": f"Failed to modify offsets for connector {case.name} because it doesn't support external "
        "modification of offsets",
        "refuse": REFUSAL,
        "raise": f"Failed to modify offsets for {kind} connector {case.name}",
    }
    for verb in CALLS:
        for says, message in failures.items():
            case.say("hook.says", says)
            assert offsets.change(verb) == (500, message), (verb, says)
            assert offsets.stored() == offsets.before, f"{verb}, {says}: something was changed"
    left = {"alter": offsets.after, "reset": []}
    for verb in CALLS:
        for says, message in {"true": covered(verb), "false": not_covered(verb)}.items():
            case.say("hook.says", says)
            assert offsets.change(verb) == (200, message), (verb, says)
            assert offsets.stored() == left[verb]


@pytest.mark.requirement("K875-09")
@pytest.mark.requirement("K875-43")
@pytest.mark.requirement("K875-45")
@pytest.mark.parametrize("kind", UNHOOKED)
@pytest.mark.parametrize("cluster", KINDS)
def test_connector_without_a_hook(make_case: MakeCase, topics: Topics, cluster: str, kind: str) -> None:
    offsets = stopped(make_case, topics, cluster, kind, UNHOOKED)
    assert offsets.change("alter") == (200, not_covered("alter"))
    assert offsets.stored() == offsets.after
    assert offsets.change("reset") == (200, not_covered("reset"))
    assert offsets.stored() == []


@pytest.mark.requirement("K875-16")
@pytest.mark.requirement("K875-17")
@pytest.mark.requirement("K875-36")
@pytest.mark.requirement("K875-37")
@pytest.mark.parametrize("kind", MOODY)
@pytest.mark.parametrize("cluster", KINDS)
def test_the_hook_is_asked_before_anything_is_changed(
    make_case: MakeCase, topics: Topics, cluster: str, kind: str
) -> None:
    offsets = stopped(make_case, topics, cluster, kind, MOODY)
    case = offsets.case
    asked = len(case.observed.calls("alter_offsets"))
    given = {"alter": offsets.hook_rows(8), "reset": offsets.hook_rows(None, None)}
    left = {"alter": offsets.after, "reset": []}
    before = offsets.before
    with ThreadPoolExecutor(1) as pool:
        for number, verb in enumerate(CALLS):
            case.say("hook.blocks", verb)
            answer = pool.submit(offsets.change, verb)
            calls = case.observed.wait_for("alter_offsets", lambda calls, n=number: len(calls) > asked + n)  # type: ignore[misc]
            assert offsets.stored() == before, "changed before the hook had agreed"
            assert not answer.done()
            case.observed.release(verb)
            assert answer.result(60) == (200, covered(verb))
            assert offsets.stored() == left[verb]
            before = left[verb]
            assert sorted(map(str, calls[-1]["offsets"])) == sorted(map(str, given[verb]))
            types = {"source": ["SourcePartition", "dict"], "sink": ["TopicPartition", "int"]}[kind]
            assert calls[-1]["types"] == ([types[0], types[1]] if verb == "alter" else ["NoneType", types[0]])
    case.say("hook.blocks", "")
    assert offsets.change("reset") == (200, covered("reset")), "the same once more"
    assert [call["was_started"] for call in case.observed.calls("alter_offsets")] == [False] * (asked + 3)
    assert len(case.observed.instances(None)) == 0, "a stopped connector was started"


@pytest.mark.requirement("K875-39")
@pytest.mark.requirement("K875-16")
def test_the_format_of_sink_offsets_is_checked_before_the_hook(make_case: MakeCase, topics: Topics) -> None:
    offsets = stopped(make_case, topics, "distributed", "sink", MOODY)
    case, asked = offsets.case, len(offsets.case.observed.calls("alter_offsets"))
    good = offsets.after[0][0]
    for partition, offset in [({}, None), ({**good, "kafka_partition": "x"}, None), (good, {"kafka_offset": "1.5"})]:
        assert case.connect.alter(case.name, offsets.after[0], (partition, offset))[0] == 400
    assert len(case.observed.calls("alter_offsets")) == asked
    assert offsets.stored() == offsets.before


@pytest.mark.requirement("K875-13")
@pytest.mark.parametrize("cluster", ["distributed", "exactly-once"])
def test_refused_while_the_config_topic_has_tasks(make_case: MakeCase, topics: Topics, cluster: str) -> None:
    offsets = stopped(make_case, topics, cluster, "source", MOODY)
    case = offsets.case
    asked = len(case.observed.calls("alter_offsets"))
    configs = case.cluster.nodes[0].herder._configs
    configs.put_task_configs(case.name, [{"task.class": "x"}])
    for verb in CALLS:
        status, message = offsets.change(verb)
        assert status == 400
        assert message.startswith("Connectors must be in the STOPPED state before their offsets can be modified.")
        assert f"'/connectors/{case.name}/stop'" in message
    assert len(case.observed.calls("alter_offsets")) == asked
    configs.put_task_configs(case.name, [])
    assert offsets.change("alter")[0] == 200


# --- what is left in Kafka --------------------------------------------------------------------------------------------


def entries(servers: str, topic: str, name: str) -> dict[SourcePartition, bytes | None]:
    """What an offsets topic holds last of each partition of a connector: None for a tombstone."""
    reader = Topics(servers)
    partitions = reader.admin.partitions_of([topic])
    ends = reader.admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=True)
    consumer = RecordConsumer({"bootstrap.servers": servers, "isolation.level": "read_committed"})
    found: dict[SourcePartition, bytes | None] = {}
    try:
        consumer.assign(dict.fromkeys(partitions, 0))

        def read() -> bool:
            for message in consumer.read(10_000, 0.1):
                decoded = decode_key(message.key())
                if decoded is not None and decoded[0] == name:
                    found[decoded[1]] = message.value()
            positions = consumer.positions()
            return all(positions.get(partition, 0) >= end for partition, end in ends.items())

        eventually(read, 60, f"{topic} could not be read")
    finally:
        consumer.close()
        reader.close()
    return found


def put_offset(servers: str, topic: str, name: str, partition: dict[str, Any], offset: dict[str, Any] | None) -> None:
    """As another worker would."""
    with RecordProducer({"bootstrap.servers": servers}) as producer:
        producer.send(topic, encode_value(offset), key=encode_key(name, SourcePartition(partition)))
        assert producer.flush(30) == 0


def end_of(broker: EmbeddedBroker, topic: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for batch in batches(broker.data_dir, topic):
        found[batch.partition] = batch.last_offset
    return found


def since(broker: EmbeddedBroker, topic: str, end: dict[int, int]) -> list[Batch]:
    return [batch for batch in batches(broker.data_dir, topic) if batch.offset > end.get(batch.partition, -1)]


def zombie(broker: EmbeddedBroker, transactional_id: str, topic: str) -> RecordProducer:
    """A task that was left behind, with an open transaction."""
    producer = RecordProducer({"bootstrap.servers": broker.bootstrap_servers}, transactional_id)
    producer.init_transactions(30)
    producer.begin()
    producer.send(topic, b"late")
    producer.flush(30)
    return producer


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


# --- what tasks see ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("K875-01")
@pytest.mark.requirement("K875-40")
@pytest.mark.requirement("K875-44")
@pytest.mark.requirement("K875-47")
@pytest.mark.parametrize("cluster", KINDS)
def test_source_goes_on_where_it_was_put(make_case: MakeCase, topics: Topics, cluster: str) -> None:
    case = make_case(cluster, MOODY["source"], max__messages=6, has__work="auto")
    topics.create(case.topic)
    case.create()
    at_end: Rows = [({"source": "0"}, {"seq": 6})]
    eventually(lambda: case.connect.offsets(case.name) == at_end, 60)
    assert case.connect.status(case.name)["connector"]["state"] == "RUNNING"
    case.connect.stop(case.name)
    assert case.connect.alter(case.name, ({"source": "0"}, {"seq": 4}))[0] == 200
    assert case.connect.offsets(case.name) == [({"source": "0"}, {"seq": 4})]
    case.connect.resume(case.name)
    eventually(lambda: case.connect.offsets(case.name) == at_end, 60)
    assert case.observed.calls("start", task=0)[-1]["offsets"] == [[{"source": "0"}, {"seq": 4}]]
    case.connect.stop(case.name)
    assert case.connect.reset(case.name)[0] == 200
    case.connect.resume(case.name)
    eventually(lambda: case.connect.offsets(case.name) == at_end, 60)
    assert case.observed.calls("start", task=0)[-1]["offsets"] == []
    numbers = [int(value.rpartition("-")[2]) for value in topics.values(case.topic)]
    assert numbers == [1, 2, 3, 4, 5, 6, 5, 6, 1, 2, 3, 4, 5, 6]


@pytest.mark.requirement("K875-01")
@pytest.mark.requirement("K875-40")
@pytest.mark.requirement("K875-44")
@pytest.mark.requirement("K875-47")
@pytest.mark.requirement("K875-49")
@pytest.mark.parametrize("cluster", ["standalone", "distributed"])
def test_sink_goes_on_where_it_was_put(make_case: MakeCase, topics: Topics, cluster: str) -> None:
    case = make_case(cluster, MOODY["sink"])
    group = case.config["consumer.override.group.id"] = f"group-of-{case.name}"
    topics.create(case.topic)
    topics.send(case.topic, [f"r{number}" for number in range(6)])
    case.create()
    where = {"kafka_partition": 0, "kafka_topic": case.topic}
    eventually(lambda: case.connect.offsets(case.name) == [(where, {"kafka_offset": 6})], 60)
    assert topics.group_offsets(group) == {TopicPartition(case.topic, 0): 6}
    assert topics.group_offsets(f"connect-{case.name}") == {}
    case.connect.stop(case.name)
    assert case.connect.alter(case.name, (where, {"kafka_offset": 4}))[0] == 200
    assert topics.group_offsets(group) == {TopicPartition(case.topic, 0): 4}
    case.connect.resume(case.name)
    eventually(lambda: read_by(case) == [*range(6), 4, 5], 60)
    case.connect.stop(case.name)
    assert case.connect.reset(case.name)[0] == 200
    assert topics.group_offsets(group) == {}
    case.connect.resume(case.name)
    eventually(lambda: read_by(case) == [*range(6), 4, 5, *range(6)], 60)


def read_by(case: Case) -> list[int]:
    """The offsets of all records that a sink was given."""
    return [record[2] for call in case.observed.calls("put") for record in call["records"]]


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


# --- documentation ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("K875-43")
def test_the_documentation_names_the_extra_right() -> None:
    text = (DOCS / "guides" / "changing-offsets.md").read_text()
    assert "`<group.id>-<connector>-0`" in text
    assert "ACL" in text
