"""Traces as a collector gets them, over real HTTP."""

from __future__ import annotations

import builtins
import importlib

import httpx
import pytest

from fixtures.otlp_receiver import attributes, otlp_receiver
from seamark.config.worker import WorkerConfig
from seamark.engine import tracing
from seamark.errors import ConfigError
from seamark.rest import RestServer
from unit.rest.herders import MemoryHerder

TRACE = "0af7651916cd43dd8448eb211c80319c"


def test_requests_and_what_happens_within_them_reach_a_collector() -> None:
    herder = MemoryHerder()
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0"}))
    server.bind()
    with otlp_receiver() as receiver:
        stop = tracing.start(WorkerConfig({tracing.KEY: receiver.url, "group.id": "g"}), "worker:1")
        try:
            server.start(herder)
            headers = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
            assert httpx.get(f"{server.url}/connectors/none", headers=headers).status_code == 404
            with pytest.raises(ValueError, match="bad"), tracing.span("outer", seamark__connector="c"):
                with tracing.span("inner"):
                    pass
                raise ValueError("bad")
        finally:
            server.stop(5)
            stop()
        (request,) = receiver.named("GET /connectors/{connector}")
        (outer,), (inner,) = receiver.named("outer"), receiver.named("inner")
    assert request.trace_id.hex() == TRACE
    assert attributes(request)["http.response.status_code"] == 404
    assert attributes(outer) == {"seamark.connector": "c"}
    assert outer.status.code == 2
    assert inner.parent_span_id == outer.span_id
    assert receiver.resources[0]["service.name"] == "seamark"
    assert receiver.resources[0]["service.instance.id"] == "worker:1"


def test_without_an_endpoint_nothing_is_imported_or_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail(name))
    tracing.start(WorkerConfig({}), "worker:1")()
    with tracing.span("nothing") as span:
        span.set("a", 1)
        span.failed("no")
        span.answered(500)


def test_an_endpoint_without_the_libraries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:

    original = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith("opentelemetry"):
            raise ImportError(f"No module named {name!r}")
        return original(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(ConfigError, match=r"seamark\[tracing\]"):
        tracing.start(WorkerConfig({tracing.KEY: "http://localhost:4318"}), "worker:1")


def test_a_collector_that_is_away_holds_nothing_up() -> None:
    stop = tracing.start(WorkerConfig({tracing.KEY: "http://127.0.0.1:9"}), "worker:1")
    with tracing.span("lost"):
        pass
    stop()
