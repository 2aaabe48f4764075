"""One connector of a resource, brought to what the resource says.

A pass that creates or reconfigures a connector does nothing else with it: offsets and restarts come with the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from seamark.client import AsyncConnectClient, ClientError, Conflict, NotFound
from seamark.operator import auto_restarts, conditions
from seamark.operator.auto_restarts import Restarts
from seamark.operator.conditions import NotReady, Warning_
from seamark.operator.connector_specs import PAUSED, RUNNING, STOPPED, ConnectorSpec, Restart
from seamark.operator.workers import raw_status

_STATUS_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
INITIAL = {RUNNING: "RUNNING", PAUSED: "PAUSED", STOPPED: "STOPPED"}


@dataclass
class Outcome:
    """What came of a pass over a connector.

    Attributes:
        status: as the worker says it.
        warnings: what could not be done.
        problem: why the resource is not ready.
        is_settled: whether nothing is to be expected soon.
        restarts: to remember.
    """

    status: dict[str, Any] = field(default_factory=dict)
    warnings: list[Warning_] = field(default_factory=list)
    problem: NotReady | None = None
    is_settled: bool = True
    restarts: Restarts | None = None

    @property
    def live_state(self) -> str:
        """Of the connector."""
        return str((self.status.get("connector") or {}).get("state", ""))

    @property
    def failed_tasks(self) -> list[int]:
        """Numbers of tasks that have failed."""
        return [task["id"] for task in self.status.get("tasks") or [] if task.get("state") == "FAILED"]


@dataclass(frozen=True)
class Steps:
    """What is done with a connector that is as it should be, in this order; each says what went wrong."""

    offsets: Callable[[], Awaitable[Warning_ | None]] | None = None
    restart: Callable[[], Awaitable[Warning_ | None]] | None = None
    restarts: Restarts | None = None
    is_held: bool = False
    """Whether something else has it stopped: then its state stays as it is."""


async def reconcile(
    client: AsyncConnectClient,
    spec: ConnectorSpec,
    live_config: Mapping[str, Any] | None,
    steps: Steps,
    creating: Callable[[], Awaitable[None]],
    now: datetime,
) -> Outcome:
    """A pass over a connector.

    Args:
        client: of a worker.
        spec: what the connector shall be.
        live_config: what it is; None if there is none.
        steps: what else to do.
        creating: called before it is created.
        now: the time.

    Raises:
        ClientError: the worker did not do it.
    """
    outcome = Outcome(restarts=steps.restarts)
    if live_config is None:
        await creating()
        try:
            await client.create(spec.name, spec.config, INITIAL[spec.state])
        except Conflict as error:
            if error.retriable:
                raise
        return await _unfinished(client, spec, outcome)
    if dict(live_config) != dict(spec.config):
        await client.put_config(spec.name, spec.config)
        if not steps.is_held:
            await _change_state(client, spec, outcome)
        return await _unfinished(client, spec, outcome)
    if not steps.is_held:
        await _change_state(client, spec, outcome)
    for step in (steps.offsets, steps.restart):
        if step is not None and not steps.is_held:
            warning = await step()
            if warning is not None:
                outcome.warnings.append(warning)
                outcome.is_settled = False
    await _read_status(client, spec, outcome)
    await _restart_if_failed(client, spec, outcome, now)
    outcome.is_settled = outcome.is_settled and not _is_moving(spec, outcome, steps)
    return outcome


async def _change_state(client: AsyncConnectClient, spec: ConnectorSpec, outcome: Outcome) -> None:
    await _read_status(client, spec, outcome)
    live, wanted = outcome.live_state, spec.live_state
    if live == wanted or live in ("UNASSIGNED", "RESTARTING", ""):
        return
    if live == "FAILED" and wanted != "STOPPED":
        if wanted == "PAUSED":
            message = f"Connector {spec.name} cannot be paused since it is in failed state."
            outcome.problem = NotReady("ConnectorFailed", message)
        return
    if wanted == "STOPPED":
        await client.stop(spec.name)
    elif wanted == "PAUSED":
        await client.pause(spec.name)
    else:
        await client.resume(spec.name)


async def _restart_if_failed(client: AsyncConnectClient, spec: ConnectorSpec, outcome: Outcome, now: datetime) -> None:
    is_failed = outcome.live_state == "FAILED" or bool(outcome.failed_tasks)
    decision = auto_restarts.decide(
        outcome.restarts, is_failed=is_failed, is_enabled=spec.restarts, most=spec.most_restarts, now=now
    )
    if decision.restart:
        await client.restart(spec.name, include_tasks=True, only_failed=True)
    outcome.restarts = decision.remember


async def _unfinished(client: AsyncConnectClient, spec: ConnectorSpec, outcome: Outcome) -> Outcome:
    outcome.is_settled = False
    await _read_status(client, spec, outcome)
    return outcome


async def _read_status(client: AsyncConnectClient, spec: ConnectorSpec, outcome: Outcome) -> None:
    """A connector that was only just created has no status for a moment; a resource is not ready without one."""
    for pause_s in _STATUS_PAUSES_S:
        try:
            outcome.status = await raw_status(client, spec.name)
            return
        except NotFound:
            await asyncio.sleep(pause_s)
    outcome.status = await raw_status(client, spec.name)


def _is_moving(spec: ConnectorSpec, outcome: Outcome, steps: Steps) -> bool:
    """Whether the worker has not done yet what it was told."""
    return not steps.is_held and outcome.live_state not in (spec.live_state, "FAILED")


def unreachable(error: ClientError) -> NotReady:
    """Of a resource whose worker did not answer, or refused."""
    return NotReady(type(error).__name__, error.message)


async def live_config(client: AsyncConnectClient, name: str) -> Mapping[str, Any] | None:
    """What a connector is; None if there is none."""
    try:
        return await client.config(name)
    except NotFound:
        return None


async def restart(client: AsyncConnectClient, name: str, how: Restart) -> Warning_ | None:
    """Restart a connector; the Warning says why it was not done."""
    try:
        await client.restart(name, include_tasks=how.include_tasks, only_failed=how.only_failed)
    except ClientError as error:
        return Warning_(conditions.RESTART_CONNECTOR, f"Failed to restart connector {name}. {error.message}")
    return None


async def restart_task(client: AsyncConnectClient, name: str, task: int) -> Warning_ | None:
    """Restart a task; the Warning says why it was not done."""
    try:
        await client.restart_task(name, task)
    except ClientError as error:
        return Warning_(conditions.RESTART_TASK, f"Failed to restart connector task {name}:{task}. {error.message}")
    return None
