"""The heartbeat connector and what heartbeats tell at the other end, on a real broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.mirror_connectors import Flow
from seamark.errors import ConfigError
from seamark.kafka.broker import EmbeddedBroker
from seamark.mirror import MirrorClient, checkpoint_topics, heartbeat_topics, replication_hops, upstream_clusters
from seamark.mirror.heartbeat import MirrorHeartbeatConnector
from seamark.testing.waiting import eventually


@pytest.fixture
def flow(broker: EmbeddedBroker) -> Iterator[Flow]:
    with Flow(broker.bootstrap_servers) as made:
        yield made


def test_one_task_however_many_are_allowed_and_a_compacted_topic(flow: Flow) -> None:
    connector = flow.with_context(MirrorHeartbeatConnector())
    config = flow.config(enabled="false")  # which this connector ignores
    connector.start(config)
    try:
        assert connector.task_configs(10) == [config]
        eventually(lambda: flow.admin.partition_counts().get("heartbeats") == 1)
        configs = {each.name: each.value for each in flow.admin.describe_topic_configs(["heartbeats"])["heartbeats"]}
        assert configs["cleanup.policy"] == "compact"
    finally:
        connector.stop()


def test_no_task_when_heartbeats_are_switched_off(flow: Flow) -> None:
    connector = flow.with_context(MirrorHeartbeatConnector())
    connector.start(flow.config(emit__heartbeats__enabled="false"))
    try:
        assert connector.task_configs(10) == []
    finally:
        connector.stop()


def test_a_target_without_an_address_fails_the_connector_at_once(flow: Flow) -> None:
    connector = flow.with_context(MirrorHeartbeatConnector())
    with pytest.raises(ConfigError, match="No resolvable bootstrap urls"):
        connector.start({**flow.config(), "target.cluster.bootstrap.servers": "nowhere.invalid:9092"})


def test_names_of_topics_tell_what_is_upstream(flow: Flow) -> None:
    near, far = flow.source, f"{flow.source}far"
    mine = {flow.create(f"{near}.heartbeats"), flow.create(f"{near}.{far}.heartbeats")}
    copy, checkpoints = flow.create(f"{near}.orders"), flow.create(f"{near}.checkpoints.internal")
    assert mine <= heartbeat_topics(flow.servers)
    assert checkpoints in checkpoint_topics(flow.servers)
    assert {near, far} <= upstream_clusters(flow.servers)
    assert [replication_hops(flow.servers, alias) for alias in (near, far, f"{near}none")] == [1, 2, -1]
    with MirrorClient(flow.servers) as client:
        assert client.remote_topics(near) == {copy, *mine}
        assert copy in client.remote_topics()
        assert checkpoints not in client.remote_topics()
