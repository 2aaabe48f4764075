"""What an endpoint gets and gives, and how the herder's values look as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from seamark.rest.identity import NOBODY, Identity
from seamark.runtime.herder import (
    ConnectorInfo,
    ConnectorProgress,
    ConnectorStateInfo,
    Herder,
    RestError,
    StateInfo,
    TaskId,
    TaskStateInfo,
)

JSON: Final = "application/json"
NOT_FOUND: Final = "HTTP 404 Not Found"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; without a `media_type` it has no Content-Type."""

    status: int
    content: bytes = b""
    media_type: str | None = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has passed all rules of routing.

    Attributes:
        herder: to ask.
        path: the parameters in the path, decoded.
        query: all values of each parameter, in order.
        headers: lower-case names.
        body: the bytes, not parsed.
        base_url: of this API, as the client wrote it: ``http://host:port``.
        client: the address that it came from.
        address: the one that it came from at first, as far as that is known for certain.
        identity: of the user.
        request_id: names the request in logs, also where it is sent on to.
        sign: makes the headers with which a request to another worker (method, URL, body) is one of this user's.
        notes: what the line that tells of a change should have besides who, when and where.
    """

    herder: Herder
    path: Mapping[str, str]
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    base_url: str = ""
    client: str = ""
    address: str = ""
    identity: Identity = NOBODY
    request_id: str = ""
    sign: Callable[[str, str, bytes], Mapping[str, str]] = field(default=lambda method, url, body: {}, repr=False)
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def connector(self) -> str:
        """The connector in the path."""
        return self.path["connector"]

    @property
    def task(self) -> TaskId:
        """The task in the path.

        Raises:
            RestError: it is not a number that Java's `int` holds; to a client that is an unknown path.
        """
        try:
            text = self.path["task"]
            # Python would also take blanks and underscores.
            number = int(text) if text == text.strip() and "_" not in text else None
        except ValueError:
            number = None
        if number is None or not -(2**31) <= number < 2**31:
            raise RestError(404, NOT_FOUND)
        return TaskId(self.connector, number)

    def parameter(self, name: str) -> str | None:
        """The first value of a query parameter."""
        return next(iter(self.query.get(name, ())), None)

    def flag(self, name: str, default: bool) -> bool:
        """A query parameter that is true or false: true only if it says so, the default if it says nothing."""
        text = self.parameter(name)
        return text.lower() == "true" if text else default

    @property
    def forward(self) -> bool | None:
        """Whether the worker that sent this request allows to send it on; None if it comes from a client."""
        return self.flag("forward", False) if self.parameter("forward") else None


def to_json(value: Any) -> bytes:
    """Compact JSON in UTF-8; half surrogates, which UTF-8 lacks, as escapes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer with a JSON body."""
    return Answer(status, to_json(value), JSON, headers or {})


def empty_answer(status: int) -> Answer:
    """An answer without a body."""
    return Answer(status, media_type=None)


def error_answer(status: int, message: str | None, media_type: str | None = JSON) -> Answer:
    """An error in the shape that Connect gives all of them."""
    return Answer(status, to_json({"error_code": status, "message": message}), media_type)


# shapes


def connector_info(info: ConnectorInfo) -> dict[str, Any]:
    """As `GET /connectors/{connector}` shows it."""
    return {
        "name": info.name,
        "config": dict(info.config),
        "tasks": [task_id(task) for task in info.tasks],
        "type": info.type,
    }


def task_id(task: TaskId) -> dict[str, Any]:
    """As part of a connector or of a task."""
    return {"connector": task.connector, "task": task.task}


def connector_status(status: ConnectorStateInfo) -> dict[str, Any]:
    """As `GET /connectors/{connector}/status` shows it."""
    shown = {
        "name": status.name,
        "connector": _state(status.connector),
        "tasks": [task_status(task) for task in sorted(status.tasks, key=lambda task: task.id)],
        "type": status.type,
    }
    if status.auto_restart is not None:
        shown["auto_restart"] = dict(status.auto_restart)
    return shown


def task_status(task: TaskStateInfo) -> dict[str, Any]:
    """As `GET /connectors/{connector}/tasks/{task}/status` shows it."""
    return {"id": task.id, **_state(task)}


def _state(state: StateInfo) -> dict[str, Any]:
    shown: dict[str, Any] = {"state": state.state, "worker_id": state.worker_id, "version": state.version}
    if state.trace:
        shown["trace"] = state.trace
    return shown


def progress(found: ConnectorProgress) -> dict[str, Any]:
    """As `GET /connectors/{connector}/progress` shows it."""
    return {
        "name": found.name,
        "tasks": [dict(task) for task in found.tasks],
        "partitions": [
            {
                "partition": dict(row.partition),
                "position": None if row.position is None else dict(row.position),
                "end": None if row.end is None else dict(row.end),
                "lag": row.lag,
                "records_per_second": row.records_per_second,
            }
            for row in found.partitions
        ],
    }
