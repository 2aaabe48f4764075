"""Failover: what a flow has to do before its clients go on at the target."""

from __future__ import annotations

import time
from typing import Any, Final

from seamark.cli.mirror_steps import LOOK_S, Plan, Say, Step, find_connectors, state_of, stop_step
from seamark.cli.rest_client import CommandError, RestClient, mirror_path

_IDLE: Final = frozenset({"EMPTY", "DEAD"})
_SHOWN: Final = 10
SYNCS_S: Final = 10.0  # groups translate best, and the reverse flow begins right, after the last offset syncs


def plan_failover(client: RestClient, name: str, *, is_drained: bool, timeout_s: float) -> Plan:
    """The steps that move the clients of a flow to its target.

    Args:
        client: a worker of the flow.
        name: the MirrorSourceConnector.
        is_drained: wait until everything is copied.
        timeout_s: for each wait.

    Raises:
        CommandError: it cannot be done safely.
    """
    view = client.get(mirror_path(name))
    source, target, state = view["source"], view["target"], view["state"]
    plan = Plan(f"Failover of {name}: clients of {source} go on at {target}")
    lag = view["totals"]["lag"]
    if is_drained:
        _require_drainable(view)
        if state != "STOPPED":
            plan.steps.append(_drain_step(client, name, lag, timeout_s))
    elif lag is None:
        plan.warnings.append(f"{view['error']} What was written there and not copied stays there.")
    elif lag:
        plan.warnings.append(f"{lag:,} records of {source} are not copied to {target}, and stay on {source}.")
    if state != "STOPPED":
        plan.steps.append(stop_step(client, name, "connector", timeout_s))
    for other in find_connectors(client, "MirrorCheckpointConnector", source, target):
        if state_of(client, other) != "STOPPED":
            plan.steps.append(stop_step(client, other, "connector", timeout_s))
    groups = client.get(mirror_path(name, "/groups"))
    plan.steps.append(_groups_step(client, name, target, groups["groups"]))
    plan.warnings += _group_warnings(groups, source, target)
    plan.then = _next(view)
    return plan


def _require_drainable(view: dict[str, Any]) -> None:
    name, source, lag, state = view["connector"], view["source"], view["totals"]["lag"], view["state"]
    if lag is None:
        raise CommandError(
            f"How much {name} has yet to copy is not known. {view['error']}",
            f"If {source} will not be back soon, use --no-drain: records that were not copied stay there.",
        )
    failed = view["tasks"].get("FAILED", 0)
    if lag and (state != "RUNNING" or failed):
        what = f"{failed} of its tasks have failed" if failed else f"it is {state}"
        raise CommandError(
            f"{name} is {lag:,} records behind and will not copy them: {what}.",
            f"Make it run first, or use --no-drain to leave these records on {source}.",
        )


def _drain_step(client: RestClient, name: str, lag: int, timeout_s: float) -> Step:
    def run(say: Say) -> str:
        deadline, synced_by = time.monotonic() + timeout_s, 0.0
        while True:
            view = client.get(mirror_path(name))
            _require_drainable(view)
            left = view["totals"]["lag"]
            if left == 0:
                synced_by = synced_by or time.monotonic() + SYNCS_S
                if _is_synced(view) or time.monotonic() > synced_by:
                    return f"{name} has copied everything"
            say(f"{left:,} records behind" if left else "waiting for its last offset syncs")
            if time.monotonic() > deadline:
                raise CommandError(
                    f"{name} is still {left:,} records behind after {timeout_s:g} s.",
                    f"Stop the producers on {view['source']}, or allow more time with --timeout.",
                )
            time.sleep(LOOK_S)

    return Step(f"wait until {name} has copied everything (now {lag:,} records behind)", run)


def _is_synced(view: dict[str, Any]) -> bool:
    """Whether the last offset syncs are those of the last records, or there are none at all."""
    rows = [row for row in view["partitions"] if row["position"]]
    behind = [row for row in rows if (row["last_sync"] or {}).get("upstream") != row["position"] - 1]
    return not behind or all(row["last_sync"] is None for row in rows)


def _groups_step(client: RestClient, name: str, target: str, groups: list[dict[str, Any]]) -> Step:
    idle = [group["group"] for group in groups if group["target_state"] in _IDLE]

    def run(say: Say) -> str:
        answer = client.ask("POST", mirror_path(name, "/groups/sync"))
        failed = [row["group"] for row in answer["groups"] if row["outcome"] == "failed"]
        if failed:
            raise CommandError(
                f"The offsets of {_some(failed)} could not be committed on {target}.", "The worker's log says why."
            )
        lines = []
        for row in answer["groups"]:
            at = ", ".join(
                f"{each['remote_topic']}-{each['partition']}@{each['committed']}" for each in row["partitions"]
            )
            lines.append(f"{row['group']}: {row['outcome']}{f', {at}' if at else ''}")
        if not lines:
            return f"there are no groups to move to {target}"
        return "\n".join([f"groups are where they go on at {target}", *lines])

    what = f"commit translated offsets on {target}, as of then, for groups without members there: {_some(idle)}"
    return Step(what if idle else f"commit translated offsets on {target} for groups that have any by then", run)


def _group_warnings(groups: dict[str, Any], source: str, target: str) -> list[str]:
    warnings = [groups["error"]] if groups["error"] else []
    active = [row["group"] for row in groups["groups"] if row["source_state"] not in (None, *_IDLE)]
    if active:
        warnings.append(
            f"These groups still have members on {source}; stop their consumers first, or they read on there and read "
            f"the same again on {target}: {_some(active)}"
        )
    used = [row["group"] for row in groups["groups"] if row["target_state"] not in _IDLE]
    if used:
        warnings.append(f"These groups have members on {target} already and stay where they are: {_some(used)}")
    return warnings


def _next(view: dict[str, Any]) -> list[str]:
    target = view["target"]
    renamed = {row["topic"]: row["remote_topic"] for row in view["partitions"] if row["topic"] != row["remote_topic"]}
    lines = [f"Consumers go on at {target} where their groups are now, others by their auto.offset.reset."]
    if renamed:
        topic, copy = next(iter(renamed.items()))
        lines.append(
            f"There {topic} is called {copy}: subscribe to both, for what producers write to {topic} on {target}."
        )
    lines.append(f"When {view['source']} is back: seamark mirror failback {view['connector']}")
    return lines


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
