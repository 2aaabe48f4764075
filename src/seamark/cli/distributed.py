"""`seamark distributed`: one worker of a cluster."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from seamark.cli import logs
from seamark.cli.signals import run_until_told


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(distributed)


def distributed(
    properties: Annotated[Path, typer.Argument(metavar="WORKER.properties", help="Kafka Connect's keys and spark.*.")],
) -> None:
    """Run a worker of a cluster: configs, states and offsets in Kafka, shared with all workers of its group.id."""
    run_until_told(lambda stopping: _run(properties, stopping))


def _run(properties: Path, stopping: threading.Event) -> None:
    from seamark.cli.processes import start_worker, wait, with_broker
    from seamark.config.properties import read_properties
    from seamark.config.worker import WorkerConfig
    from seamark.errors import ConfigError
    from seamark.runtime.distributed import DistributedHerder

    config = WorkerConfig(read_properties(properties))
    logs.configure(logging.INFO, config["seamark.log.format"])
    for key in ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"):
        if not config.raw.get(key, "").strip():
            raise ConfigError(f'Missing required configuration "{key}" which has no default value.', key=key)
    with ExitStack() as stack:
        config = with_broker(config, stack, Path(".seamark") / "distributed")
        running = start_worker(
            config, stack, lambda worker, server: DistributedHerder(worker, server.worker_id, server.advertised_url)
        )
        wait(stopping, running)
