"""What a worker tells whoever looks on: its load, its connectors at a glance, their recent past, logs and events.

Nothing here asks Kafka while somebody waits, but `members`: figures are those that the herder's regular work has noted.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from seamark.config.states import State
from seamark.engine.spark_figures import spark_figures
from seamark.errors import ConnectError, KafkaError, cause_of
from seamark.runtime.connector_logs import LogCapture, LogRings
from seamark.runtime.events import EventLog
from seamark.runtime.herder import PartitionProgress, RestError
from seamark.runtime.lag_targets import LagTargets
from seamark.runtime.lags import LagWatch
from seamark.runtime.load import ProcessTree
from seamark.runtime.metrics import LAG_REFRESH_S
from seamark.runtime.other_workers import OtherWorkers
from seamark.runtime.series import STEP_MS, STEPS, SeriesBook, Sums
from seamark.storage.cluster_state import ClusterConfigState

if TYPE_CHECKING:
    from seamark.kafka.group_members import Member
    from seamark.runtime.abstract_herder import AbstractHerder

log = logging.getLogger(__name__)

POINTS: Final = 30
READY_S: Final = 3.0
_NOTHING: Final = Sums()
_EMPTY: Final = {"rate_points": [None] * POINTS, "lag_points": [None] * POINTS}


class Observation:
    """What there is to see of a worker. Thread-safe."""

    def __init__(self, herder: AbstractHerder) -> None:
        self._herder = herder
        self.events = EventLog()
        self.logs = LogRings()
        self.series = SeriesBook()
        targets = LagTargets(herder)
        self.lags = LagWatch(targets, targets.read, herder.worker.admins)
        self.others = OtherWorkers(tls=herder.worker.rest_tls)
        self._processes = ProcessTree()
        self._capture = LogCapture(self.logs, herder.has_connector)
        self._members: list[Member] = []
        self._classes: dict[str, str] = {}

    def start(self) -> None:
        """Begin to take note."""
        logging.getLogger().addHandler(self._capture)
        self.lags.start()

    def stop(self) -> None:
        """Take note of nothing more."""
        self.lags.stop()
        self.others.close()
        logging.getLogger().removeHandler(self._capture)

    def say(self, logger: logging.Logger, message: str) -> None:
        """Log something about a connector; where its log is shown, it is shown even if the log is kept short."""
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", message)
        else:
            self._capture.handle(logger.makeRecord(logger.name, logging.INFO, __file__, 0, message, (), None))

    def tick(self) -> None:
        """Called about once a second, after the metrics have been sampled."""
        now = time.time()
        if self.series.is_due(now):
            sums = self._sums()
            self.series.take(
                now, {name: sums.get(name, _NOTHING) for name in self._herder.local.names()}, self.lags.lags()
            )

    def _sums(self) -> dict[str, Sums]:
        return {} if self._herder.metrics is None else self._herder.metrics.sums()

    def partition_lags(self, name: str) -> list[PartitionProgress]:
        """Positions and lags of a connector that runs here, for metrics."""
        return self.lags.partitions(name, LAG_REFRESH_S)

    # the worker

    def worker(self) -> dict[str, Any]:
        """This worker alone: `GET /worker`."""
        load, sums, now = self._processes.load(), self._sums(), time.time()
        statuses = self._herder.local.statuses()
        rate = sum(self.series.rate(name, each, now) for name, each in sums.items())
        return {
            "id": self._herder.worker_id,
            "version": metadata.version("seamark"),
            "started_at": int(self._processes.started_at * 1000),
            "connectors": len(statuses),
            "tasks": sum(len(status.tasks) for status in statuses.values()),
            "records_per_second": round(rate, 1),
            "cpu_percent": load.cpu_percent,
            "memory_bytes": load.memory_bytes,
            "threads": load.threads,
            "is_leader": self._herder.is_leader,
            "spark": self._spark_state(),
        }

    def _spark_state(self) -> dict[str, Any]:
        state, session, error = self._herder.worker.spark_holder.look()
        names = ("version", "ui_url", "application_id", "executors", "running_jobs", "running_tasks")
        figures: dict[str, Any] = dict.fromkeys(names)
        if session is not None:
            try:
                figures = spark_figures(session)
            except Exception as failure:  # py4j's own errors, also while the session is being stopped
                state, error = "failed", cause_of(str(failure))
        return {"state": state, "master": self._herder.worker.config.spark_master, **figures, "error": error}

    def ready(self) -> str | None:
        """Why the worker cannot do its work; None if it can."""
        herder = self._herder
        if not herder.is_ready():
            return herder.stage() or "The worker is starting."
        try:
            herder.worker.check_spark()
        except ConnectError as error:
            return error.message
        if (problem := herder.membership_problem()) is not None:
            return problem
        try:
            herder.health_check(READY_S)
        except TimeoutError:
            return f"Kafka has not answered within {READY_S:g} s."
        return None

    # the cluster

    def members(self) -> list[Member]:
        """The workers of the group, as last known while Kafka is away; none standalone."""
        try:
            self._members = self._herder.group_members()
        except KafkaError as error:
            log.debug("The members of the group are not known: %s", error)
        return self._members

    def leader(self) -> str | None:
        """The id of the worker that leads, as last known; without asking anybody."""
        if self._herder.is_leader:
            return self._herder.worker_id
        return next((urlsplit(each.url).netloc for each in self._members if each.is_leader and each.url), None)

    def other_urls(self) -> list[str]:
        """The addresses of the other workers."""
        own = self._herder.worker_id
        return [each.url for each in self.members() if each.url and urlsplit(each.url).netloc != own]

    def owner_urls(self) -> dict[str, str]:
        """Addresses of those other workers that connectors are said to run on, by id; without asking anybody."""
        herder = self._herder
        state, found = herder.config_state(), set[str]()
        for name in state.connectors:
            row = herder.status_row(name)
            if row is not None and row.state is not State.UNASSIGNED:
                found.add(row.worker_id)
        found.discard(herder.worker_id)
        return {worker: herder.url_of(worker) for worker in sorted(found)}

    # connectors

    def overview(self, *, is_local: bool) -> list[dict[str, Any]]:
        """A row for each connector; what only its worker knows is missing in those of others."""
        self.lags.looked()
        herder, now, sums = self._herder, time.time(), self._sums()
        state, local = herder.config_state(), set(herder.local.names())
        lags = self.lags.lags()
        rows = []
        for name in state.connectors:
            is_here = name in local
            if is_here or not is_local:
                row = self._row(state, name)
                if is_here:
                    rates, lag_points = self.series.recent(name, POINTS)
                    row["records_per_second"] = self.series.rate(name, sums.get(name, _NOTHING), now)
                    row |= {"lag": lags.get(name), "rate_points": rates, "lag_points": lag_points}
                rows.append(row)
        return rows

    def _row(self, state: ClusterConfigState, name: str) -> dict[str, Any]:
        config, status = state.connectors[name], self._herder.status_row(name)
        tasks = self._herder.task_rows(name)
        failed = [row.trace for row in (status, *tasks) if row is not None and row.state is State.FAILED and row.trace]
        return {
            "name": name,
            "type": self._type(config),
            "class": config.get("connector.class") or "",
            "state": State.UNASSIGNED.value if status is None else status.state.value,
            "worker_id": "" if status is None else status.worker_id,
            "tasks": dict(Counter(row.state.value for row in tasks)),
            "tasks_max": _tasks_max(config),
            "records_per_second": None,
            "lag": None,
            **_EMPTY,
            "error": cause_of(failed[0])[:500] if failed else None,
        }

    def _type(self, config: Mapping[str, str | None]) -> str:
        """Kept by class: looking a plugin up takes longer than all the rest of a row."""
        name = config.get("connector.class") or ""
        if name not in self._classes:
            found = self._herder.connector_type(config)
            if found == "unknown" or "${" in name:  # it may be installed later, or stand for another one
                return found
            self._classes[name] = found
        return self._classes[name]

    def points(self, name: str, minutes: int) -> dict[str, Any]:
        """The recent past of a connector that runs here: `GET /connectors/{connector}/series`.

        Raises:
            NotFoundError: there is no such connector.
            ForwardError: it runs on another worker.
        """
        if not 1 <= minutes <= STEPS * STEP_MS // 60_000:
            raise RestError(400, f'"minutes" should be from 1 to {STEPS * STEP_MS // 60_000}.')
        self._herder.connector_config(name)
        self._herder.require_owner(name)
        self.lags.looked()
        return {"step_ms": STEP_MS, "points": self.series.points(name, minutes * 60_000 // STEP_MS)}

    def lines(self, name: str, limit: int, level: int) -> list[dict[str, Any]]:
        """What this worker has lately logged about a connector, the oldest first."""
        return [line.shown(self._herder.worker_id) for line in self.logs.of(name, limit, level)]

    def seen_events(self, name: str) -> list[dict[str, Any]]:
        """What this worker has lately seen happen to a connector, the oldest first."""
        return [event.shown() for event in self.events.of(name)]

    def offset_events(self, name: str) -> list[dict[str, Any]]:
        """Changes of its offsets, which all workers know of; the oldest first."""
        found = []
        for record in self._herder.operations.all(name):
            message = f"{record.kind} of offsets: {record.phase}"
            detail = {"operation": record.id, "phase": record.phase, "reason": record.reason, "error": record.error}
            detail = {key: value for key, value in detail.items() if value is not None}
            found.append(
                {
                    "at": record.updated_ms,
                    "kind": "offsets",
                    "message": message,
                    "who": record.who or None,
                    "detail": detail,
                }
            )
        return found


def _tasks_max(config: Mapping[str, str | None]) -> int:
    text = config.get("tasks.max") or "1"
    return int(text) if text.isascii() and text.isdigit() else 1  # it may be a reference to a config provider
