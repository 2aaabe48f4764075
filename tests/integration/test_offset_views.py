"""Views of offsets: tables, time lines and records of connectors that are stopped, against a real Kafka."""

from __future__ import annotations

import base64
import os
import socket
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from fixtures.herders import Cluster, Connect, herder_properties, path_of
from fixtures.worker import Topics
from seamark.client import BadRequest, ConnectClient, NotFound
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually, patience

SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
HOUR_MS = 3_600_000
NO_SPARK: Any = object()  # nothing runs here
FIRST_MS = time.time_ns() // 1_000_000 - 12 * HOUR_MS  # retention leaves it alone


@pytest.fixture(scope="module")
def cluster(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone worker, whose connectors are all stopped."""
    properties = herder_properties(broker, "standalone", tmp_path_factory.mktemp("views"))
    cluster = Cluster(properties, NO_SPARK)
    cluster.add()
    yield cluster
    cluster.close()


@pytest.fixture
def connect(cluster: Cluster) -> Connect:
    return cluster.connect()


@pytest.fixture
def client(cluster: Cluster) -> Iterator[ConnectClient]:
    with ConnectClient(cluster.nodes[0].server.url) as client:
        yield client


@pytest.fixture
def topic(broker: EmbeddedBroker, topics: Topics, topic_name: str) -> str:
    """Three partitions: ten records an hour apart; the same, of which four were deleted; none."""
    topics.create(topic_name, 3)
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for partition in range(2):
        for number in range(10):
            producer.produce(
                topic_name,
                f"value-{number}",
                f"key-{number}",
                partition=partition,
                timestamp=FIRST_MS + number * HOUR_MS,
            )
    assert producer.flush(30) == 0
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.delete_records([confluent_kafka.TopicPartition(topic_name, 1, 4)]).values():
        future.result()
    return topic_name


def sink(connect: Connect, topics: str, positions: dict[int, int] | None = None, **more: str) -> str:
    """A stopped sink that has these offsets of the first topic; its name."""
    name = f"{topics.partition(',')[0]}-sink"
    config = {"connector.class": SINK, "topics": topics, "file": os.devnull}
    connect.create(name, {**config, **{key.replace("__", "."): value for key, value in more.items()}}, "STOPPED")
    connect.await_state(name, "STOPPED")
    if positions:
        topic = topics.partition(",")[0]
        rows = [
            ({"kafka_topic": topic, "kafka_partition": number}, {"kafka_offset": at})
            for number, at in positions.items()
        ]
        assert connect.alter(name, *rows)[0] == 200
    return name


def mirror(connect: Connect, servers: str, topic: str, positions: dict[int, int]) -> str:
    name = f"{topic}-mirror"
    config = {
        "connector.class": MIRROR,
        "topics": topic,
        "heartbeats.replication.enabled": "false",  # others may have some on this broker
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "source.cluster.bootstrap.servers": servers,
        "target.cluster.bootstrap.servers": servers,
    }
    connect.create(name, config, "STOPPED")
    connect.await_state(name, "STOPPED")
    rows = [
        ({"cluster": "a", "partition": number, "topic": topic}, {"offset": position - 1})
        for number, position in positions.items()
    ]
    assert connect.alter(name, *rows)[0] == 200
    return name


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nobody answers."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def test_table_of_a_sink(client: ConnectClient, connect: Connect, topic: str) -> None:
    name = sink(connect, topic, {0: 3, 1: 10})
    table = client.offset_table(name)
    assert (table.kind, table.can_move, table.can_peek, table.error) == ("sink", True, True, None)
    assert [(r.topic, r.number, r.position, r.start, r.end, r.lag, r.time, r.offset) for r in table.partitions] == [
        (topic, 0, 3, 0, 10, 7, FIRST_MS + 3 * HOUR_MS, {"kafka_offset": 3}),
        (topic, 1, 10, 4, 10, 0, None, {"kafka_offset": 10}),
        (topic, 2, None, 0, 0, 0, None, None),
    ]
    assert table.partitions[2].partition == {"kafka_topic": topic, "kafka_partition": 2}
    assert (table.total.partitions, table.total.lag, table.topics) == (3, 7, [topic])
    page = client.offset_table(name, with_times=False, offset=1, limit=1)
    assert [(row.number, row.time) for row in page.partitions] == [(1, None)]
    assert page.total == table.total
    with pytest.raises(NotFound, match=topic):
        client.offset_table(name, topic="other")


def test_table_tells_what_was_lost(client: ConnectClient, connect: Connect, topic: str) -> None:
    name = sink(connect, topic, {0: 99, 1: 2})
    behind, lost, _ = client.offset_table(name).partitions
    assert (behind.lag, behind.time) == (0, None)
    assert "ends at 10" in str(behind.problem)
    assert (lost.lag, lost.time, lost.problem) == (
        6,
        FIRST_MS + 4 * HOUR_MS,
        "Records 2 to 3 were deleted before they were read.",
    )


def test_table_of_a_mirror_has_the_logs_of_its_source(
    client: ConnectClient, connect: Connect, broker: EmbeddedBroker, topic: str
) -> None:
    name = mirror(connect, broker.bootstrap_servers, topic, {0: 5})
    table = client.offset_table(name)
    assert (table.kind, table.can_move, table.error) == ("mirror", True, None)
    assert [(row.number, row.position, row.lag, row.time) for row in table.partitions] == [
        (0, 5, 5, FIRST_MS + 5 * HOUR_MS),
        (1, None, 6, None),
        (2, None, 0, None),
    ]
    assert table.partitions[0].offset == {"offset": 4}
    assert client.offset_timeline(name).positions[0].time == FIRST_MS + 5 * HOUR_MS
    assert [record.offset for record in client.offset_records(name, topic, 0, 9).records] == [4, 5, 6, 7, 8, 9]


def test_table_of_a_source_has_its_offsets_alone(
    client: ConnectClient, connect: Connect, topic_name: str, tmp_path: Path
) -> None:
    config = {"connector.class": SOURCE, "topic": topic_name, "file": str(tmp_path / "lines")}
    connect.create(topic_name, config, "STOPPED")
    connect.await_state(topic_name, "STOPPED")
    assert connect.alter(topic_name, ({"filename": "x"}, {"position": 7}))[0] == 200
    table = client.offset_table(topic_name)
    assert (table.kind, table.can_move, table.can_peek, table.error) == ("source", False, False, None)
    assert "its own partitions and offsets" in str(table.why_not)
    (row,) = table.partitions
    assert (row.partition, row.offset, row.topic, row.lag) == ({"filename": "x"}, {"position": 7}, None, None)
    with pytest.raises(BadRequest, match="does not say where what it reads begins"):
        client.offset_timeline(topic_name)


def test_timeline(client: ConnectClient, connect: Connect, topic: str) -> None:
    name = sink(connect, topic, {0: 3, 1: 10})
    timeline = client.offset_timeline(name, points=10)
    assert (timeline.topic, timeline.partitions) == (topic, 3)
    assert (timeline.from_ms, timeline.to_ms) == (FIRST_MS, FIRST_MS + 9 * HOUR_MS + 1)
    assert [bucket.records for bucket in timeline.buckets] == [1, 1, 1, 1, 2, 2, 2, 2, 2, 2]
    edges = [bucket.from_ms for bucket in timeline.buckets]
    assert edges == sorted(edges)
    assert [bucket.to_ms for bucket in timeline.buckets] == [*edges[1:], timeline.to_ms]
    assert [(each.partition, each.position, each.time) for each in timeline.positions] == [
        (0, 3, FIRST_MS + 3 * HOUR_MS),
        (1, 10, None),
        (2, None, None),
    ]
    assert sum(bucket.records for bucket in client.offset_timeline(name, topic, points=500).buckets) == 16


def test_timeline_of_records_out_of_order_counts_each_once(
    client: ConnectClient, connect: Connect, broker: EmbeddedBroker, topics: Topics, topic_name: str
) -> None:
    topics.create(topic_name)
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in (5, 1, 9, 0, 3, 9, 2):
        producer.produce(topic_name, b"x", timestamp=FIRST_MS + number * HOUR_MS)
    assert producer.flush(30) == 0
    buckets = client.offset_timeline(sink(connect, topic_name), points=9).buckets
    assert sum(bucket.records for bucket in buckets) == 7
    assert all(bucket.records >= 0 for bucket in buckets)


def test_timeline_of_nothing_and_of_one_moment(
    client: ConnectClient, connect: Connect, broker: EmbeddedBroker, topics: Topics, topic_name: str
) -> None:
    topics.create(topic_name)
    name = sink(connect, topic_name)
    timeline = client.offset_timeline(name)
    assert (timeline.from_ms, timeline.to_ms, timeline.buckets) == (None, None, [])
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for _ in range(4):
        producer.produce(topic_name, b"x", timestamp=FIRST_MS)
    assert producer.flush(30) == 0
    (bucket,) = client.offset_timeline(name).buckets
    assert (bucket.from_ms, bucket.to_ms, bucket.records) == (FIRST_MS, FIRST_MS + 1, 4)


def test_records_around_a_place(client: ConnectClient, connect: Connect, topic: str) -> None:
    name = sink(connect, topic)
    found = client.offset_records(name, topic, 0, 5, before=2, after=1)
    assert (found.start, found.end, found.is_complete) == (0, 10, True)
    assert [(record.offset, record.key, record.value) for record in found.records] == [
        (number, f"key-{number}", f"value-{number}") for number in (3, 4, 5, 6)
    ]
    assert found.records[0].timestamp == FIRST_MS + 3 * HOUR_MS
    at_end = client.offset_records(name, topic, 1, 10, before=3)
    assert [record.offset for record in at_end.records] == [7, 8, 9]
    assert [record.offset for record in client.offset_records(name, topic, 1, 4).records] == [4, 5, 6, 7, 8, 9]
    assert [record.offset for record in client.offset_records(name, topic, 1, 6, before=0, after=0).records] == [6]
    assert client.offset_records(name, topic, 2, 0).records == []


def test_records_of_any_bytes(
    client: ConnectClient, connect: Connect, broker: EmbeddedBroker, topics: Topics, topic_name: str
) -> None:
    topics.create(topic_name)
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic_name, b"\xff\xfe\x00", None, headers=[("a", b"1"), ("b", b"\xff"), ("c", None)])
    producer.produce(topic_name, None, "schlüssel")
    producer.produce(topic_name, "ü" * 50_000)
    assert producer.flush(30) == 0
    binary, deleted, long = client.offset_records(sink(connect, topic_name), topic_name, 0, 0, max_bytes=7).records
    assert (binary.key, binary.key_encoding) == (None, None)
    assert base64.b64decode(str(binary.value)) == b"\xff\xfe\x00"
    assert (binary.value_encoding, binary.value_bytes, binary.is_truncated) == ("base64", 3, False)
    assert [list(each) for each in binary.headers] == [["a", "1"], ["b", "/w=="], ["c", None]]
    assert list(binary.header_encodings) == ["utf8", "base64", None]
    assert (deleted.key, deleted.value, deleted.value_encoding, deleted.is_truncated) == ("schlüs", None, None, True)
    assert (long.value, long.value_encoding, long.value_bytes, long.is_truncated) == ("üüü", "utf8", 100_000, True)


def test_records_between_markers_and_as_the_consumer_reads(
    client: ConnectClient, connect: Connect, broker: EmbeddedBroker, topics: Topics, topic_name: str
) -> None:
    topics.create(topic_name)
    settings = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic_name}
    producer = confluent_kafka.Producer(settings)
    producer.init_transactions(30)
    for number in range(40):  # with a marker behind each, and every other one aborted
        producer.begin_transaction()
        producer.produce(topic_name, b"%d" % number)
        producer.flush(30)
        _ = producer.commit_transaction(30) if number % 2 else producer.abort_transaction(30)
    name = sink(connect, topic_name, consumer__override__isolation__level="read_committed")
    found = client.offset_records(name, topic_name, 0, 70, before=10, after=1)
    assert [record.value for record in found.records] == [str(number) for number in (*range(15, 35, 2), 35, 37)]
    assert found.is_complete
    connect.ask("DELETE", path_of(name), status=204)
    name = sink(connect, topic_name)
    found = client.offset_records(name, topic_name, 0, 70, before=2, after=1)
    assert [record.value for record in found.records] == ["33", "34", "35", "36"]


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("records?partition=0&offset=0", 400, "topic is missing"),
        ("records?topic={topic}&offset=0", 400, "partition is missing: a number from 0"),
        ("records?topic={topic}&partition=0", 400, "offset is missing"),
        ("records?topic={topic}&partition=0&offset=x", 400, "a number from 0, not 'x'"),
        ("records?topic={topic}&partition=0&offset=-1", 400, "a number from 0, not '-1'"),
        ("records?topic={topic}&partition=0&offset=11", 400, "Valid: 0 to 10"),
        ("records?topic={topic}&partition=1&offset=3", 400, "Valid: 4 to 10"),
        ("records?topic={topic}&partition=9&offset=0", 404, "Valid: 0 to 2"),
        ("records?topic=other&partition=0&offset=0", 404, "Valid: {topic}"),
        ("records?topic={topic}&partition=0&offset=0&before=101", 400, "from 0 to 100"),
        ("records?topic={topic}&partition=0&offset=0&max_bytes=1048576", 400, "max_bytes up to"),
        ("records?topic={topic}&partition=0&offset=99999999999999999999", 400, "a number from 0"),
        ("timeline?topic=other", 404, "Valid: {topic}"),
        ("timeline?points=0", 400, "from 1 to 500"),
        ("table?offset=two", 400, "not 'two'"),
        ("table?limit=0", 400, "a number from 1"),
        ("table?topic=other", 404, "Valid: {topic}"),
    ],
)
def test_bad_input_is_told_what_is_valid(
    connect: Connect, shared_sink: tuple[str, str], query: str, status: int, says: str
) -> None:
    name, topic = shared_sink
    found, message = connect.message("GET", f"{path_of(name)}/offsets/{query.format(topic=topic)}")
    assert (found, says.format(topic=topic) in message) == (status, True), message


@pytest.fixture(scope="module")
def shared_sink(cluster: Cluster, broker: EmbeddedBroker) -> tuple[str, str]:
    """A sink, and its topic as in `topic`."""
    topics = Topics(broker.bootstrap_servers)
    name = f"bad-input-{uuid.uuid4().hex[:8]}"
    try:
        return sink(cluster.connect(), filled(broker, topics, name)), name
    finally:
        topics.close()


def filled(broker: EmbeddedBroker, topics: Topics, name: str) -> str:
    topics.create(name, 3)
    for partition in range(2):
        topics.send(name, [str(number) for number in range(10)], partition)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.delete_records([confluent_kafka.TopicPartition(name, 1, 4)]).values():
        future.result()
    return name


@pytest.mark.parametrize("view", ["table", "timeline", "records?topic=x&partition=0&offset=0"])
def test_a_connector_that_does_not_exist_is_not_found(connect: Connect, view: str) -> None:
    assert connect.message("GET", f"/connectors/nobody/offsets/{view}") == (404, "Connector nobody not found")


def test_of_several_topics_one_has_to_be_named(
    client: ConnectClient, connect: Connect, topics: Topics, topic: str
) -> None:
    other = topics.create(f"{topic}-2")
    name = sink(connect, f"{topic},{other}")
    assert client.offset_table(name).topics == [topic, other]
    assert [row.topic for row in client.offset_table(name, topic=other).partitions] == [other]
    with pytest.raises(BadRequest, match=f"Valid: {topic}, {other}"):
        client.offset_timeline(name)
    assert client.offset_timeline(name, other).topic == other


def within_seconds(connect: Connect, name: str, other: str) -> tuple[Any, tuple[int, str]]:
    """The table, and another view, of a connector whose Kafka is away."""
    path, began = f"{path_of(name)}/offsets", time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        table = pool.submit(connect.ask, "GET", f"{path}/table")
        message = pool.submit(connect.message, "GET", f"{path}/{other}")
        found = table.result(), message.result()
    assert time.monotonic() - began < patience(15)
    return found


def test_a_kafka_that_is_away_is_told_within_seconds(
    connect: Connect, broker: EmbeddedBroker, topic: str, nobody: str
) -> None:
    overrides = {f"{role}__override__bootstrap__servers": nobody for role in ("consumer", "admin", "producer")}
    name = sink(connect, topic, **overrides)
    table, (status, message) = within_seconds(connect, name, f"timeline?topic={topic}")
    assert (table["partitions"], table["total"]) == ([], {"partitions": 0, "lag": None})
    assert nobody in table["error"]
    assert (status, nobody in message) == (503, True), message


def test_of_a_mirror_whose_source_is_away_offsets_are_shown(connect: Connect, topic_name: str, nobody: str) -> None:
    name = mirror(connect, nobody, topic_name, {1: 5})
    table, (status, message) = within_seconds(connect, name, "records?topic=x&partition=0&offset=0")
    (row,) = table["partitions"]
    assert (row["topic"], row["number"], row["position"], row["end"], row["problem"]) == (topic_name, 1, 5, None, None)
    assert nobody in table["error"]
    assert (status, nobody in message) == (503, True), message


def test_any_worker_can_tell(broker: EmbeddedBroker, topic: str, tmp_path: Path) -> None:
    cluster = Cluster(herder_properties(broker, "distributed", tmp_path), NO_SPARK)
    try:
        nodes = [cluster.add(), cluster.add()]
        name = sink(cluster.connect(cluster.leader), topic, {0: 3})
        for node in nodes:
            connect = cluster.connect(node)
            table = eventually(lambda asked=connect: asked.ask("GET", f"{path_of(name)}/offsets/table"), 30)
            assert [row["position"] for row in table["partitions"]] == [3, None, None]
            preview = connect.ask("POST", f"{path_of(name)}/offsets/change?dry_run=true", {"positions": "latest"})
            assert [row["skipped"] for row in preview["changes"]] == [7, 6, 0]
    finally:
        cluster.close()


def test_records_can_be_kept_from_view(broker: EmbeddedBroker, topic: str, tmp_path: Path) -> None:
    properties = herder_properties(broker, "standalone", tmp_path, seamark__rest__peek="false")
    cluster = Cluster(properties, NO_SPARK)
    cluster.add()
    try:
        connect = cluster.connect()
        name = sink(connect, topic)
        path = f"{path_of(name)}/offsets"
        status, message = connect.message("GET", f"{path}/records?topic={topic}&partition=0&offset=0")
        assert (status, "seamark.rest.peek" in message) == (403, True)
        assert connect.ask("GET", f"{path}/table")["can_peek"] is False
    finally:
        cluster.close()


def test_nothing_is_left_open(client: ConnectClient, connect: Connect, topic: str) -> None:
    name = sink(connect, topic, {0: 3})

    def look() -> None:
        client.offset_table(name)
        client.offset_timeline(name)
        client.offset_records(name, topic, 0, 3)

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    look()
    files, threads = held()
    for _ in range(10):
        look()
    # Each look has several clients; what else goes on in the process may take or give back a few.
    eventually(lambda: held()[0] < files + 10 and held()[1] < threads + 10, 10, "clients are left open")


def test_preview_counts_records(connect: Connect, topic: str) -> None:
    name = sink(connect, topic, {0: 3, 1: 6})
    path = f"{path_of(name)}/offsets"

    def preview(method: str, below: str, body: Any = None) -> list[tuple[Any, ...]]:
        changes = connect.ask(method, f"{path}{below}?dry_run=true", body)["changes"]
        rows = [(row["partition"]["kafka_partition"], row) for row in changes]
        return [
            (number, row["old"], row["new"], row["replayed"], row["skipped"])
            for number, row in sorted(rows, key=lambda each: each[0])
        ]

    assert preview("POST", "/change", {"positions": "earliest"}) == [
        (0, 3, 0, 3, 0),
        (1, 6, 4, 2, 0),
        (2, None, 0, 0, 0),
    ]
    assert preview("POST", "/change", {"positions": {f"{topic}:0": "latest"}}) == [(0, 3, 10, 0, 7)]
    assert preview("DELETE", "") == [(0, 3, 0, 3, 0), (1, 6, 4, 2, 0)], "it begins at the first record that is there"
    where = {"kafka_topic": topic, "kafka_partition": 1}
    offsets = [{"partition": where, "offset": {"kafka_offset": at}} for at in (0,)]
    assert preview("PATCH", "", {"offsets": offsets}) == [(1, 6, 0, 2, 0)], "four of six are not there any more"


def test_preview_of_a_mirror_counts_records(connect: Connect, broker: EmbeddedBroker, topic: str) -> None:
    name = mirror(connect, broker.bootstrap_servers, topic, {0: 5})
    body = {"positions": {f"{topic}:0": "earliest", f"{topic}:1": "latest"}}
    changes = connect.ask("POST", f"{path_of(name)}/offsets/change?dry_run=true", body)["changes"]
    assert [(row["old"], row["new"], row["replayed"], row["skipped"]) for row in changes] == [
        (5, 0, 5, 0),
        (None, 10, 0, 6),
    ]
