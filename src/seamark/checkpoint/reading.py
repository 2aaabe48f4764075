"""What a checkpoint says, read as Spark reads it when a query starts.

The last batch of ``offsets`` is either committed, and the next one begins where it ended; or it is unfinished, and
Spark runs it again with exactly its range, from where the batch before it ended (or where the sources began). With
`asyncProgressTrackingEnabled` numbers are missing in between: the batch before is the one before it that is there.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from seamark.checkpoint.entries import (
    NO_OFFSETS,
    OffsetEntry,
    SourceOffsets,
    milliseconds,
    parse_commit,
    parse_initial,
    parse_offsets,
    parse_query_id,
)
from seamark.checkpoint.errors import (
    CheckpointError,
    DamagedCheckpointError,
    MissingCheckpointError,
    NotACheckpointError,
)
from seamark.checkpoint.files import Files
from seamark.checkpoint.guards import Guard, parse_guard
from seamark.config.position_plans import Partition, listed

METADATA, OFFSETS, COMMITS, SOURCES, STATE = "metadata", "offsets", "commits", "sources", "state"
_LOOKED_INTO: Final = 50
_BATCH: Final = re.compile("[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Source:
    """A source of the query."""

    name: str
    lines: tuple[str, ...]
    """Its lines in ``offsets``: a query that uses a stream twice has it twice."""
    positions: Mapping[Partition, int] | None
    """Where it goes on; None if it is no Kafka source."""
    planned: Mapping[Partition, int] | None = None
    """Where the unfinished batch ends."""
    initial: Mapping[Partition, int] | None = None
    """Where it once began."""
    text: str = NO_OFFSETS
    """Its offsets as they are, for sources that are not Kafka's."""

    @property
    def partitions(self) -> list[Partition]:
        """All that the checkpoint has; those found by the unfinished batch have no position yet."""
        return sorted({*(self.positions or {}), *(self.planned or {})})


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint; `entries` are the batches from the last committed one on."""

    query_id: str
    sources: tuple[Source, ...]
    entries: Mapping[int, OffsetEntry]
    texts: Mapping[int, str]
    """The same as they are in their files."""
    initials: Mapping[str, str]
    """Texts of ``sources/S/0`` of Kafka sources."""
    latest: int | None
    """The last batch that was planned."""
    committed: int | None
    is_stateful: bool
    watermark_ms: int = 0
    """For the next batch."""
    guard: Guard | None = None
    """Somebody changes it, or has not finished."""

    @property
    def unfinished(self) -> int | None:
        """The batch that Spark will run again, if there is one."""
        return self.latest if self.latest != self.committed else None

    @property
    def is_fenced(self) -> bool:
        """Whether that batch has no records, as after a move."""
        if self.unfinished is None or len(self.entries) < 2:
            return False
        before, last = (self.entries[number] for number in sorted(self.entries)[-2:])
        return before.sources == last.sources

    @property
    def kafka_sources(self) -> tuple[Source, ...]:
        """Those that have positions."""
        return tuple(source for source in self.sources if source.positions is not None)


def read_checkpoint(files: Files) -> Checkpoint:
    """Read it.

    Raises:
        MissingCheckpointError: there is nothing.
        NotACheckpointError: it is something else.
        DamagedCheckpointError: Spark could not go on from it.
    """
    query_id = _query_id(files)
    committed = batches(files, COMMITS)  # first: a query that runs on plans a batch before it commits it
    planned = batches(files, OFFSETS)
    guard = read_guard(files)
    planned = [number for number in planned if guard is None or number != guard.batch]
    latest, last = (planned[-1] if planned else None), (committed[-1] if committed else None)
    if last is not None and (latest is None or last > latest):
        raise DamagedCheckpointError(
            f"{files.root} has committed batch {last}, but the last one it has offsets of is "
            f"{'none' if latest is None else latest}: Spark cannot go on from it"
        )
    texts = {number: _text(files, number) for number in _needed(files, planned, last)}
    entries = {number: parse_offsets(text, f"{files.root}/{OFFSETS}/{number}") for number, text in texts.items()}
    commit = parse_commit(files.read(f"{COMMITS}/{last}") or "") if last is not None else {}
    initials = _initials(files)
    return Checkpoint(
        query_id=query_id,
        sources=_sources(entries, initials, is_finished=latest is not None and latest == last),
        entries=entries,
        texts=texts,
        initials=initials,
        latest=latest,
        committed=last,
        is_stateful=bool(files.list(STATE)) or bool(commit.get("stateUniqueIds")),
        watermark_ms=milliseconds(commit.get("nextBatchWatermarkMs")),
        guard=guard,
    )


def read_guard(files: Files) -> Guard | None:
    """The guard of a change that is under way or was interrupted."""
    planned = batches(files, OFFSETS)
    return parse_guard(files.read(f"{OFFSETS}/{planned[-1]}") or "", planned[-1]) if planned else None


def batches(files: Files, log: str) -> list[int]:
    """Numbers of the batches in ``offsets`` or ``commits``, in order."""
    names = [each.name for each in files.list(log) or () if not each.is_directory]
    return sorted(int(name) for name in names if _BATCH.fullmatch(name))


def _query_id(files: Files) -> str:
    inside = files.list("")
    if inside is None:
        raise MissingCheckpointError(
            f"There is no directory {files.root}",
            "Valid is what the query was given as checkpointLocation; on other file systems with its scheme, as in "
            "hdfs://namenode/checkpoints/orders.",
        )
    names = sorted(each.name for each in inside)
    metadata = files.read(METADATA) if METADATA in names else None
    if metadata is None or not {OFFSETS, SOURCES, COMMITS} & set(names):
        raise NotACheckpointError(
            f"{files.root} is no checkpoint of a Structured Streaming query: that has {METADATA}, {OFFSETS}, {COMMITS} "
            f"and {SOURCES}; here is: {listed(names)}",
            _elsewhere(files, [each.name for each in inside if each.is_directory]),
        )
    return parse_query_id(metadata, f"{files.root}/{METADATA}")


def _elsewhere(files: Files, directories: Sequence[str]) -> str | None:
    found = [name for name in sorted(directories)[:_LOOKED_INTO] if files.read(f"{name}/{METADATA}") is not None]
    if found:
        root = files.root.rstrip("/")
        return f"There are checkpoints in it: {listed([f'{root}/{name}' for name in found])}"
    with contextlib.suppress(CheckpointError):
        if files.read(f"../{METADATA}") is not None:
            return "The directory above looks like one."
    return None


def _needed(files: Files, planned: Sequence[int], committed: int | None) -> list[int]:
    if not planned or committed == planned[-1]:
        return list(planned[-1:])
    before = [number for number in planned[:-1] if committed is None or number <= committed][-1:]
    if not before and planned[-1] != 0:
        before = list(planned[-2:-1])
        if not before:
            raise DamagedCheckpointError(
                f"{files.root} has the unfinished batch {planned[-1]}, but not the one before it: "
                "Spark cannot go on from it"
            )
    return [number for number in planned if not before or number >= before[0]]


def _text(files: Files, number: int) -> str:
    text = files.read(f"{OFFSETS}/{number}")
    if text is None:
        raise DamagedCheckpointError(f"{files.root}/{OFFSETS}/{number} has gone while it was read")
    return text


def _initials(files: Files) -> dict[str, str]:
    texts = {
        each.name: files.read(f"{SOURCES}/{each.name}/0") for each in files.list(SOURCES) or () if each.is_directory
    }
    return {name: text for name, text in sorted(texts.items()) if text is not None and parse_initial(text) is not None}


def _sources(
    entries: Mapping[int, OffsetEntry], initials: Mapping[str, str], *, is_finished: bool
) -> tuple[Source, ...]:
    began = {name: parse_initial(text) or {} for name, text in initials.items()}
    if not entries:
        return tuple(Source(name, (name,), positions, initial=positions) for name, positions in began.items())
    ordered = [entries[number] for number in sorted(entries)]
    last = ordered[-1]
    base = last if is_finished else ordered[-2] if len(ordered) > 1 else None
    found = []
    for name, lines in _same_streams(ordered, len(initials)).items():
        line = _line(last, lines[0])
        before = _line(base, lines[0]) if base else None
        positions = before.positions if before else None
        if positions is None and (before is None or before.text == NO_OFFSETS):
            positions = began.get(name)
        if line.positions is None and line.text != NO_OFFSETS:
            positions = None
        planned = None if is_finished else line.positions
        found.append(Source(name, lines, positions, planned, began.get(name), line.text))
    return tuple(found)


def _same_streams(entries: Sequence[OffsetEntry], begun: int) -> dict[str, tuple[str, ...]]:
    """The lines of each source, by its name.

    A query that uses a stream twice, as in a union with itself, has two equal lines for it, but it began only once.
    """
    names = [each.name for each in entries[-1].sources]
    kafka = [each.name for each in entries[-1].sources if each.positions is not None]
    if len(kafka) <= begun or entries[-1].is_named:
        return {name: (name,) for name in names}
    groups: dict[object, list[str]] = {}
    for name in names:
        texts = tuple(line.text if (line := _line(entry, name)) else None for entry in entries)
        groups.setdefault(texts if name in kafka else name, []).append(name)
    if len(groups) == len(names):
        return {name: (name,) for name in names}
    return {str(number): tuple(lines) for number, lines in enumerate(groups.values())}


def _line(entry: OffsetEntry, name: str) -> SourceOffsets:
    found = next((each for each in entry.sources if each.name == name), None)
    return found or SourceOffsets(name, NO_OFFSETS)
