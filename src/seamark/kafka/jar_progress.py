"""How far a download is: a bar on a terminal, an occasional line elsewhere. Always on stderr; stdout is for data."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

LINE_EVERY_S: Final = 5.0
_MB: Final = 1_000_000


@contextmanager
def progress(title: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
    """Show a download of `total_bytes`; the function that is yielded takes the bytes that have arrived since."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(title, total=total_bytes)
            yield lambda arrived: bar.advance(task, arrived)
            # What was in Ivy's cache already is not reported, yet it is there.
            bar.update(task, completed=total_bytes)
        return
    started = printed = time.monotonic()
    done = 0

    def advance(arrived: int) -> None:
        nonlocal done, printed
        done += arrived
        if time.monotonic() - printed >= LINE_EVERY_S:
            printed = time.monotonic()
            print(f"{title}: {done / _MB:.0f} of {total_bytes / _MB:.0f} MB", file=sys.stderr, flush=True)

    print(f"{title} ({total_bytes / _MB:.0f} MB, once) ...", file=sys.stderr, flush=True)
    yield advance
    print(f"{title}: done in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
