"""`/`, `/health`, `/metrics`, the documentation, time-outs and threads."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fixtures.raw_http import raw_request
from seamark.rest.app import MAX_THREADS
from seamark.testing.waiting import eventually
from unit.rest.herders import MemoryHerder

STAGE = "The worker is currently reading to the end of the config topic, which began at 2025-01-01T00:00:00.000Z."


def test_root(client: httpx.Client) -> None:
    shown = client.get("/").json()
    assert list(shown) == ["version", "commit", "kafka_cluster_id"]
    assert (shown["version"], shown["kafka_cluster_id"]) == ("4.2.0", "cluster-1")
    assert re.fullmatch("[0-9a-f]{16}", shown["commit"])


def test_healthy(client: httpx.Client) -> None:
    answer = client.get("/health")
    message = "Worker has completed startup and is ready to handle requests."
    assert (answer.status_code, answer.json()) == (200, {"status": "healthy", "message": message})


@pytest.mark.parametrize(("stage", "added"), [(None, ""), (STAGE, f" {STAGE}")])
def test_starting(client: httpx.Client, herder: MemoryHerder, stage: str | None, added: str) -> None:
    herder.ready, herder.stage_text = False, stage
    answer = client.get("/health")
    expected = {"status": "starting", "message": f"Worker is still starting up.{added}"}
    assert (answer.status_code, answer.json()) == (503, expected)


@pytest.mark.parametrize(("stage", "added"), [(None, ""), (STAGE, f" {STAGE}")])
def test_unhealthy(client: httpx.Client, herder: MemoryHerder, stage: str | None, added: str) -> None:
    herder.healthy, herder.stage_text = False, stage
    answer = client.get("/health")
    message = f"Worker was unable to handle this request and may be unable to handle other requests.{added}"
    assert (answer.status_code, answer.json()) == (500, {"status": "unhealthy", "message": message})


@pytest.mark.parametrize(
    ("stage", "path", "message"),
    [
        (None, "/connectors/x", "Request timed out"),
        (STAGE, "/connectors/x", f"Request timed out. {STAGE}"),
        (STAGE, "/connector-plugins/x/config/validate", f"Request timed out. {STAGE}"[:-1]),
    ],
)
@pytest.mark.parametrize("is_herders", [True, False])
def test_requests_time_out(
    serve: Any, herder: MemoryHerder, stage: str | None, path: str, message: str, is_herders: bool
) -> None:
    client = serve(request_timeout_s=60 if is_herders else 0.2)
    herder.stage_text = stage
    if is_herders:
        herder.failure = TimeoutError()
    else:
        herder.blocks = True
    answer = client.put(path, json={}) if path.endswith("validate") else client.get(path)
    assert (answer.status_code, answer.json()) == (500, {"error_code": 500, "message": message})


def test_health_is_answered_while_all_threads_are_busy(serve: Any, herder: MemoryHerder) -> None:
    client = serve()
    herder.blocks = True
    request = (client.base_url.port, "GET", "/connectors")
    askers = [threading.Thread(target=raw_request, args=request) for _ in range(MAX_THREADS + 4)]
    for asker in askers:
        asker.start()
    eventually(lambda: len(herder.calls) >= MAX_THREADS, within_s=30)
    assert client.get("/health", timeout=10).status_code == 200
    assert client.get("/", timeout=10).status_code == 200
    assert len(herder.calls) == MAX_THREADS
    herder.release.set()
    for asker in askers:
        asker.join(30)
    assert len(herder.calls) == MAX_THREADS + 4


def test_metrics(serve: Any) -> None:
    client = serve(render_metrics=lambda: b"up 1\n")
    answer = client.get("/metrics", headers={"Accept": "application/openmetrics-text"})
    assert (answer.status_code, answer.content) == (200, b"up 1\n")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_without_metrics(client: httpx.Client) -> None:
    assert client.get("/metrics").status_code == 404


def test_requests_are_observed(serve: Any) -> None:
    seen: list[tuple[Any, ...]] = []
    client = serve(observe=lambda *request: seen.append(request))
    client.get("/connectors/x/status")
    client.get("/nope")
    [(method, path, status, seconds)] = seen
    assert (method, path, status) == ("GET", "/connectors/{connector}/status", 404)
    assert 0 < seconds < 60


def test_the_documentation_needs_no_other_host(client: httpx.Client) -> None:
    answer = client.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert re.findall(r"(?:https?:)?//[\w.]+", answer.text) == []
    assert "/connectors/{connector}/offsets" in answer.text


def operations(client: httpx.Client) -> dict[tuple[str, str], Any]:
    paths = client.get("/openapi.json").json()["paths"]
    return {(method.upper(), path): found for path, each in paths.items() for method, found in each.items()}


def test_every_endpoint_is_in_the_openapi_document(client: httpx.Client) -> None:
    found = operations(client)
    assert len(found) >= 35
    assert len({operation["operationId"] for operation in found.values()}) == len(found)
    for (_, path), operation in found.items():
        named = {parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "path"}
        assert named == set(re.findall(r"{(\w+)}", path))
        assert {"400", "500"} <= set(operation["responses"])


@pytest.mark.parametrize(
    ("method", "path", "statuses"),
    [
        ("POST", "/connectors", {"201", "400", "406", "408", "409", "413", "415", "500"}),
        ("GET", "/health", {"200", "400", "406", "500", "503"}),
        ("PUT", "/connectors/{connector}/stop", {"204", "400", "404", "406", "409", "415", "500"}),
    ],
)
def test_documented_statuses(client: httpx.Client, method: str, path: str, statuses: set[str]) -> None:
    assert set(operations(client)[method, path]["responses"]) == statuses


def test_all_references_of_the_document_lead_somewhere(client: httpx.Client) -> None:
    text = client.get("/openapi.json").text
    document = json.loads(text)
    for reference in re.findall(r'"\$ref":\s*"#/components/schemas/([^"]+)"', text):
        assert reference in document["components"]["schemas"]


def test_a_call_that_hangs_does_not_hold_up_the_end(serve: Callable[..., httpx.Client], herder: MemoryHerder) -> None:
    client = serve(request_timeout_s=0.2)
    herder.blocks = True
    client.get("/connectors")
    hanging = [thread for thread in threading.enumerate() if thread.name.startswith("rest-")]
    assert all(thread.daemon for thread in hanging)
    assert hanging
