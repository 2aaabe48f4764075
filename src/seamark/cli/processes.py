"""Runs a worker as a process: broker if there is none, Spark, herder and REST server, started and stopped in order."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seamark.cli.broker import note

if TYPE_CHECKING:
    from seamark.config.worker import WorkerConfig
    from seamark.rest.server import RestServer
    from seamark.runtime.abstract_herder import AbstractHerder
    from seamark.runtime.worker import Worker

log = logging.getLogger(__name__)
WATCH_S = 0.5


@dataclass
class RunningWorker:
    """A worker that answers requests."""

    worker: Worker
    herder: AbstractHerder
    server: RestServer


def with_broker(config: WorkerConfig, stack: ExitStack, data_dir: Path) -> WorkerConfig:
    """The config with a broker: an embedded one unless `bootstrap.servers` names another."""
    if config.bootstrap_servers:
        return config
    from seamark.kafka.broker import EmbeddedBroker

    note("bootstrap.servers is not set: starting an embedded Kafka")
    broker = stack.enter_context(EmbeddedBroker(data_dir))
    return config.with_embedded_broker(broker.bootstrap_servers)


def start_worker(
    config: WorkerConfig,
    stack: ExitStack,
    make_herder: Callable[[Worker, RestServer], AbstractHerder],
    *,
    wait_for_spark: bool = False,
) -> RunningWorker:
    """Start a worker with its REST API; what it holds is released with the stack, last first."""
    from seamark.engine import tracing
    from seamark.engine.session import end_jvm
    from seamark.rest.server import RestServer
    from seamark.runtime.monitoring import monitor
    from seamark.runtime.worker import Worker
    from seamark.web.mounting import PageApp
    from seamark.web.site import Site

    server = RestServer(config)
    server.bind()
    stack.callback(server.stop, 5.0)
    stack.callback(tracing.start(config, server.worker_id))
    worker = Worker(config)
    stack.callback(end_jvm)
    stack.callback(worker.stop)
    worker.start(wait_for_spark=wait_for_spark)
    herder = make_herder(worker, server)
    stack.callback(herder.stop)
    metrics = monitor(herder)
    server.start(
        herder,
        forwarder=herder.forwarder,
        render_metrics=metrics.render,
        observe=metrics.observe_request,
        page=lambda app: PageApp(app, Site(server.url, sessions=server.sessions, verify=server.own_context or True)),
    )
    herder.start()
    return RunningWorker(worker, herder, server)


def wait(stopping: threading.Event, running: RunningWorker) -> None:
    """Wait for the end, which SIGTERM or Ctrl-C brings.

    Raises:
        ConnectError: Spark, which may still be starting, could not be started.
    """
    note(f"REST API at {running.server.url}")
    while not stopping.wait(WATCH_S):
        running.worker.check_spark()
    note("stopping ...")
