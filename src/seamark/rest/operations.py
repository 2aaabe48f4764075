"""`/operations`, and changes of offsets in one step: additions to Kafka Connect's API."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from seamark.errors import BadRequestError, ConnectError
from seamark.rest import bodies, masking, operation_schemas, schemas
from seamark.rest.answers import Answer, Call, json_answer
from seamark.rest.endpoints import Endpoint, Parameter
from seamark.rest.identity import Role
from seamark.runtime.herder import RestError
from seamark.runtime.offset_requests import key_of
from seamark.runtime.operation_context import Origin
from seamark.runtime.operations import Operations, matching
from seamark.runtime.request_bodies import FIELDS, parse_request
from seamark.storage.operation_records import OperationRecord

OFFSETS = "/connectors/{connector}/offsets"
REASON = Parameter("reason", {"type": "string"}, "Why, for the history of the connector's offsets")
DRY_RUN = Parameter("dry_run", {"type": "string"}, "`true` to see what would be changed, and change nothing")
_STATES = ("pause", "resume", "stop", "restart")
_ACTIONS = (*_STATES, "delete", "change")


def operations_of(call: Call) -> Operations:
    """The operations of the worker.

    Raises:
        RestError: it has none.
    """
    found = call.herder.operations
    if not isinstance(found, Operations):
        raise RestError(501, "This worker has no operations on offsets.")
    return found


def origin_of(call: Call, body: dict[str, Any] | None = None) -> Origin:
    """Who asks, as far as that can be told, and why."""
    reason = call.parameter("reason") or (body or {}).get("reason")
    if reason is not None and not isinstance(reason, str):
        raise BadRequestError('"reason" should be a text.')
    if call.identity.user is not None:
        return Origin("@".join(part for part in (call.identity.user, call.address) if part), reason)
    kind, _, credentials = call.headers.get("authorization", "").partition(" ")
    user = ""
    if kind.lower() == "basic":
        try:
            user = base64.b64decode(credentials, validate=True).decode().partition(":")[0]
        except (binascii.Error, UnicodeDecodeError):
            user = ""
    # A worker that has sent the request on names the client that it came from.
    client = call.headers.get("x-forwarded-for", call.client) if call.forward is not None else call.client
    return Origin("@".join(part for part in (user, client) if part), reason)


def shown(call: Call, record: OperationRecord) -> dict[str, Any]:
    """An operation as REST shows it to this user."""
    changes = None
    if record.before is not None and record.after is not None:
        after = {key_of(row["partition"]): row["offset"] for row in record.after}
        changes = [
            {
                "partition": row["partition"],
                "before": row["offset"],
                "after": after.get(key_of(row["partition"])),
            }
            for row in record.before
        ]
    return {
        "id": record.id,
        "kind": record.kind,
        "connector": record.connector,
        "phase": record.phase,
        "finished": record.is_finished,
        "created": _time(record.created_ms),
        "updated": _time(record.updated_ms),
        "who": record.who,
        "reason": record.reason,
        "request": dict(masking.shown_request(call, record.request)),
        "former_state": record.former_state,
        "changes": changes,
        "message": record.message,
        "error": record.error,
        "steps": [{"phase": step["phase"], "at": _time(step["at"])} for step in record.steps],
    }


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def begun(call: Call, record: OperationRecord) -> Answer:
    """The answer to a request that has begun an operation."""
    return json_answer(shown(call, record), 202, {"Location": f"{call.base_url}/operations/{record.id}"})


def _list(call: Call) -> Answer:
    found = operations_of(call).all(call.parameter("connector"))
    if call.flag("unfinished", False):
        found = [record for record in found if not record.is_finished]
    return json_answer([shown(call, record) for record in reversed(found)])


def _get(call: Call) -> Answer:
    return json_answer(shown(call, operations_of(call).get(call.path["operation"])))


def _history(call: Call) -> Answer:
    found = operations_of(call).history(call.connector)
    return json_answer({"history": [shown(call, record) for record in reversed(found)]})


def _change(call: Call) -> Answer:
    body = bodies.parse_fields(call.body, (*FIELDS, "reason"), "an object with offsets, positions or reset")
    request = parse_request(body)
    if call.flag("dry_run", False):
        return json_answer(operations_of(call).preview(call.connector, request))
    return begun(call, operations_of(call).change(call.connector, request, origin_of(call, body)))


def _undo(call: Call) -> Answer:
    body = bodies.parse_fields(call.body, ("entry", "reason"), "an object with entry", is_optional=True)
    entry = body.get("entry")
    if entry is not None and not isinstance(entry, str):
        raise BadRequestError('"entry" should be the id of a change, as GET .../offsets/history has it.')
    return begun(call, operations_of(call).undo(call.connector, entry, origin_of(call, body)))


def _migrate(call: Call) -> Answer:
    body = bodies.parse_fields(call.body, ("name", "url", "config", "keep", "reason"), "an object with name or url")
    for field, kind in (("name", str), ("url", str), ("config", dict), ("keep", bool)):
        if body.get(field) is not None and not isinstance(body[field], kind):
            raise BadRequestError(f'"{field}" has the wrong type.')
    return begun(call, operations_of(call).migrate(call.connector, body, origin_of(call, body)))


def _bulk(call: Call) -> Answer:
    fields = ("connectors", "action", "change", "reason")
    body = bodies.parse_fields(call.body, fields, "an object with connectors and action")
    pattern, action = body.get("connectors"), body.get("action")
    if not isinstance(pattern, str) or not pattern:
        raise BadRequestError('"connectors" should be a pattern of names, such as "orders-*".')
    if action not in _ACTIONS:
        raise BadRequestError(f'"action" should be one of {", ".join(_ACTIONS)}.')
    if (action == "change") != isinstance(body.get("change"), dict):
        raise BadRequestError('"change", with offsets, positions or reset, goes with the action "change".')
    names = matching(call.herder.connectors(), pattern)
    is_dry = call.flag("dry_run", False)
    call.notes.update(action=action, connectors=names)
    if not is_dry:
        operations_of(call).require_leader()  # which may do all of these itself
    rows = [_one(call, name, action, body, is_dry=is_dry) for name in names]
    return json_answer({"dry_run": is_dry, "action": action, "connectors": rows})


def _bulk_role(call: Call) -> Role:
    """States need an operator, all else an editor."""
    try:
        body = json.loads(call.body)
    except (ValueError, RecursionError):
        return Role.OPERATOR  # it is refused anyway
    return Role.OPERATOR if isinstance(body, dict) and body.get("action") in _STATES else Role.EDITOR


def _one(call: Call, name: str, action: str, body: dict[str, Any], *, is_dry: bool) -> dict[str, Any]:
    """One connector of many: that one fails does not keep the others from their share."""
    herder, operations = call.herder, operations_of(call)
    try:
        if action == "change":
            request = parse_request(body["change"])
            if is_dry:
                return {"connector": name, "preview": operations.preview(name, request)}
            record = operations.change(name, request, origin_of(call, body))
            return {"connector": name, "operation": record.id}
        if is_dry:
            state = herder.connector_status(name).connector.state
            return {"connector": name, "state": state}
        do: dict[str, Callable[[str], object]] = {
            "pause": herder.pause_connector,
            "resume": herder.resume_connector,
            "stop": herder.stop_connector,
            "restart": lambda name: herder.restart_connector_and_tasks(name, include_tasks=True, only_failed=False),
            "delete": herder.delete_connector,
        }
        do[action](name)
    except ConnectError as error:
        return {"connector": name, "error": error.message}
    return {"connector": name}


def endpoints() -> list[Endpoint]:
    """All endpoints of this module."""
    error = schemas.ErrorMessage
    changing = {404: error, 409: error}
    tag = "operations"
    model = operation_schemas
    return [
        Endpoint(
            "GET",
            "/operations",
            _list,
            "Operations on offsets, the newest first",
            {200: model.OperationList},
            parameters=(
                Parameter("connector", {"type": "string"}, "Only those of this connector"),
                Parameter("unfinished", {"type": "string"}, "`true` for those that are under way"),
            ),
            tag=tag,
        ),
        Endpoint(
            "POST",
            "/operations",
            _bulk,
            "The same for all connectors whose names match a pattern",
            {200: model.BulkResult, 409: error},
            body=model.BulkRequest,
            parameters=(DRY_RUN, REASON),
            tag=tag,
            role=Role.OPERATOR,
            role_of=_bulk_role,
        ),
        Endpoint(
            "GET",
            "/operations/{operation}",
            _get,
            "How far an operation is, or how it ended",
            {200: model.Operation, 404: error},
            tag=tag,
        ),
        Endpoint(
            "GET",
            f"{OFFSETS}/history",
            _history,
            "Changes of its offsets, the newest first",
            {200: model.OffsetHistory, 404: error},
            tag=tag,
        ),
        Endpoint(
            "POST",
            f"{OFFSETS}/change",
            _change,
            "Stop it, change its offsets and give it back its state, as one operation",
            {200: model.Preview, 202: model.Operation, **changing},
            body=model.OffsetChange,
            parameters=(DRY_RUN, REASON),
            tag=tag,
        ),
        Endpoint(
            "POST",
            f"{OFFSETS}/undo",
            _undo,
            "Take it back to where it was before a change",
            {202: model.Operation, **changing},
            body=model.UndoRequest,
            parameters=(REASON,),
            tag=tag,
        ),
        Endpoint(
            "POST",
            "/connectors/{connector}/migrate",
            _migrate,
            "Give it another name, or move it to another worker, with its offsets",
            {202: model.Operation, **changing},
            body=model.MigrateRequest,
            parameters=(REASON,),
            tag=tag,
        ),
    ]
