"""What all commands on checkpoints share: options, reaching the files, Kafka, and refusals."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seamark.cli.exits import RefusedError
from seamark.cli.shown import note, waiting

if TYPE_CHECKING:
    from seamark.checkpoint.files import Files
    from seamark.checkpoint.reading import Checkpoint
    from seamark.kafka.admin import Admin

Location = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="The query's checkpointLocation: a directory, or a URL as hdfs://..., s3a://...."
    ),
]
Bootstrap = Annotated[
    str | None, typer.Option("--bootstrap-server", metavar="HOST:PORT,...", help="The Kafka that the query reads.")
]
CommandConfig = Annotated[
    Path | None, typer.Option("--command-config", metavar="FILE", help="Properties of the Kafka client, for security.")
]
SourceName = Annotated[
    str | None, typer.Option("--source", metavar="N", help="Only this source of the query. Default: all of Kafka.")
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option("--spark-conf", metavar="KEY=VALUE", help="For URLs: as in spark.hadoop.fs.s3a.endpoint=..."),
]
Force = Annotated[bool, typer.Option("--force", help="Even if the query is stateful.")]
Wait = Annotated[
    float | None,
    typer.Option(
        "--wait", min=0, metavar="SECONDS", help="How long to watch for a running query. Default: by its pace."
    ),
]


@contextmanager
def open_files(location: str, spark_conf: list[str] | None) -> Iterator[Files]:
    """The files of a checkpoint: on local disk directly, elsewhere through Spark's JVM."""
    from seamark.checkpoint.files import LocalFiles, local_path

    path = local_path(location)
    if path is not None:
        yield LocalFiles(location.rstrip("/") or location, path)
        return
    properties = {}
    for each in spark_conf or ():
        key, equals, value = each.partition("=")
        if not equals or not key.startswith("spark."):
            raise RefusedError(f"--spark-conf {each} should be like spark.hadoop.fs.s3a.endpoint=http://localhost:9000")
        properties[key] = value
    from seamark.engine.hadoop_files import hadoop_files

    with hadoop_files(location.rstrip("/"), properties) as files:
        yield files


@contextmanager
def open_kafka(bootstrap: str | None, command_config: Path | None) -> Iterator[Admin]:
    """The Kafka that a query reads.

    Raises:
        RefusedError: it is not said which, or the file cannot be read.
    """
    from seamark.config.properties import read_properties
    from seamark.errors import ConfigError
    from seamark.kafka.admin import Admin

    properties: dict[str, str] = {}
    if command_config is not None:
        try:
            properties = read_properties(command_config)
        except ConfigError as error:
            raise RefusedError(error.message) from error
    if bootstrap is not None:
        properties["bootstrap.servers"] = bootstrap
    if not properties.get("bootstrap.servers"):
        raise RefusedError(
            "A checkpoint does not say which Kafka its query reads: give --bootstrap-server HOST:PORT, or "
            "--command-config FILE with bootstrap.servers"
        )
    with Admin(properties) as admin:
        yield admin


def read_settled(files: Files, *, is_dry: bool) -> Checkpoint:
    """A checkpoint that is to be changed; a change that was interrupted is undone first.

    Raises:
        CheckpointError: it cannot be changed now.
    """
    from seamark.checkpoint.changing import put_right
    from seamark.checkpoint.errors import ChangeUnderWayError
    from seamark.checkpoint.reading import read_checkpoint, read_guard

    if is_dry and read_guard(files) is not None:
        raise ChangeUnderWayError(
            f"A change of {files.root} is under way or was interrupted",
            f"Run `seamark checkpoint restore {files.root}`.",
        )
    undone = put_right(files)
    if undone is not None:
        note(f"A change of {undone.made_at} was interrupted ({undone.what}): it is undone.")
    return read_checkpoint(files)


def refuse_stateful(checkpoint: Checkpoint, consequence: str, *, is_forced: bool) -> None:
    """Stop here if the query remembers what it has read.

    Raises:
        RefusedError: it does, and that is not accepted.
    """
    if not checkpoint.is_stateful:
        return
    if not is_forced:
        raise RefusedError(f"The query is stateful. {consequence}", "If that is what you want, add --force.")
    note(f"warning: the query is stateful. {consequence}", "yellow")


def require_stopped(files: Files, checkpoint: Checkpoint, wait_s: float | None) -> None:
    """Watch whether a query is running.

    Raises:
        QueryRunningError: one is.
    """
    from seamark.checkpoint.activity import quiet_time_s, watch

    seconds = round(quiet_time_s(checkpoint, files, int(time.time() * 1000)), 1) if wait_s is None else wait_s
    with waiting(f"watching for {seconds:.0f} s whether a query is running"):
        watch(files, seconds)
    alike = "waits for records"
    if checkpoint.unfinished is not None and not checkpoint.is_fenced:
        alike = f"is still at work on batch {checkpoint.unfinished}"
    note(f"Nothing has changed for {seconds:g} s. A query that {alike} looks the same: make sure that it is stopped.")
