"""`seamark checkpoint import`: a connector goes on where a query of Spark's has stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from seamark.cli.checkpoint_access import Bootstrap, CommandConfig, Force, Location, SourceName, SparkConf, Wait
from seamark.cli.connection import ContextName, Url, Yes, connect
from seamark.cli.exits import RefusedError
from seamark.cli.names import complete_names
from seamark.cli.offset_views import OFFSET, PARTITION, TOPIC
from seamark.cli.offsets import DryRun
from seamark.config.position_plans import Partition, listed

if TYPE_CHECKING:
    from seamark.checkpoint.reading import Checkpoint, Source
    from seamark.client import ConnectorInfo, ConnectorOffset

Connector = Annotated[
    str,
    typer.Argument(metavar="CONNECTOR", help="A sink, or a MirrorSourceConnector.", autocompletion=complete_names),
]
_MIRROR: Final = "MirrorSourceConnector"
_STATE: Final = "What it remembers (aggregates, joins, keys it has seen) cannot be taken along, only its positions."


def import_positions(
    path: Location,
    connector: Connector,
    source: SourceName = None,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    is_printed: Annotated[
        bool, typer.Option("--print", help="Only print bodies that create such a connector and set its offsets.")
    ] = False,
    connector_class: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="For --print: the connector's class.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="ALIAS", help="For --print of mirrors: source.cluster.alias.")
    ] = None,
    force: Force = False,
    wait: Wait = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    spark_conf: SparkConf = None,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Let a stopped connector begin where a stopped query is. The checkpoint stays as it is."""
    from seamark.cli.checkpoint_access import open_files, read_settled, refuse_stateful, require_stopped
    from seamark.cli.connection import Output
    from seamark.cli.shown import note, print_data

    with open_files(path, spark_conf) as files:
        checkpoint = read_settled(files, is_dry=dry_run or is_printed)
        positions = _positions(path, checkpoint, source)
        refuse_stateful(checkpoint, _STATE, is_forced=force)
        if bootstrap is not None or command_config is not None:
            _require_there(positions, bootstrap, command_config)
        if checkpoint.unfinished is not None and not checkpoint.is_fenced:
            note(
                f"Batch {checkpoint.unfinished} is unfinished: the connector begins before it, and what the query has "
                "written of it comes again."
            )
        if is_printed:
            print_data(_bodies(connector, positions, connector_class, cluster), Output.json)
            return
        if not dry_run:
            require_stopped(files, checkpoint, wait)
    _give(connector, positions, url, context, is_dry=dry_run, is_confirmed=yes)


def _positions(path: str, checkpoint: Checkpoint, source: str | None) -> dict[Partition, int]:
    from seamark.checkpoint.planning import choose_sources

    found: dict[Partition, int] = {}
    for each in choose_sources(checkpoint, path, source):
        for where, offset in (each.positions or {}).items():
            if found.setdefault(where, offset) != offset:
                raise _ambiguous(where, checkpoint.kafka_sources)
    return found


def _ambiguous(where: Partition, sources: Sequence[Source]) -> RefusedError:
    names = [each.name for each in sources if where in each.partitions]
    return RefusedError(
        f"Topic {where[0]!r} is read by sources {listed(names)}, at different positions",
        f"Choose one with --source. Valid: {listed(names)}",
    )


def _require_there(positions: Mapping[Partition, int], bootstrap: str | None, command_config: Any) -> None:
    from seamark.checkpoint.logs import log_ranges
    from seamark.cli.checkpoint_access import open_kafka

    with open_kafka(bootstrap, command_config) as admin:
        logs = log_ranges(admin, positions)
    problems = []
    for where, offset in sorted(positions.items()):
        log = logs.get(where)
        if log is None:
            problems.append(f"{where[0]}:{where[1]} is not in this Kafka")
        elif not log.start <= offset <= log.end:
            problems.append(f"{where[0]}:{where[1]} is at {offset}; valid are {log.start} to {log.end}")
    if problems:
        raise RefusedError("\n".join(problems), "Move the checkpoint first: seamark checkpoint set PATH --to ...")


def _give(
    name: str,
    positions: Mapping[Partition, int],
    url: str | None,
    context: str | None,
    *,
    is_dry: bool,
    is_confirmed: bool,
) -> None:
    from seamark.cli.names import resolve
    from seamark.cli.offset_changes import without_unchanged
    from seamark.cli.offset_views import change_table
    from seamark.cli.shown import confirm, note, preview_table

    with connect(url, context) as client:
        resolve(client, [name])
        info, current = client.connector(name), client.offsets(name)
        changed = without_unchanged(_offsets_for(info, positions), current)
        if not changed:
            note(f"Nothing to change: connector {name} is there already.")
            return
        note(f"connector {name}:")
        preview_table(*change_table(current, changed))
        if is_dry:
            note("Nothing was changed: it is a dry run.")
            return
        state = client.status(name).connector.state
        if state != "STOPPED":
            raise RefusedError(
                f"Connector {name} is {state}; its offsets can change only while it is STOPPED",
                f"Run `seamark stop {name}` first, or create it with the initial_state STOPPED.",
            )
        confirm(is_confirmed)
        typer.echo(client.alter_offsets(name, changed))
    note(f"To let it go on from there: seamark resume {name}. The query must not be started again beside it.")


def _offsets_for(info: ConnectorInfo, positions: Mapping[Partition, int]) -> list[ConnectorOffset]:
    kind = str(info.config.get("connector.class"))
    if kind.endswith(_MIRROR):
        alias = info.config.get("source.cluster.alias")
        if not alias:
            raise RefusedError(f"Connector {info.name} has no source.cluster.alias")
        return mirror_offsets(positions, alias)
    if info.type == "source":
        raise RefusedError(
            f"Connector {info.name} is a source of {kind}: positions in Kafka's topics are only for sinks and {_MIRROR}"
        )
    unread = sorted({topic for topic, _ in positions if not _is_read(topic, info.config)})
    if unread:
        read = info.config.get("topics") or info.config.get("topics.regex")
        raise RefusedError(
            f"Connector {info.name} does not read {listed(unread)}, which the query reads. It reads: {read}",
            "Add them to the connector's topics, or choose a source of the query with --source.",
        )
    return sink_offsets(positions)


def _is_read(topic: str, config: Mapping[str, str | None]) -> bool:
    pattern = config.get("topics.regex")
    if pattern:
        from seamark.config.java_regex import compile_pattern

        return compile_pattern(pattern).fullmatch(topic) is not None
    topics = config.get("topics")
    return topics is None or topic in [each.strip() for each in topics.split(",")]


def sink_offsets(positions: Mapping[Partition, int]) -> list[ConnectorOffset]:
    """As sinks have them: the next record."""
    from seamark.client import ConnectorOffset

    return [
        ConnectorOffset({TOPIC: topic, PARTITION: number}, {OFFSET: offset})
        for (topic, number), offset in sorted(positions.items())
    ]


def mirror_offsets(positions: Mapping[Partition, int], alias: str) -> list[ConnectorOffset]:
    """As MirrorSourceConnector has them: the last record that was copied; none of a partition that is at its start."""
    from seamark.client import ConnectorOffset

    return [
        ConnectorOffset(
            {"cluster": alias, "partition": number, "topic": topic}, {"offset": offset - 1} if offset > 0 else None
        )
        for (topic, number), offset in sorted(positions.items())
    ]


def _bodies(
    name: str, positions: Mapping[Partition, int], connector_class: str | None, cluster: str | None
) -> dict[str, Any]:
    from seamark.client import encode

    topics = ",".join(sorted({topic for topic, _ in positions}))
    config = {"connector.class": connector_class or "CLASS", "tasks.max": "1", "topics": topics}
    is_mirror = (connector_class or "").endswith(_MIRROR)
    if is_mirror:
        if cluster is None:
            raise RefusedError(f"For a {_MIRROR} say the source.cluster.alias, with --cluster ALIAS")
        config["source.cluster.alias"] = cluster
    offsets = mirror_offsets(positions, cluster or "") if is_mirror else sink_offsets(positions)
    return {
        "create": {"name": name, "config": config, "initial_state": "STOPPED"},
        "offsets": {"offsets": encode([each for each in offsets if each.offset is not None])},
    }
