"""Which checkpoints a mirror has written, and which ones are worth writing next. No effects.

A checkpoint says where a consumer group of the source stands in a remote topic. Consumers on the target may have used
the last one, so what follows must not send them back without need: a new one is written when it is ahead of the last,
or when the group itself was moved back on the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from seamark.kafka.mirror_admin import GroupOffset
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.policies import ReplicationPolicy
from seamark.mirror.wire import Checkpoint

Translate = Callable[[TopicPartition, int], int | None]
"""From a source partition and an offset in it to the offset on the target; None or negative if that is not known."""


class Checkpoints:
    """The last checkpoint of each group and remote partition. Not for use by several threads at once."""

    def __init__(self) -> None:
        self._last: dict[str, dict[TopicPartition, Checkpoint]] = {}

    def add(self, checkpoint: Checkpoint) -> None:
        """A checkpoint that was written, or will be."""
        where = TopicPartition(checkpoint.topic, checkpoint.partition)
        self._last.setdefault(checkpoint.group, {})[where] = checkpoint

    def is_worth_writing(self, checkpoint: Checkpoint) -> bool:
        """Whether it is the first of its kind, is ahead of the last one, or follows a group that was moved back."""
        last = self._last.get(checkpoint.group, {}).get(TopicPartition(checkpoint.topic, checkpoint.partition))
        return last is None or checkpoint.upstream < last.upstream or checkpoint.downstream > last.downstream

    def of(self, group: str) -> dict[TopicPartition, Checkpoint]:
        """The last checkpoints of a group, by remote partition."""
        return dict(self._last.get(group, {}))

    def target_offsets(self) -> dict[str, dict[TopicPartition, GroupOffset]]:
        """What each group would commit on the target."""
        return {
            group: {where: GroupOffset(each.downstream, each.metadata) for where, each in last.items()}
            for group, last in self._last.items()
        }


class CheckpointRules:
    """How offsets of a group on the source become checkpoints."""

    def __init__(
        self,
        policy: ReplicationPolicy,
        source_alias: str,
        target_alias: str,
        should_replicate_topic: Callable[[str], bool],
    ) -> None:
        self._policy, self._source_alias, self._target_alias = policy, source_alias, target_alias
        self._should_replicate_topic = should_replicate_topic

    def remote(self, topic: str) -> str:
        """What a topic that a group reads on the source is called on the target.

        One that came from the target has its original there; any other has its copy.
        """
        if self._policy.topic_source(topic) == self._target_alias:
            return self._policy.original_topic(topic)
        return self._policy.format_remote_topic(self._source_alias, topic)

    def concerns(self, offsets: Mapping[TopicPartition, GroupOffset | None]) -> bool:
        """Whether a group has read a topic that is replicated."""
        return any(self._should_replicate_topic(where.topic) for where in offsets)

    def checkpoints(
        self, group: str, offsets: Mapping[TopicPartition, GroupOffset | None], translate: Translate
    ) -> list[Checkpoint]:
        """The checkpoints for a group's offsets on the source, as far as they can be translated."""
        found = []
        for where, committed in sorted(offsets.items()):
            if committed is None or not self._should_replicate_topic(where.topic):
                continue
            downstream = translate(where, committed.offset)
            if downstream is None or downstream < 0:
                continue
            found.append(
                Checkpoint(
                    group,
                    self.remote(where.topic),
                    where.partition,
                    committed.offset,
                    downstream,
                    committed.metadata,
                )
            )
        return found
