"""Where positions that users write bring the sources of a checkpoint: decided on values, before anything is changed.

Only partitions that the checkpoint has can be moved. A partition that Kafka has and the checkpoint has not is begun by
Spark itself, at its first record, if the query reads it at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seamark.checkpoint.errors import CheckpointError
from seamark.checkpoint.reading import Checkpoint, Source
from seamark.config.position_plans import (
    FindTimes,
    LogRange,
    Partition,
    PositionChange,
    PositionsRefusedError,
    Refusal,
    listed,
    plan_positions,
)
from seamark.config.positions import AtOffset, PositionRule, Selector


@dataclass(frozen=True, slots=True)
class SourceChange:
    """Where a partition of a source goes."""

    source: str
    change: PositionChange


def choose_sources(checkpoint: Checkpoint, root: str, wanted: str | None) -> tuple[Source, ...]:
    """The Kafka sources that are meant.

    Raises:
        CheckpointError: there is none; lists those that there are.
    """
    kafka = checkpoint.kafka_sources
    names = listed([source.name for source in kafka])
    if not kafka:
        others = ", ".join(f"source {source.name} is at {source.text}" for source in checkpoint.sources)
        if others:
            raise CheckpointError(f"{root} has no Kafka source: {others}")
        raise CheckpointError(
            f"{root} has no positions yet: its query has not begun to read",
            "Where it will begin is said by the query's option startingOffsets.",
        )
    if wanted is None:
        return kafka
    found = tuple(source for source in kafka if source.name == wanted)
    if not found:
        other = next((source for source in checkpoint.sources if source.name == wanted), None)
        what = (
            f"Source {wanted} is no Kafka source, but is at {other.text}" if other else f"There is no source {wanted}"
        )
        raise CheckpointError(f"{what}. Valid: {names}")
    return found


def plan_changes(
    sources: Sequence[Source],
    rules: Sequence[PositionRule],
    logs: Mapping[Partition, LogRange],
    find_times: FindTimes,
    *,
    now_ms: int,
    clamp: bool = False,
) -> list[SourceChange]:
    """What would move, without what is there already.

    Raises:
        PositionsRefusedError: something cannot be done; says what can.
        CheckpointError: it is not clear which source is meant.
    """
    owners: dict[Partition, list[Source]] = {}
    for source in sources:
        for partition in source.partitions:
            owners.setdefault(partition, []).append(source)
    selected = {where for where in owners if any(rule.selector.selects(*where) for rule in rules)}
    _require_one_owner(owners, selected)
    gone = [Refusal(Selector(*where), _gone(where, logs)) for where in sorted(selected) if where not in logs]
    if gone:
        raise PositionsRefusedError(gone)
    current = {where: (found[0].positions or {}).get(where) for where, found in owners.items()}
    here = {where: log for where, log in logs.items() if where in owners}
    plan = plan_positions(rules, current, here, find_times, now_ms=now_ms, clamp=clamp)
    return [
        SourceChange(owners[each.topic, each.partition][0].name, each)
        for each in plan.require()
        if each.new != each.old
    ]


def initial_rules(sources: Sequence[Source], root: str) -> tuple[PositionRule, ...]:
    """Back to where the query once began.

    Raises:
        CheckpointError: the checkpoint does not have that.
    """
    without = [source.name for source in sources if source.initial is None]
    if without:
        raise CheckpointError(f"{root} does not say where source {listed(without)} began")
    return tuple(
        PositionRule(Selector(*where), AtOffset(offset))
        for source in sources
        for where, offset in sorted((source.initial or {}).items())
        if where in source.partitions
    )


def moved_by_source(changes: Sequence[SourceChange]) -> dict[str, dict[Partition, int]]:
    """New positions, by source."""
    moved: dict[str, dict[Partition, int]] = {}
    for each in changes:
        moved.setdefault(each.source, {})[each.change.topic, each.change.partition] = each.change.new
    return moved


def _require_one_owner(owners: Mapping[Partition, Sequence[Source]], selected: set[Partition]) -> None:
    for where in sorted(selected):
        names = [source.name for source in owners[where]]
        if len(names) > 1:
            raise CheckpointError(
                f"Topic {where[0]!r} is read by sources {listed(names)}: it is not clear which one is meant",
                f"Choose one with --source. Valid: {listed(names)}",
            )


def _gone(where: Partition, logs: Mapping[Partition, LogRange]) -> str:
    there = sorted(number for topic, number in logs if topic == where[0])
    what = f"its partitions there: {listed([str(number) for number in there])}" if there else "nor is its topic"
    return f"The checkpoint has it, but it is not in this Kafka ({what})."
