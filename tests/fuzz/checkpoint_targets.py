"""Parsers of the files in a Spark checkpoint, and of those that Seamark adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzz.target import Target, of_text, text_of
from seamark.checkpoint.backups import Backup, newest_backups, read_backup
from seamark.checkpoint.entries import (
    OffsetEntry,
    moved_initial,
    parse_commit,
    parse_initial,
    parse_offsets,
    parse_query_id,
    render_positions,
)
from seamark.checkpoint.entries import parse_positions as parse_line
from seamark.checkpoint.errors import CheckpointError, DamagedCheckpointError
from seamark.checkpoint.files import FileInfo
from seamark.checkpoint.guards import Guard, parse_guard
from seamark.checkpoint.moves import plan_files
from seamark.checkpoint.reading import Checkpoint, read_checkpoint
from seamark.config.position_plans import Partition

MARK = "=== "
"""Begins a line with the path of a file."""


class MemoryFiles:
    """The files of a checkpoint in one text: a line ``=== path`` before each."""

    root = "/checkpoint"

    def __init__(self, text: str) -> None:
        self._texts: dict[str, str] = {}
        for part in f"\n{text}".split(f"\n{MARK}")[1:]:
            path, _, content = part.partition("\n")
            self._texts[path] = content.replace("\\0", "\0")

    def list(self, path: str) -> list[FileInfo] | None:
        prefix = f"{path}/" if path else ""
        names = {each[len(prefix) :].partition("/")[::2] for each in self._texts if each.startswith(prefix)}
        return [FileInfo(name, bool(rest), 0, 0) for name, rest in sorted(names)] if names else None

    def read(self, path: str) -> str | None:
        return self._texts.get(path)

    def create(self, path: str, text: str) -> bool:
        raise AssertionError("nothing is written")

    def replace(self, path: str, text: str) -> None:
        raise AssertionError("nothing is written")

    def delete(self, path: str) -> None:
        raise AssertionError("nothing is written")


def _check_positions(positions: Mapping[Partition, int]) -> None:
    for (topic, number), offset in positions.items():
        assert isinstance(topic, str)
        assert type(number) is type(offset) is int
        assert 0 <= number < 2**31, f"{number} is no partition"
        assert -(2**63) <= offset < 2**63, f"{offset} is no offset"


def _offsets(text: str) -> OffsetEntry:
    entry = parse_offsets(text, "offsets/5")
    entry.next_batch(5, 6)
    entry.moved(entry.sources[0].name, {("orders", 0): 1}, {})
    return entry


def _check_offsets(data: bytes, found: OffsetEntry) -> None:
    assert parse_offsets(found.render(), "offsets/5") == found, "it reads otherwise as it is written"
    for source in found.sources:
        if source.positions is not None:
            _check_positions(source.positions)
            assert parse_line(render_positions(source.positions)) == source.positions


def _initial(text: str) -> dict[Partition, int] | None:
    found = parse_initial(text)
    if found is not None:
        again = parse_initial(moved_initial(text, {("orders", 0): 5}))
        assert again == {**found, ("orders", 0): 5}, "other positions are written"
        _check_positions(found)
    return found


def _check_commit(data: bytes, found: dict[str, Any]) -> None:
    assert isinstance(found, dict)


def _check_guard(data: bytes, found: Guard | None) -> None:
    if found is not None:
        assert isinstance(found.backup, str)
        assert isinstance(found.host, str)
        assert type(found.process) is int
        assert isinstance(found.begun, int | float)
        assert found.is_left_behind in (True, False, None)
        assert parse_guard(found.render(), 5) == found


def _backup(text: str) -> Backup | None:
    return read_backup(MemoryFiles(f"{MARK}b.json\n{text}"), "b.json")


def _check_backup(data: bytes, found: Backup | None) -> None:
    assert found is not None
    assert isinstance(found.query_id, str)
    assert isinstance(found.made_at, str)
    assert isinstance(found.committed, int | None)
    for change in found.changes:
        assert isinstance(change.path, str)
        assert isinstance(change.before, str | None)
        assert isinstance(change.after, str | None)


def _directory(text: str) -> Checkpoint:
    files = MemoryFiles(text)
    found = read_checkpoint(files)
    moved = {source.name: {where: 1 for where in source.partitions} for source in found.kafka_sources}
    plan_files(found, moved, now_ms=1_700_000_000_000)
    list(newest_backups(files))
    return found


def _check_directory(data: bytes, found: Checkpoint) -> None:
    assert isinstance(found.query_id, str)
    assert found.committed is None or (found.latest is not None and found.committed <= found.latest)
    assert type(found.watermark_ms) is int
    for source in found.sources:
        for positions in (source.positions, source.planned, source.initial):
            _check_positions(positions or {})
    assert text_of(data)


_TOKENS = (
    b"v1\n",
    b"v2\n",
    b"v3\n",
    b"\n",
    b'{"orders":{"0":42}}',
    b"-",
    b'{"batchWatermarkMs":0,"batchTimestampMs":5,"conf":{}}',
    b'{"nextBatchWatermarkMs":0}',
    b'{"id":"a"}',
    b"=== offsets/5\n",
    b"=== commits/5\n",
    b"=== sources/0/0\n",
    b"\\0",
    b"=== metadata\n",
    b"=== state/0/0/1.delta\n",
    b'"stateUniqueIds"',
    b"name:",
)

TARGETS = (
    Target("checkpoint-offsets", of_text(_offsets), (DamagedCheckpointError,), _check_offsets, _TOKENS),
    Target("checkpoint-initial", of_text(_initial), (), None, _TOKENS),
    Target("checkpoint-commit", of_text(parse_commit), (), _check_commit, _TOKENS),
    Target(
        "checkpoint-metadata",
        of_text(lambda text: parse_query_id(text, "metadata")),
        (DamagedCheckpointError,),
        lambda data, found: None,
        (b'{"id":"a"}', b'"id"'),
    ),
    Target(
        "checkpoint-guard",
        of_text(lambda text: parse_guard(text, 5)),
        (),
        _check_guard,
        (b"seamark:", b"\n", b'"backup"', b'"host"', b'"process"', b'"begun"'),
    ),
    Target(
        "checkpoint-backup",
        of_text(_backup),
        (DamagedCheckpointError,),
        _check_backup,
        (b'"files"', b'"path"', b'"before"', b'"after"', b'"committed_batch"'),
    ),
    Target("checkpoint", of_text(_directory), (CheckpointError,), _check_directory, _TOKENS),
)
