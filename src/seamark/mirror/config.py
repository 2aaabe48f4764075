"""Configurations of the mirror connectors: checked, and as typed settings.

`seamark.mirror.keys` defines the keys, `seamark.mirror.clients` says what Kafka clients get.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, cast

from seamark.config.configdef import ConfigDef, ConfigValue
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror import filters
from seamark.mirror.clients import ClientKind, Side, client_config, entity_label, uses_read_committed
from seamark.mirror.keys import (
    EMIT_CHECKPOINTS,
    EMIT_OFFSET_SYNCS,
    OFFSET_SYNCS_LOCATION,
    ON_DATA_LOSS,
    START,
    checkpoint_config_def,
    heartbeat_config_def,
    source_config_def,
)
from seamark.mirror.policies import ReplicationPolicy, policy_of

__all__ = [
    "TASK_GROUPS",
    "TASK_INDEX",
    "TASK_PARTITIONS",
    "TASK_LOST_PARTITIONS",
    "TASK_TOPIC_IDS",
    "CheckpointSettings",
    "ClientKind",
    "HeartbeatSettings",
    "Settings",
    "Side",
    "SourceSettings",
    "checkpoint_config_def",
    "client_config",
    "entity_label",
    "heartbeat_config_def",
    "source_config_def",
    "uses_read_committed",
    "validate_checkpoint",
    "validate_heartbeat",
    "validate_source",
]

TASK_PARTITIONS, TASK_GROUPS, TASK_INDEX = "task.assigned.partitions", "task.assigned.groups", "task.index"
TASK_TOPIC_IDS, TASK_LOST_PARTITIONS = "task.assigned.topic.ids", "task.lost.partitions"
_READ_COMMITTED = (
    "MirrorSourceConnector can only provide exactly-once guarantees when its source consumer is configured with "
    "isolation.level set to 'read_committed'; otherwise, records from aborted and uncommitted transactions will be "
    "replicated from the source cluster to the target cluster."
)


def validate_source(config: Mapping[str, str]) -> list[ConfigValue]:
    """What is wrong with a configuration of MirrorSourceConnector, key by key."""
    problems: dict[str, str] = {}
    if config.get("exactly.once.support") == "required" and not uses_read_committed(config):
        problems["exactly.once.support"] = _READ_COMMITTED
    if config.get(EMIT_OFFSET_SYNCS) == "false" and any(
        key.startswith(("offset-syncs-", "offset-syncs.topic.")) for key in config
    ):
        problems[EMIT_OFFSET_SYNCS] = (
            f"MirrorSourceConnector can't setup offset-syncs feature while {EMIT_OFFSET_SYNCS} set to false"
        )
    return _with_problems(source_config_def().validate(config), problems)


def validate_checkpoint(config: Mapping[str, str]) -> list[ConfigValue]:
    """What is wrong with a configuration of MirrorCheckpointConnector, key by key."""
    problems: dict[str, str] = {}
    if config.get("enabled") != "false":
        if config.get(EMIT_CHECKPOINTS) == "false":
            problems[EMIT_CHECKPOINTS] = f"MirrorCheckpointConnector can't run with {EMIT_CHECKPOINTS} set to false"
        if config.get(EMIT_OFFSET_SYNCS) == "false":
            problems[EMIT_OFFSET_SYNCS] = "MirrorCheckpointConnector can't run without offset syncs"
    return _with_problems(checkpoint_config_def().validate(config), problems)


def validate_heartbeat(config: Mapping[str, str]) -> list[ConfigValue]:
    """What is wrong with a configuration of MirrorHeartbeatConnector, key by key."""
    return heartbeat_config_def().validate(config)


def _with_problems(reports: list[ConfigValue], problems: Mapping[str, str]) -> list[ConfigValue]:
    by_name = {report.name: report for report in reports}
    for name, problem in problems.items():
        by_name.setdefault(name, ConfigValue(name)).errors.append(problem)
    return list(by_name.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all three connectors have in common. Intervals are None where something is not to be done."""

    config: Mapping[str, str] = field(repr=False)
    """As it was given; it may hold passwords."""
    name: str
    enabled: bool
    source_alias: str
    target_alias: str
    admin_timeout_s: float
    policy: ReplicationPolicy
    task_index: int | None
    """Set in the settings of a task."""

    def client(self, side: Side, kind: ClientKind, client_role: str | None = None) -> dict[str, str]:
        """The settings of one of its Kafka clients."""
        return client_config(self.config, side, kind, client_role)

    @property
    def label(self) -> str:
        """Whose it is: ``A->B|MirrorSourceConnector``, and of a task also its index."""
        return entity_label(self.config)

    @property
    def checkpoints_topic(self) -> str:
        """The topic of checkpoints, on the target."""
        return self.policy.checkpoints_topic(self.source_alias)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings(Settings):
    """The settings of MirrorSourceConnector and its tasks."""

    consumer_poll_timeout_ms: int
    refresh_topics_interval_s: float | None
    sync_topic_configs_interval_s: float | None
    sync_topic_acls_interval_s: float | None
    replication_factor: int
    offset_syncs_topic_replication_factor: int
    offset_lag_max: int
    offset_syncs_location: Side
    emit_offset_syncs: bool
    heartbeats_replication: bool
    on_data_loss: Literal["fail", "reset", "skip"]
    start: str
    """``earliest``, ``latest``, an RFC 3339 time, offsets as JSON, or empty: as the source consumer says."""

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """The settings in a configuration of the connector, or of one of its tasks.

        Raises:
            ConfigError: names the key.
        """
        values = _parsed(source_config_def(), config)
        return cls(
            **_common(config, values),
            consumer_poll_timeout_ms=values["consumer.poll.timeout.ms"],
            refresh_topics_interval_s=_interval(values, "refresh.topics"),
            sync_topic_configs_interval_s=_interval(values, "sync.topic.configs"),
            sync_topic_acls_interval_s=_interval(values, "sync.topic.acls"),
            replication_factor=values["replication.factor"],
            offset_syncs_topic_replication_factor=values["offset-syncs.topic.replication.factor"],
            offset_lag_max=values["offset.lag.max"],
            offset_syncs_location=values[OFFSET_SYNCS_LOCATION],
            emit_offset_syncs=values[EMIT_OFFSET_SYNCS],
            heartbeats_replication=values["heartbeats.replication.enabled"],
            on_data_loss=values[ON_DATA_LOSS],
            start=values[START] or "",
        )

    @property
    def offset_syncs_topic(self) -> str:
        """The topic of offset syncs, on the cluster `offset_syncs_location`."""
        return _offset_syncs_topic(self, self.offset_syncs_location)

    @property
    def task_partitions(self) -> list[TopicPartition]:
        """The source partitions of a task."""
        return [_decoded(text) for text in self.config.get(TASK_PARTITIONS, "").split(",") if text.strip()]

    def topic_filter(self) -> filters.TopicFilter:
        """The filter of topics, configured; the caller closes it."""
        return filters.topic_filter(self.config)

    def config_property_filter(self) -> filters.ConfigPropertyFilter:
        """The filter of topics' settings, configured; the caller closes it."""
        return filters.config_property_filter(self.config)

    def topic_ids(self) -> dict[str, str]:
        """The ids of a task's topics, as far as its configuration names them."""
        pairs = (each.partition("=") for each in self.config.get(TASK_TOPIC_IDS, "").split(",") if each)
        return {name: each for name, _, each in pairs}

    def lost_partitions(self) -> list[TopicPartition]:
        """The partitions of a task whose positions are of topics that are gone."""
        return [_decoded(text) for text in self.config.get(TASK_LOST_PARTITIONS, "").split(",") if text]

    def task_config(
        self,
        partitions: Sequence[TopicPartition],
        index: int,
        topic_ids: Mapping[str, str] | None = None,
        lost: Sequence[TopicPartition] = (),
    ) -> dict[str, str]:
        """The configuration of a task with these source partitions, the ids of their topics as far as they are known,
        and those whose positions are of topics that are gone.
        """
        config = {**self.config, TASK_PARTITIONS: ",".join(map(str, partitions)), TASK_INDEX: str(index)}
        if topic_ids:  # names of topics hold neither commas nor equals signs
            config[TASK_TOPIC_IDS] = ",".join(f"{name}={each}" for name, each in topic_ids.items())
        if lost:
            config[TASK_LOST_PARTITIONS] = ",".join(map(str, lost))
        return config


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSettings(Settings):
    """The settings of MirrorCheckpointConnector and its tasks."""

    consumer_poll_timeout_ms: int
    refresh_groups_interval_s: float | None
    emit_checkpoints_interval_s: float | None
    sync_group_offsets_interval_s: float | None
    checkpoints_topic_replication_factor: int
    offset_syncs_location: Side

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """The settings in a configuration of the connector, or of one of its tasks.

        Raises:
            ConfigError: names the key.
        """
        values = _parsed(checkpoint_config_def(), config)
        return cls(
            **_common(config, values),
            consumer_poll_timeout_ms=values["consumer.poll.timeout.ms"],
            refresh_groups_interval_s=_interval(values, "refresh.groups"),
            emit_checkpoints_interval_s=_interval(values, "emit.checkpoints"),
            sync_group_offsets_interval_s=_interval(values, "sync.group.offsets"),
            checkpoints_topic_replication_factor=values["checkpoints.topic.replication.factor"],
            offset_syncs_location=values[OFFSET_SYNCS_LOCATION],
        )

    @property
    def offset_syncs_topic(self) -> str:
        """The topic of offset syncs, on the cluster `offset_syncs_location`."""
        return _offset_syncs_topic(self, self.offset_syncs_location)

    @property
    def task_groups(self) -> list[str]:
        """The consumer groups of a task."""
        return [group.strip() for group in self.config.get(TASK_GROUPS, "").split(",") if group.strip()]

    def topic_filter(self) -> filters.TopicFilter:
        """The filter of topics, configured; the caller closes it."""
        return filters.topic_filter(self.config)

    def group_filter(self) -> filters.GroupFilter:
        """The filter of groups, configured; the caller closes it."""
        return filters.group_filter(self.config)

    def task_config(self, groups: Sequence[str], index: int) -> dict[str, str]:
        """The configuration of a task with these consumer groups."""
        return {**self.config, TASK_GROUPS: ",".join(groups), TASK_INDEX: str(index)}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatSettings(Settings):
    """The settings of MirrorHeartbeatConnector and its task."""

    emit_heartbeats_interval_s: float | None
    heartbeats_topic_replication_factor: int

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """The settings in a configuration of the connector, or of its task.

        Raises:
            ConfigError: names the key.
        """
        values = _parsed(heartbeat_config_def(), config)
        return cls(
            **_common(config, values),
            emit_heartbeats_interval_s=_interval(values, "emit.heartbeats"),
            heartbeats_topic_replication_factor=values["heartbeats.topic.replication.factor"],
        )

    @property
    def heartbeats_topic(self) -> str:
        """The topic of heartbeats, on the target."""
        return self.policy.heartbeats_topic()


def _parsed(definition: ConfigDef, config: Mapping[str, str]) -> dict[str, Any]:
    return definition.parse(filters.distinct_lists(definition, config))


def _common(config: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    index = config.get(TASK_INDEX)
    return {
        "config": dict(config),
        "name": config.get("name", ""),
        "enabled": values["enabled"],
        "source_alias": values["source.cluster.alias"],
        "target_alias": values["target.cluster.alias"],
        "admin_timeout_s": values["admin.timeout.ms"] / 1000,
        "policy": policy_of(config),
        "task_index": None if index is None else int(index),
    }


def _interval(values: Mapping[str, Any], name: str) -> float | None:
    return cast("int", values[f"{name}.interval.seconds"]) * 1.0 if values[f"{name}.enabled"] else None


def _offset_syncs_topic(settings: Settings, location: Side) -> str:
    """Named after the other cluster, so that a cluster can hold the syncs of flows to several."""
    other = settings.target_alias if location == "source" else settings.source_alias
    return settings.policy.offset_syncs_topic(other)


def _decoded(text: str) -> TopicPartition:
    topic, _, partition = text.strip().rpartition("-")
    return TopicPartition(topic, int(partition))
