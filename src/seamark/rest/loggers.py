"""`/admin/loggers`: levels of loggers, of this worker or of all."""

from __future__ import annotations

import logging
from typing import Any

from seamark.errors import BadRequestError, NotFoundError
from seamark.rest import bodies, schemas
from seamark.rest.answers import Answer, Call, empty_answer, json_answer
from seamark.rest.endpoints import Endpoint, Parameter
from seamark.runtime.herder import LoggerLevel
from seamark.runtime.loggers import parse_level

log = logging.getLogger(__name__)

LOGGERS = "/admin/loggers"


def _shown(level: LoggerLevel) -> dict[str, Any]:
    return {"level": level.level, "last_modified": level.last_modified}


def _levels(call: Call) -> Answer:
    return json_answer({name: _shown(level) for name, level in call.herder.all_logger_levels().items()})


def _level(call: Call) -> Answer:
    name = call.path["logger"]
    level = call.herder.logger_level(name)
    if level is None:
        raise NotFoundError(f"Logger {name} not found.")
    return json_answer(_shown(level))


def _set_level(call: Call) -> Answer:
    name, level = call.path["logger"], bodies.parse_level(call.body)
    if level is None:
        raise BadRequestError("Desired 'level' parameter was not specified in request.")
    parse_level(level)  # refuses what is no level, before any worker is told
    scope = call.parameter("scope")
    if scope is not None and scope.lower() == "cluster":
        call.herder.set_cluster_logger_level(name, level)
        return empty_answer(204)
    if scope is not None and scope.lower() != "worker":
        log.warning("Unknown scope %r of a request to set a logger's level: only this worker's is set", scope)
    return json_answer(call.herder.set_worker_logger_level(name, level))


def endpoints() -> list[Endpoint]:
    """All endpoints of this module."""
    error = schemas.ErrorMessage
    scope = Parameter("scope", {"type": "string"}, "`cluster` for all workers; else this one only")
    return [
        Endpoint(
            "GET", LOGGERS, _levels, "Loggers with a level of their own", {200: schemas.LoggerLevels}, tag="admin"
        ),
        Endpoint(
            "GET",
            f"{LOGGERS}/{{logger}}",
            _level,
            "Level of a logger",
            {200: schemas.LoggerLevel, 404: error},
            tag="admin",
        ),
        Endpoint(
            "PUT",
            f"{LOGGERS}/{{logger}}",
            _set_level,
            "Set the level of a logger and those below it",
            {200: schemas.LoggerNames, 204: None, 404: error},
            body=schemas.SetLevel,
            parameters=(scope,),
            tag="admin",
        ),
    ]
