"""Which offsets positions stand for: decided on values, before anything is changed.

Whoever asks Kafka hands in what it said: committed offsets, where logs begin and end, and a function that finds times.
A plan has every partition that would move with its old and new offset, and every refusal; with a single refusal nothing
shall be changed (`PositionPlan.require`).

What `clamp` allows: to go to the nearest record that is still there, if a time, a shift or an offset lies before the
first one; to go to the end, if a time lies in the future or a shift goes behind the end. An offset behind the end is
refused even then: nothing was ever there, so it is meant for another topic or is a slip.

A time that is later than the last record but not in the future is the end of the log: the next record is the first one
of that time or later. Of an empty log every time is its end. A time before the first record of a partition is refused
if records of the partition have been deleted, for then some of that time may be missing; and if it is before the first
record of all partitions that it is meant for: such a topic has nothing of that time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from seamark.config.positions import (
    AtOffset,
    AtTime,
    BeforeNow,
    Earliest,
    Latest,
    Position,
    PositionRule,
    Selector,
    Shift,
)
from seamark.errors import BadRequestError

Partition = tuple[str, int]
"""Topic and number."""

_MOST_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class LogRange:
    """What is there of a partition: from the offset `start`, and before `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TimedOffset:
    """A record: its offset and its time."""

    offset: int
    timestamp_ms: int


FindTimes = Callable[[Mapping[Partition, int]], Mapping[Partition, TimedOffset | None]]
"""For each partition the first record whose time, in ms since 1970, is that or later; None or no key for none."""


@dataclass(frozen=True, slots=True)
class PositionChange:
    """Where a partition goes."""

    topic: str
    partition: int
    old: int | None
    """None if it has no position yet."""
    new: int
    position: Position
    clamped: str | None = None
    """Why it is not quite what was asked for."""

    @property
    def by(self) -> int | None:
        """Offsets forward, or back if negative."""
        return None if self.old is None else self.new - self.old


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that cannot be done, and what could."""

    selector: Selector
    message: str


class PositionsRefusedError(BadRequestError):
    """Some positions cannot be taken; nothing was changed."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        super().__init__("\n".join(_summarised(refusals)))
        self.refusals = tuple(refusals)


@dataclass(frozen=True, slots=True)
class PositionPlan:
    """What would be done, in the order of topics and partitions."""

    changes: tuple[PositionChange, ...]
    refusals: tuple[Refusal, ...] = ()

    def require(self) -> tuple[PositionChange, ...]:
        """The changes.

        Raises:
            PositionsRefusedError: some cannot be made.
        """
        if self.refusals:
            raise PositionsRefusedError(self.refusals)
        return self.changes


def plan_positions(
    rules: Sequence[PositionRule],
    current: Mapping[Partition, int | None],
    logs: Mapping[Partition, LogRange],
    find_times: FindTimes,
    *,
    now_ms: int,
    clamp: bool = False,
) -> PositionPlan:
    """Find the offset of every partition that a rule applies to.

    Args:
        rules: what was asked for; the most exact one for a partition counts.
        current: where partitions are now.
        logs: the partitions that there are.
        find_times: is called at most twice, and only if a rule has a time.
        now_ms: what times before now are counted from.
        clamp: whether to go to the nearest offset there is.
    """
    refusals = [*_unknown(rules, logs)]
    chosen = {partition: rule for partition in sorted(logs) if (rule := _rule_for(partition, rules)) is not None}
    times = _Times(chosen, logs, find_times, now_ms)
    changes = []
    for partition, rule in chosen.items():
        try:
            change = _change(partition, rule.position, current.get(partition), logs[partition], times, clamp)
            changes.append(change)
        except _RefusedError as refused:
            refusals.append(Refusal(Selector(*partition), refused.message))
    return PositionPlan(tuple(changes), tuple(refusals))


def _rule_for(partition: Partition, rules: Iterable[PositionRule]) -> PositionRule | None:
    fitting = [rule for rule in rules if rule.selector.selects(*partition)]
    return max(fitting, key=lambda rule: rule.selector.exactness, default=None)


def _unknown(rules: Iterable[PositionRule], logs: Mapping[Partition, LogRange]) -> Iterable[Refusal]:
    for selector in (rule.selector for rule in rules):
        partitions = [number for topic, number in logs if topic == selector.topic]
        if selector.topic is None:
            if not logs:
                yield Refusal(selector, "There is no partition that could be moved.")
        elif not partitions:
            topics = sorted({topic for topic, _ in logs})
            yield Refusal(selector, f"There is no topic {selector.topic!r} here. Valid: {listed(topics)}.")
        elif selector.partition is not None and selector.partition not in partitions:
            yield Refusal(
                selector,
                f"Topic {selector.topic!r} has no partition {selector.partition} here. Valid: {ranges(partitions)}.",
            )


class _RefusedError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class _Found:
    """What a time came to; `problem` says why it is outside of what is there."""

    offset: int
    problem: str | None = None


class _Times:
    """All times of a plan, found with as few questions as possible."""

    def __init__(
        self,
        chosen: Mapping[Partition, PositionRule],
        logs: Mapping[Partition, LogRange],
        find_times: FindTimes,
        now_ms: int,
    ) -> None:
        wanted = {
            partition: rule.position.at_ms(now_ms)
            for partition, rule in chosen.items()
            if isinstance(rule.position, (AtTime, BeforeNow))
        }
        past = {partition: at_ms for partition, at_ms in wanted.items() if at_ms <= now_ms}
        # Below zero are Kafka's words for the ends of a log, not times.
        answers = find_times({partition: max(at_ms, 0) for partition, at_ms in past.items()}) if past else {}
        # Whether an answer is the first record there is, which is too young then, Kafka tells.
        suspects = {
            partition: 0
            for partition, at_ms in past.items()
            if (found := answers.get(partition)) is not None and found.timestamp_ms > at_ms
        }
        oldest = find_times(suspects) if suspects else {}
        too_old = _before_all(past, logs, answers, oldest)
        self.found = {
            partition: self._found(
                at_ms,
                now_ms,
                logs[partition],
                answers.get(partition),
                oldest.get(partition) if logs[partition].start > 0 or (partition[0], at_ms) in too_old else None,
            )
            for partition, at_ms in wanted.items()
        }

    def _found(
        self, at_ms: int, now_ms: int, log: LogRange, answer: TimedOffset | None, oldest: TimedOffset | None
    ) -> _Found:
        if at_ms > now_ms:
            return _Found(log.end, f"{show_time(at_ms)} is in the future; now it is {show_time(now_ms)}")
        if answer is None:
            return _Found(log.end)
        if oldest is not None and oldest.offset == answer.offset:
            problem = (
                f"{show_time(at_ms)} is before the first record that is still there, offset {answer.offset} of "
                f"{show_time(answer.timestamp_ms)}"
            )
            return _Found(answer.offset, problem)
        return _Found(answer.offset)


def _before_all(
    past: Mapping[Partition, int],
    logs: Mapping[Partition, LogRange],
    answers: Mapping[Partition, TimedOffset | None],
    oldest: Mapping[Partition, TimedOffset | None],
) -> set[tuple[str, int]]:
    """Topics and times before everything in those partitions of the topic that the time is meant for."""
    before, not_before = set(), set()
    for (topic, number), at_ms in past.items():
        answer, first = answers.get((topic, number)), oldest.get((topic, number))
        if answer is not None and first is not None and first.offset == answer.offset:
            before.add((topic, at_ms))
        elif logs[topic, number].end > logs[topic, number].start:
            not_before.add((topic, at_ms))
    return before - not_before


def _change(
    partition: Partition, position: Position, old: int | None, log: LogRange, times: _Times, clamp: bool
) -> PositionChange:
    found = _resolve(partition, position, old, log, times)
    if found.problem is not None and not clamp:
        raise _RefusedError(
            f"{found.problem}. Valid: offsets {log.start} to {log.end}, or clamp, which would go to {found.offset}."
        )
    return PositionChange(*partition, old, found.offset, position, found.problem)


def _resolve(partition: Partition, position: Position, old: int | None, log: LogRange, times: _Times) -> _Found:
    match position:
        case Earliest():
            return _Found(log.start)
        case Latest():
            return _Found(log.end)
        case AtTime() | BeforeNow():
            return times.found[partition]
        case AtOffset(offset):
            if offset > log.end:
                raise _RefusedError(
                    f"Offset {offset} is behind the end of the log. Valid: offsets {log.start} to {log.end}."
                )
            return _Found(max(offset, log.start), _before_start(offset, log, f"Offset {offset}"))
        case Shift(by):
            if old is None:
                raise _RefusedError(
                    f"It has no position yet that could be shifted by {by:+d}. "
                    f"Valid: offsets {log.start} to {log.end}, earliest, latest or a time."
                )
            offset = old + by
            what = f"Offset {offset}, which is {old} {'+' if by >= 0 else '-'} {abs(by)},"
            if offset > log.end:
                return _Found(log.end, f"{what} is behind the end of the log")
            return _Found(max(offset, log.start), _before_start(offset, log, what))


def _before_start(offset: int, log: LogRange, what: str) -> str | None:
    return f"{what} is before the first record that is still there" if offset < log.start else None


# words


def show_time(timestamp_ms: int) -> str:
    """RFC 3339, with milliseconds if there are any."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms since 1970"
    text = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return text.replace(".000Z", "Z")


def listed(names: Sequence[str]) -> str:
    """Names with commas, of very many the first ones."""
    if not names:
        return "none"
    shown = ", ".join(names[:_MOST_LISTED])
    return shown if len(names) <= _MOST_LISTED else f"{shown} and {len(names) - _MOST_LISTED} more"


def ranges(numbers: Iterable[int]) -> str:
    """``0 to 3, 7``."""
    ordered = sorted(set(numbers))
    runs = [[number for _, number in run] for _, run in groupby(enumerate(ordered), lambda each: each[1] - each[0])]
    return listed([str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs])


def _summarised(refusals: Sequence[Refusal]) -> list[str]:
    lines = [
        refusal.message if refusal.selector.topic is None else f"{refusal.selector}: {refusal.message}"
        for refusal in refusals[:_MOST_LISTED]
    ]
    more = len(refusals) - _MOST_LISTED
    return [*lines, f"and {more} more"] if more > 0 else lines
