"""Steps of a failover or failback: shown before they are done, and done one after the other with progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import typer

from seamark.cli.rest_client import CommandError, RestClient, connector_path

LOOK_S: Final = 0.5
_NOT_FOUND: Final = 404

Say = Callable[[str], None]
"""Shows how far a step is."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do: what the person reads before, and what does it, returning what has come of it, in lines."""

    text: str
    run: Callable[[Say], str]


@dataclass(slots=True)
class Plan:
    """What will be done about one flow."""

    title: str
    steps: list[Step] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    then: list[str] = field(default_factory=list)
    """What is left to the person."""


def carry_out(plans: Sequence[Plan], *, is_confirmed: bool) -> None:
    """Show the plans, ask, and do them; the first step that fails ends it.

    Raises:
        CommandError: a step failed; the message says what was done before.
    """
    for plan in plans:
        _show(plan)
    if not is_confirmed:
        typer.confirm("\nGo ahead?", abort=True, err=True)
    for plan in plans:
        typer.echo(f"\n{plan.title}")
        for number, step in enumerate(plan.steps, start=1):
            _run(step, number, len(plan.steps))
        for line in plan.then:
            typer.echo(line)


def _show(plan: Plan) -> None:
    typer.echo(f"\n{plan.title}")
    for number, step in enumerate(plan.steps, start=1):
        typer.echo(f"  {number}. {step.text}")
    for warning in plan.warnings:
        typer.echo(f"  warning: {warning}")


def _run(step: Step, number: int, count: int) -> None:
    from rich.console import Console

    began, console = time.monotonic(), Console(stderr=True, highlight=False, markup=False)
    try:
        if sys.stderr.isatty():
            with console.status(step.text) as shown:
                result = step.run(lambda text: shown.update(f"{step.text}: {text}"))
        else:
            result = step.run(lambda text: None)
    except CommandError as error:
        done = "Nothing was changed before." if number == 1 else "The steps before it are done."
        raise CommandError(f"Step {number} of {count} failed: {error.message} {done}", error.hint) from error
    first, *more = result.splitlines()
    typer.echo(f"  {number}. {first} ({time.monotonic() - began:.1f} s)")
    for line in more:
        typer.echo(f"     {line}")


# what several steps need


def await_state(client: RestClient, name: str, state: str, timeout_s: float) -> None:
    """Wait until a connector is in a state, and when it is STOPPED, until its tasks are gone.

    Raises:
        CommandError: it has failed, or does not get there in time.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            status: dict[str, Any] = client.get(connector_path(name, "/status"))
        except CommandError as error:
            if error.status != _NOT_FOUND:  # it was only just created
                raise
            status = {"connector": {"state": "UNASSIGNED"}, "tasks": []}
        found, tasks = status["connector"]["state"], status["tasks"]
        if found == state and (state != "STOPPED" or not tasks):
            return
        failed = [each for each in (status["connector"], *tasks) if each["state"] == "FAILED"]
        if failed and state == "RUNNING":
            trace = str(failed[0].get("trace") or "").strip().splitlines()
            raise CommandError(f"{name} has failed: {trace[0] if trace else 'its status has no trace'}")
        if time.monotonic() > deadline:
            raise CommandError(
                f"{name} is {found} with {len(tasks)} tasks after {timeout_s:g} s, and should be {state}."
            )
        time.sleep(LOOK_S)


def stop_step(client: RestClient, name: str, what: str, timeout_s: float) -> Step:
    """Stop a connector."""

    def run(say: Say) -> str:
        client.ask("PUT", connector_path(name, "/stop"))
        await_state(client, name, "STOPPED", timeout_s)
        return f"{name} is stopped"

    return Step(f"stop {what} {name}", run)


def resume_step(client: RestClient, name: str, what: str, timeout_s: float) -> Step:
    """Resume a connector."""

    def run(say: Say) -> str:
        client.ask("PUT", connector_path(name, "/resume"))
        await_state(client, name, "RUNNING", timeout_s)
        return f"{name} is running"

    return Step(f"start {what} {name}", run)


def state_of(client: RestClient, name: str) -> str:
    """The state of a connector."""
    return str(client.get(connector_path(name, "/status"))["connector"]["state"])


def find_connectors(client: RestClient, kind: str, source: str, target: str) -> list[str]:
    """The connectors of a worker's cluster that are of this kind, by the last part of their class, and of this flow."""
    found = []
    for name, expanded in client.get("/connectors?expand=info").items():
        config = expanded["info"]["config"]
        class_name = str(config.get("connector.class", "")).replace(":", ".").rpartition(".")[2]
        is_kind = class_name in (kind, kind.removesuffix("Connector"))
        flow = config.get("source.cluster.alias"), config.get("target.cluster.alias", "target")
        if is_kind and flow == (source, target):
            found.append(name)
    return sorted(found)
