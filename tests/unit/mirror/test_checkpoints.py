"""Which checkpoints are written, which offsets groups get on the target, and how groups are dealt to tasks."""

from __future__ import annotations

import pytest

from seamark.connector.offsets import Offsets
from seamark.errors import ConnectError, RetriableError
from seamark.kafka import TopicPartition
from seamark.kafka.mirror_admin import GroupOffset
from seamark.mirror.checkpoint import MirrorCheckpointConnector, chunks
from seamark.mirror.checkpoints import CheckpointRules, Checkpoints
from seamark.mirror.config import CheckpointSettings
from seamark.mirror.group_sync import offsets_to_sync
from seamark.mirror.policies import ReplicationPolicy, policy_of
from seamark.mirror.wire import Checkpoint

T0, T1 = TopicPartition("a.t", 0), TopicPartition("a.t", 1)


def rules(policy: ReplicationPolicy | None = None) -> CheckpointRules:
    return CheckpointRules(policy or policy_of({}), "a", "b", lambda topic: topic != "unwanted")


def checkpoint(upstream: int, downstream: int, partition: int = 0, group: str = "g") -> Checkpoint:
    return Checkpoint(group, "a.t", partition, upstream, downstream)


@pytest.mark.parametrize(
    ("topic", "remote"), [("t", "a.t"), ("c.t", "a.c.t"), ("b.t", "t"), ("b.c.t", "t"), ("a.t", "a.a.t")]
)
def test_topics_from_the_target_get_their_original_names_back(topic: str, remote: str) -> None:
    assert rules().remote(topic) == remote


def test_only_offsets_that_can_be_translated_become_checkpoints() -> None:
    offsets = {
        TopicPartition("t", 0): GroupOffset(10, "note"),
        TopicPartition("t", 1): GroupOffset(20),
        TopicPartition("t", 2): GroupOffset(30),
        TopicPartition("t", 3): None,
        TopicPartition("unwanted", 0): GroupOffset(1),
    }
    translated = {TopicPartition("t", 0): 5, TopicPartition("t", 1): -1, TopicPartition("unwanted", 0): 1}
    asked: list[tuple[TopicPartition, int]] = []

    def translate(where: TopicPartition, upstream: int) -> int | None:
        asked.append((where, upstream))
        return translated.get(where)

    assert rules().checkpoints("g", offsets, translate) == [Checkpoint("g", "a.t", 0, 10, 5, "note")]
    assert (TopicPartition("t", 0), 10) in asked
    assert rules().concerns(offsets)
    assert not rules().concerns({TopicPartition("unwanted", 0): GroupOffset(1)})


def test_a_checkpoint_is_written_when_first_ahead_or_after_a_rewind() -> None:
    written = Checkpoints()
    assert written.is_worth_writing(checkpoint(10, 5))
    written.add(checkpoint(10, 5))
    assert not written.is_worth_writing(checkpoint(10, 5))
    assert not written.is_worth_writing(checkpoint(12, 5))
    assert not written.is_worth_writing(checkpoint(12, 4))
    assert written.is_worth_writing(checkpoint(12, 6))
    assert written.is_worth_writing(checkpoint(9, 3))
    assert written.is_worth_writing(checkpoint(10, 5, partition=1))
    assert written.is_worth_writing(checkpoint(10, 5, group="other"))
    written.add(checkpoint(9, 3))
    assert written.of("g") == {T0: checkpoint(9, 3)}
    assert written.of("unknown") == {}
    assert written.target_offsets() == {"g": {T0: GroupOffset(3)}}


def test_groups_are_brought_forward_but_never_back(caplog: pytest.LogCaptureFixture) -> None:
    translated = {T0: GroupOffset(10), T1: GroupOffset(10, "note")}
    assert offsets_to_sync("g", translated, {}) == translated
    assert offsets_to_sync("g", translated, {T0: GroupOffset(10), T1: GroupOffset(11)}) == {}
    assert offsets_to_sync("g", translated, {T0: GroupOffset(9), T1: GroupOffset(10)}) == {T0: GroupOffset(10)}
    assert not caplog.records
    assert offsets_to_sync("g", translated, {T0: None, T1: GroupOffset(10)}) == {T0: GroupOffset(10)}
    assert "reset to a negative offset" in caplog.text


def test_groups_are_dealt_in_runs_of_neighbours() -> None:
    assert chunks(["a", "b", "c", "d", "e"], 2) == [["a", "b", "c"], ["d", "e"]]
    assert chunks(["a", "b"], 5) == [["a"], ["b"]]
    assert chunks([], 5) == []


def test_no_tasks_while_disabled_and_a_retriable_error_while_groups_are_not_known() -> None:
    connector = MirrorCheckpointConnector()
    connector.start({"name": "c", "source.cluster.alias": "a", "enabled": "false"})
    assert connector.task_configs(3) == []
    connector.stop()
    unloaded = MirrorCheckpointConnector()
    unloaded._settings = CheckpointSettings.of({"name": "c", "source.cluster.alias": "a"})
    with pytest.raises(RetriableError, match=r"^Timeout while loading consumer groups\.$"):
        unloaded.task_configs(3)
    unloaded._groups = frozenset({"g2", "g1", "g3"})
    assert [each["task.assigned.groups"] for each in unloaded.task_configs(2)] == ["g1,g2", "g3"]
    assert [each["task.index"] for each in unloaded.task_configs(9)] == ["0", "1", "2"]
    unloaded._groups = frozenset()
    assert unloaded.task_configs(2) == []


def test_altered_offsets_are_checked() -> None:
    where = {"partition": 0, "topic": "a.t", "group": "g"}
    connector = MirrorCheckpointConnector()
    assert connector.alter_offsets({}, Offsets([(where, {"offset": 0})]))
    assert connector.alter_offsets({}, Offsets([({"garbage": 1}, None)]))
    with pytest.raises(ConnectError, match="the only accepted value is 0"):
        connector.alter_offsets({}, Offsets([(where, {"offset": 1})]))


def test_validation_refuses_a_connector_without_checkpoints_or_syncs() -> None:
    connector = MirrorCheckpointConnector()
    base = {"name": "c", "source.cluster.alias": "a"}

    def errors(**more: str) -> list[str]:
        config = {**base, **{key.replace("__", "."): value for key, value in more.items()}}
        return [error for value in connector.validate(config) for error in value.errors]

    assert errors() == []
    assert errors(emit__checkpoints__enabled="false") == [
        "MirrorCheckpointConnector can't run with emit.checkpoints.enabled set to false"
    ]
    assert errors(**{"emit__offset-syncs__enabled": "false"}) == [
        "MirrorCheckpointConnector can't run without offset syncs"
    ]
    assert errors(emit__checkpoints__enabled="false", enabled="false") == []
