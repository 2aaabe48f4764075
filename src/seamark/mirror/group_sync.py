"""Offsets of consumer groups on the target, kept where their checkpoints are (`sync.group.offsets.enabled`).

Groups that move to the target then go on where they were. Only groups without members are touched, and none is ever
sent back: a group that has read on, on the target, knows better.

MirrorMaker 2 looks for idle groups once per interval and commits later, and commits everything for a group that it has
not seen idle. A group that fell idle in between would be sent back by that; here it is looked at right before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from seamark.errors import KafkaError
from seamark.kafka.mirror_admin import GroupOffset, MirrorAdmin
from seamark.kafka.topic_partitions import TopicPartition

log = logging.getLogger(__name__)

_IDLE: Final = frozenset({"EMPTY", "DEAD"})
_HAS_MEMBERS: Final = "UNKNOWN_MEMBER_ID"
_IN_USE: Final = (
    "Unable to sync offsets for consumer group %s. "
    "This is likely caused by consumers currently using this group in the target cluster."
)


def offsets_to_sync(
    group: str,
    translated: Mapping[TopicPartition, GroupOffset],
    committed: Mapping[TopicPartition, GroupOffset | None],
) -> dict[TopicPartition, GroupOffset]:
    """What is to be committed: partitions without an offset on the target, or with one that lies before."""
    wanted = {}
    for where, new in translated.items():
        current = committed.get(where)
        if current is None:
            if where in committed:
                log.warning(
                    "Group %s offset for partition %s may has been reset to a negative offset, just sync the offset "
                    "to target.",
                    group,
                    where,
                )
            wanted[where] = new
        elif new.offset > current.offset:
            wanted[where] = new
    return wanted


class GroupSync:
    """Commits on the target for groups that have no members there."""

    def __init__(self, target: MirrorAdmin, target_alias: str, timeout_s: float) -> None:
        self._target, self._alias, self._timeout_s = target, target_alias, timeout_s

    def sync(
        self,
        translated: Mapping[str, Mapping[TopicPartition, GroupOffset]],
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> dict[str, dict[TopicPartition, GroupOffset]]:
        """Bring groups to their translated offsets; returns what was committed.

        A group whose state or offsets cannot be read is left alone, and what fails is logged group by group.

        Raises:
            KafkaError: the target cluster did not answer.
        """
        wanted = {group: offsets for group, offsets in translated.items() if offsets}
        if not wanted:
            return {}
        states = self._target.list_groups(timeout_s=self._timeout_s)
        idle = []
        for group in wanted:
            if states.get(group, "DEAD") in _IDLE:
                idle.append(group)
            else:
                log.warning(_IN_USE, group)
        committed, failed = self._target.committed(idle, timeout_s=self._timeout_s)
        for group, error in failed.items():
            log.error("Error querying for consumer group %s on cluster %s. %s", group, self._alias, error)
        done = {}
        for group, current in committed.items():
            if is_stopping():
                break
            offsets = offsets_to_sync(group, wanted[group], current)
            if offsets and self._commit(group, offsets):
                done[group] = offsets
        return done

    def _commit(self, group: str, offsets: Mapping[TopicPartition, GroupOffset]) -> bool:
        try:
            self._target.commit_for(group, offsets, timeout_s=self._timeout_s)
        except KafkaError as error:
            if error.code == _HAS_MEMBERS:
                log.warning(_IN_USE, group)
            else:
                log.error("Unable to sync offsets for consumer group %s. %s", group, error)
            return False
        log.debug("Sync-ed %s offsets for consumer group %s.", len(offsets), group)
        return True
