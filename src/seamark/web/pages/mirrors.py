"""Mirrors: a picture of clusters and flows; of one flow its partitions, groups and the checklist of a failover."""

from __future__ import annotations

from typing import Any, Final

from seamark.client import ClientError, Mirror, MirrorGroups, MirrorSummary, NotFound
from seamark.web import failover, flow_picture
from seamark.web import session as sessions
from seamark.web.figures import UNKNOWN, count, number, span
from seamark.web.session import Session
from seamark.web.shell import page
from seamark.web.table import Column, Facet, Table
from seamark.web.widgets import button, card, confirm, link, notice, set_html, state_html, tag

_MIRRORS: Final = (
    Column("name", "Mirror"),
    Column("flow", "Flow"),
    Column("state", "State", "state"),
    Column("tasks", "Tasks", "tasks", is_sortable=False),
    Column("topics", "Topics", "number"),
    Column("partitions", "Partitions", "number"),
    Column("lag", "Lag", "number", title="Records that are not copied yet"),
    Column("age", "Age", "number", title="How long ago the oldest of them was written"),
)
_PARTITIONS: Final = (
    Column("topic", "Topic"),
    Column("partition", "Partition", "number"),
    Column("copy", "Copy"),
    Column("position", "Position", "number"),
    Column("start", "Start", "number"),
    Column("end", "End", "number"),
    Column("lag", "Lag", "number"),
    Column("age", "Age", "number"),
    Column("sync", "Last sync", "number", title="Offset of a record, and of its copy"),
)
_GROUPS: Final = (
    Column("group", "Group"),
    Column("source", "At the source"),
    Column("target", "At the target"),
    Column("topic", "Copy"),
    Column("partition", "Partition", "number"),
    Column("upstream", "Source offset", "number", title="Where it is on the source"),
    Column("downstream", "Target offset", "number", title="What that is on the target"),
    Column("committed", "Committed", "number", title="What it has committed on the target"),
)
_NONE: Final = (
    "There is no mirror on this cluster. A MirrorSourceConnector copies topics of another Kafka to this one; "
    "`seamark mirror-maker` runs all flows of a MirrorMaker 2 file."
)
_MARKS: Final = {"done": "✓", "open": "○", "wrong": "▲", "person": "☞"}
_WORDS: Final = {"done": "Done", "open": "To do", "wrong": "Problem", "person": "For you to check"}


@page("/mirrors", "Mirrors")
async def mirrors() -> None:
    """Build the page of all flows."""
    session = sessions.current()
    tag("h1", "Mirrors")
    with card("Flows"):
        drawn = tag("div", classes="sm-picture")
        table = Table(_MIRRORS, label="Mirrors", empty=_NONE)

    def show(found: list[MirrorSummary]) -> None:
        edges = flow_picture.edges(found, session.href)
        drawings = flow_picture.picture(edges) + flow_picture.picture(edges, is_narrow=True) if edges else ""
        set_html(drawn, drawings, is_html=True)
        table.show([_summary_row(each, session) for each in found])

    await session.watch("mirrors", session.client.mirrors, show, interval_s=3.0)


def _summary_row(mirror: MirrorSummary, session: Session) -> dict[str, Any]:
    name: dict[str, Any] = {"text": mirror.connector, "href": session.href("mirrors", mirror.connector)}
    if mirror.error:
        name |= {"sub": mirror.error, "subtone": "bad"}
    state = flow_picture.state_of(mirror)
    return {
        "id": mirror.connector,
        "tone": "bad" if state == "FAILED" else None,
        "name": name,
        "flow": f"{mirror.source} → {mirror.target}",
        "state": {"text": state, "tone": flow_picture.kind_of(mirror)},
        "tasks": dict(mirror.tasks),
        "topics": mirror.topics,
        "partitions": mirror.partitions,
        "lag": mirror.lag,
        "age": _age(mirror.lag_ms),
    }


def _age(lag_ms: int | None) -> dict[str, Any] | None:
    return None if lag_ms is None else {"text": span(lag_ms) if lag_ms else "0", "sort": lag_ms}


@page("/mirrors/{name}", "Mirror", active="Mirrors")
async def mirror(name: str) -> None:
    """Build the page of one flow."""
    view = _Flow(sessions.current(), name)
    await view.watch()


class _Flow:
    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self._mirror: Mirror | None = None
        self._groups: MirrorGroups | None = None
        self._checkpoints: dict[str, str] = {}
        self._growth = failover.Growth()
        self._are_moved = False
        self._shown: object = None
        with tag("div", classes="sm-head"):
            tag("h1", name)
            self._state = tag("span")
            link("Its connector", session.href("connectors", name), "sm-button")
            link("Its offsets", session.href("connectors", name, "offsets"), "sm-button")
        self._problem = tag("div")
        with card("Flow"):
            self._facts = tag("dl", classes="sm-facts")
        with card("Failover"):
            tag("p", "What has to be done before clients go on at the target, in this order.", "sm-muted")
            self._list = tag("ol", classes="sm-todos")
        with card("Partitions"):
            self._partitions = Table(
                _PARTITIONS,
                label="Partitions",
                facets=[Facet("topic", "Topic"), Facet("behind", "Lag")],
                search="Search topics",
                empty="It copies no partition yet.",
            )
        with card("Consumer groups"):
            self._group_table = Table(
                _GROUPS,
                label="Consumer groups",
                search="Search groups",
                empty="No group is translated. A MirrorCheckpointConnector of the same flow does that.",
            )

    async def watch(self) -> None:
        session, name = self._session, self._name
        self._feed = await session.watch(
            ("mirror", name),
            lambda: session.client.mirror(name),
            self._show,
            on_error=self._is_missing,
            is_always_shown=True,
        )
        self._group_feed = await session.watch(
            ("mirror groups", name),
            lambda: session.client.mirror_groups(name),
            self._show_groups,
            interval_s=10.0,
            on_error=lambda error: isinstance(error, NotFound),
        )
        await session.watch("expanded", session.client.expanded, self._show_helpers, interval_s=5.0)

    def _is_missing(self, error: ClientError) -> bool:
        if not isinstance(error, NotFound):
            return False
        self._problem.clear()
        with self._problem:
            notice(str(error), "bad")
        return True

    def _show(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._growth.look(sum(row.end for row in mirror.partitions))
        failed = mirror.tasks.get("FAILED")
        set_html(self._state, state_html("FAILED" if failed else mirror.state), is_html=True)
        self._problem.clear()
        if mirror.error:
            with self._problem:
                notice(mirror.error, "bad")
        self._show_facts(mirror)
        self._partitions.show([_partition_row(row) for row in mirror.partitions])
        if self._groups is None:
            self._show_groups(MirrorGroups(mirror.groups))
            self._groups = None
        self._show_checks()

    def _show_facts(self, mirror: Mirror) -> None:
        totals = mirror.totals
        age = f", the oldest {span(totals.lag_ms)} old" if totals.lag and totals.lag_ms else ""
        behind = "not known" if totals.lag is None else f"{count(totals.lag, 'record')} behind{age}"
        facts = {
            "From": mirror.source + (f" ({mirror.source_cluster_id})" if mirror.source_cluster_id else ""),
            "To": mirror.target,
            "Copies": f"{count(totals.partitions, 'partition')} of {count(totals.topics, 'topic')}",
            "Lag": behind,
            "Tasks": ", ".join(f"{number} {state.lower()}" for state, number in sorted(mirror.tasks.items())) or "none",
        }
        if facts == self._shown:
            return
        self._shown = facts
        self._facts.clear()
        with self._facts:
            for key, value in facts.items():
                tag("dt", key)
                tag("dd", value)

    def _show_groups(self, groups: MirrorGroups) -> None:
        self._groups = groups
        self._group_table.show([row for group in groups.groups for row in _group_rows(group)])
        if self._mirror is not None:
            self._show_checks()

    def _show_helpers(self, connectors: Any) -> None:
        if self._mirror is not None:
            self._checkpoints = failover.checkpoints_of(self._mirror, connectors)
            self._show_checks()

    # failover

    def _show_checks(self) -> None:
        if self._mirror is None:
            return
        checks = failover.checklist(
            self._mirror,
            self._groups,
            self._checkpoints,
            is_growing=self._growth.is_growing,
            are_groups_moved=self._are_moved,
        )
        if checks == getattr(self, "_checks", None):
            return
        self._checks = checks
        self._list.clear()
        with self._list:
            for check in checks:
                with tag("li", classes=f"sm-todo sm-todo-{check.status}"):
                    tag("span", _MARKS[check.status], "sm-todo-mark", aria_hidden="true")
                    with tag("div"):
                        tag("strong", check.text)
                        tag("span", f"{_WORDS[check.status]}. {check.note}", "sm-sub")
                    if check.action == "stop":
                        button("Stop …", self._stop, needs="operator")
                    elif check.action == "groups":
                        button("Commit offsets …", self._move, needs="editor")

    async def _stop(self) -> None:
        names = [self._name, *(name for name, state in self._checkpoints.items() if state != "STOPPED")]
        mirror = self._mirror
        behind = mirror.totals.lag if mirror else None
        warning = (
            f" {count(behind, 'record')} are not copied yet, and stay on {mirror.source}." if behind and mirror else ""
        )
        say = f"They copy nothing more, and keep their positions.{warning}"
        if not await confirm("Stop the flow?", say=say, lines=names, do="Stop", kind="danger" if behind else "primary"):
            return
        for name in names:
            if not await self._session.act(self._session.client.stop(name), f"{name} is being stopped"):
                return
        self._feed.refresh()

    async def _move(self) -> None:
        target = self._mirror.target if self._mirror else "the target"
        known = self._groups.groups if self._groups else ()
        say = f"Their translated offsets are committed on {target}. Groups that have members there stay where they are."
        if not await confirm("Commit offsets?", say=say, lines=[each.group for each in known], do="Commit"):
            return
        try:
            answer = await self._session.client.sync_mirror_groups(self._name)
        except ClientError as error:
            self._session.say(str(error), is_bad=True)
            return
        outcomes = [f"{each.group}: {each.outcome}" for each in answer.groups]
        is_bad = bool(answer.error) or any(each.outcome == "failed" for each in answer.groups)
        self._are_moved = not is_bad
        self._session.say(answer.error or "; ".join(outcomes) or "There are no groups to bring over.", is_bad=is_bad)
        self._group_feed.refresh()
        self._show_checks()


def _partition_row(row: Any) -> dict[str, Any]:
    sync = row.last_sync
    topic: dict[str, Any] = {"text": row.topic}
    if row.problem:
        topic |= {"sub": row.problem, "subtone": "bad"}
    behind = "unknown" if row.lag is None else "behind" if row.lag else "none"
    return {
        "id": f"{row.topic}-{row.partition}",
        "tone": "bad" if row.problem else None,
        "facets": {"topic": row.topic, "behind": behind},
        "topic": topic,
        "partition": row.partition,
        "copy": row.remote_topic,
        "position": row.position,
        "start": row.start,
        "end": row.end,
        "lag": row.lag,
        "age": _age(row.lag_ms),
        "sync": None if sync is None else {"text": f"{sync.upstream:,} → {sync.downstream:,}", "sort": sync.upstream},
    }


def _group_rows(group: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{group.group} {row.remote_topic}-{row.partition}",
            "group": group.group,
            "source": (group.source_state or UNKNOWN).lower(),
            "target": (group.target_state or UNKNOWN).lower(),
            "topic": row.remote_topic,
            "partition": row.partition,
            "upstream": row.upstream,
            "downstream": row.downstream,
            "committed": {"text": number(row.committed), "sort": row.committed},
        }
        for row in group.partitions
    ]
