"""How topics are called on the target cluster, and which topics are a mirror's own.

`DefaultReplicationPolicy` puts the alias of the source cluster before the name, so cycles show in names;
`IdentityReplicationPolicy` keeps names, so they do not. A policy of one's own is a subclass of `ReplicationPolicy`,
named as ``module:Class`` in `replication.policy.class`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final

from seamark.mirror.loading import load_class

POLICY_CLASS: Final = "replication.policy.class"
SEPARATOR: Final = "replication.policy.separator"
INTERNAL_SEPARATOR_ENABLED: Final = "replication.policy.internal.topic.separator.enabled"
DEFAULT_SEPARATOR: Final = "."


class ReplicationPolicy(ABC):
    """Names of topics, between source and target. Only the first three questions must be answered."""

    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional
        """Called once, with the connector's whole configuration."""

    @abstractmethod
    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """What a topic of the source cluster is called on the target."""

    @abstractmethod
    def topic_source(self, topic: str) -> str | None:
        """The alias of the cluster that a topic was copied from; None if it is not a copy."""

    @abstractmethod
    def upstream_topic(self, topic: str) -> str | None:
        """What a copy is called on the cluster that it was copied from, where it may be a copy too; None if none."""

    def original_topic(self, topic: str) -> str:
        """The topic that was written to first, however often it was copied since."""
        while True:
            upstream = self.upstream_topic(topic)
            if upstream is None or upstream == topic:
                return topic
            topic = upstream

    def heartbeats_topic(self) -> str:
        """The topic of the target cluster that heartbeats are written to."""
        return "heartbeats"

    def offset_syncs_topic(self, alias: str) -> str:
        """The topic of offset syncs; `alias` is that of the other cluster, the one where this topic is not."""
        return f"mm2-offset-syncs.{alias}.internal"

    def checkpoints_topic(self, alias: str) -> str:
        """The topic of the target cluster with the checkpoints of groups of the source cluster `alias`."""
        return f"{alias}.checkpoints.internal"

    def is_heartbeats_topic(self, topic: str) -> bool:
        """Whether heartbeats are in it, its own cluster's or copies."""
        return self.original_topic(topic) == self.heartbeats_topic()

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Whether checkpoints are in it."""
        return topic.endswith(".checkpoints.internal")

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Whether mirrors keep their own records in it."""
        return (topic.startswith("mm2") and topic.endswith(".internal")) or self.is_checkpoints_topic(topic)

    def is_internal_topic(self, topic: str) -> bool:
        """Whether it must never be copied: a mirror's own topic, or Kafka's."""
        return self.is_mm2_internal_topic(topic) or topic.startswith(("__", "."))


class DefaultReplicationPolicy(ReplicationPolicy):
    """``us-west.orders``: the source's alias, a separator, the topic."""

    def __init__(self) -> None:
        self.separator = self.internal_separator = DEFAULT_SEPARATOR

    def configure(self, config: Mapping[str, str]) -> None:
        if SEPARATOR in config:
            self.separator = self.internal_separator = config[SEPARATOR]
            # As in MirrorMaker 2, this key counts only beside a separator.
            if config.get(INTERNAL_SEPARATOR_ENABLED, "true").lower() != "true":
                self.internal_separator = DEFAULT_SEPARATOR

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return f"{source_alias}{self.separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        if not self.separator:  # MirrorMaker 2 then takes every character for a part
            return topic[0] if len(topic) > 1 else None
        source, _, rest = topic.partition(self.separator)
        # Parts after the last one that is not empty do not count: "orders." is no copy.
        return source if any(rest.split(self.separator)) else None

    def upstream_topic(self, topic: str) -> str | None:
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]

    def offset_syncs_topic(self, alias: str) -> str:
        return f"mm2-offset-syncs{self.internal_separator}{alias}{self._internal_suffix()}"

    def checkpoints_topic(self, alias: str) -> str:
        return alias + self._checkpoints_suffix()

    def is_checkpoints_topic(self, topic: str) -> bool:
        return topic.endswith(self._checkpoints_suffix())

    def is_mm2_internal_topic(self, topic: str) -> bool:
        return (topic.startswith("mm2") and topic.endswith(self._internal_suffix())) or self.is_checkpoints_topic(topic)

    def _internal_suffix(self) -> str:
        return f"{self.internal_separator}internal"

    def _checkpoints_suffix(self) -> str:
        return f"{self.internal_separator}checkpoints{self._internal_suffix()}"


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """Topics keep their names, except heartbeats, without which nobody could tell where they come from.

    Cycles cannot be seen in such names: replicate one way only.
    """

    def __init__(self) -> None:
        super().__init__()
        self.source_alias: str | None = None

    def configure(self, config: Mapping[str, str]) -> None:
        super().configure(config)
        self.source_alias = config.get("source.cluster.alias", self.source_alias)

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return super().format_remote_topic(source_alias, topic) if self._looks_like_heartbeats(topic) else topic

    def topic_source(self, topic: str) -> str | None:
        return super().topic_source(topic) if self._looks_like_heartbeats(topic) else self.source_alias

    def upstream_topic(self, topic: str) -> str | None:
        return super().upstream_topic(topic) if self._looks_like_heartbeats(topic) else topic

    def _looks_like_heartbeats(self, topic: str) -> bool:
        return topic.endswith(self.heartbeats_topic())


POLICIES: Final[Mapping[str, type[ReplicationPolicy]]] = {
    cls.__name__: cls for cls in (DefaultReplicationPolicy, IdentityReplicationPolicy)
}


def policy_of(config: Mapping[str, str]) -> ReplicationPolicy:
    """The policy that a configuration names, configured.

    Raises:
        ConfigError: there is no such class.
    """
    name = config.get(POLICY_CLASS) or DefaultReplicationPolicy.__name__
    policy = load_class(POLICY_CLASS, name, ReplicationPolicy, POLICIES)()  # type: ignore[type-abstract]
    policy.configure(config)
    return policy
