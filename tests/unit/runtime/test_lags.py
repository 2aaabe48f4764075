"""Lags of many connectors with few questions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from seamark.connector.sink import TopicPartition
from seamark.errors import KafkaError
from seamark.runtime.lags import LagTarget, LagWatch

ENDS = {TopicPartition("t", 0): 100, TopicPartition("t", 1): 50, TopicPartition("u", 0): 7}


class Cluster:
    """Stands for an admin client and its pool: counts what is asked."""

    def __init__(self) -> None:
        self.asked: list[set[TopicPartition]] = []
        self.borrowed = 0
        self.is_away = False

    def borrow(self, java_config: Mapping[str, str]) -> Any:
        self.borrowed += 1
        return self

    def give_back(self, admin: Any) -> None:
        self.borrowed -= 1

    def cluster_id(self, *, timeout_s: float) -> str:
        if self.is_away:
            raise KafkaError("away")
        return "id"

    def list_offsets(
        self, queries: Mapping[TopicPartition, str], *, is_committed: bool, timeout_s: float
    ) -> dict[TopicPartition, int]:
        self.asked.append(set(queries))
        if self.is_away or not queries.keys() <= ENDS.keys():
            raise KafkaError("unknown topic")
        return {where: ENDS[where] for where in queries}


def target(name: str, *positions: tuple[str, int, int], client: str = "a", is_running: bool = True) -> LagTarget:
    reported = {TopicPartition(topic, number): offset for topic, number, offset in positions}
    return LagTarget(name, {"bootstrap.servers": client}, True, reported, is_running)


def test_all_sinks_of_a_cluster_are_asked_for_at_once() -> None:
    cluster = Cluster()
    targets = [
        target("a", ("t", 0, 40), ("t", 1, 50)),
        target("b", ("t", 0, 99)),
        target("c", ("u", 0, 0), client="b"),
    ]
    watch = LagWatch(lambda: targets, lambda each: {}, cluster)
    watch.refresh()
    assert len(cluster.asked) == 2
    assert watch.lags() == {"a": 60, "b": 1, "c": 7}
    assert watch.lag("a") == 60
    assert watch.lag("unknown") is None
    watch.refresh()
    assert cluster.borrowed == 2
    watch.stop()
    assert cluster.borrowed == 0


def test_one_whose_topic_is_gone_does_not_hide_the_others() -> None:
    cluster = Cluster()
    targets = [target("a", ("t", 0, 40)), target("b", ("gone", 0, 1)), target("c", ("t", 1, 1))]
    watch = LagWatch(lambda: targets, lambda each: {}, cluster)
    watch.refresh()
    assert watch.lags() == {"a": 60, "c": 49}
    asked = len(cluster.asked)
    watch.refresh()
    assert len(cluster.asked) == asked + 1


def test_a_cluster_that_is_away_is_asked_once() -> None:
    cluster = Cluster()
    cluster.is_away = True
    targets = [target(str(number), ("t", 0, 40)) for number in range(50)]
    watch = LagWatch(lambda: targets, lambda each: {}, cluster)
    watch.refresh()
    assert len(cluster.asked) == 1
    assert watch.lags() == {}
    cluster.is_away = False
    watch.refresh()
    assert len(watch.lags()) == 50


def test_positions_that_nobody_reports_are_read_if_somebody_looks() -> None:
    cluster, reads = Cluster(), []

    def read(each: LagTarget) -> dict[TopicPartition, int]:
        reads.append(each.name)
        return {TopicPartition("t", 1): 20}

    targets = [target("stopped", is_running=False), target("running", ("t", 0, 1))]
    watch = LagWatch(lambda: targets, read, cluster)
    watch.refresh()
    assert reads == []
    watch.looked()
    watch.refresh()
    watch.refresh()
    assert reads == ["stopped", "running"], "of what runs, once: not all of its partitions may have been reported"
    assert watch.lags() == {"stopped": 30, "running": 129}


def test_partitions_are_looked_up_for_whoever_wants_them() -> None:
    cluster = Cluster()
    watch = LagWatch(lambda: [target("a", ("t", 0, 40))], lambda each: {}, cluster)
    watch.start()
    try:
        began = time.monotonic()
        found = watch.partitions("a", 30.0)
        assert [(dict(row.partition), row.lag) for row in found] == [({"kafka_topic": "t", "kafka_partition": 0}, 60)]
        assert watch.partitions("a", 30.0) == found
        assert len(cluster.asked) == 1
        assert time.monotonic() - began < 2
    finally:
        watch.stop()


def test_a_connector_that_is_gone_is_forgotten() -> None:
    targets = [target("a", ("t", 0, 40))]
    watch = LagWatch(lambda: targets, lambda each: {}, Cluster())
    watch.refresh()
    targets.clear()
    watch.refresh()
    assert watch.lags() == {}
