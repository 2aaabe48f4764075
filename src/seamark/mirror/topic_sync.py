"""Topics of the source cluster and their copies on the target: found, created, widened, configured, protected.

Everything here is done by the worker's connector on its scheduler, for all topics in one request each: 200 topics cost
what two do. Only additions are made on the target: nothing is deleted or made smaller. The rules of who is replicated
and with which settings are functions without effects (`TopicRules`); `TopicSync` asks and tells the two clusters.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from seamark.errors import ConnectError, KafkaError
from seamark.kafka.mirror_admin import ConfigChange, MirrorAdmin, TopicAcl, TopicConfig
from seamark.kafka.topic_partitions import TopicPartition, TopicSpec
from seamark.mirror.config import SourceSettings
from seamark.mirror.filters import ConfigPropertyFilter, TopicFilter
from seamark.mirror.policies import ReplicationPolicy

log = logging.getLogger(__name__)

_TOO_OLD: Final = frozenset({"UNSUPPORTED_VERSION", "_UNSUPPORTED_FEATURE"})
_REFUSED: Final = frozenset(
    {"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"}
)


@dataclass(frozen=True, slots=True)
class TopicRules:
    """Which topics are replicated, under which names, and with which settings and ACLs."""

    source_alias: str
    target_alias: str
    policy: ReplicationPolicy
    topic_filter: TopicFilter
    config_property_filter: ConfigPropertyFilter
    heartbeats_replication: bool = True

    @classmethod
    def of(cls, settings: SourceSettings) -> Self:
        """The rules of a source connector."""
        return cls(
            settings.source_alias,
            settings.target_alias,
            settings.policy,
            settings.topic_filter(),
            settings.config_property_filter(),
            settings.heartbeats_replication,
        )

    def remote(self, topic: str) -> str:
        """What a source topic is called on the target."""
        return self.policy.format_remote_topic(self.source_alias, topic)

    def should_replicate(self, topic: str) -> bool:
        """Whether a topic of the source is copied."""
        is_wanted = self.topic_filter.should_replicate_topic(topic) or (
            self.heartbeats_replication and self.policy.is_heartbeats_topic(topic)
        )
        return is_wanted and not self.policy.is_internal_topic(topic) and not self.is_cycle(topic)

    def is_cycle(self, topic: str) -> bool:
        """Whether a topic of the source has come from the target, directly or over other clusters."""
        while True:
            source = self.policy.topic_source(topic)
            if source is None:
                return False
            if source == self.target_alias:
                return True
            upstream = self.policy.upstream_topic(topic)
            if upstream is None or upstream == topic:  # policies that keep names cannot tell
                return False
            topic = upstream

    def is_remote(self, topic: str) -> bool:
        """Whether a topic of the target is a copy of one of the source's."""
        return self.policy.topic_source(topic) == self.source_alias and topic != self.policy.checkpoints_topic(
            self.source_alias
        )

    def new_topic_configs(self, configs: Iterable[TopicConfig]) -> dict[str, str]:
        """The settings that a new copy gets."""
        return {
            config.name: config.value
            for config in configs
            if config.value is not None
            and self._is_synced(config)
            and (not config.is_default or self.config_property_filter.should_replicate_source_default(config.name))
        }

    def config_changes(self, configs: Iterable[TopicConfig]) -> list[ConfigChange]:
        """What makes the settings of a copy those of its source. A default of the source is deleted on the target,
        where the target's own default then applies, unless source defaults are to be used.
        """
        return [
            ConfigChange(
                config.name,
                None
                if config.is_default and not self.config_property_filter.should_replicate_source_default(config.name)
                else config.value,
            )
            for config in configs
            if self._is_synced(config)
        ]

    def remote_acls(self, acls: Iterable[TopicAcl]) -> list[TopicAcl]:
        """The ACLs of copies: nobody but the mirror writes to them, so permissions to write are not copied."""
        synced = []
        for acl in acls:
            is_allow = acl.permission == "ALLOW"
            if (is_allow and acl.operation == "WRITE") or not self.should_replicate(acl.topic):
                continue
            operation = "READ" if is_allow and acl.operation == "ALL" else acl.operation
            synced.append(replace(acl, topic=self.remote(acl.topic), operation=operation))
        return list(dict.fromkeys(synced))

    def _is_synced(self, config: TopicConfig) -> bool:
        return not (
            config.is_read_only or config.is_sensitive or config.is_static
        ) and self.config_property_filter.should_replicate_config_property(config.name)


class TopicSync:
    """The state of a flow's topics on both clusters. For one thread, the connector's scheduler, to change."""

    def __init__(
        self,
        settings: SourceSettings,
        source: MirrorAdmin,
        target: MirrorAdmin,
        *,
        raise_error: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Nothing is asked yet.

        Args:
            settings: of the source connector.
            source: admin of the source cluster.
            target: admin of the target cluster.
            raise_error: fails the connector, for what can never succeed.
        """
        self._settings, self._source, self._target = settings, source, target
        self._raise_error = raise_error
        self.rules = TopicRules.of(settings)
        self._timeout_s = settings.admin_timeout_s
        self._is_authorizer_missed = False
        self.source_partitions: list[TopicPartition] = []
        """Those that are replicated, in order, as of the last look."""
        self.target_partitions: list[TopicPartition] = []
        """Those of copies, in order, as of the last look."""

    def close(self) -> None:
        """Close the filters; the admins are the caller's."""
        self.rules.topic_filter.close()
        self.rules.config_property_filter.close()

    # --- finding ------------------------------------------------------------------------------------------------------

    def find_source_partitions(self) -> list[TopicPartition]:
        """The partitions of the source cluster that are to be replicated, as they are now.

        Raises:
            KafkaError: the source cluster refused, or did not answer.
        """
        return self._find(self._source, self.rules.should_replicate, self.rules.source_alias)

    def find_target_partitions(self) -> list[TopicPartition]:
        """The partitions of copies on the target cluster, as they are now.

        Raises:
            KafkaError: the target cluster refused, or did not answer.
        """
        return self._find(self._target, self.rules.is_remote, self.rules.target_alias)

    def load(self) -> None:
        """Look at both clusters. Raises KafkaError."""
        self.source_partitions = self.find_source_partitions()
        self.target_partitions = self.find_target_partitions()

    def refresh_target(self) -> None:
        """Look at the target cluster. Raises KafkaError."""
        self.target_partitions = self.find_target_partitions()

    def refresh(self) -> bool:
        """Look at both clusters again and create what is missing on the target; whether the set of partitions to read
        has changed, or some were missing, so that tasks have to be configured anew.

        Raises:
            KafkaError: a cluster refused, or did not answer. What was known stays so.
        """
        source, target = self.find_source_partitions(), self.find_target_partitions()
        wanted, known = set(source), set(self.source_partitions)
        there = set(target)
        missing = {where for where in wanted if self._copy_of(where) not in there}
        self.target_partitions = target
        if wanted == known and not missing:
            return False
        log.info(
            "Found %s new topic-partitions on %s. Found %s deleted topic-partitions on %s. "
            "Found %s topic-partitions missing on %s.",
            len(wanted - known),
            self.rules.source_alias,
            len(known - wanted),
            self.rules.source_alias,
            len(missing),
            self.rules.target_alias,
        )
        self.source_partitions = source
        self.create_missing()
        return True

    def _copy_of(self, where: TopicPartition) -> TopicPartition:
        return TopicPartition(self.rules.remote(where.topic), where.partition)

    def _find(self, admin: MirrorAdmin, is_wanted: Callable[[str], bool], alias: str) -> list[TopicPartition]:
        try:
            counts = admin.partition_counts(timeout_s=self._timeout_s)
        except KafkaError as error:
            _say_refused(error, f"list topics on {alias} cluster")
            raise
        return [
            TopicPartition(topic, number)
            for topic in sorted(counts)
            if is_wanted(topic)
            for number in range(counts[topic])
        ]

    # --- creating -----------------------------------------------------------------------------------------------------

    def create_missing(self) -> None:
        """Create the copies that are missing, and widen those with fewer partitions than their sources.

        What fails is logged, topic by topic.

        Raises:
            KafkaError: a cluster did not answer.
        """
        wanted = Counter(where.topic for where in self.source_partitions)
        there = Counter(where.topic for where in self.target_partitions)
        new = {topic: count for topic, count in wanted.items() if self.rules.remote(topic) not in there}
        if new:
            self._create(new)
        wider = {
            self.rules.remote(topic): count
            for topic, count in wanted.items()
            if topic not in new and count > there[self.rules.remote(topic)]
        }
        if wider:
            self._widen(wider)

    def _create(self, partitions: Mapping[str, int]) -> None:
        configs = self._describe(partitions)
        specs = [
            TopicSpec(
                self.rules.remote(topic),
                count,
                self._settings.replication_factor,
                self.rules.new_topic_configs(configs[topic]),
            )
            for topic, count in partitions.items()
            if topic in configs  # else it was deleted since it was listed
        ]
        failed = self._target.create_many(specs, timeout_s=self._timeout_s)
        for spec in specs:
            if spec.name in failed:
                log.warning("Could not create topic %s. %s", spec.name, failed[spec.name])
            else:
                log.info("Created remote topic %s with %s partitions.", spec.name, spec.partitions)

    def _widen(self, totals: Mapping[str, int]) -> None:
        failed = self._target.widen_many(totals, timeout_s=self._timeout_s)
        for topic, total in totals.items():
            if topic in failed:
                log.warning("Could not create topic-partitions for %s. %s", topic, failed[topic])
            else:
                log.info("Increased size of %s to %s partitions.", topic, total)

    # --- settings and ACLs --------------------------------------------------------------------------------------------

    def sync_topic_configs(self) -> None:
        """Bring the settings of the sources to the copies, for topics that exist on both sides.

        What fails is logged, topic by topic. A target that is too old for it fails the connector.

        Raises:
            KafkaError: a cluster did not answer.
        """
        there = {where.topic for where in self.target_partitions}
        replicated = [
            topic
            for topic in dict.fromkeys(where.topic for where in self.source_partitions)
            if self.rules.remote(topic) in there
        ]
        changes = {
            self.rules.remote(topic): self.rules.config_changes(configs)
            for topic, configs in self._describe(replicated).items()
        }
        failed = self._target.alter_topic_configs(changes, timeout_s=self._timeout_s)
        for topic, error in failed.items():
            if error.code not in _TOO_OLD:
                log.warning("Could not alter configuration of topic %s. %s", topic, error)
                continue
            incompatible = ConnectError(
                f"the target cluster '{self.rules.target_alias}' is not compatible with IncrementalAlterConfigs API"
            )
            if self._raise_error is None:
                raise incompatible from error
            self._raise_error(incompatible)
            return

    def sync_topic_acls(self) -> None:
        """Add the ACLs of the sources to the copies.

        What fails is logged, topic by topic.

        Raises:
            KafkaError: a cluster did not answer.
        """
        try:
            acls = self._source.topic_acls(timeout_s=self._timeout_s)
        except KafkaError as error:
            _say_refused(error, f"describe ACLs on {self.rules.source_alias} cluster")
            raise
        if acls is None:
            if not self._is_authorizer_missed:
                log.info(
                    "No ACL authorizer is configured on the source Kafka cluster, so no topic ACL syncing will take "
                    "place. Consider disabling topic ACL syncing by setting sync.topic.acls.enabled to 'false'."
                )
            self._is_authorizer_missed = True
            return
        failed = self._target.create_topic_acls(self.rules.remote_acls(acls), timeout_s=self._timeout_s)
        for acl, failure in failed.items():
            log.warning("Could not sync ACL of topic %s. %s", acl.topic, failure)

    def _describe(self, topics: Iterable[str]) -> dict[str, list[TopicConfig]]:
        try:
            return self._source.describe_topic_configs(topics, timeout_s=self._timeout_s)
        except KafkaError as error:
            _say_refused(error, f"describe configs for topics on {self.rules.source_alias} cluster")
            raise


def deal(partitions: Sequence[TopicPartition], max_tasks: int) -> list[list[TopicPartition]]:
    """Partitions dealt round-robin to at most `max_tasks` tasks, none without any."""
    count = min(max_tasks, len(partitions))
    return [list(partitions[index::count]) for index in range(count)]


def redeal(
    shares: Sequence[Sequence[TopicPartition]], partitions: Sequence[TopicPartition], max_tasks: int
) -> list[list[TopicPartition]]:
    """Partitions dealt anew so that none that is already dealt changes its task: new ones go to who has fewest.

    If there are to be more or fewer tasks than before, all are dealt as by `deal`: the tasks start anew then anyway.
    """
    wanted = set(partitions)
    kept = [[where for where in share if where in wanted] for share in shares]
    if len(kept) != min(max_tasks, len(partitions)) or not all(kept):
        return deal(partitions, max_tasks)
    known = {where for share in kept for where in share}
    for where in partitions:
        if where not in known:
            min(kept, key=len).append(where)
    return kept


def _say_refused(error: KafkaError, action: str) -> None:
    if error.code in _REFUSED:
        log.error("%s occurred while trying to %s", error.code, action)
