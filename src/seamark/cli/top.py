"""`seamark top`: rate and lag of connectors, live."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seamark.cli.connection import ContextName, Url, connect
from seamark.cli.names import MaybeNames
from seamark.cli.watch import Interval

if TYPE_CHECKING:
    import threading

    from seamark.client import ConnectClient, ConnectorStatus


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(top)


def top(
    names: MaybeNames = None,
    interval_s: Interval = 2.0,
    once: Annotated[bool, typer.Option("--once", help="One table, of one interval, and end.")] = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Show records per second and lag of connectors, until Ctrl-C. Of Kafka Connect's own workers only sinks' rates."""
    from seamark.cli.signals import run_until_told

    def run(stopping: threading.Event) -> None:
        with connect(url, context) as client:
            _top(client, list(names or ()), interval_s, once, stopping)

    run_until_told(run)


@dataclass(frozen=True, slots=True)
class Sample:
    """A connector at a moment. What is not known is None."""

    name: str
    status: ConnectorStatus | None
    at_s: float
    records: int | None = None
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    name: str
    kind: str
    state: str
    tasks: str
    rate: float | None
    lag: int | None


def _top(
    client: ConnectClient, names: Sequence[str], interval_s: float, is_once: bool, stopping: threading.Event
) -> None:
    from rich.live import Live

    from seamark.cli.names import resolve
    from seamark.cli.shown import console, print_table, table

    if names:
        resolve(client, names)
    out = console()
    before = samples(client, names)
    if is_once or not out.is_terminal:
        while not stopping.wait(interval_s):
            now = samples(client, names)
            print_table(*_cells(rows(before, now)), empty="There is no connector.")
            before = now
            if is_once:
                return
        return
    with Live(table(*_cells(rows({}, before))), console=out, auto_refresh=False) as live:
        while not stopping.wait(interval_s):
            now = samples(client, names)
            live.update(table(*_cells(rows(before, now))), refresh=True)
            before = now


def samples(client: ConnectClient, names: Sequence[str]) -> dict[str, Sample]:
    """What can be learnt now."""
    from seamark.cli.names import resolve

    expanded = client.expanded(info=False)
    chosen = resolve(client, names) if names else sorted(expanded)
    mirrors = _mirror_lags(client)
    found = {}
    for name in chosen:
        status = expanded[name].status if name in expanded else None
        records, lag = _progress(client, name, status)
        found[name] = Sample(name, status, time.monotonic(), records, mirrors.get(name, lag))
    return found


def _mirror_lags(client: ConnectClient) -> dict[str, int | None]:
    from seamark.client import ClientError

    if not client.capabilities().has("GET", "/mirrors"):
        return {}
    try:
        return {each.connector: each.lag for each in client.mirrors()}
    except ClientError:  # the next look may succeed
        return {}


def _progress(client: ConnectClient, name: str, status: ConnectorStatus | None) -> tuple[int | None, int | None]:
    """Records so far, and lag. A Java worker tells neither, but a sink's offsets grow with its records."""
    from seamark.cli.describe import progress_of
    from seamark.cli.offset_views import sink_offset
    from seamark.client import ClientError

    if client.capabilities().is_seamark:
        progress = progress_of(client, name)
        if progress is None:
            return None, None
        lags = [each.lag for each in progress.partitions if each.lag is not None]
        return sum(_counted(task) for task in progress.tasks), sum(lags) if lags else None
    if status is None or status.type != "sink":
        return None, None
    try:
        offsets = [sink_offset(each.offset) for each in client.offsets(name)]
    except ClientError:  # the next look may succeed
        return None, None
    return sum(each for each in offsets if each is not None), None


def _counted(task: Any) -> int:
    records = task.get("records", 0)
    return records if isinstance(records, int) else 0


def rows(before: dict[str, Sample], now: dict[str, Sample]) -> list[Row]:
    """Rates from two moments; those with the highest come first."""
    from seamark.cli.get import tasks_of

    found = []
    for name, sample in now.items():
        status = sample.status
        kind = (status.type if status else None) or "-"
        state = status.connector.state if status else "-"
        found.append(Row(name, kind, state, tasks_of(status), rate(before.get(name), sample), sample.lag))
    return sorted(found, key=lambda row: (-(row.rate or 0), row.name))


def rate(before: Sample | None, now: Sample) -> float | None:
    """Records per second; counters of tasks that began anew count from zero."""
    if before is None or before.records is None or now.records is None or now.at_s <= before.at_s:
        return None
    new = now.records - before.records if now.records >= before.records else now.records
    return new / (now.at_s - before.at_s)


def _cells(found: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    from seamark.cli.shown import count

    headers = ["NAME", "TYPE", "STATE", "TASKS", "RECORDS/S>", "LAG>"]
    return headers, [[row.name, row.kind, row.state, row.tasks, count(row.rate), count(row.lag)] for row in found]
