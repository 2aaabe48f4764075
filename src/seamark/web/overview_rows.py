"""What the overview shows, as plain values: rows of its tables, its headline, its figures."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seamark.client import Cluster, ClusterWorker, Overview, OverviewConnector
from seamark.web.figures import UNKNOWN, count, short, span

Href = Callable[..., str]

URGENCY: Final = ("FAILED", "RESTARTING", "UNASSIGNED", "RUNNING", "PAUSED", "STOPPED")
"""What needs somebody comes first."""
_MB: Final = 1024 * 1024
# In front of what an exception says; who is woken by it wants to know the rest.
_CLASS: Final = re.compile(r"^(?:\w+\.)*\w+(?:Error|Exception): (?=.)")


def health_of(connector: OverviewConnector) -> str:
    """The state that counts: one with a failed task has failed, whatever it says itself."""
    return "FAILED" if connector.state == "FAILED" or connector.tasks.get("FAILED") else connector.state


def by_urgency(connectors: Sequence[OverviewConnector]) -> list[OverviewConnector]:
    """Failed ones first, then by name."""
    order = {state: place for place, state in enumerate(URGENCY)}
    return sorted(connectors, key=lambda each: (order.get(health_of(each), 1), each.name))


def connector_rows(overview: Overview, href: Href) -> list[dict[str, Any]]:
    """Rows of the table of connectors."""
    lost = set(overview.unreachable)
    return [_connector_row(each, each.worker_id in lost, href) for each in by_urgency(overview.connectors)]


def _connector_row(connector: OverviewConnector, is_lost: bool, href: Href) -> dict[str, Any]:
    health = health_of(connector)
    name: dict[str, Any] = {"text": connector.name, "href": href("connectors", connector.name)}
    if connector.error:
        name |= {"sub": _CLASS.sub("", connector.error), "subtone": "bad", "title": connector.error}
    elif is_lost:
        name |= {"sub": f"Worker {connector.worker_id} does not answer", "subtone": "warn"}
    return {
        "id": connector.name,
        "tone": "bad" if health == "FAILED" else None,
        "facets": {"state": health, "type": connector.type, "worker": connector.worker_id or None},
        "search": f"{connector.class_name} {connector.worker_id}",
        "name": name,
        "state": {
            "text": health,
            "sort": URGENCY.index(health) if health in URGENCY else 1,
            "title": f"The connector itself is {connector.state}" if health != connector.state else None,
        },
        "tasks": dict(connector.tasks),
        "type": {"text": connector.type, "title": connector.class_name},
        "rate": _spark(connector.records_per_second, connector.rate_points, "records/s, last five minutes"),
        "lag": _spark(connector.lag, connector.lag_points, "records behind, last five minutes"),
    }


def _spark(value: float | None, points: Sequence[float | None], title: str) -> dict[str, Any]:
    known = [each for each in points if each]
    # A line that has always been at zero says nothing, and a thousand of them are long.
    drawn = [None if each is None else round(each, 1) for each in points] if known else []
    return {"text": value, "sort": value, "points": drawn, "title": title}


@dataclass(frozen=True, slots=True)
class Headline:
    """What is wrong, in one sentence; `kind` is ``bad``, ``warn``, ``ok`` or ``off``."""

    text: str
    kind: str


def headline(overview: Overview, cluster: Cluster | None) -> Headline:
    """The most urgent thing."""
    health = Counter(health_of(each) for each in overview.connectors)
    lost = set(overview.unreachable) | {each.id for each in (cluster.workers if cluster else ()) if each.error}
    problems = []
    if health["FAILED"]:
        problems.append(f"{count(health['FAILED'], 'connector')} failed")
    if lost:
        problems.append(f"{count(len(lost), 'worker')} {'does' if len(lost) == 1 else 'do'} not answer")
    broken = [each.id for each in (cluster.workers if cluster else ()) if each.spark and each.spark.state == "failed"]
    if broken:
        problems.append(f"Spark failed on {', '.join(broken)}")
    if problems:
        return Headline("; ".join(problems), "bad")
    if health["UNASSIGNED"]:
        return Headline(f"{count(health['UNASSIGNED'], 'connector')} not started yet", "warn")
    if not overview.connectors:
        return Headline("No connectors yet", "off")
    return Headline(f"Nothing has failed: {count(health['RUNNING'], 'connector')} running", "ok")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the overview, with what it is and what else there is to say."""

    label: str
    value: str
    note: str = ""
    kind: str = ""


def figures(overview: Overview, cluster: Cluster | None) -> list[Figure]:
    """The numbers at the top."""
    connectors = overview.connectors
    rates = [each.records_per_second for each in connectors if each.records_per_second is not None]
    lags = [each.lag for each in connectors if each.lag is not None]
    found = [
        Figure("Records/s", short(sum(rates)) if rates else UNKNOWN, "all connectors"),
        Figure("Lag", short(sum(lags)) if lags else UNKNOWN, "records behind"),
    ]
    if cluster is None:
        return found
    workers = cluster.workers
    lost = sum(1 for each in workers if each.error)
    jobs = [each.spark.running_jobs for each in workers if each.spark and each.spark.running_jobs is not None]
    states = Counter(each.spark.state for each in workers if each.spark)
    note = ", ".join(f"{state} on {number}" if len(states) > 1 else state for state, number in states.items())
    return [
        *found,
        Figure("Workers", str(len(workers)), f"{lost} not answering" if lost else cluster.mode, "bad" if lost else ""),
        Figure("Spark jobs", str(sum(jobs)) if jobs else UNKNOWN, note, "bad" if states["failed"] else ""),
    ]


def worker_rows(cluster: Cluster) -> list[dict[str, Any]]:
    """Rows of the table of workers."""
    return [_worker_row(each, cluster) for each in sorted(cluster.workers, key=lambda each: (not each.error, each.id))]


def _worker_row(worker: ClusterWorker, cluster: Cluster) -> dict[str, Any]:
    if worker.error:
        name = {"text": worker.id, "sub": worker.error, "subtone": "bad"}
    else:
        role = "leader" if worker.is_leader and cluster.mode == "distributed" else None
        up = None if worker.started_at is None else f"up {_age(worker.started_at)}"
        name = {"text": worker.id, "sub": ", ".join(part for part in (role, up, worker.version) if part)}
    spark = worker.spark
    return {
        "id": worker.id,
        "tone": "bad" if worker.error else None,
        "name": name,
        "connectors": worker.connectors,
        "tasks": worker.tasks,
        "rate": worker.records_per_second,
        "cpu": _unit(worker.cpu_percent, "%"),
        "memory": _unit(None if worker.memory_bytes is None else worker.memory_bytes / _MB, " MB"),
        "spark": UNKNOWN if spark is None else _spark_cell(spark),
        "jobs": None if spark is None else spark.running_jobs,
    }


def _spark_cell(spark: Any) -> dict[str, Any]:
    if spark.error:
        return {"text": spark.state, "sub": spark.error, "subtone": "bad", "tone": "bad"}
    parts = [spark.master, count(spark.executors, "executor") if spark.executors is not None else None, spark.version]
    cell: dict[str, Any] = {"text": spark.state, "sub": ", ".join(part for part in parts if part)}
    if spark.ui_url:
        cell |= {"href": spark.ui_url, "title": "Opens Spark's own page"}
    return cell


def _unit(value: float | None, unit: str) -> dict[str, Any] | None:
    return None if value is None else {"text": f"{value:,.0f}{unit}", "sort": value}


def _age(started_ms: int) -> str:
    """In whole minutes, so that a page that nothing happens on is not sent anew every second."""
    length = int(time.time() * 1000) - started_ms
    return span(max(60_000, length - length % 60_000))
