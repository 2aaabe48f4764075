"""The start: what is wrong, how the cluster is, and all connectors."""

from __future__ import annotations

from collections import Counter
from functools import partial
from html import escape
from typing import Final

from seamark.client import Cluster, Overview, OverviewConnector
from seamark.web import bulk, overview_rows
from seamark.web import session as sessions
from seamark.web.figures import count
from seamark.web.session import Session
from seamark.web.shell import page
from seamark.web.table import Column, Facet, Table
from seamark.web.widgets import button, card, confirm, link, set_html, state_html, tag

_COLUMNS: Final = (
    Column("name", "Connector"),
    Column("state", "State", "state"),
    Column("tasks", "Tasks", "tasks", is_sortable=False),
    Column("rate", "Records/s", "spark"),
    Column("lag", "Lag", "spark", title="How many records it is behind"),
    Column("type", "Type"),
)
_WORKERS: Final = (
    Column("name", "Worker"),
    Column("connectors", "Connectors", "number"),
    Column("tasks", "Tasks", "number"),
    Column("rate", "Records/s", "short"),
    Column("cpu", "CPU", "number", title="100 % is one core; with all of its processes"),
    Column("memory", "Memory", "number", title="With all of its processes"),
    Column("spark", "Spark"),
    Column("jobs", "Jobs", "number", title="Spark jobs that run now"),
)
_SHOWN: Final = 12
"""Names that a preview lists; more are counted."""


@page("/", "Overview")
async def overview() -> None:
    """Build the page."""
    view = _Overview(sessions.current())
    await view.watch()


class _Overview:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._overview: Overview | None = None
        self._cluster: Cluster | None = None
        self._chosen: list[str] = []
        with tag("div", classes="sm-head"):
            tag("h1", "Overview")
            self._where = tag("p", classes="sm-muted")
        self._top = tag("div", classes="sm-top")
        with card("Connectors") as head:
            with head:
                link("Create a connector", session.href("create"), "sm-button sm-primary")
            self._states = tag("div", classes="sm-chips", role="group", aria_label="States")
            self._bulk = tag("div", classes="sm-bulk", hidden="", role="region", aria_label="Selected connectors")
            self._table = Table(
                _COLUMNS,
                label="Connectors",
                facets=[Facet("state", "State"), Facet("type", "Type"), Facet("worker", "Worker")],
                search="Search connectors",
                is_selectable=True,
                empty="There are no connectors yet. Create one here, with `seamark apply`, or over the REST API.",
            )
            self._table.on_select(self._select)
        with card("Workers"):
            self._workers = Table(_WORKERS, label="Workers", empty="No worker is known yet.")

    async def watch(self) -> None:
        session = self._session
        await session.watch("cluster", session.client.cluster, self._show_cluster, interval_s=5.0)
        self._feed = await session.watch("overview", session.client.overview, self._show)

    def _show_cluster(self, cluster: Cluster) -> None:
        self._cluster = cluster
        where = f"Kafka {cluster.kafka_cluster_id}"
        set_html(self._where, f"{where}, group {cluster.group_id}" if cluster.group_id else f"{where}, standalone")
        self._workers.show(overview_rows.worker_rows(cluster))
        if self._overview is not None:
            self._show_top()

    def _show(self, overview: Overview) -> None:
        self._overview = overview
        self._show_top()
        self._show_states()
        self._table.show(overview_rows.connector_rows(overview, self._session.href))

    def _show_top(self) -> None:
        if self._overview is None:
            return
        said = overview_rows.headline(self._overview, self._cluster)
        parts = [f'<p class="sm-headline sm-{said.kind}" role="status">{escape(said.text)}</p>']
        for figure in overview_rows.figures(self._overview, self._cluster):
            note = f'<span class="sm-figure-note">{escape(figure.note)}</span>' if figure.note else ""
            kind = f" sm-{figure.kind}" if figure.kind else ""
            parts.append(
                f'<div class="sm-figure{kind}"><span class="sm-figure-label">{escape(figure.label)}</span>'
                f'<span class="sm-figure-value">{escape(figure.value)}</span>{note}</div>'
            )
        set_html(self._top, "".join(parts), is_html=True)

    def _show_states(self) -> None:
        """A chip for each state, to see only what is in it."""
        found = Counter(overview_rows.health_of(each) for each in self._overview.connectors) if self._overview else {}
        wanted = [(state, found[state]) for state in overview_rows.URGENCY if found.get(state)]
        if getattr(self, "_shown_states", None) == wanted:
            return
        self._shown_states = wanted
        self._states.clear()
        with self._states:
            button("All", lambda: self._table.choose("state", ""), kind="chip", name="Show all states")
            for state, number in wanted:
                chip = button("", partial(self._table.choose, "state", state), kind="chip")
                chip.props["aria-label"] = f"Show only {state}: {count(number, 'connector')}"
                with chip:
                    set_html(tag("span"), f"{state_html(state)} <strong>{number:,}</strong>", is_html=True)

    # several at once

    def _select(self, ids: list[str]) -> None:
        self._chosen = ids
        self._bulk.clear()
        if not ids:
            self._bulk.props["hidden"] = ""
            self._bulk.update()
            return
        self._bulk.props.pop("hidden", None)
        with self._bulk:
            tag("strong", f"{count(len(ids), 'connector')} selected")
            for action in bulk.ACTIONS:
                button(
                    f"{action.label} …",
                    partial(self._act, action),
                    kind="danger" if action.is_danger else "",
                    needs=action.role,
                )
            button("Select none", self._table.deselect, kind="quiet")
        self._bulk.update()

    def _known(self) -> list[OverviewConnector]:
        chosen = set(self._chosen)
        return [each for each in (self._overview.connectors if self._overview else ()) if each.name in chosen]

    async def _act(self, action: bulk.Action) -> None:
        planned = bulk.preview(action, self._known())
        if not planned.changed:
            self._session.say(f"There is nothing to do. {_skipped(planned)}")
            return
        lines = [*planned.changed[:_SHOWN]]
        if len(planned.changed) > _SHOWN:
            lines.append(f"and {len(planned.changed) - _SHOWN:,} more")
        say = f"{action.warning} {_skipped(planned)}".strip()
        number = count(len(planned.changed), "connector")
        is_sure = await confirm(
            f"{action.label}: {number}?",
            say=say,
            lines=lines,
            do=f"{action.label} ({len(planned.changed):,})",
            kind="danger" if action.is_danger else "primary",
            type_in=str(len(planned.changed)) if action.is_danger and len(planned.changed) > 1 else None,
        )
        if not is_sure:
            return
        failed = await bulk.apply(action, self._session.client, planned.changed, lambda done: None)
        self._feed.refresh()
        went_well = len(planned.changed) - len(failed)
        if went_well:
            verb = "is" if went_well == 1 else "are"
            self._session.say(f"{count(went_well, 'connector')} {verb} being {action.doing}")
        if failed:
            name, error = next(iter(failed.items()))
            others = f" And {len(failed) - 1:,} more failed." if len(failed) > 1 else ""
            self._session.say(f"{name}: {error}.{others}", is_bad=True)
        self._table.deselect()


def _skipped(planned: bulk.Preview) -> str:
    if not planned.skipped:
        return ""
    reasons = Counter(reason for _, reason in planned.skipped)
    return "Left alone: " + ", ".join(f"{number:,} ({reason})" for reason, number in reasons.items()) + "."
