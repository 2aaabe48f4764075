"""`/connectors`: all about connectors, their tasks and their offsets; also what workers ask of each other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from seamark.config.worker import WorkerConfig
from seamark.errors import BadRequestError, NotFoundError
from seamark.rest import answers, bodies, masking, operation_schemas, schemas, uris
from seamark.rest.answers import Answer, Call, empty_answer, json_answer
from seamark.rest.endpoints import Endpoint, Parameter
from seamark.rest.identity import Role
from seamark.rest.operations import DRY_RUN, REASON, operations_of, origin_of
from seamark.runtime.herder import Created, Herder, InternalRequest, RestError
from seamark.runtime.offset_requests import OffsetRequest

log = logging.getLogger(__name__)

SIGNATURE = "x-connect-authorization"
SIGNATURE_ALGORITHM = "x-connect-request-signature-algorithm"
CONNECTOR = "/connectors/{connector}"
_FLAG = {"type": "string"}


# reading


def _list(call: Call) -> Answer:
    if "expand" not in call.query:
        return json_answer(call.herder.connectors())
    kinds: dict[str, Callable[[Herder, str], Any]] = {
        "status": lambda herder, name: answers.connector_status(herder.connector_status(name)),
        "info": lambda herder, name: masking.shown_info(call, answers.connector_info(herder.connector_info(name))),
    }
    wanted = [kind for kind in call.query["expand"] if kind in kinds]
    if len(wanted) < len(call.query["expand"]):
        log.info("Ignored unknown values of expand: %s", call.query["expand"])
    expanded = {}
    for name in call.herder.connectors():
        try:
            expanded[name] = {kind: kinds[kind](call.herder, name) for kind in wanted}
        except NotFoundError:
            log.debug("Connector %s has no status yet, or is gone", name)
    return json_answer(expanded)


def _info(call: Call) -> Answer:
    return json_answer(masking.shown_info(call, answers.connector_info(call.herder.connector_info(call.connector))))


def _config(call: Call) -> Answer:
    return json_answer(masking.shown_config(call, call.herder.connector_config(call.connector)))


def _status(call: Call) -> Answer:
    return json_answer(answers.connector_status(call.herder.connector_status(call.connector)))


def _tasks(call: Call) -> Answer:
    tasks = call.herder.task_configs(call.connector)
    if not masking.sees_secrets(call):
        # A task's configuration does not name the connector, whose keys of type PASSWORD it may have.
        kind = call.herder.connector_config(call.connector).get("connector.class")
        tasks = [(task, masking.shown_task(call, config, kind)) for task, config in tasks]
    return json_answer([{"id": answers.task_id(task), "config": config} for task, config in tasks])


def _task_status(call: Call) -> Answer:
    return json_answer(answers.task_status(call.herder.task_status(call.task)))


def _progress(call: Call) -> Answer:
    return json_answer(answers.progress(call.herder.connector_progress(call.connector)))


# configuration


def _named(name: str, config: dict[str, str | None]) -> dict[str, str | None]:
    included = config.get("name")
    if included is not None and included != name:
        raise BadRequestError(
            f"Connector name configuration ({included}) doesn't match connector name in the URL ({name})"
        )
    return {**config, "name": name}


def created_answer(base_url: str, created: Created) -> Answer:
    """The answer to a request that has created or changed a connector."""
    info = answers.connector_info(created.info)
    if not created.created:
        return json_answer(info)
    return json_answer(info, 201, {"Location": base_url + uris.connector_path(created.info.name)})


def _create(call: Call) -> Answer:
    request = bodies.parse_create_request(call.body)
    config = _named(request.name, request.config)
    if request.start is not None:
        operations = operations_of(call)
        operations.create(request.name, config, request.initial_state, request.start, origin_of(call))
        return created_answer(call.base_url, Created(True, call.herder.connector_info(request.name)))
    created = call.herder.put_connector_config(request.name, config, request.initial_state, allow_replace=False)
    return created_answer(call.base_url, Created(True, created.info))


def _put_config(call: Call) -> Answer:
    config = _named(call.connector, bodies.parse_config(call.body))
    created = call.herder.put_connector_config(call.connector, config, None, allow_replace=True)
    return created_answer(call.base_url, created)


def _patch_config(call: Call) -> Answer:
    changed = call.herder.patch_connector_config(call.connector, bodies.parse_config(call.body))
    return json_answer(answers.connector_info(changed.info))


def _delete(call: Call) -> Answer:
    if call.flag("include_offsets", False):
        operations_of(call).delete(call.connector, origin_of(call))
        return empty_answer(204)
    call.herder.delete_connector(call.connector)
    return empty_answer(204)


# states


def _pause(call: Call) -> Answer:
    call.herder.pause_connector(call.connector)
    return empty_answer(202)


def _resume(call: Call) -> Answer:
    call.herder.resume_connector(call.connector)
    return empty_answer(202)


def _stop(call: Call) -> Answer:
    call.herder.stop_connector(call.connector)
    return empty_answer(204)


def _restart(call: Call) -> Answer:
    include_tasks, only_failed = call.flag("includeTasks", False), call.flag("onlyFailed", False)
    if not include_tasks and not only_failed:
        call.herder.restart_connector(call.connector)
        return empty_answer(204)
    status = call.herder.restart_connector_and_tasks(
        call.connector, include_tasks=include_tasks, only_failed=only_failed
    )
    return json_answer(answers.connector_status(status), 202)


def _restart_task(call: Call) -> Answer:
    call.herder.restart_task(call.task)
    return empty_answer(204)


# offsets


def _offsets(call: Call) -> Answer:
    return json_answer({"offsets": call.herder.connector_offsets(call.connector)})


def _alter_offsets(call: Call) -> Answer:
    return _changed(call, bodies.parse_offset_request(call.body))


def _reset_offsets(call: Call) -> Answer:
    return _changed(call, OffsetRequest(is_reset=True))


def _changed(call: Call, request: OffsetRequest) -> Answer:
    name = call.connector
    if call.flag("dry_run", False):
        return json_answer(operations_of(call).preview(name, request))
    if call.herder.operations is None:
        message = (
            call.herder.reset_connector_offsets(name)
            if request.is_reset
            else call.herder.alter_connector_offsets(name, request.offsets)
        )
        return json_answer({"message": message})
    message, moves = operations_of(call).alter(name, request, origin_of(call))
    if not request.positions:
        return json_answer({"message": message})
    return json_answer({"message": message, "changes": [move.as_json() for move in moves]})


# worker to worker


def _internal_request(call: Call) -> InternalRequest:
    return InternalRequest(call.body, call.headers.get(SIGNATURE), call.headers.get(SIGNATURE_ALGORITHM))


def _put_task_configs(call: Call) -> Answer:
    call.herder.put_task_configs(call.connector, bodies.parse_task_configs(call.body), _internal_request(call))
    return empty_answer(204)


def _fence(call: Call) -> Answer:
    call.herder.fence_zombies(call.connector, _internal_request(call))
    return empty_answer(204)


# topics


def _topics_endpoints(config: WorkerConfig) -> list[Endpoint]:
    is_tracked = bool(config["topic.tracking.enable"])
    is_reset_allowed = bool(config["topic.tracking.allow.reset"])

    def topics(call: Call) -> Answer:
        if not is_tracked:
            raise RestError(403, "Topic tracking is disabled.")
        return json_answer({call.connector: {"topics": call.herder.active_topics(call.connector)}})

    def reset(call: Call) -> Answer:
        if not is_tracked:
            raise RestError(403, "Topic tracking is disabled.")
        if not is_reset_allowed:
            raise RestError(403, "Topic tracking reset is disabled.")
        call.herder.reset_active_topics(call.connector)
        return empty_answer(202)

    error = schemas.ErrorMessage
    return [
        Endpoint(
            "GET",
            f"{CONNECTOR}/topics",
            topics,
            "Topics that the connector has used",
            {200: schemas.ActiveTopics, 403: error},
        ),
        Endpoint("PUT", f"{CONNECTOR}/topics/reset", reset, "Forget these topics", {202: None, 403: error}),
    ]


def endpoints(config: WorkerConfig) -> list[Endpoint]:
    """All endpoints of this module."""
    error = schemas.ErrorMessage
    unknown = {404: error}
    changing = {404: error, 409: error}
    expand = Parameter("expand", {"type": "array", "items": {"type": "string"}}, "`info`, `status`, or both")
    flags = (
        Parameter("includeTasks", _FLAG, "`true` to restart tasks too"),
        Parameter("onlyFailed", _FLAG, "`true` to restart only what has failed"),
    )
    return [
        Endpoint(
            "GET", "/connectors", _list, "Names of all connectors", {200: schemas.ConnectorList}, parameters=(expand,)
        ),
        Endpoint(
            "POST",
            "/connectors",
            _create,
            "Create a connector",
            {201: schemas.ConnectorInfo, 409: error},
            body=schemas.CreateConnectorRequest,
        ),
        Endpoint("GET", CONNECTOR, _info, "A connector", {200: schemas.ConnectorInfo, **unknown}),
        Endpoint(
            "DELETE",
            CONNECTOR,
            _delete,
            "Delete a connector; its offsets stay unless it is said",
            {204: None, **changing},
            parameters=(Parameter("include_offsets", _FLAG, "`true` to stop it and reset its offsets first"), REASON),
        ),
        Endpoint("GET", f"{CONNECTOR}/config", _config, "Its configuration", {200: schemas.ConnectorConfig, **unknown}),
        Endpoint(
            "PUT",
            f"{CONNECTOR}/config",
            _put_config,
            "Create it, or change its configuration",
            {200: schemas.ConnectorInfo, 201: schemas.ConnectorInfo, 409: error},
            body=schemas.Config,
        ),
        Endpoint(
            "PATCH",
            f"{CONNECTOR}/config",
            _patch_config,
            "Change some keys; null removes one",
            {200: schemas.ConnectorInfo, **changing},
            body=schemas.Config,
        ),
        Endpoint(
            "GET",
            f"{CONNECTOR}/status",
            _status,
            "State of it and its tasks",
            {200: schemas.ConnectorStateInfo, **unknown},
        ),
        Endpoint(
            "GET",
            f"{CONNECTOR}/progress",
            _progress,
            "Position, end, lag and rate per partition",
            {200: schemas.ConnectorProgress, **changing},
        ),
        Endpoint("PUT", f"{CONNECTOR}/pause", _pause, "Pause it", {202: None, **unknown}, role=Role.OPERATOR),
        Endpoint("PUT", f"{CONNECTOR}/resume", _resume, "Resume it", {202: None, **unknown}, role=Role.OPERATOR),
        Endpoint(
            "PUT",
            f"{CONNECTOR}/stop",
            _stop,
            "Stop it: no tasks, offsets may be changed",
            {204: None, **changing},
            role=Role.OPERATOR,
        ),
        Endpoint(
            "POST",
            f"{CONNECTOR}/restart",
            _restart,
            "Restart it, its tasks, or what has failed of both",
            {202: schemas.ConnectorStateInfo, 204: None, **changing},
            parameters=flags,
            role=Role.OPERATOR,
        ),
        Endpoint(
            "GET", f"{CONNECTOR}/tasks", _tasks, "Configurations of its tasks", {200: schemas.TaskInfos, **unknown}
        ),
        Endpoint(
            "GET",
            f"{CONNECTOR}/tasks/{{task}}/status",
            _task_status,
            "State of a task",
            {200: schemas.TaskState, **unknown},
        ),
        Endpoint(
            "POST",
            f"{CONNECTOR}/tasks/{{task}}/restart",
            _restart_task,
            "Restart a task",
            {204: None, **changing},
            role=Role.OPERATOR,
        ),
        *_topics_endpoints(config),
        Endpoint("GET", f"{CONNECTOR}/offsets", _offsets, "Its offsets", {200: schemas.ConnectorOffsets, **unknown}),
        Endpoint(
            "PATCH",
            f"{CONNECTOR}/offsets",
            _alter_offsets,
            "Change offsets while it is stopped; null resets a partition",
            {200: operation_schemas.OffsetsChanged, **changing},
            body=schemas.AlterOffsetsRequest,
            parameters=(DRY_RUN, REASON),
        ),
        Endpoint(
            "DELETE",
            f"{CONNECTOR}/offsets",
            _reset_offsets,
            "Reset all offsets while it is stopped",
            {200: operation_schemas.OffsetsChanged, **changing},
            parameters=(DRY_RUN, REASON),
        ),
        Endpoint(
            "POST",
            f"{CONNECTOR}/tasks",
            _put_task_configs,
            "Configurations of tasks, from another worker",
            {204: None, 403: error, 503: error, **changing},
            body=schemas.TaskConfigs,
            checks_content_type=False,
            tag="internal",
            role=Role.ANYONE,  # a signature shows whether it is a worker
        ),
        Endpoint(
            "PUT",
            f"{CONNECTOR}/fence",
            _fence,
            "Fence older tasks, for another worker",
            {204: None, 403: error, 503: error, **changing},
            checks_content_type=False,
            tag="internal",
            role=Role.ANYONE,  # a signature shows whether it is a worker
        ),
    ]
