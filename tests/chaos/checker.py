"""From history and evidence to violations. Nothing here talks to anybody.

Requests without an answer may or may not have had their effect, so what is possible is a set: of places from which a
source goes on, of configurations that a connector may have.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chaos.evidence import Evidence, SinkLine, Written
from chaos.history import Event, Outcome
from chaos.lines import length

SKEW_S: Final = 0.005
"""The broker counts whole milliseconds."""
MOST_SHOWN: Final = 5

PROMISES: Final[dict[str, str]] = {
    "lost": "no record of a source is lost",
    "twice": "none is written twice",
    "order": "their order is kept",
    "moved": "an acknowledged change of offsets has its effect, exactly",
    "read": "offsets that are read are those that were set",
    "quiet": "nothing is written between a change of offsets and the resume",
    "stopped": "nothing is written while STOPPED, or no connector, is shown",
    "offsets": "offsets move only by commits and requests",
    "owner": "a task has at most one owner",
    "sink": "no record of a sink is lost",
    "sink-moved": "a sink goes on exactly where it was put",
    "effect": "acknowledged creates, deletes, configurations and states have their effect",
    "alive": "no worker ends by itself",
    "recovers": "everything runs again after the faults",
}


@dataclass(slots=True)
class Finding:
    """A promise, how often it was put to the test, and how it was broken."""

    promise: str
    checks: int = 0
    violations: list[str] = field(default_factory=list)


class Findings:
    """One for each promise."""

    def __init__(self) -> None:
        self.of = {promise: Finding(promise) for promise in PROMISES}
        self.repeated = 0
        """Lines that sinks wrote once more without having been put back, which they may after a crash."""

    def check(self, promise: str, holds: bool, text: Callable[[], str] | str = "") -> bool:
        """Count a check; note a violation."""
        finding = self.of[promise]
        finding.checks += 1
        if not holds:
            finding.violations.append(text if isinstance(text, str) else text())
        return holds

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.of.values())


def check(events: Sequence[Event], evidence: Evidence) -> Findings:
    """All promises."""
    findings = Findings()
    for name, records in evidence.written.items():
        mine = sorted((event for event in events if event.who == name), key=lambda event: event.ended)
        _check_source(name, mine, records, evidence.fed[name], findings)
        _check_quiet(name, mine, records, findings)
        _check_owners(name, records, evidence, findings)
    for name, lines in evidence.lines.items():
        mine = sorted((event for event in events if event.who == name), key=lambda event: event.ended)
        _check_sink(name, mine, lines, evidence.fed[name], findings)
    for name in evidence.fed:
        _check_reads(name, events, evidence, findings)
        _check_effects(name, events, evidence, findings)
    ended = [event for event in events if event.what == "worker-ended"]
    findings.check(
        "alive", not ended, lambda: f"{len(ended)} times; the first: {ended[0].details.get('tail', '')[-300:]}"
    )
    return findings


# sources


def _moves(events: Sequence[Event]) -> list[Event]:
    """Requests that may have set an offset."""
    return [event for event in events if event.what in ("alter", "reset") and event.outcome is not Outcome.REFUSED]


def _check_source(name: str, events: Sequence[Event], records: Sequence[Written], fed: int, findings: Findings) -> None:
    moves = _moves(events)
    possible, index, moved_to = {0}, 0, None
    for record in records:
        while index < len(moves) and moves[index].ended <= record.at + SKEW_S and moves[index].began <= record.at:
            move = moves[index]
            index += 1
            target = int(move.details["to"])
            if move.outcome is Outcome.DONE:
                possible, moved_to = {target}, target
            else:
                possible = possible | {target}
        where = f"{name}: record {record.number} at {record.at:.3f} by {record.owner}"
        if moved_to is not None:
            findings.check(
                "moved", record.number in possible, lambda w=where, m=moved_to: f"{w}, but it was moved to {m}"
            )
            moved_to = None
        else:
            _judge(record.number, possible, where, findings)
        possible = {record.number + 1}
    for move in moves[index:]:
        target = int(move.details["to"])
        possible = {target} if move.outcome is Outcome.DONE else possible | {target}
    findings.check("lost", fed in possible, lambda: f"{name}: the last record is {min(possible) - 1} of {fed - 1}")


def _judge(number: int, possible: set[int], where: str, findings: Findings) -> None:
    expected = sorted(possible)
    for promise in ("lost", "twice", "order"):
        findings.check(promise, True)
    if number in possible:
        return
    if number < 0:
        findings.check("order", False, f"{where}: not a record that was sent")
    elif number < expected[-1]:
        findings.check("twice", False, f"{where}: expected was {expected}")
    else:
        findings.check("lost", False, f"{where}: expected was {expected}")


def _spans(
    events: Sequence[Event], firsts: Sequence[str], lasts: Sequence[str]
) -> Iterator[tuple[float, float, Event]]:
    """Times from the end of one of the first to the beginning of the next of the last."""
    since: Event | None = None
    for event in sorted(events, key=lambda each: each.began):
        if event.what in lasts:
            if since is not None:
                yield since.ended, event.began, since
            since = None
        elif event.what in firsts and event.outcome is Outcome.DONE:
            since = event if since is None or event.ended > since.ended else since


def _check_quiet(name: str, events: Sequence[Event], records: Sequence[Written], findings: Findings) -> None:
    times = [record.at for record in records]
    begins = ("resume", "create")
    for promise, firsts in (("quiet", ("alter", "reset")), ("stopped", ("stopped", "gone"))):
        for since, until, event in _spans(events, firsts, begins):
            first = bisect.bisect_right(times, since + SKEW_S)
            last = bisect.bisect_left(times, until - SKEW_S)
            found = records[first:last]
            findings.check(
                promise,
                not found,
                lambda e=event, f=found: (
                    f"{name}: {len(f)} records after {e.what} at {e.ended:.3f}, the first at {f[0].at:.3f}"
                ),
            )


def _check_owners(name: str, records: Sequence[Written], evidence: Evidence, findings: Findings) -> None:
    """Who wrote, in order, must be who said to run it, in order; who did not write may be left out."""
    runners = [
        f"w{evidence.workers[worker]}" for worker in evidence.runners.get(name, []) if worker in evidence.workers
    ]
    at, last = 0, None
    for record in records:
        worker = record.owner.partition(".")[0]
        if record.owner == last:
            continue
        last = record.owner
        while at < len(runners) and runners[at] != worker:
            at += 1
        holds = at < len(runners)
        findings.check(
            "owner", holds, lambda r=record: f"{name}: {r.owner} wrote record {r.number} and did not say to run it"
        )
        if not holds:
            return


# sinks


def _check_sink(name: str, events: Sequence[Event], lines: Sequence[SinkLine], fed: int, findings: Findings) -> None:
    moves = _moves(events)
    possible, index, highest = {0}, 0, -1
    """`highest`: up to it, and from where it was put, all are there."""
    is_fresh = True
    for line in lines:
        while index < len(moves) and int(moves[index].details["size"]) <= line.place:
            move = moves[index]
            index += 1
            target = int(move.details["to"])
            possible = {target} if move.outcome is Outcome.DONE else possible | {target, highest + 1}
            is_fresh = True
        if line.number is None:
            continue  # half a line of a writer that was killed; what it was to be comes again
        if is_fresh:
            wanted = sorted(possible)
            findings.check(
                "sink-moved",
                line.number in possible,
                lambda n=line.number, w=wanted: f"{name}: line {n}, but it was put to {w}",
            )
            highest, is_fresh = line.number, False
            continue
        findings.check(
            "sink",
            line.number <= highest + 1,
            lambda n=line.number, h=highest: f"{name}: line {n} comes before {h + 1}",
        )
        findings.repeated += line.number <= highest
        highest = max(highest, line.number)
        possible = {highest + 1}
    for move in moves[index:]:
        target = int(move.details["to"])
        possible = {target} if move.outcome is Outcome.DONE else possible | {target}
    findings.check("sink", fed in possible or highest + 1 == fed, lambda: f"{name}: ends with {highest} of {fed - 1}")


# offsets that are read


def _numbers(event: Event, name: str) -> int | None:
    """The next record by an answer with offsets; None if it has none."""
    rows = (event.details.get("answer") or {}).get("offsets", [])
    if not rows:
        return None
    offset: Mapping[str, Any] = rows[0]["offset"]
    if "kafka_offset" in offset:
        return int(offset["kafka_offset"])
    return int(offset["position"]) // length(name)


def _check_reads(name: str, events: Sequence[Event], evidence: Evidence, findings: Findings) -> None:
    """What is read must be what was set, and between two changes never less than what was read before."""
    moves = _moves([event for event in events if event.who == name])
    reads = [
        event
        for event in events
        if event.outcome is Outcome.DONE
        and (
            (event.who == name and event.what == "offsets") or (event.what == "sample" and event.details["of"] == name)
        )
    ]
    resumes = [event for event in events if event.who == name and event.what in ("resume", "create")]
    reads.sort(key=lambda event: event.began)
    least: int = 0
    least_at = 0.0
    for read in reads:
        number = _numbers(read, name) or 0
        overlapping = [move for move in moves if move.ended >= read.began and move.began <= read.ended]
        before = [move for move in moves if move.ended < read.began]
        last = before[-1] if before else None
        is_open = bool(overlapping) or any(
            move.outcome is Outcome.UNKNOWN and (last is None or move.ended >= last.began) for move in before
        )
        has_run = any(last is None or event.began >= last.began for event in resumes if event.began <= read.ended)
        if read.what == "offsets" and last is not None and not is_open and not has_run:
            target = int(last.details["to"])
            findings.check(
                "read", number == target, lambda n=number, t=target: f"{name}: {n} was read after {t} was set"
            )
        moved = any(move.ended >= least_at for move in moves if move.began <= read.ended)
        if not moved:
            findings.check(
                "offsets",
                number >= least,
                lambda n=number, b=least: f"{name}: {n} was read after {b}, without a request",
            )
        least, least_at = number, read.began


# effects


def _check_effects(name: str, events: Sequence[Event], evidence: Evidence, findings: Findings) -> None:
    mine = [event for event in events if event.who == name]
    configured = [
        event for event in mine if event.what in ("configure", "create") and event.outcome is not Outcome.REFUSED
    ]
    last = max((i for i, event in enumerate(configured) if event.outcome is Outcome.DONE), default=-1)
    if last >= 0:
        allowed = [event.details["config"] for event in configured[last:]]
        # A create that says "exists already" may have been an earlier one, with an earlier configuration.
        shown = {key: value for key, value in (evidence.configs.get(name) or {}).items() if key != "name"}
        findings.check("effect", shown in allowed, lambda: f"{name}: the configuration is {shown}, not {allowed[0]}")
    findings.check("effect", evidence.states.get(name) is not None, f"{name}: it is gone")
    for event in mine:
        if event.what in ("stopped", "paused"):
            findings.check(
                "effect", event.outcome is Outcome.DONE, lambda e=event: f"{name}: never {e.what}: {e.details}"
            )
