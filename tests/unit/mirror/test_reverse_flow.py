from __future__ import annotations

from typing import Any

from seamark.mirror.reverse_flow import copied_back, reversed_config, start_offsets

FORWARD = {
    "name": "a-to-b",
    "connector.class": "MirrorSourceConnector",
    "source.cluster.alias": "a",
    "target.cluster.alias": "b",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
    "source.consumer.fetch.min.bytes": "5",
    "target.producer.acks": "all",
    "consumer.isolation.level": "read_committed",
    "producer.override.linger.ms": "5",
    "topics": "orders.*",
    "mirror.start": "latest",
    "tasks.max": "2",
}
IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}


def test_what_is_said_of_the_sides_changes_places() -> None:
    assert reversed_config(FORWARD, "b-to-a") == {
        "name": "b-to-a",
        "connector.class": "MirrorSourceConnector",
        "source.cluster.alias": "b",
        "target.cluster.alias": "a",
        "source.cluster.bootstrap.servers": "b:9092",
        "target.cluster.bootstrap.servers": "a:9092",
        "target.consumer.fetch.min.bytes": "5",
        "source.producer.acks": "all",
        "consumer.isolation.level": "read_committed",
        "topics": "orders.*",
        "tasks.max": "2",
    }


def test_a_target_without_a_name_is_called_so() -> None:
    forward = {key: value for key, value in FORWARD.items() if key != "target.cluster.alias"}
    assert reversed_config(forward, "x")["source.cluster.alias"] == "target"


def test_names_of_copies_tell_that_they_are_on_their_way_back() -> None:
    forward = {**FORWARD, "topics": ".*"}
    assert copied_back(["orders", "x.y"], forward, reversed_config(forward, "r")) == []


def test_copies_that_keep_their_names_would_be_copied_back() -> None:
    forward = {**FORWARD, **IDENTITY}
    assert copied_back(["orders", "orders-2", "heartbeats"], forward, reversed_config(forward, "r")) == [
        "orders",
        "orders-2",
    ]


def test_topics_that_the_reverse_flow_leaves_out_need_nothing() -> None:
    forward = {**FORWARD, **IDENTITY}
    reverse = {**reversed_config(forward, "r"), "topics": "orders-2"}
    assert copied_back(["orders", "orders-2"], forward, reverse) == ["orders-2"]


def row(position: int | None, sync: tuple[int, int] | None, number: int = 0) -> dict[str, Any]:
    return {
        "topic": "orders",
        "remote_topic": "orders",
        "partition": number,
        "position": position,
        "last_sync": None if sync is None else {"upstream": sync[0], "downstream": sync[1]},
    }


def offsets_of(*rows: dict[str, Any], **more: Any) -> list[tuple[int, int]]:
    found = start_offsets(rows, ["orders"], "b", **more)
    assert found.problems == []
    return [(each["partition"]["partition"], each["offset"]["offset"]) for each in found.offsets]


def test_the_reverse_flow_goes_on_behind_the_last_copied_record() -> None:
    found = start_offsets([row(10, (9, 14))], ["orders"], "b")
    assert found.offsets == [
        {"partition": {"cluster": "b", "partition": 0, "topic": "orders"}, "offset": {"offset": 14}}
    ]
    assert found.problems == []


def test_where_nothing_was_copied_all_was_written_there() -> None:
    assert offsets_of(row(None, None), row(0, None, 1)) == []


def test_topics_that_are_not_copied_back_are_left_alone() -> None:
    assert start_offsets([row(10, None)], [], "b").problems == []


def test_a_last_record_without_a_sync_is_refused() -> None:
    found = start_offsets([row(10, (7, 7)), row(3, None, 1)], ["orders"], "b")
    assert found.offsets == []
    assert [problem.partition(",")[0] for problem in found.problems] == [
        "orders-0 was copied up to 9",
        "orders-1 was copied up to 2",
    ]


def test_a_reverse_flow_that_is_further_is_not_sent_back() -> None:
    committed = [
        {"partition": {"cluster": "b", "partition": 0, "topic": "orders"}, "offset": {"offset": 20}},
        {"partition": {"cluster": "b", "partition": 1, "topic": "orders"}, "offset": {"offset": 3}},
        {"partition": {"cluster": "z", "partition": 2, "topic": "orders"}, "offset": {"offset": 99}},
    ]
    rows = [row(10, (9, 14)), row(10, (9, 14), 1), row(10, (9, 14), 2)]
    assert offsets_of(*rows, committed=committed) == [(1, 14), (2, 14)]
