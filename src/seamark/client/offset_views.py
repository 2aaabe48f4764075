"""The requests for views of offsets; both clients carry them out."""

from __future__ import annotations

from typing import Any

from seamark.client import offset_view_models as models
from seamark.client.operations import Operation, connector_path, model_reader


def offset_table(
    name: str, *, with_times: bool, topic: str | None, offset: int, limit: int | None
) -> Operation[models.OffsetTable]:
    """`GET /connectors/{name}/offsets/table`."""
    query = _query(with_times=str(with_times).lower(), topic=topic, offset=offset or None, limit=limit)
    return _view(name, "table", models.OffsetTable, query)


def offset_timeline(name: str, topic: str | None, points: int) -> Operation[models.OffsetTimeline]:
    """`GET /connectors/{name}/offsets/timeline`."""
    return _view(name, "timeline", models.OffsetTimeline, _query(topic=topic, points=points))


def offset_records(
    name: str, topic: str, partition: int, offset: int, *, before: int, after: int, max_bytes: int
) -> Operation[models.OffsetRecords]:
    """`GET /connectors/{name}/offsets/records`."""
    query = _query(topic=topic, partition=partition, offset=offset, before=before, after=after, max_bytes=max_bytes)
    return _view(name, "records", models.OffsetRecords, query)


def _view(name: str, what: str, kind: type[Any], query: dict[str, str]) -> Operation[Any]:
    return Operation("GET", connector_path(name, f"/offsets/{what}"), model_reader(kind), query=query, is_addition=True)


def _query(**values: object) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}
