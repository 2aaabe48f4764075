"""How a connector is: what is wrong, its tasks and their traces, charts of the last hour, and its topics."""

from __future__ import annotations

import asyncio
import html
from collections.abc import Callable, Sequence
from typing import Final

from nicegui import ui
from nicegui.element import Element

from seamark.client import ClientError, ConnectorStatus, Series, SeriesPoint, TaskState
from seamark.web.charts import Sample, line_chart
from seamark.web.figures import count, short
from seamark.web.session import Session
from seamark.web.widgets import button, card, state, tag

SERIES_S: Final = 10.0
TOPICS_S: Final = 10.0
_STATES: Final = ("FAILED", "UNASSIGNED", "RESTARTING", "PAUSED", "STOPPED", "RUNNING")
_MOST_TASKS: Final = 50

Read = Callable[[SeriesPoint], float | None]


class StatusTab:
    """The status of a connector, in the present slot."""

    def __init__(self, session: Session, name: str, type_name: str | None) -> None:
        self._session, self._name = session, name
        self._wrong = tag("div", classes="sm-wrong", hidden="")
        with tag("div", classes="sm-charts"):
            self._charts = [
                _Chart("Throughput", " records/s", lambda point: point.records_per_second),
                _Chart("Lag", " records", lambda point: point.lag),
                _Chart("Batch time", " ms", lambda point: point.batch_ms),
            ]
        with tag("div", classes="sm-columns"):
            with card("Tasks") as head:
                with head:
                    self._summary = tag("span", "", "sm-muted")
                self._tasks = tag("div", classes="sm-task-list")
            with card("Topics"):
                self._topics = tag("div")

    async def watch(self) -> None:
        """Show what is new, from now on."""
        name, client = self._name, self._session.client

        def quiet(error: ClientError) -> bool:
            return True  # the state says what is wrong

        await asyncio.gather(
            self._session.watch(
                ("series", name), lambda: client.series(name), self._show_series, interval_s=SERIES_S, on_error=quiet
            ),
            self._session.watch(
                ("topics", name), lambda: client.topics(name), self._show_topics, interval_s=TOPICS_S, on_error=quiet
            ),
        )

    # what is wrong, and tasks

    def show_status(self, status: ConnectorStatus) -> None:
        """Show states and traces."""
        self._show_wrong(status)
        counts = {each: sum(task.state == each for task in status.tasks) for each in _STATES}
        with self._summary:
            self._summary.clear()
            tag("span", ", ".join(f"{many} {each}" for each, many in counts.items() if many))
        self._tasks.clear()
        with self._tasks:
            tasks = sorted(status.tasks, key=lambda task: (_rank(task), task.id))
            for task in tasks[:_MOST_TASKS]:
                self._task(task)
            if len(tasks) > _MOST_TASKS:
                tag("p", f"And {count(len(tasks) - _MOST_TASKS, 'task')} more, all {tasks[-1].state}.", "sm-muted")
            if not tasks:
                text = "It is stopped: it has none." if status.connector.state == "STOPPED" else "None yet."
                tag("p", text, "sm-muted")

    def _show_wrong(self, status: ConnectorStatus) -> None:
        self._wrong.clear()
        failed = status.failed
        if not failed:
            self._wrong.props["hidden"] = ""
            self._wrong.update()
            return
        self._wrong.props.pop("hidden", None)
        self._wrong.update()
        with self._wrong, tag("div", classes="sm-notice sm-bad sm-wrong-box", role="alert"):
            tag("strong", _headline(status))
            tag("p", _first_line(failed[0].trace), "sm-mono")
            restart = status.auto_restart
            if restart is not None:
                when = f"; next at {restart.next_at}" if restart.next_at else ""
                tag("p", f"Restarted by itself {count(restart.attempts, 'time')} so far{when}.")
            if status.connector.state == "FAILED" and status.connector.trace:
                _trace("Trace of the connector", status.connector.trace)

    def _task(self, task: TaskState) -> None:
        with tag("div", classes="sm-task-item"):
            with tag("div", classes="sm-row"):
                tag("strong", f"Task {task.id}")
                state(task.state)
                tag("span", f"on {task.worker_id}", "sm-muted sm-grow")
                button(
                    "Restart",
                    lambda: self._restart(task.id),
                    needs="operator",
                    kind="quiet",
                    name=f"Restart task {task.id}",
                )
            if task.trace:
                _trace(_first_line(task.trace), task.trace)

    async def _restart(self, task: int) -> None:
        work = self._session.client.restart_task(self._name, task)
        await self._session.act(work, f"Task {task} is being restarted")

    # charts and topics

    def _show_series(self, series: Series) -> None:
        for chart in self._charts:
            chart.show(series)

    def _show_topics(self, topics: Sequence[str]) -> None:
        self._topics.clear()
        with self._topics:
            if not topics:
                tag("p", "None used yet.", "sm-muted")
            with tag("ul", classes="sm-plain"):
                for topic in sorted(topics):
                    tag("li", topic, "sm-mono")


class _Chart:
    """A chart with its present value."""

    def __init__(self, title: str, unit: str, read: Read) -> None:
        self._title, self._unit, self._read = title, unit, read
        with tag("section", classes="sm-card sm-chart-card"):
            with tag("div", classes="sm-chart-head"):
                tag("h2", title)
                self._now = ui.html("", sanitize=False, tag="span")
            self._drawing = ui.html(line_chart([], title), sanitize=False)

    def show(self, series: Series) -> None:
        """Draw it."""
        samples = [Sample(point.at, self._read(point)) for point in series.points]
        known = [each.value for each in samples if each.value is not None]
        now = samples[-1].value if samples else None
        if now is None and known and series.step_ms * 3 > samples[-1].at - _last(samples):
            now = known[-1]
        unit = html.escape(self._unit.strip())
        self._now.set_content(f'<b class="sm-num">{short(now)}</b> <span class="sm-muted">{unit}</span>')
        self._drawing.set_content(line_chart(samples, self._title, self._unit))


def _last(samples: Sequence[Sample]) -> float:
    return next(each.at for each in reversed(samples) if each.value is not None)


def _rank(task: TaskState) -> int:
    return _STATES.index(task.state) if task.state in _STATES else 1


def _headline(status: ConnectorStatus) -> str:
    tasks = [task for task in status.tasks if task.state == "FAILED"]
    if status.connector.state == "FAILED":
        return "The connector has failed"
    if len(tasks) == 1:
        return f"Task {tasks[0].id} has failed"
    return f"{len(tasks)} of {len(status.tasks)} tasks have failed"


def _first_line(trace: str | None) -> str:
    """What went wrong: of Python's traces the last line says so, of Java's the first."""
    lines = [line for line in (trace or "").strip().splitlines() if line.strip()]
    if not lines:
        return "No reason was given."
    if lines[0].startswith("Traceback"):
        return lines[-1]
    return lines[0]


def _trace(summary: str, text: str) -> Element:
    with tag("details", classes="sm-trace") as whole:
        tag("summary", summary)
        tag("pre", text, tabindex="0", aria_label="Trace")
    return whole
