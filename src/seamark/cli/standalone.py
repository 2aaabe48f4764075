"""`seamark standalone`: one worker by itself, with the connectors that files describe."""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from seamark.cli import logs
from seamark.cli.signals import run_until_told

FAILED = 3  # the exit code of Kafka Connect's standalone worker when a connector of its command line fails


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(standalone)


def standalone(
    properties: Annotated[Path, typer.Argument(metavar="WORKER.properties", help="Kafka Connect's keys and spark.*.")],
    connectors: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CONNECTOR.(json|properties)...",
            help="Connectors to create: properties, a JSON config, or JSON with name, config and initial_state.",
        ),
    ] = None,
) -> None:
    """Run a standalone worker: configs in memory, offsets in a file."""
    run_until_told(lambda stopping: _run(properties, connectors or [], stopping))


def _run(properties: Path, connectors: list[Path], stopping: threading.Event) -> None:
    from seamark.cli.processes import start_worker, wait, with_broker
    from seamark.config.connector_files import read_connector_file
    from seamark.config.properties import read_properties
    from seamark.config.worker import WorkerConfig
    from seamark.errors import ConfigError, ConnectError
    from seamark.runtime.standalone import StandaloneHerder

    config = WorkerConfig(read_properties(properties))
    logs.configure(logging.INFO, config["seamark.log.format"])
    if not config.offset_storage_file:
        raise ConfigError(
            'Missing required configuration "offset.storage.file.filename" which has no default value.',
            key="offset.storage.file.filename",
        )
    try:
        files = [read_connector_file(path) for path in connectors]
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(FAILED) from error
    with ExitStack() as stack:
        config = with_broker(config, stack, Path(".seamark") / "standalone")
        # A standalone worker has no group; Connect gives its connectors exactly-once support as little as this does.
        raw = {key: value for key, value in config.raw.items() if key != "offset.storage.topic"}
        running = start_worker(
            WorkerConfig(raw),
            stack,
            lambda worker, server: StandaloneHerder(worker, server.worker_id, awaits_files=bool(files)),
        )
        herder = running.herder
        assert isinstance(herder, StandaloneHerder)  # noqa: S101 - for the type checker
        for file in files:
            try:
                herder.put_connector_config(file.name, file.config, file.initial_state, allow_replace=False)
            except ConnectError as error:
                print(f"error: Failed to create connector from '{file.path}': {error}", file=sys.stderr)
                raise typer.Exit(FAILED) from error
        herder.files_created()
        wait(stopping, running)
