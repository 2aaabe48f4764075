"""`seamark broker`: the embedded Kafka by itself."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import typer

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
    from seamark.errors import BrokerError
    from seamark.kafka.broker import EmbeddedBroker

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    started = time.monotonic()
    try:
        with EmbeddedBroker(data_dir, port=port, host=host) as running:
            print(running.bootstrap_servers, flush=True)
            took = time.monotonic() - started
            note(f"Kafka is up after {took:.1f} s; data in {running.data_dir}. Ctrl-C stops it.")
            while running.is_running:
                time.sleep(_LIVENESS_POLL_S)
            raise BrokerError(f"The broker ended by itself; {str(running.data_dir / 'broker.log')!r} says why")
    except KeyboardInterrupt:
        note("Kafka has stopped.")


def note(text: str) -> None:
    """Say something to the person at the terminal; stdout is for data."""
    print(text, file=sys.stderr, flush=True)


def _end(*_: object) -> None:
    # Once is enough: a second signal must not interrupt the clean stop that the first one began.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
