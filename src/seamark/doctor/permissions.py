"""What the worker's user may do, as far as the cluster tells without being changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seamark.doctor.findings import Finding, error, ok, skipped, warning

CHECK: Final = "permissions"
_TOPIC: Final = ("DESCRIBE", "READ", "WRITE")
_GROUP: Final = ("DESCRIBE", "READ")
Operations = frozenset[str] | None


def judge_permissions(
    topics: Mapping[str, Operations],
    groups: Mapping[str, Operations],
    transactional_ids: Mapping[str, bool | None],
    principal: str,
    servers: str,
) -> list[Finding]:
    """Of those things that could be asked about; what was not, is told.

    Args:
        topics: operations on topics that exist; None of one that the cluster does not tell about.
        groups: operations on groups.
        transactional_ids: whether they may be described; None of one that could not be asked for.
        principal: the user, for the commands that mend something.
        servers: bootstrap servers, for the same.
    """
    found: list[Finding] = []
    unknown: list[str] = []
    for kind, resources, needed in (("topic", topics, _TOPIC), ("group", groups, _GROUP)):
        for name, operations in resources.items():
            if operations is None:
                unknown.append(f"{kind} {name}")
            elif lacking := [each for each in needed if each not in operations]:
                found.append(_refused(kind, name, lacking, principal, servers))
    for name, operations in topics.items():
        if operations is not None and "DESCRIBE_CONFIGS" not in operations:
            found.append(
                warning(
                    CHECK,
                    f"The settings of topic {name} may not be read: a wrong cleanup.policy would not be noticed.",
                    _grant("topic", name, ["DESCRIBE_CONFIGS"], principal, servers),
                )
            )
    for name, may in transactional_ids.items():
        if may is None:
            unknown.append(f"transactional id {name}")
        elif not may:
            found.append(_refused("transactional-id", name, ["DESCRIBE", "WRITE"], principal, servers))
    known = len(topics) + len(groups) + len(transactional_ids) - len(unknown)
    if not found and known:
        asked = (
            "; whether a transactional id may be written is told by --write-probe alone" if transactional_ids else ""
        )
        found.append(ok(CHECK, f"All that was asked for is allowed{asked}."))
    if unknown:
        found.append(skipped(CHECK, f"The cluster does not tell before it is in use: {', '.join(unknown)}."))
    return found


def _refused(kind: str, name: str, lacking: list[str], principal: str, servers: str) -> Finding:
    shown = kind.replace("-", " ")
    return error(
        CHECK,
        f"{principal} may not {' or '.join(each.lower().replace('_', ' ') for each in lacking)} {shown} {name}.",
        _grant(kind, name, lacking, principal, servers),
    )


def _grant(kind: str, name: str, operations: list[str], principal: str, servers: str) -> str:
    wanted = " ".join(f"--operation {each.title().replace('_', '')}" for each in operations)
    return (
        f"Run `kafka-acls.sh --bootstrap-server {servers} --add --allow-principal {principal} {wanted} "
        f"--{kind} {name}`."
    )
