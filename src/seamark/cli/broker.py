"""`seamark broker`: the embedded Kafka by itself."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from seamark.cli.signals import run_until_told

DEFAULT_DATA_DIR: Final = Path(".seamark") / "broker"
_LIVENESS_POLL_S: Final = 0.5


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(broker)


def broker(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Where clients connect; by default that of the last run, or a free one."),
    ] = None,
    data_dir: Annotated[
        Path, typer.Option(file_okay=False, help="Kept between runs; one broker at a time.")
    ] = DEFAULT_DATA_DIR,
    host: Annotated[str, typer.Option(help="The address to bind and to tell clients.")] = "127.0.0.1",
) -> None:
    """Run a single-node Kafka until SIGTERM or Ctrl-C, and print its bootstrap address."""
    run_until_told(lambda stopping: _run(data_dir, port, host, stopping))


def _run(data_dir: Path, port: int | None, host: str, stopping: threading.Event) -> None:
    from seamark.errors import BrokerError, JarError
    from seamark.kafka.broker import EmbeddedBroker

    began = time.monotonic()
    try:
        with EmbeddedBroker(data_dir, port=port, host=host) as running:
            print(running.bootstrap_servers, flush=True)
            took = time.monotonic() - began
            note(f"Kafka is up after {took:.1f} s; data in {running.data_dir}. Ctrl-C stops it.")
            while not stopping.wait(_LIVENESS_POLL_S):
                if not running.is_running:
                    raise BrokerError(f"The broker ended by itself; {str(running.data_dir / 'broker.log')!r} says why")
    except JarError:
        # The terminal tells a download to stop, too, which fails then.
        if not stopping.is_set():
            raise
    note("Kafka has stopped.")


def note(text: str) -> None:
    """Say something to the person at the terminal; stdout is for data."""
    print(text, file=sys.stderr, flush=True)
