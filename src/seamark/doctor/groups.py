"""Whether the worker's `group.id` is free for it."""

from __future__ import annotations

from typing import Final

from seamark.doctor.findings import Finding, error, ok, warning
from seamark.kafka.group_members import CONSUMER_PROTOCOL, url_in
from seamark.kafka.inspection import InspectedGroup

CHECK: Final = "group"
_CONNECT: Final = "connect"
_CLASSIC: Final = ("", "classic")
_GONE: Final = frozenset({"empty", "dead"})


def judge_group(group_id: str, group: InspectedGroup | None) -> Finding:
    """Who is in the group now.

    Args:
        group_id: of the workers.
        group: as its coordinator describes it; None if there is none.
    """
    if group is None:
        return ok(CHECK, f"Nobody uses group.id {group_id}, as far as this user may see.")
    is_live = group.state.lower() not in _GONE
    if group.protocol_type == _CONNECT:
        if is_live:
            return error(
                CHECK,
                f"Java workers of Kafka Connect are live in group {group_id}; they and Seamark's cannot be mixed.",
                f"Stop all Java workers of {group_id}, then start Seamark with the same file: it takes over their "
                "connectors and offsets. Or set another `group.id` and other internal topics.",
            )
        return ok(CHECK, f"Group {group_id} was one of Java workers; none is live, so Seamark can take over.")
    if group.group_type.lower() not in _CLASSIC or group.protocol_type not in ("", CONSUMER_PROTOCOL):
        return error(
            CHECK,
            f"{group_id} is a group of another kind ({group.protocol_type or 'no protocol'}, "
            f"{group.group_type or 'classic'}).",
            "Set `group.id` to a name that no other application uses.",
        )
    if not is_live:
        return ok(CHECK, f"Group {group_id} exists and has no members now.")
    return _members(group_id, group)


def _members(group_id: str, group: InspectedGroup) -> Finding:
    if group.client_ids is None:
        return warning(
            CHECK,
            f"Group {group_id} has members, and who they are could not be asked.",
            f"Look at them: `kafka-consumer-groups.sh --describe --members --group {group_id}`.",
        )
    strangers = [client_id for client_id in group.client_ids if not url_in(client_id)]
    if strangers:
        return error(
            CHECK,
            f"Consumers that are no workers are in group {group_id}: {', '.join(sorted(set(strangers))[:5])}.",
            "Set `group.id` to a name that no consumer group has.",
        )
    urls = sorted(map(url_in, group.client_ids))
    return ok(CHECK, f"Seamark workers are live in group {group_id}, and this one would join them: {', '.join(urls)}.")
