"""Where consumer groups of the source go on at the target, computed now and committed on request.

A MirrorCheckpointConnector does this on its intervals. Who moves consumers from one cluster to the other does not want
to wait for them, and wants to see what will be done first. With the source away, the last checkpoints have to do.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from seamark.errors import ConnectError, DataError
from seamark.kafka.admin import Admin
from seamark.kafka.log import LogRecord, TopicLog
from seamark.kafka.mirror_admin import GroupOffset, MirrorAdmin
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.checkpoints import CheckpointRules, Checkpoints
from seamark.mirror.config import CheckpointSettings
from seamark.mirror.group_sync import GroupSync, offsets_to_sync
from seamark.mirror.mirror_logs import read_checkpoints
from seamark.mirror.sync_store import OffsetSyncStore
from seamark.mirror.wire import Checkpoint, OffsetSync

log = logging.getLogger(__name__)

ASK_S: Final = 5.0
READ_S: Final = 40.0  # of a request's 90 seconds, for the whole of a log
_IDLE: Final = frozenset({"EMPTY", "DEAD"})


@dataclass(frozen=True, slots=True)
class GroupMove:
    """A group, where its checkpoints are, and where it is on the target."""

    group: str
    source_state: str | None
    """Kafka's word; DEAD for a group that does not exist, None if the source did not answer."""
    target_state: str
    checkpoints: Mapping[TopicPartition, Checkpoint]
    """By remote partition."""
    committed: Mapping[TopicPartition, GroupOffset | None] = field(default_factory=dict)
    """On the target."""

    @property
    def is_idle(self) -> bool:
        """Whether it has no members on the target, so that others may commit for it."""
        return self.target_state in _IDLE

    def to_commit(self) -> dict[TopicPartition, GroupOffset]:
        """What brings the group to its checkpoints; nothing sends it back."""
        wanted = {where: GroupOffset(each.downstream, each.metadata) for where, each in self.checkpoints.items()}
        return offsets_to_sync(self.group, wanted, self.committed)

    def as_json(self) -> dict[str, Any]:
        """As `GET /mirrors/{connector}/groups` shows it."""
        rows = []
        for where, each in sorted(self.checkpoints.items()):
            current = self.committed.get(where)
            rows.append(
                {
                    "remote_topic": where.topic,
                    "partition": where.partition,
                    "upstream": each.upstream,
                    "downstream": each.downstream,
                    "committed": None if current is None else current.offset,
                }
            )
        return {
            "group": self.group,
            "source_state": self.source_state,
            "target_state": self.target_state,
            "partitions": rows,
        }


@dataclass(frozen=True, slots=True)
class GroupMoves:
    """All groups of a flow; `error` says what could not be learnt."""

    groups: list[GroupMove]
    error: str | None = None


def find_moves(config: Mapping[str, str]) -> GroupMoves:
    """Where the groups of a flow would go on at the target, as of now.

    Args:
        config: of the MirrorCheckpointConnector, or of the MirrorSourceConnector of a flow that has none; references
            resolved.

    Raises:
        KafkaError: the target cluster refused, or did not answer.
    """
    settings = CheckpointSettings.of(config)
    target = MirrorAdmin(settings.client("target", "admin", "checkpoint-target-admin"))
    try:
        checkpoints = Checkpoints()
        groups: set[str] = set()
        for each in _written(settings, target):
            checkpoints.add(each)
            groups.add(each.group)
        source_states: Mapping[str, str] | None = None
        error = None
        try:
            source_states, fresh = _translated_now(settings, checkpoints)
            groups |= fresh
        except ConnectError as failure:
            error = (
                f"Source cluster {settings.source_alias}: {failure.message} Groups go by the checkpoints that were "
                "written so far."
            )
        target_states = target.list_groups(timeout_s=ASK_S)
        committed, failed = target.committed(sorted(groups), timeout_s=ASK_S)
        for group, why in failed.items():
            log.warning("The offsets of group %s on %s are not known: %s", group, settings.target_alias, why)
        moves = [
            GroupMove(
                group,
                None if source_states is None else source_states.get(group, "DEAD"),
                target_states.get(group, "DEAD"),
                checkpoints.of(group),
                committed.get(group, {}),
            )
            for group in sorted(groups)
            if group not in failed
        ]
        return GroupMoves(moves, error)
    finally:
        target.close()


def commit_moves(config: Mapping[str, str], moves: GroupMoves) -> dict[str, dict[TopicPartition, GroupOffset]]:
    """Commit on the target, for groups without members there; returns what was committed.

    Raises:
        KafkaError: the target cluster refused, or did not answer.
    """
    settings = CheckpointSettings.of(config)
    translated = {
        move.group: {where: GroupOffset(each.downstream, each.metadata) for where, each in move.checkpoints.items()}
        for move in moves.groups
        if move.is_idle
    }
    target = MirrorAdmin(settings.client("target", "admin", "checkpoint-target-admin"))
    try:
        return GroupSync(target, settings.target_alias, ASK_S).sync(translated)
    finally:
        target.close()


def _written(settings: CheckpointSettings, target: MirrorAdmin) -> list[Checkpoint]:
    if settings.checkpoints_topic not in target.describe_topics([settings.checkpoints_topic], timeout_s=ASK_S):
        return []
    return read_checkpoints(
        settings.checkpoints_topic,
        settings.client("target", "consumer", "checkpoints-target-consumer"),
        settings.client("target", "admin", "checkpoint-target-admin"),
        READ_S,
    )


def _translated_now(settings: CheckpointSettings, checkpoints: Checkpoints) -> tuple[dict[str, str], set[str]]:
    """Add to the checkpoints what groups have committed on the source since; their states, and the groups added."""
    topic_filter, group_filter = settings.topic_filter(), settings.group_filter()
    rules = CheckpointRules(
        settings.policy, settings.source_alias, settings.target_alias, topic_filter.should_replicate_topic
    )
    source = MirrorAdmin(settings.client("source", "admin", "checkpoint-source-admin"))
    try:
        states = source.list_groups(timeout_s=ASK_S)
        wanted = [group for group in states if group_filter.should_replicate_group(group)]
        committed, _ = source.committed(wanted, timeout_s=ASK_S)
        relevant = {group: offsets for group, offsets in committed.items() if rules.concerns(offsets)}
        added: set[str] = set()
        store = _syncs(settings) if relevant else OffsetSyncStore()

        def translate(where: TopicPartition, upstream: int) -> int | None:
            return store.downstream(where.topic, where.partition, upstream)

        for group, offsets in relevant.items():
            for each in rules.checkpoints(group, offsets, translate):
                if checkpoints.is_worth_writing(each):
                    checkpoints.add(each)
                    added.add(group)
        return states, added
    finally:
        source.close()
        topic_filter.close()
        group_filter.close()


def _syncs(settings: CheckpointSettings) -> OffsetSyncStore:
    """All offset syncs of the flow; none if there is no topic of them."""
    store = OffsetSyncStore()

    def take(record: LogRecord) -> None:
        try:
            store.add(OffsetSync.from_record(record.key, record.value))
        except DataError as error:
            log.warning("Ignored invalid offset sync record at offset %s: %s", record.offset, error)

    side, topic = settings.offset_syncs_location, settings.offset_syncs_topic
    admin_config = settings.client(side, "admin", f"offset-syncs-{side}-admin")
    with Admin(admin_config) as admin:
        if topic not in admin.describe_topics([topic], timeout_s=ASK_S):
            return store
    consumer_config = settings.client(side, "consumer", f"offset-syncs-{side}-consumer")
    reader = TopicLog(topic, consumer_config=consumer_config, admin_config=admin_config, on_record=take)
    reader.start(READ_S)
    reader.stop()
    return store
