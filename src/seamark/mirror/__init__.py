"""MirrorMaker 2's three connectors, its formats and its rules.

Connectors: `MirrorSourceConnector`, `MirrorCheckpointConnector` and `MirrorHeartbeatConnector`. Topics, records and
offsets are those of MirrorMaker 2, so that a flow can be handed over in both directions.
"""

from seamark.kafka.mirror_admin import GroupOffset
from seamark.mirror.client import (
    MirrorClient,
    checkpoint_topics,
    heartbeat_topics,
    replication_hops,
    translate_offsets,
    upstream_clusters,
)
from seamark.mirror.filters import ConfigPropertyFilter, GroupFilter, TopicFilter
from seamark.mirror.policies import ReplicationPolicy

__all__ = [
    "ConfigPropertyFilter",
    "GroupFilter",
    "GroupOffset",
    "MirrorClient",
    "ReplicationPolicy",
    "TopicFilter",
    "checkpoint_topics",
    "heartbeat_topics",
    "replication_hops",
    "translate_offsets",
    "upstream_clusters",
]
