"""What consumers and operators ask a cluster about the flows that end on it.

`MirrorClient` needs ``bootstrap.servers`` and security settings of that cluster, and the settings of the replication
policy if it is not the default one. The functions ask one question each, with a client of their own::

    from seamark.mirror import translate_offsets

    offsets = translate_offsets({"bootstrap.servers": "b:9092"}, "a", "billing", timeout_s=30)
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import TracebackType

from seamark.kafka.mirror_admin import GroupOffset, MirrorAdmin
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.client_names import CLIENT_NAMES
from seamark.mirror.clients import with_prefix
from seamark.mirror.mirror_logs import read_checkpoints
from seamark.mirror.policies import ReplicationPolicy, policy_of

log = logging.getLogger(__name__)

_TIMEOUT_S = 60.0


class MirrorClient:
    """Reads the traces that mirrors leave on a cluster: names of topics, heartbeats, checkpoints."""

    def __init__(self, config: Mapping[str, str]) -> None:
        """Make the client.

        Args:
            config: as in a properties file; ``admin.`` and ``consumer.`` before a client's key hold for that client.
        """
        self.replication_policy: ReplicationPolicy = policy_of(config)
        """Says what names of topics mean."""
        self._admin_config = _client_config(config, "admin.")
        self._consumer_config = _client_config(config, "consumer.")
        self._admin = MirrorAdmin(self._admin_config)

    def close(self) -> None:
        """Let go of the cluster."""
        self._admin.close()

    def __enter__(self) -> MirrorClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def replication_hops(self, alias: str) -> int:
        """Over how many flows, at least, records of a cluster come here; -1 if they do not."""
        hops = [hops_of(self.replication_policy, topic, alias) for topic in self.heartbeat_topics()]
        return min((each for each in hops if each >= 0), default=-1)

    def heartbeat_topics(self) -> set[str]:
        """The topics with heartbeats: the cluster's own, and copies of those of others."""
        return {topic for topic in self._topics() if self.replication_policy.is_heartbeats_topic(topic)}

    def checkpoint_topics(self) -> set[str]:
        """The topics with checkpoints."""
        return {topic for topic in self._topics() if self.replication_policy.is_checkpoints_topic(topic)}

    def upstream_clusters(self) -> set[str]:
        """The aliases of all clusters whose heartbeats come here, over however many flows."""
        return {alias for topic in self.heartbeat_topics() for alias in sources_of(self.replication_policy, topic)}

    def remote_topics(self, source: str | None = None) -> set[str]:
        """The topics that are copies, of those of one cluster or of any."""
        policy = self.replication_policy
        found = {topic: policy.topic_source(topic) for topic in self._topics() if not policy.is_internal_topic(topic)}
        return {topic for topic, alias in found.items() if alias is not None and (source is None or alias == source)}

    def remote_consumer_offsets(
        self, group: str, alias: str, timeout_s: float = _TIMEOUT_S
    ) -> dict[TopicPartition, GroupOffset]:
        """Where a consumer group of another cluster would go on here.

        Raises:
            KafkaError: there are no checkpoints of that cluster, or they could not be read in time: part of them
                would be worse than none.
        """
        found = read_checkpoints(
            self.replication_policy.checkpoints_topic(alias),
            self._consumer_config,
            self._admin_config,
            timeout_s,
            {group},
        )
        log.info("Found %s checkpoints of %s from %s.", len(found), group, alias)
        return {
            TopicPartition(each.topic, each.partition): GroupOffset(each.downstream, each.metadata) for each in found
        }

    def _topics(self) -> set[str]:
        return self._admin.list_topics(timeout_s=_TIMEOUT_S)


def replication_hops(config: Mapping[str, str], alias: str) -> int:
    """Over how many flows, at least, records of a cluster come to the one of `config`; -1 if they do not."""
    with MirrorClient(config) as client:
        return client.replication_hops(alias)


def heartbeat_topics(config: Mapping[str, str]) -> set[str]:
    """The topics with heartbeats on the cluster of `config`."""
    with MirrorClient(config) as client:
        return client.heartbeat_topics()


def checkpoint_topics(config: Mapping[str, str]) -> set[str]:
    """The topics with checkpoints on the cluster of `config`."""
    with MirrorClient(config) as client:
        return client.checkpoint_topics()


def upstream_clusters(config: Mapping[str, str]) -> set[str]:
    """The aliases of all clusters whose records come to the one of `config`."""
    with MirrorClient(config) as client:
        return client.upstream_clusters()


def translate_offsets(
    config: Mapping[str, str], alias: str, group: str, timeout_s: float = _TIMEOUT_S
) -> dict[TopicPartition, GroupOffset]:
    """Where a consumer group of the cluster `alias` would go on at the cluster of `config`.

    Raises:
        KafkaError: there are no checkpoints of that cluster, or they could not be read in time.
    """
    with MirrorClient(config) as client:
        return client.remote_consumer_offsets(group, alias, timeout_s)


def hops_of(policy: ReplicationPolicy, topic: str, alias: str) -> int:
    """Over how many flows a topic came from a cluster; -1 if it did not."""
    for hops, source in enumerate(sources_of(policy, topic), start=1):
        if source == alias:
            return hops
    return -1


def sources_of(policy: ReplicationPolicy, topic: str) -> list[str]:
    """The clusters that a topic came over, the nearest first."""
    sources: list[str] = []
    upstream: str | None = topic
    while upstream is not None:
        source = policy.topic_source(upstream)
        if source is None or source in sources:  # policies that keep names cannot tell where it ends
            break
        sources.append(source)
        upstream = policy.upstream_topic(upstream)
    return sources


def _client_config(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    merged = {**config, **with_prefix(config, prefix)}
    return {name: merged[name] for name in CLIENT_NAMES if name in merged}
