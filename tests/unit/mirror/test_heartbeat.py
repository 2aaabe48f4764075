"""Heartbeats: when they come and what is in them."""

from __future__ import annotations

import time

import pytest

from seamark.connector.offsets import Offsets
from seamark.errors import ConnectError
from seamark.mirror.heartbeat import IDLE_POLL_S, MirrorHeartbeatConnector, MirrorHeartbeatTask
from seamark.mirror.wire import Heartbeat

CONFIG = {"name": "beats", "source.cluster.alias": "pra", "target.cluster.alias": "prb"}


def task(interval_s: int) -> MirrorHeartbeatTask:
    made = MirrorHeartbeatTask()
    made.start({**CONFIG, "emit.heartbeats.interval.seconds": str(interval_s)}, Offsets())
    return made


def test_a_heartbeat_comes_every_interval() -> None:
    began, beats = time.monotonic(), list[float]()
    heart = task(1)
    while len(beats) < 2:
        beats += [time.monotonic() - began for _ in heart.poll() or ()]
        assert time.monotonic() < began + 20
    assert beats[0] >= 1  # the first one after an interval, too
    assert beats[1] >= 2


def test_a_poll_never_waits_for_long() -> None:
    heart, began = task(3600), time.monotonic()
    assert heart.poll() is None
    assert IDLE_POLL_S - 0.05 <= time.monotonic() - began < 1.0


def test_a_heartbeat_is_what_mirror_maker_writes() -> None:
    before_ms = time.time_ns() // 1_000_000
    polled = task(0).poll()
    assert polled is not None
    (record,) = polled
    assert (record.topic, record.kafka_partition) == ("heartbeats", 0)
    heartbeat = Heartbeat.from_record(record.key, record.value)
    assert (heartbeat.source, heartbeat.target) == ("pra", "prb")
    assert before_ms <= heartbeat.timestamp_ms <= time.time_ns() // 1_000_000
    assert record.timestamp == heartbeat.timestamp_ms
    assert record.key == bytes.fromhex("0003707261 0003707262")
    assert record.source_partition == {"sourceClusterAlias": "pra", "targetClusterAlias": "prb"}
    assert record.source_offset == {"offset": 0}


def test_altered_offsets_are_checked() -> None:
    connector, where = MirrorHeartbeatConnector(), {"sourceClusterAlias": "a", "targetClusterAlias": "b"}
    assert connector.alter_offsets({}, Offsets([(where, {"offset": 0})]))
    with pytest.raises(ConnectError, match="is missing the 'targetClusterAlias' key, which is required"):
        connector.alter_offsets({}, Offsets([({"sourceClusterAlias": "a"}, {"offset": 0})]))
