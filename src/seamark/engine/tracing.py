"""Traces for OpenTelemetry: REST requests, changes of offsets, and epochs and batches on Spark.

Off unless `seamark.tracing.endpoint` is set; then spans go to a collector over OTLP/HTTP. The libraries for it come
with the extra ``seamark[tracing]`` and are not imported before.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError

KEY: Final = "seamark.tracing.endpoint"
_PATH: Final = "/v1/traces"
_SERVER_ERROR: Final = 500
_EXPORT_TIMEOUT_S: Final = 5


class _Tracing:
    """What spans are made with; None while nothing is traced."""

    tracer: Any = None
    trace: Any = None
    propagator: Any = None


_current: Final = _Tracing()


class Span:
    """A span that is open; does nothing if nothing is traced."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def set(self, name: str, value: str | int | float | bool) -> None:
        """Say more about it."""
        if self._span is not None:
            self._span.set_attribute(name, value)

    def failed(self, message: str) -> None:
        """What it stands for did not work."""
        if self._span is not None:
            self._span.set_status(_current.trace.StatusCode.ERROR, message)

    def answered(self, status: int) -> None:
        """A request was answered."""
        self.set("http.response.status_code", status)
        if status >= _SERVER_ERROR:
            self.failed(f"HTTP {status}")


_NONE: Final = Span()


def start(config: WorkerConfig, worker_id: str) -> Callable[[], None]:
    """Begin to trace if the config says so; the result ends it, and sends what is left.

    Raises:
        ConfigError: it says so, but the libraries are not installed.
    """
    endpoint = str(config[KEY] or "").strip()
    if not endpoint:
        return lambda: None
    try:
        trace = importlib.import_module("opentelemetry.trace")
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
        resources = importlib.import_module("opentelemetry.sdk.resources")
        propagation = importlib.import_module("opentelemetry.trace.propagation.tracecontext")
        otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError as error:
        raise ConfigError(
            f"{KEY} is set, but OpenTelemetry is not installed ({error}): pip install 'seamark[tracing]'",
            key=KEY,
            value=endpoint,
        ) from error
    if urlsplit(endpoint).path in ("", "/"):
        endpoint = endpoint.rstrip("/") + _PATH
    named = {"service.name": "seamark", "service.instance.id": worker_id, "seamark.group": config.group_id}
    provider = sdk.TracerProvider(resource=resources.Resource.create(named))
    exporter = otlp.OTLPSpanExporter(endpoint=endpoint, timeout=_EXPORT_TIMEOUT_S)
    provider.add_span_processor(export.BatchSpanProcessor(exporter, schedule_delay_millis=1000))
    _current.trace, _current.propagator = trace, propagation.TraceContextTextMapPropagator()
    tracer = _current.tracer = provider.get_tracer("seamark")

    def stop() -> None:
        if _current.tracer is tracer:
            _current.tracer = None
        provider.shutdown()

    return stop


@contextmanager
def span(name: str, **attributes: str | int | float | bool) -> Iterator[Span]:
    """Trace what happens within; ``__`` in the names of attributes stands for a dot."""
    tracer = _current.tracer
    if tracer is None:
        yield _NONE
        return
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    with tracer.start_as_current_span(name, attributes=named) as found:
        yield Span(found)


@contextmanager
def request_span(method: str, path: str, headers: Mapping[str, str]) -> Iterator[Span]:
    """Trace a request, as part of the client's trace if its headers name one; `path` without values of parameters."""
    tracer = _current.tracer
    if tracer is None:
        yield _NONE
        return
    attributes = {"http.request.method": method, "http.route": path}
    context, kind = _current.propagator.extract(dict(headers)), _current.trace.SpanKind.SERVER
    with tracer.start_as_current_span(f"{method} {path}", context, kind, attributes) as found:
        yield Span(found)
