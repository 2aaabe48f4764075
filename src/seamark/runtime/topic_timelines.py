"""How many records of a topic are of which time, from a few questions to the log: no record is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from seamark.config.position_plans import LogRange, Partition, TimedOffset
from seamark.connector.log_views import LogViews

# A broker looks up each partition and time for itself. So many take half a second.
MOST_LOOKUPS: Final = 12_000


@dataclass(frozen=True, slots=True)
class Counted:
    """A partition that is counted, and how much each of its records counts for."""

    log: LogRange
    weight: float = 1.0


def span_of(logs: Mapping[Partition, LogRange], views: LogViews, now_ms: int) -> tuple[int, int] | None:
    """The times from the first record to just behind the last one, or to now if that cannot be told.

    None if there is no record with a time.
    """
    filled = [where for where, log in logs.items() if log.end > log.start]
    if not filled:
        return None
    first = views.find_all_times([dict.fromkeys(filled, 0)])[0]
    starts = [found.timestamp_ms for found in first.values() if found is not None]
    newest = views.newest(filled)
    return (min(starts), max([*starts, *(newest.values() or (now_ms,))]) + 1) if starts else None


def edges_of(span: tuple[int, int], points: int) -> list[int]:
    """The times between which records are counted: `points` whiles, fewer if these are shorter than a millisecond."""
    first, end = span
    count = max(1, min(points, end - first))
    return [first + (end - first) * number // count for number in range(count + 1)]


def sample_of(logs: Mapping[Partition, LogRange], most: int) -> dict[Partition, Counted]:
    """All partitions that have records, or of too many the longest ones, and of others every so many-th.

    Partitions of about the same length stand for each other, so that all records are accounted for.
    """
    filled = sorted(
        ((where, log) for where, log in logs.items() if log.end > log.start),
        key=lambda each: (each[1].start - each[1].end, each[0]),
    )
    size = max(1, -(-len(filled) // max(1, most)))
    sample = {}
    for start in range(0, len(filled), size):
        where, log = filled[start]
        records = sum(each.end - each.start for _, each in filled[start : start + size])
        sample[where] = Counted(log, records / (log.end - log.start))
    return sample


def buckets_of(sample: Mapping[Partition, Counted], views: LogViews, edges: Sequence[int]) -> list[dict[str, Any]]:
    """The counts of records between the times; counted are offsets, gaps among them."""
    answers = views.find_all_times([dict.fromkeys(sample, at) for at in edges[1:-1]]) if len(edges) > 2 else []
    reached = {where: each.log.start for where, each in sample.items()}
    buckets, before = [], 0
    for number, (start, end) in enumerate(pairwise(edges)):
        found = answers[number] if number < len(answers) else {}
        for where, each in sample.items():
            reached[where] = _reached(reached[where], each.log, found.get(where))
        after = round(sum((reached[where] - each.log.start) * each.weight for where, each in sample.items()))
        buckets.append({"from": start, "to": end, "records": after - before})
        before = after
    return buckets


def _reached(before: int, log: LogRange, answer: TimedOffset | None) -> int:
    """The offset at a time, None standing for the end. Times may be out of order; then none is counted twice."""
    return log.end if answer is None else min(log.end, max(before, answer.offset))
