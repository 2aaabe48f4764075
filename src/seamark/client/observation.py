"""Requests for whoever looks on: the cluster, its load, and the recent past of connectors. Additions of Seamark's."""

from __future__ import annotations

from typing import Any

from seamark.client import observation_models as models
from seamark.client.decoding import decode
from seamark.client.operations import Operation, connector_path, model_reader


def worker() -> Operation[models.WorkerLoad]:
    """`GET /worker`."""
    return Operation("GET", "/worker", model_reader(models.WorkerLoad), is_addition=True)


def cluster() -> Operation[models.Cluster]:
    """`GET /cluster`."""
    return Operation("GET", "/cluster", model_reader(models.Cluster), is_addition=True)


def overview() -> Operation[models.Overview]:
    """`GET /overview`."""
    return Operation("GET", "/overview", model_reader(models.Overview), is_addition=True)


def series(name: str, minutes: int) -> Operation[models.Series]:
    """`GET /connectors/{name}/series`."""
    query = {"minutes": str(minutes)}
    return Operation("GET", connector_path(name, "/series"), model_reader(models.Series), query=query, is_addition=True)


def logs(name: str, limit: int, level: str) -> Operation[list[models.LogLine]]:
    """`GET /connectors/{name}/logs`."""

    def read(status: int, content: Any) -> list[models.LogLine]:
        return decode(dict[str, list[models.LogLine]], content)["lines"]

    query = {"limit": str(limit), "level": level}
    return Operation("GET", connector_path(name, "/logs"), read, query=query, is_addition=True)


def events(name: str, limit: int) -> Operation[list[models.ConnectorEvent]]:
    """`GET /connectors/{name}/events`."""

    def read(status: int, content: Any) -> list[models.ConnectorEvent]:
        return decode(dict[str, list[models.ConnectorEvent]], content)["events"]

    query = {"limit": str(limit)}
    return Operation("GET", connector_path(name, "/events"), read, query=query, is_addition=True)


def ready() -> Operation[models.Readiness]:
    """`GET /ready`."""
    read = model_reader(models.Readiness)
    return Operation("GET", "/ready", read, is_addition=True, also_fine=frozenset((503,)))
