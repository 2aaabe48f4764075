"""The checklist of a failover: what is done, what is not, and what nobody but a person can do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from seamark.client import ExpandedConnector, Mirror, MirrorGroups
from seamark.web.figures import count

IDLE: Final = frozenset({"EMPTY", "DEAD"})
_CHECKPOINT: Final = ("MirrorCheckpointConnector", "MirrorCheckpoint")
_SHOWN: Final = 5
QUIET_S: Final = 8.0
"""A source without new records for so long has no producers, or they are slow."""


@dataclass(slots=True)
class Growth:
    """Whether the source's topics grow."""

    clock: Callable[[], float] = time.monotonic
    _end: int | None = field(default=None, init=False)
    _since: float = field(default=0.0, init=False)
    _has_grown: bool = field(default=False, init=False)

    def look(self, end: int) -> None:
        """Take the sum of all ends."""
        if end != self._end:
            self._has_grown = self._end is not None
            self._end, self._since = end, self.clock()

    @property
    def is_growing(self) -> bool | None:
        """Whether they grew a moment ago; None if that is not known yet."""
        if self._end is not None and self.clock() - self._since >= QUIET_S:
            return False
        return True if self._has_grown else None


@dataclass(frozen=True, slots=True)
class Check:
    """A step.

    Attributes:
        text: what is to be done.
        status: ``done``, ``open``, ``wrong`` (in the way of the others) or ``person`` (nobody can tell but a person).
        note: how far it is.
        action: what the page can do about it, ``stop`` or ``groups``.
    """

    text: str
    status: str
    note: str = ""
    action: str | None = None


def checklist(
    mirror: Mirror,
    groups: MirrorGroups | None,
    helpers: Mapping[str, str],
    *,
    is_growing: bool | None,
    are_groups_moved: bool,
) -> list[Check]:
    """All steps, in order.

    Args:
        mirror: the flow.
        groups: with their states, None if they are not known yet.
        helpers: checkpoint connectors of the flow, and their states.
        is_growing: whether records were written on the source since the last look; None if not known.
        are_groups_moved: whether offsets were committed since the page was opened.
    """
    return [
        _producers(mirror, is_growing),
        _copied(mirror),
        _consumers(mirror, groups),
        _stopped(mirror, helpers),
        _groups(mirror, groups, are_groups_moved),
        _clients(mirror),
    ]


def _producers(mirror: Mirror, is_growing: bool | None) -> Check:
    text = f"Stop the producers on {mirror.source}"
    if is_growing is None or mirror.error:
        return Check(text, "person", mirror.error or "Looking whether records still arrive …")
    if is_growing:
        return Check(text, "open", f"Records still arrive on {mirror.source}.")
    return Check(text, "done", "No record has arrived for a while.")


def _copied(mirror: Mirror) -> Check:
    text = f"Wait until everything is copied to {mirror.target}"
    lag, failed = mirror.totals.lag, mirror.tasks.get("FAILED", 0)
    if lag is None:
        return Check(text, "wrong", f"{mirror.error or 'The lag is not known.'} What was not copied stays there.")
    if lag == 0:
        return Check(text, "done", "Nothing is left to copy.")
    behind = f"{count(lag, 'record')} behind"
    if failed or mirror.state != "RUNNING":
        reason = f"{count(failed, 'task')} failed" if failed else f"the flow is {mirror.state}"
        return Check(text, "wrong", f"{behind}, and {reason}: they will not be copied.")
    return Check(text, "open", f"{behind}.")


def _consumers(mirror: Mirror, groups: MirrorGroups | None) -> Check:
    text = f"Stop the consumers on {mirror.source}"
    if groups is None:
        return Check(text, "person", "Looking which groups have members …")
    active = [row.group for row in groups.groups if row.source_state not in (None, *IDLE)]
    if active:
        return Check(text, "open", f"These groups still have members there: {some(active)}")
    if groups.error:
        return Check(text, "person", groups.error)
    return Check(text, "done", "No translated group has members there.")


def _stopped(mirror: Mirror, helpers: Mapping[str, str]) -> Check:
    text = "Stop the flow" + (" and its checkpoints" if helpers else "")
    running = [mirror.connector] if mirror.state != "STOPPED" else []
    running += [name for name, state in sorted(helpers.items()) if state != "STOPPED"]
    if running:
        return Check(text, "open", f"Not stopped yet: {some(running)}", "stop")
    return Check(text, "done", "Stopped.")


def _groups(mirror: Mirror, groups: MirrorGroups | None, are_moved: bool) -> Check:
    text = f"Bring consumer groups to their translated offsets on {mirror.target}"
    known = groups.groups if groups is not None else mirror.groups
    if not known:
        return Check(text, "person", "No group translates: its consumers begin by their auto.offset.reset.", "groups")
    if are_moved:
        return Check(text, "done", "Committed.", "groups")
    used = [row.group for row in known if row.target_state not in (None, *IDLE)]
    note = f"{count(len(known), 'group')} to bring over."
    if used:
        note += f" These have members on {mirror.target} and stay where they are: {some(used)}"
    return Check(text, "open", note, "groups")


def _clients(mirror: Mirror) -> Check:
    renamed = {row.topic: row.remote_topic for row in mirror.partitions if row.topic != row.remote_topic}
    note = "They go on where their groups are."
    if renamed:
        topic, copy = next(iter(renamed.items()))
        note += f" There {topic} is called {copy}: subscribe to both."
    return Check(f"Start consumers and producers on {mirror.target}", "person", note)


def checkpoints_of(mirror: Mirror, connectors: Mapping[str, ExpandedConnector]) -> dict[str, str]:
    """The checkpoint connectors of a flow, and their states."""
    found = {}
    for name, each in connectors.items():
        config = each.info.config if each.info else {}
        kind = str(config.get("connector.class") or "").replace(":", ".").rpartition(".")[2]
        flow = config.get("source.cluster.alias"), config.get("target.cluster.alias", "target")
        if kind in _CHECKPOINT and flow == (mirror.source, mirror.target):
            found[name] = each.status.connector.state if each.status else "UNASSIGNED"
    return found


def some(names: Sequence[str]) -> str:
    """A few of the names, and how many more."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
