"""`seamark prepare`: all that a first start would have to fetch or make, ahead of time."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(prepare)


_Packages = Annotated[
    str, typer.Option("--packages", help="What `seamark.spark.packages` of the workers says, as in delta,postgresql.")
]


def prepare(packages: _Packages = "") -> None:
    """Download the jars and archive Java's classes, so that workers start quickly and without a network.

    For images of containers and machines that are set up once. Doing it again does nothing.
    """
    from seamark.config.worker import WorkerConfig
    from seamark.engine import spark_archive, spark_packages
    from seamark.kafka import broker_archive, jars

    chosen = WorkerConfig({spark_packages.PROPERTY: packages}).spark_packages
    for jar_set in (*jars.RUNTIME, *(jars.PACKAGES[name] for name in chosen)):
        jars.ensure(jar_set)
    broker_archive.ensure()
    if not spark_archive.archive().is_made():
        print("Preparing Spark for fast starts (once, half a minute) ...", file=sys.stderr, flush=True)
    if not spark_archive.ensure():
        print(f"note: {sys.prefix} cannot be written: Spark starts as fast as before", file=sys.stderr)
