"""Checkpoints as tables and values, and changes of them as a preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seamark.cli.shown import count, note
from seamark.config.position_plans import LogRange, Partition, show_time

if TYPE_CHECKING:
    from seamark.checkpoint.planning import SourceChange
    from seamark.checkpoint.reading import Checkpoint, Source

Logs = Mapping[Partition, LogRange]


def position_table(
    checkpoint: Checkpoint, sources: Sequence[Source], logs: Logs | None
) -> tuple[list[str], list[list[str]]]:
    """Headers and rows; with the end of logs and lag if they are known."""
    has_sources = len(checkpoint.sources) > 1
    has_planned = checkpoint.unfinished is not None and not checkpoint.is_fenced
    headers = [
        *(["SOURCE"] if has_sources else []),
        *["TOPIC", "PARTITION>", "POSITION>"],
        *(["PLANNED>"] if has_planned else []),
        *(["START>", "END>", "LAG>"] if logs is not None else []),
    ]
    rows = []
    for source in sources:
        for where in source.partitions:
            position = (source.positions or {}).get(where)
            row = [*([source.name] if has_sources else []), where[0], str(where[1]), _shown(position)]
            if has_planned:
                row.append(_shown((source.planned or {}).get(where)))
            if logs is not None:
                log = logs.get(where)
                row += [_shown(log.start if log else None), _shown(log.end if log else None)]
                row.append(count(_lag(position, log)))
            rows.append(row)
    return headers, rows


def checkpoint_value(
    path: str, checkpoint: Checkpoint, logs: Logs | None, changed_ms: int | None, problem: str | None
) -> dict[str, Any]:
    """For programs."""
    return {
        "path": path,
        "query_id": checkpoint.query_id,
        "committed_batch": checkpoint.committed,
        "unfinished_batch": checkpoint.unfinished,
        "is_stateful": checkpoint.is_stateful,
        "changed_at": None if changed_ms is None else show_time(changed_ms),
        "interrupted": problem,
        "sources": [_source_value(source, logs) for source in checkpoint.sources],
    }


def _source_value(source: Source, logs: Logs | None) -> dict[str, Any]:
    if source.positions is None:
        return {"source": source.name, "type": "other", "offset": source.text}
    partitions = []
    for where in source.partitions:
        log, position = (logs or {}).get(where), source.positions.get(where)
        row: dict[str, Any] = {"topic": where[0], "partition": where[1], "position": position}
        if source.planned is not None:
            row["planned"] = source.planned.get(where)
        if logs is not None:
            row |= {"start": log.start if log else None, "end": log.end if log else None, "lag": _lag(position, log)}
        partitions.append(row)
    return {"source": source.name, "type": "kafka", "partitions": partitions}


def tell_about(checkpoint: Checkpoint, changed_ms: int | None, now_ms: int) -> None:
    """What a table does not say."""
    if checkpoint.committed is None:
        text = "no batch is committed"
    else:
        text = f"batch {checkpoint.committed} is committed"
    if changed_ms is not None:
        text += f"; last change {_age((now_ms - changed_ms) / 1000)} ago"
    note(f"query {checkpoint.query_id}: {text}")
    if checkpoint.is_fenced:
        note(f"Batch {checkpoint.unfinished} is planned without records, as after a move: it is run first.")
    elif checkpoint.unfinished is not None:
        note(f"Batch {checkpoint.unfinished} is unfinished: it will be run again, from POSITION to PLANNED.")
    if checkpoint.is_stateful:
        note("The query is stateful.")
    for source in checkpoint.sources:
        if source.positions is None:
            note(f"Source {source.name} is no Kafka source, or has not begun: {source.text}")


def change_rows(changes: Sequence[SourceChange], *, has_sources: bool) -> tuple[list[str], list[list[str]]]:
    """Old and new of every partition that moves."""
    headers = [*(["SOURCE"] if has_sources else []), "TOPIC", "PARTITION>", "OLD>", "NEW>", "BY>"]
    rows = []
    for each in changes:
        change = each.change
        by = "-" if change.by is None else f"{change.by:+,d}"
        row = [*([each.source] if has_sources else []), change.topic, str(change.partition)]
        rows.append([*row, _shown(change.old), str(change.new), by])
    return headers, rows


def change_values(changes: Sequence[SourceChange]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "source": each.source,
            "topic": each.change.topic,
            "partition": each.change.partition,
            "old": each.change.old,
            "new": each.change.new,
            "clamped": each.change.clamped,
        }
        for each in changes
    ]


def _lag(position: int | None, log: LogRange | None) -> int | None:
    return None if position is None or log is None else max(0, log.end - max(position, log.start))


def _shown(number: int | None) -> str:
    return "-" if number is None else str(number)


def _age(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"
