"""Failback: the reverse of a flow that was stopped, begun so that nothing is copied back to where it came from."""

from __future__ import annotations

from typing import Any

from seamark.cli.mirror_steps import Plan, Say, Step, await_state, find_connectors, resume_step, state_of, stop_step
from seamark.cli.rest_client import CommandError, RestClient, connector_path, mirror_path


def plan_failback(client: RestClient, other: RestClient, name: str, *, timeout_s: float) -> Plan:
    """The steps that start the reverse flow.

    Args:
        client: a worker of the flow that was stopped.
        other: a worker on the cluster that the reverse flow writes to.
        name: the MirrorSourceConnector that was stopped.
        timeout_s: for each wait.

    Raises:
        CommandError: it cannot be done safely.
    """
    from seamark.mirror.reverse_flow import copied_back, reversed_config

    view = client.get(mirror_path(name))
    source, target = view["source"], view["target"]
    if view["totals"]["lag"] is None:
        raise CommandError(
            f"Nothing can be copied to {source} yet. {view['error']}", f"Try again when {source} is back."
        )
    config = client.get(connector_path(name, "/config"))
    reverse, reverse_config, state = _reverse(client, other, name, source, target)
    is_new = state is None
    if reverse_config is None:
        reverse_config = reversed_config(config, reverse)
    elif reverse_config.get("enabled") == "false":
        raise CommandError(
            f"{reverse} at {other.url} is not enabled: it would copy nothing.",
            f"Stop it, then enable it (in a mirror-maker file with {target}->{source}.enabled = true), and try again: "
            "stopped, it does not begin before it is told where.",
        )
    _require_cluster(other, view, reverse, reverse_config)
    copies = copied_back({row["topic"] for row in view["partitions"]}, config, reverse_config)
    plan = Plan(f"Failback of {name}: what is written on {target} comes to {source} by {reverse}")
    if copies:
        _plan_start(plan, client, other, view, copies, reverse, reverse_config, state, timeout_s)
    elif is_new:
        plan.steps.append(_create_step(other, reverse, reverse_config, "RUNNING", timeout_s))
    elif state != "RUNNING":
        plan.steps.append(resume_step(other, reverse, "connector", timeout_s))
    if not copies:
        plan.warnings.append(
            f"What is written on {target} into copies of topics of {source} does not go back, by their names."
        )
    for checkpoints in find_connectors(other, "MirrorCheckpointConnector", target, source):
        if state_of(other, checkpoints) == "STOPPED":
            plan.steps.append(resume_step(other, checkpoints, "connector", timeout_s))
    if not plan.steps:
        raise CommandError(f"{reverse} is RUNNING already: there is nothing to do.")
    plan.then = [
        f"To bring clients back to {source}: seamark mirror failover {reverse} --url {other.url}, "
        f"then seamark mirror failback {reverse} --url {other.url} --target-url {client.url}"
    ]
    return plan


def _reverse(
    client: RestClient, other: RestClient, name: str, source: str, target: str
) -> tuple[str, dict[str, str] | None, str | None]:
    """Name, config and state of the reverse connector; without the latter two if it has to be created."""
    found = find_connectors(other, "MirrorSourceConnector", target, source)
    if len(found) > 1:
        raise CommandError(
            f"{len(found)} connectors at {other.url} copy from {target} to {source}: {', '.join(found)}. Which one is "
            "meant cannot be told.",
            "Delete those that are not needed.",
        )
    if found:
        return found[0], other.get(connector_path(found[0], "/config")), state_of(other, found[0])
    reverse = f"{name}-reverse"
    if reverse in other.get("/connectors"):
        raise CommandError(
            f"The reverse flow would be called {reverse}, and {other.url} has a connector of that name which is "
            f"something else than a flow from {target} to {source}.",
            "Create the reverse flow under another name, with initial_state STOPPED, and try again.",
        )
    return reverse, None, None


def _require_cluster(other: RestClient, view: dict[str, Any], reverse: str, config: dict[str, str]) -> None:
    """A worker writes to its own cluster: it must be the one that the flow came from."""
    if config.get("producer.override.bootstrap.servers"):
        return
    written_to = other.get("/")["kafka_cluster_id"]
    if written_to != view["source_cluster_id"]:
        raise CommandError(
            f"The worker at {other.url} writes to the Kafka cluster {written_to}, but {view['source']} is "
            f"{view['source_cluster_id']}: {reverse} would copy to the wrong place.",
            f"Name a worker on {view['source']} with --target-url.",
        )


def _plan_start(
    plan: Plan,
    client: RestClient,
    other: RestClient,
    view: dict[str, Any],
    copies: list[str],
    reverse: str,
    config: dict[str, str],
    state: str | None,
    timeout_s: float,
) -> None:
    """Copies keep their names: the reverse flow has to begin behind them, and the two must not run at once."""
    from seamark.mirror.reverse_flow import start_offsets

    name, source, target = view["connector"], view["source"], view["target"]
    if view["state"] != "STOPPED":
        raise CommandError(
            f"{name} is {view['state']}: nothing in the names of copies tells what they are, so that both flows would "
            "copy the same records back and forth.",
            f"Run `seamark mirror failover {name}` first.",
        )
    committed = [] if state is None else other.get(connector_path(reverse, "/offsets"))["offsets"]
    alias = config["source.cluster.alias"]
    start = start_offsets(view["partitions"], copies, alias, committed)
    if start.problems:
        raise CommandError(
            f"Where the copies end is not known, and they would be copied back. {' '.join(start.problems)}",
            f"Resume {name}, and run `seamark mirror failover {name}` again: it stops when all is copied and told.",
        )
    if state == "RUNNING" and start.offsets:
        raise CommandError(
            f"{reverse} is RUNNING, and was begun without regard to what came from {source}: it may have copied that "
            "back already.",
            f"Stop it, look at the topics on {source}, and try again.",
        )
    lag = view["totals"]["lag"]
    if lag:
        plan.warnings.append(
            f"{lag:,} records were written on {source} and not copied before {name} was stopped. They stay on {source} "
            f"alone, before what comes from {target}."
        )
    if state is None:
        plan.steps.append(_create_step(other, reverse, config, "STOPPED", timeout_s))
    elif state not in ("STOPPED", "RUNNING"):
        plan.steps.append(stop_step(other, reverse, "connector", timeout_s))
    if start.offsets:
        plan.steps.append(_offsets_step(other, reverse, start.offsets, source))
    if state != "RUNNING":
        plan.steps.append(resume_step(other, reverse, "connector", timeout_s))


def _create_step(other: RestClient, name: str, config: dict[str, str], state: str, timeout_s: float) -> Step:
    def run(say: Say) -> str:
        other.ask("POST", "/connectors", {"name": name, "config": config, "initial_state": state})
        await_state(other, name, state, timeout_s)
        return f"{name} is created and {state}"

    how = "" if state == "RUNNING" else ", stopped at first"
    return Step(f"create connector {name} at {other.url}{how}", run)


def _offsets_step(other: RestClient, name: str, offsets: list[dict[str, Any]], source: str) -> Step:
    def run(say: Say) -> str:
        other.ask("PATCH", connector_path(name, "/offsets"), {"offsets": offsets})
        return f"{name} begins behind the copies in {len(offsets)} partitions"

    first = offsets[0]
    where, at = first["partition"], first["offset"]["offset"] + 1
    return Step(
        f"let {name} begin behind what came from {source}, in {len(offsets)} partitions "
        f"({where['topic']}-{where['partition']} at {at:,}, ...)",
        run,
    )
