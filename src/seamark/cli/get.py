"""`seamark get`: lists, and single things as JSON or YAML that `seamark apply` takes again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from seamark.cli.connection import ContextName, Form, Output, Url, connect
from seamark.cli.names import MaybeNames

if TYPE_CHECKING:
    from seamark.client import ConnectClient, ConnectorStatus, ExpandedConnector


class Kind(StrEnum):
    """What can be listed."""

    connectors = "connectors"
    tasks = "tasks"
    topics = "topics"
    config = "config"
    mirrors = "mirrors"
    worker = "worker"


_SINGULAR: Final = {"connector": Kind.connectors, "task": Kind.tasks, "topic": Kind.topics, "mirror": Kind.mirrors}


def _kind(text: str) -> Kind:
    """Raises BadParameter, which lists the valid ones."""
    if text in _SINGULAR:
        return _SINGULAR[text]
    try:
        return Kind(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} cannot be listed. Valid are {', '.join(Kind)}.") from None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(get)


def get(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[KIND]",
            help="connectors, tasks, topics, config, mirrors or worker.",
            autocompletion=lambda incomplete: [each for each in Kind if each.startswith(incomplete)],
        ),
    ] = "connectors",
    names: MaybeNames = None,
    output: Form = Output.table,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """List connectors, their tasks, topics or configurations, mirrors, or show the worker."""
    shows: dict[Kind, Callable[[ConnectClient, list[str], Output], None]] = {
        Kind.connectors: _connectors,
        Kind.tasks: _tasks,
        Kind.topics: _topics,
        Kind.config: _configs,
        Kind.mirrors: _mirrors,
        Kind.worker: _worker,
    }
    show = shows[_kind(kind)]
    with connect(url, context) as client:
        show(client, list(names or ()), output)


def _found(client: ConnectClient, names: Sequence[str]) -> dict[str, ExpandedConnector]:
    """The connectors that are meant, those that have no status yet included."""
    from seamark.cli.names import resolve
    from seamark.client import ExpandedConnector

    expanded = client.expanded()
    chosen = resolve(client, names) if names else sorted({*expanded, *client.connectors()})
    return {name: expanded.get(name) or ExpandedConnector() for name in chosen}


def _one_or_all(rows: Sequence[Any], names: Sequence[str]) -> Any:
    """A single thing that was asked for by its name is not in a list."""
    from seamark.cli.names import is_pattern

    return rows[0] if len(rows) == 1 and len(names) == 1 and not is_pattern(names[0]) else list(rows)


def _connectors(client: ConnectClient, names: list[str], output: Output) -> None:
    from seamark.cli.shown import print_data, print_table

    found = _found(client, names)
    if output in (Output.json, Output.yaml):
        print_data(_one_or_all([document(name, each) for name, each in found.items()], names), output)
        return
    headers, rows = ["NAME", "TYPE", "STATE", "TASKS"], []
    if output is Output.wide:
        headers += ["WORKER", "CLASS", "PROBLEM"]
    for name, each in found.items():
        status, info = each.status, each.info
        kind = (status and status.type) or (info and info.type) or "-"
        row = [name, kind, status.connector.state if status else "-", tasks_of(status)]
        if output is Output.wide:
            worker = status.connector.worker_id if status else "-"
            row += [worker, str(info.config.get("connector.class", "-")) if info else "-", problem_of(status)]
        rows.append(row)
    print_table(headers, rows, empty="There is no connector.")


def document(name: str, found: ExpandedConnector) -> dict[str, Any]:
    """A connector as `seamark apply` takes it, with its status."""
    from seamark.client import encode

    info, status = found.info, found.status
    return {
        "name": name,
        "config": dict(info.config) if info else {},
        "type": (status and status.type) or (info and info.type) or None,
        "status": None if status is None else without_nulls(encode(status)),
    }


def without_nulls(value: Any) -> Any:
    """The same without keys that say nothing."""
    if isinstance(value, Mapping):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def tasks_of(status: ConnectorStatus | None) -> str:
    """How many run, of how many; and what the others do."""
    if status is None:
        return "-"
    states = [task.state for task in status.tasks]
    others = [f"{states.count(state)} {state}" for state in sorted(set(states) - {"RUNNING"})]
    return f"{states.count('RUNNING')}/{len(states)}" + (f" ({', '.join(others)})" if others else "")


def problem_of(status: ConnectorStatus | None) -> str:
    """The cause of the first failure, in one line."""
    from seamark.errors import cause_of

    failed = status.failed if status else []
    return cause_of(failed[0].trace or "") if failed else ""


def _tasks(client: ConnectClient, names: list[str], output: Output) -> None:
    from seamark.cli.shown import print_data, print_table
    from seamark.client import encode
    from seamark.errors import cause_of

    tasks = [(name, task) for name, each in _found(client, names).items() if each.status for task in each.status.tasks]
    if output in (Output.json, Output.yaml):
        print_data([{"connector": name, **without_nulls(encode(task))} for name, task in tasks], output)
        return
    headers = ["CONNECTOR", "TASK>", "STATE", "WORKER", *(["VERSION", "PROBLEM"] if output is Output.wide else [])]
    rows = []
    for name, task in tasks:
        row = [name, str(task.id), task.state, task.worker_id]
        if output is Output.wide:
            row += [task.version or "-", cause_of(task.trace or "")]
        rows.append(row)
    print_table(headers, rows, empty="There is no task.")


def _topics(client: ConnectClient, names: list[str], output: Output) -> None:
    from seamark.cli.shown import print_data, print_table

    found = {name: sorted(client.topics(name)) for name in _found(client, names)}
    if output in (Output.json, Output.yaml):
        print_data(found, output)
    else:
        rows = [(name, topic) for name, topics in found.items() for topic in topics]
        print_table(("CONNECTOR", "TOPIC"), rows, empty="No connector has used a topic yet.")


def _configs(client: ConnectClient, names: list[str], output: Output) -> None:
    from seamark.cli.shown import print_data, print_table

    found = {name: client.config(name) for name in _found(client, names)}
    if output in (Output.json, Output.yaml):
        print_data(_one_or_all(list(found.values()), names), output)
    else:
        rows = [
            (name, key, "null" if value is None else value)
            for name, config in found.items()
            for key, value in sorted(config.items())
        ]
        print_table(("CONNECTOR", "KEY", "VALUE"), rows, empty="There is no connector.")


def _mirrors(client: ConnectClient, names: list[str], output: Output) -> None:
    from seamark.cli.shown import count, print_data, print_table
    from seamark.client import encode

    found = [each for each in client.mirrors() if not names or each.connector in names]
    if output in (Output.json, Output.yaml):
        print_data(_one_or_all([encode(each) for each in found], names), output)
        return
    rows = [
        (each.connector, f"{each.source}->{each.target}", each.state, count(each.partitions), count(each.lag))
        for each in found
    ]
    print_table(("CONNECTOR", "FLOW", "STATE", "PARTITIONS>", "LAG>"), rows, empty="There is no such mirror.")


def _worker(client: ConnectClient, names: list[str], output: Output) -> None:
    from seamark.cli.shown import print_data, print_table

    info, able = client.server_info(), client.capabilities()
    health = client.health().status
    shown = {
        "url": client.url,
        "kind": f"Seamark {able.version}" if able.is_seamark else "Kafka Connect",
        "version": info.version,
        "commit": info.commit,
        "kafka_cluster_id": info.kafka_cluster_id,
        "health": health,
    }
    if output in (Output.json, Output.yaml):
        print_data(shown, output)
    else:
        headers = ("URL", "KIND", "CONNECT", "KAFKA CLUSTER", "HEALTH")
        row = (client.url, shown["kind"], info.version, info.kafka_cluster_id, health)
        print_table(headers, [row], empty="")
