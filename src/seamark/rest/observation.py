"""`/worker`, `/cluster`, `/overview`, `/ready`, and the recent past of connectors: additions to Kafka Connect's API.

What only one worker knows is asked of it with ``forward=false``, which stands for "you alone".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import orjson

from seamark.errors import BadRequestError, ConnectError, NotFoundError
from seamark.rest import observation_schemas as model
from seamark.rest import schemas
from seamark.rest.answers import Answer, Call, json_answer
from seamark.rest.endpoints import Endpoint, Parameter
from seamark.rest.forward import identity_headers
from seamark.rest.identity import Role
from seamark.runtime.herder import RestError
from seamark.runtime.loggers import LEVELS, parse_level
from seamark.runtime.observation import Observation
from seamark.runtime.observed import ObservedHerder

LINES: Final = 200
EVENTS: Final = 100
MOST: Final = 1000
_FIGURES: Final = ("records_per_second", "lag", "rate_points", "lag_points")


def _herder(call: Call) -> ObservedHerder:
    found = call.herder
    if not isinstance(found, ObservedHerder):
        raise RestError(501, "This worker has nothing to show.")
    return found


def _observation(call: Call) -> Observation:
    return _herder(call).observation


def _headers(call: Call) -> Callable[[str], dict[str, str]]:
    """Tells another worker who asks."""
    return lambda url: {**identity_headers(call), **call.sign("GET", url, b"")}


def _is_alone(call: Call) -> bool:
    """Whether another worker asks, for what this one knows itself."""
    return call.forward is False


def _number(call: Call, name: str, default: int, most: int) -> int:
    text = call.parameter(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise BadRequestError(f'"{name}" should be a number from 1 to {most}.')
    return int(text)


# the worker and its cluster


def _worker(call: Call) -> Answer:
    return json_answer(_observation(call).worker())


def _cluster(call: Call) -> Answer:
    herder, seen = _herder(call), _observation(call)
    members = {urlsplit(each.url).netloc: each for each in seen.members() if each.url}
    members.pop(herder.worker_id, None)
    said = seen.others.ask([each.url for each in members.values()], "/worker", _headers(call))
    own = {**seen.worker(), "url": herder.url_of(herder.worker_id), "error": None}
    workers = [own]
    for worker_id, member in members.items():
        answer = said[member.url]
        figures = answer.content if isinstance(answer.content, dict) else {}
        row: dict[str, Any] = {name: figures.get(name) for name in model.WorkerLoad.model_fields}
        workers.append({**row, "id": worker_id, "url": member.url, "error": answer.error})
    leader = next((worker_id for worker_id, each in members.items() if each.is_leader), None)
    return json_answer(
        {
            "kafka_cluster_id": herder.kafka_cluster_id,
            "group_id": herder.group_id,
            "mode": "standalone" if herder.group_id is None else "distributed",
            "leader": herder.worker_id if herder.is_leader else leader,
            "workers": sorted(workers, key=lambda row: str(row["id"])),
        }
    )


def _ready(call: Call) -> Answer:
    problem = _observation(call).ready()
    if problem is None:
        return json_answer({"status": "ready"})
    return json_answer({"status": "not ready", "message": problem}, 503)


# connectors


def _overview(call: Call) -> Answer:
    seen, is_alone = _observation(call), _is_alone(call)
    rows = seen.overview(is_local=is_alone)
    unreachable = []
    if not is_alone:
        urls = seen.owner_urls()
        said = seen.others.ask(list(urls.values()), "/overview?forward=false", _headers(call))
        known = {row["name"]: row for row in rows}
        for worker_id, url in urls.items():
            answer = said[url]
            if answer.error is not None:
                unreachable.append(worker_id)
                continue
            for row in answer.content.get("connectors", ()):
                mine = known.get(row["name"])
                if mine is not None and mine["worker_id"] == worker_id:
                    mine.update((name, row[name]) for name in _FIGURES)
    rows.sort(key=lambda row: str(row["name"]))
    # A thousand connectors are half a megabyte: the plain encoder would take ten times as long.
    shown = {"at": int(time.time() * 1000), "connectors": rows, "unreachable": unreachable}
    try:
        return Answer(200, orjson.dumps(shown))
    except TypeError:  # a text that UTF-8 cannot hold
        return json_answer(shown)


def _series(call: Call) -> Answer:
    return json_answer(_observation(call).points(call.connector, _number(call, "minutes", 60, 60)))


def _logs(call: Call) -> Answer:
    limit = _number(call, "limit", LINES, MOST)
    try:
        level = parse_level(call.parameter("level") or "INFO")
    except ConnectError as error:
        raise BadRequestError(error.message) from error
    rows = _observation(call).lines(call.connector, limit, LEVELS[level])
    rows = _with_those_of_others(call, "logs", "lines", rows, {"limit": str(limit), "level": level})
    return json_answer({"lines": rows[-limit:]})


def _events(call: Call) -> Answer:
    limit, seen = _number(call, "limit", EVENTS, MOST), _observation(call)
    rows = _with_those_of_others(call, "events", "events", seen.seen_events(call.connector), {"limit": str(limit)})
    if not _is_alone(call):
        rows = _by_time(rows + _offset_events(seen, call.connector))
    return json_answer({"events": rows[::-1][:limit]})


def _offset_events(seen: Observation, name: str) -> list[dict[str, Any]]:
    try:
        return seen.offset_events(name)
    except ConnectError:  # Kafka is away: show what is known
        return []


def _with_those_of_others(
    call: Call, what: str, field: str, rows: list[dict[str, Any]], query: dict[str, str]
) -> list[dict[str, Any]]:
    """Rows of all workers, the oldest first: a connector may have moved, and the leader knows more than its owner.

    Raises:
        NotFoundError: there is no such connector, nor anything about one.
    """
    if _is_alone(call):
        return rows
    path = f"/connectors/{quote(call.connector, safe='')}/{what}?{urlencode({**query, 'forward': 'false'})}"
    seen = _observation(call)
    said = seen.others.ask(seen.other_urls(), path, _headers(call))
    rows = _by_time(rows + [row for answer in said.values() if answer.content for row in answer.content[field]])
    if not rows and not _herder(call).has_connector(call.connector):
        raise NotFoundError(f"Connector {call.connector} not found")
    return rows


def _by_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: int(row["at"]))


# all of them


def _of_worker(path: str, handle: Callable[[Call], Answer], summary: str, responses: dict[int, Any]) -> Endpoint:
    return Endpoint(
        "GET",
        path,
        handle,
        summary,
        responses,
        checks_content_type=False,
        is_light=path == "/ready",
        tag="worker",
        role=Role.ANYONE if path == "/ready" else Role.VIEWER,
    )


def _of_connector(what: str, handle: Callable[[Call], Answer], summary: str, answer: Any, *of: Parameter) -> Endpoint:
    responses = {200: answer, 400: schemas.ErrorMessage, 404: schemas.ErrorMessage}
    return Endpoint("GET", f"/connectors/{{connector}}/{what}", handle, summary, responses, parameters=of)


def endpoints() -> list[Endpoint]:
    """All endpoints of this module."""
    minutes = Parameter("minutes", {"type": "string"}, "How far back, up to 60; 60 by default")
    lines = Parameter("limit", {"type": "string"}, f"How many, up to {MOST}; {LINES} by default")
    events = Parameter("limit", {"type": "string"}, f"How many, up to {MOST}; {EVENTS} by default")
    level = Parameter("level", {"type": "string"}, "Only lines of this level or above; INFO by default")
    return [
        _of_worker("/worker", _worker, "This worker: its load and its Spark", {200: model.WorkerLoad}),
        _of_worker("/cluster", _cluster, "All workers, with their load", {200: model.Cluster}),
        _of_worker(
            "/ready",
            _ready,
            "Whether the worker can do its work: Kafka, its group and Spark",
            {200: model.Readiness, 503: model.Readiness},
        ),
        Endpoint("GET", "/overview", _overview, "All connectors at a glance", {200: model.Overview}),
        _of_connector("series", _series, "Rates, lags and times of the last hour", model.Series, minutes),
        _of_connector("logs", _logs, "What workers have lately logged about it", model.Logs, lines, level),
        _of_connector("events", _events, "What has lately happened to it, the newest first", model.Events, events),
    ]
