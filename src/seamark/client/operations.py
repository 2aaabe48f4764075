"""Every request of the API as a value: what to send, and how to read the answer. Both clients carry them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from seamark.client import models, operation_models
from seamark.client.decoding import decode, encode
from seamark.client.errors import BadRequest

T = TypeVar("T")
U = TypeVar("U")

_CREATED: Final = 201


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """A request.

    Attributes:
        method: of HTTP.
        path: percent-encoded.
        read: makes the result of status and JSON; the JSON is None for an answer without a body.
        body: to be sent as JSON; None for none.
        query: parameters.
        is_addition: whether only Seamark has it.
        also_fine: statuses of errors that are answers here.
    """

    method: str
    path: str
    read: Callable[[int, Any], T]
    body: Any = None
    query: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    is_addition: bool = False
    also_fine: frozenset[int] = frozenset()


def _model(kind: type[T]) -> Callable[[int, Any], T]:
    return lambda status, content: decode(kind, content)


def _nothing(status: int, content: Any) -> None:
    return None


def _message(status: int, content: Any) -> str:
    return decode(dict[str, str], content)["message"]


def _path(root: str, name: str, below: str = "") -> str:
    # With such a name the URL would be that of something else.
    if name in ("", ".", ".."):
        raise BadRequest(f"{name!r} cannot be a name in a request: it would not be part of the URL")
    return f"/{root}/{quote(name, safe='')}{below}"


def _connector(name: str, below: str = "") -> str:
    return _path("connectors", name, below)


# For the modules of further requests.
connector_path, model_reader = _connector, _model


# the worker


def server_info() -> Operation[models.WorkerInfo]:
    """`GET /`."""
    return Operation("GET", "/", _model(models.WorkerInfo))


def health() -> Operation[models.WorkerHealth]:
    """`GET /health`."""
    return Operation("GET", "/health", _model(models.WorkerHealth), also_fine=frozenset((500, 503)))


def capabilities() -> Operation[models.Capabilities]:
    """`GET /openapi.json`, which a Java worker does not have."""

    def read(status: int, content: Any) -> models.Capabilities:
        # Not only a Java worker lacks it: in front of one may be a proxy that answers as it likes.
        info = content.get("info") if isinstance(content, dict) else None
        if status >= 400 or not isinstance(info, dict) or info.get("title") != "Seamark":
            return models.Capabilities(is_seamark=False)
        paths = decode(dict[str, dict[str, Any]], content.get("paths", {}), "$.paths")
        found = {(method.upper(), path) for path, methods in paths.items() for method in methods}
        return models.Capabilities(True, str(info.get("version")), frozenset(found))

    return Operation("GET", "/openapi.json", read, also_fine=frozenset(range(400, 500)) - {401, 403, 409})


# connectors


def connectors() -> Operation[list[str]]:
    """`GET /connectors`."""
    return Operation("GET", "/connectors", _model(list[str]))


def expanded(*, info: bool, status: bool) -> Operation[dict[str, models.ExpandedConnector]]:
    """`GET /connectors?expand=...`."""
    wanted = [word for word, is_wanted in (("info", info), ("status", status)) if is_wanted]
    if not wanted:
        raise BadRequest("Expand connectors with info, status or both")
    return Operation("GET", "/connectors", _model(dict[str, models.ExpandedConnector]), query={"expand": wanted})


def create(
    name: str, config: Mapping[str, str | None], initial_state: str | None, start: Mapping[str, Any] | None = None
) -> Operation[models.ConnectorInfo]:
    """`POST /connectors`; with offsets or positions to start at only in Seamark."""
    body = {"name": name, "config": dict(config), **(start or {})}
    if initial_state is not None:
        body["initial_state"] = initial_state
    return Operation("POST", "/connectors", _model(models.ConnectorInfo), body)


def connector(name: str) -> Operation[models.ConnectorInfo]:
    """`GET /connectors/{name}`."""
    return Operation("GET", _connector(name), _model(models.ConnectorInfo))


def delete(name: str, *, include_offsets: bool = False) -> Operation[None]:
    """`DELETE /connectors/{name}`; with its offsets only in Seamark."""
    query = {"include_offsets": "true"} if include_offsets else {}
    return Operation("DELETE", _connector(name), _nothing, query=query)


def config(name: str) -> Operation[dict[str, str | None]]:
    """`GET /connectors/{name}/config`."""
    return Operation("GET", _connector(name, "/config"), _model(dict[str, str | None]))


def put_config(name: str, config: Mapping[str, str | None]) -> Operation[models.PutResult]:
    """`PUT /connectors/{name}/config`."""

    def read(status: int, content: Any) -> models.PutResult:
        return models.PutResult(status == _CREATED, decode(models.ConnectorInfo, content))

    return Operation("PUT", _connector(name, "/config"), read, dict(config))


def patch_config(name: str, patch: Mapping[str, str | None]) -> Operation[models.ConnectorInfo]:
    """`PATCH /connectors/{name}/config`."""
    return Operation("PATCH", _connector(name, "/config"), _model(models.ConnectorInfo), dict(patch))


def status(name: str) -> Operation[models.ConnectorStatus]:
    """`GET /connectors/{name}/status`."""
    return Operation("GET", _connector(name, "/status"), _model(models.ConnectorStatus))


def tasks(name: str) -> Operation[list[models.TaskInfo]]:
    """`GET /connectors/{name}/tasks`."""
    return Operation("GET", _connector(name, "/tasks"), _model(list[models.TaskInfo]))


def task_status(name: str, task: int) -> Operation[models.TaskState]:
    """`GET /connectors/{name}/tasks/{task}/status`."""
    return Operation("GET", _connector(name, f"/tasks/{task}/status"), _model(models.TaskState))


def topics(name: str) -> Operation[list[str]]:
    """`GET /connectors/{name}/topics`."""

    def read(status: int, content: Any) -> list[str]:
        found = decode(dict[str, dict[str, list[str]]], content)
        return found.get(name, {}).get("topics", [])

    return Operation("GET", _connector(name, "/topics"), read)


def reset_topics(name: str) -> Operation[None]:
    """`PUT /connectors/{name}/topics/reset`."""
    return Operation("PUT", _connector(name, "/topics/reset"), _nothing)


# states


def change_state(name: str, verb: str) -> Operation[None]:
    """`PUT /connectors/{name}/pause`, `resume` or `stop`."""
    return Operation("PUT", _connector(name, f"/{verb}"), _nothing)


def restart(name: str, *, include_tasks: bool, only_failed: bool) -> Operation[models.ConnectorStatus | None]:
    """`POST /connectors/{name}/restart`."""

    def read(status: int, content: Any) -> models.ConnectorStatus | None:
        return None if content is None else decode(models.ConnectorStatus, content)

    flags = {"includeTasks": str(include_tasks).lower(), "onlyFailed": str(only_failed).lower()}
    return Operation("POST", _connector(name, "/restart"), read, query=flags)


def restart_task(name: str, task: int) -> Operation[None]:
    """`POST /connectors/{name}/tasks/{task}/restart`."""
    return Operation("POST", _connector(name, f"/tasks/{task}/restart"), _nothing)


# offsets


def offsets(name: str) -> Operation[list[models.ConnectorOffset]]:
    """`GET /connectors/{name}/offsets`."""

    def read(status: int, content: Any) -> list[models.ConnectorOffset]:
        return decode(dict[str, list[models.ConnectorOffset]], content).get("offsets", [])

    return Operation("GET", _connector(name, "/offsets"), read)


def alter_offsets(name: str, changed: Sequence[models.ConnectorOffset]) -> Operation[str]:
    """`PATCH /connectors/{name}/offsets`."""
    body = {"offsets": [encode(each) for each in changed]}
    return Operation("PATCH", _connector(name, "/offsets"), _message, body)


def reset_offsets(name: str) -> Operation[str]:
    """`DELETE /connectors/{name}/offsets`."""
    return Operation("DELETE", _connector(name, "/offsets"), _message)


def preview_change(name: str, change: Mapping[str, Any]) -> Operation[operation_models.OffsetPreview]:
    """`POST /connectors/{name}/offsets/change?dry_run=true`."""
    path = _connector(name, "/offsets/change")
    return Operation(
        "POST",
        path,
        _model(operation_models.OffsetPreview),
        dict(change),
        query={"dry_run": "true"},
        is_addition=True,
    )


def change_offsets(
    name: str, change: Mapping[str, Any], reason: str | None
) -> Operation[operation_models.OffsetOperation]:
    """`POST /connectors/{name}/offsets/change`."""
    return _operation(_connector(name, "/offsets/change"), change, reason)


def undo_offsets(name: str, entry: str | None, reason: str | None) -> Operation[operation_models.OffsetOperation]:
    """`POST /connectors/{name}/offsets/undo`."""
    return _operation(_connector(name, "/offsets/undo"), {} if entry is None else {"entry": entry}, reason)


def migrate(name: str, where: Mapping[str, Any], reason: str | None) -> Operation[operation_models.OffsetOperation]:
    """`POST /connectors/{name}/migrate`."""
    return _operation(_connector(name, "/migrate"), where, reason)


def _operation(path: str, body: Mapping[str, Any], reason: str | None) -> Operation[operation_models.OffsetOperation]:
    sent = dict(body) if reason is None else {**body, "reason": reason}
    return Operation("POST", path, _model(operation_models.OffsetOperation), sent, is_addition=True)


def offset_history(name: str) -> Operation[list[operation_models.OffsetOperation]]:
    """`GET /connectors/{name}/offsets/history`."""

    def read(status: int, content: Any) -> list[operation_models.OffsetOperation]:
        return decode(dict[str, list[operation_models.OffsetOperation]], content)["history"]

    return Operation("GET", _connector(name, "/offsets/history"), read, is_addition=True)


def operation(operation_id: str) -> Operation[operation_models.OffsetOperation]:
    """`GET /operations/{id}`."""
    path = _path("operations", operation_id)
    return Operation("GET", path, _model(operation_models.OffsetOperation), is_addition=True)


def all_operations(connector: str | None) -> Operation[list[operation_models.OffsetOperation]]:
    """`GET /operations`."""
    query = {} if connector is None else {"connector": connector}
    read = _model(list[operation_models.OffsetOperation])
    return Operation("GET", "/operations", read, query=query, is_addition=True)


def progress(name: str) -> Operation[models.ConnectorProgress]:
    """`GET /connectors/{name}/progress`."""
    return Operation("GET", _connector(name, "/progress"), _model(models.ConnectorProgress), is_addition=True)


# plugins and loggers


def plugins(*, connectors_only: bool) -> Operation[list[models.Plugin]]:
    """`GET /connector-plugins`."""
    query = {"connectorsOnly": str(connectors_only).lower()}
    return Operation("GET", "/connector-plugins", _model(list[models.Plugin]), query=query)


def plugin_config(plugin: str, version: str | None) -> Operation[list[models.ConfigKey]]:
    """`GET /connector-plugins/{plugin}/config`."""
    query = {} if version is None else {"version": version}
    path = _path("connector-plugins", plugin, "/config")
    return Operation("GET", path, _model(list[models.ConfigKey]), query=query)


def validate(plugin: str, config: Mapping[str, str | None]) -> Operation[models.Validation]:
    """`PUT /connector-plugins/{plugin}/config/validate`."""
    path = _path("connector-plugins", plugin, "/config/validate")
    return Operation("PUT", path, _model(models.Validation), dict(config))


def loggers() -> Operation[dict[str, models.LoggerLevel]]:
    """`GET /admin/loggers`."""
    return Operation("GET", "/admin/loggers", _model(dict[str, models.LoggerLevel]))


def logger(name: str) -> Operation[models.LoggerLevel]:
    """`GET /admin/loggers/{name}`."""
    return Operation("GET", _path("admin/loggers", name), _model(models.LoggerLevel))


def set_logger(name: str, level: str) -> Operation[list[str]]:
    """`PUT /admin/loggers/{name}`, for the one worker."""
    return Operation("PUT", _path("admin/loggers", name), _model(list[str]), {"level": level})


def set_cluster_logger(name: str, level: str) -> Operation[None]:
    """`PUT /admin/loggers/{name}?scope=cluster`."""
    return Operation("PUT", _path("admin/loggers", name), _nothing, {"level": level}, query={"scope": "cluster"})


# mirrors


def mirrors() -> Operation[list[models.MirrorSummary]]:
    """`GET /mirrors`."""
    return Operation("GET", "/mirrors", _model(list[models.MirrorSummary]), is_addition=True)


def mirror(name: str) -> Operation[models.Mirror]:
    """`GET /mirrors/{name}`."""
    return Operation("GET", _path("mirrors", name), _model(models.Mirror), is_addition=True)


def mirror_groups(name: str) -> Operation[models.MirrorGroups]:
    """`GET /mirrors/{name}/groups`."""
    return Operation("GET", _path("mirrors", name, "/groups"), _model(models.MirrorGroups), is_addition=True)


def sync_mirror_groups(name: str) -> Operation[models.SyncedGroups]:
    """`POST /mirrors/{name}/groups/sync`."""
    return Operation("POST", _path("mirrors", name, "/groups/sync"), _model(models.SyncedGroups), is_addition=True)


def raw(method: str, path: str, body: Any, query: Mapping[str, str | Sequence[str]]) -> Operation[Any]:
    """Any request; its JSON as it is."""
    return Operation(method, path, lambda status, content: content, body, query)
