"""`/`, `/health` and `/metrics`: the worker itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import metadata

from seamark.rest import schemas
from seamark.rest.answers import Answer, Call, json_answer
from seamark.rest.endpoints import Endpoint
from seamark.rest.identity import Role

CONNECT_VERSION = "4.2.0"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
COMMIT = hashlib.sha256(f"seamark {metadata.version('seamark')}".encode()).hexdigest()[:16]
_STARTING = "Worker is still starting up."
_UNHEALTHY = "Worker was unable to handle this request and may be unable to handle other requests."
_HEALTHY = "Worker has completed startup and is ready to handle requests."


def _server_info(call: Call) -> Answer:
    shown = {"version": CONNECT_VERSION, "commit": COMMIT, "kafka_cluster_id": call.herder.kafka_cluster_id}
    return json_answer(shown)


def endpoints(health_timeout_s: float, render_metrics: Callable[[], bytes] | None) -> list[Endpoint]:
    """All endpoints of this module.

    Args:
        health_timeout_s: how long the herder has to say that it is well.
        render_metrics: all metrics as Prometheus reads them; without it there is no `/metrics`.
    """

    def health(call: Call) -> Answer:
        if not call.herder.is_ready():
            return _health(call, 503, "starting", _STARTING)
        try:
            call.herder.health_check(health_timeout_s)
        except TimeoutError:
            return _health(call, 500, "unhealthy", _UNHEALTHY)
        return json_answer({"status": "healthy", "message": _HEALTHY})

    status = schemas.WorkerStatus
    found = [
        Endpoint(
            "GET",
            "/",
            _server_info,
            "The worker and its Kafka cluster",
            {200: schemas.ServerInfo},
            checks_content_type=False,
            is_light=True,
            tag="worker",
        ),
        Endpoint(
            "GET",
            "/health",
            health,
            "Whether the worker is ready and well",
            {200: status, 500: status, 503: status},
            checks_content_type=False,
            is_light=True,
            tag="worker",
            role=Role.ANYONE,
        ),
    ]
    if render_metrics is not None:
        found.append(
            Endpoint(
                "GET",
                "/metrics",
                lambda call: Answer(200, render_metrics(), METRICS_TYPE),
                "Metrics, for Prometheus",
                {200: None},
                checks_content_type=False,
                checks_accept=False,
                is_light=True,
                tag="worker",
            )
        )
    return found


def _health(call: Call, status: int, word: str, message: str) -> Answer:
    stage = call.herder.stage()
    return json_answer({"status": word, "message": f"{message} {stage}" if stage else message}, status)
