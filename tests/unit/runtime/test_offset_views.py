"""What views of offsets come to, on values; against a real Kafka they are tested in tests/integration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from seamark.config.position_plans import LogRange, Partition, TimedOffset
from seamark.connector.log_views import LogRecord, LogViews
from seamark.runtime.offset_effects import Effect, effect
from seamark.runtime.record_views import shown_bytes, shown_record
from seamark.runtime.topic_timelines import buckets_of, edges_of, sample_of, span_of

LOG = LogRange(4, 10)
NOW_MS = 5000


@pytest.mark.parametrize(
    ("old", "new", "begins_at", "expected"),
    [
        (6, 5, "earliest", Effect(6, 5, 1, 0)),
        (6, 9, "earliest", Effect(6, 9, 0, 3)),
        (6, 6, "earliest", Effect(6, 6, 0, 0)),
        (6, None, "earliest", Effect(6, 4, 2, 0)),
        (6, None, "latest", Effect(6, 10, 0, 4)),
        (6, None, None, Effect(6, None)),
        (None, 6, "earliest", Effect(None, 6, 0, 2)),
        (None, 6, None, Effect(None, 6)),
        (1, 6, "latest", Effect(1, 6, 0, 2)),  # what was deleted is not skipped
        (6, 1, "latest", Effect(6, 1, 2, 0)),  # nor replayed
        (6, 11, "latest", Effect(6, 11)),
        (11, 6, "latest", Effect(11, 6)),
    ],
)
def test_effects(old: int | None, new: int | None, begins_at: str | None, expected: Effect) -> None:
    assert effect(old, new, LOG, begins_at) == expected


def test_without_a_log_only_positions_are_known() -> None:
    assert effect(3, 5, None, "earliest") == Effect(3, 5)


class Logs(LogViews):
    """Logs whose records are their times."""

    def __init__(self, times: Mapping[Partition, Sequence[int]]) -> None:
        self.times = times

    @property
    def ranges(self) -> dict[Partition, LogRange]:
        return {where: LogRange(0, len(times)) for where, times in self.times.items()}

    def newest(self, partitions: Iterable[Partition]) -> Mapping[Partition, int]:
        return {where: max(self.times[where]) for where in partitions}

    def find_all_times(
        self, wanted: Sequence[Mapping[Partition, int]]
    ) -> Sequence[Mapping[Partition, TimedOffset | None]]:
        return [{where: self._find(where, at) for where, at in each.items()} for each in wanted]

    def _find(self, where: Partition, at: int) -> TimedOffset | None:
        found = (TimedOffset(offset, time) for offset, time in enumerate(self.times[where]) if time >= at)
        return next(found, None)

    def times_at(self, positions: Mapping[Partition, int], budget_s: float) -> Mapping[Partition, int]:
        raise NotImplementedError

    def around(self, *place: Any) -> tuple[Sequence[LogRecord], bool]:
        raise NotImplementedError


def counts(logs: Logs, points: int, most: int = 1000) -> list[int]:
    span = span_of(logs.ranges, logs, NOW_MS)
    assert span is not None
    return [each["records"] for each in buckets_of(sample_of(logs.ranges, most), logs, edges_of(span, points))]


def test_records_are_counted_by_time() -> None:
    logs = Logs({("t", 0): [100, 110, 120], ("t", 1): [105, 129], ("t", 2): []})
    assert span_of(logs.ranges, logs, NOW_MS) == (100, 130)
    assert counts(logs, 3) == [2, 1, 2]
    assert counts(logs, 1) == [5]
    assert sum(counts(logs, 500)) == 5


def test_a_log_that_cannot_tell_its_newest_record_goes_to_now() -> None:
    logs = Logs({("t", 0): [100, 110]})
    logs.newest = lambda partitions: {}  # type: ignore[method-assign]
    assert span_of(logs.ranges, logs, NOW_MS) == (100, 5001)


def test_times_out_of_order_are_counted_once() -> None:
    found = counts(Logs({("t", 0): [50, 10, 90, 0, 99]}), 10)
    assert (sum(found), min(found)) == (5, 0)


def test_an_empty_topic_has_no_span() -> None:
    assert span_of({("t", 0): LogRange(7, 7)}, Logs({("t", 0): []}), NOW_MS) is None


def test_of_too_many_partitions_some_stand_for_others() -> None:
    logs = Logs({("t", number): [1000 + number + each for each in range(20)] for number in range(100)})
    sample = sample_of(logs.ranges, 10)
    assert [where[1] for where in sample] == list(range(0, 100, 10))
    found = counts(logs, 4, 10)
    assert sum(found) == 2000
    assert found == pytest.approx(counts(logs, 4), rel=0.25)


def test_the_longest_partitions_are_always_counted() -> None:
    lengths = {("t", number): 10_000 if number == 77 else 1 for number in range(100)}
    sample = sample_of({where: LogRange(0, length) for where, length in lengths.items()}, 10)
    assert ("t", 77) in sample
    assert round(sum((each.log.end - each.log.start) * each.weight for each in sample.values())) == 10_099


@pytest.mark.parametrize(
    ("data", "most", "expected"),
    [
        (None, 5, (None, None, False)),
        (b"", 5, ("", "utf8", False)),
        (b"abcdef", 5, ("abcde", "utf8", True)),
        ("aüü".encode(), 4, ("aü", "utf8", True)),
        (b"\xff\x00", 5, ("/wA=", "base64", False)),
        (b"text\xff", 4, ("dGV4dA==", "base64", True)),
    ],
)
def test_bytes_are_shown(data: bytes | None, most: int, expected: tuple[Any, ...]) -> None:
    assert shown_bytes(data, most) == expected


def test_headers_share_their_bytes() -> None:
    shown = shown_record(LogRecord(1, None, None, None, (("a", b"123"), ("b", b"456"), ("c", b"789"))), 5)
    assert (shown["headers"], shown["is_truncated"]) == ([["a", "123"], ["b", "45"], ["c", ""]], True)
