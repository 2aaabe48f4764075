"""`seamark mirror-maker`: all flows of a mirror-maker file in one process, on one Spark."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seamark.cli import logs
from seamark.cli.broker import note
from seamark.cli.signals import run_until_told

if TYPE_CHECKING:
    from seamark.config.worker import WorkerConfig
    from seamark.mirror.maker_config import MirrorMakerConfig, SourceAndTarget
    from seamark.rest.server import RestServer
    from seamark.runtime.distributed import DistributedHerder
    from seamark.runtime.mirror_flow import FlowConnectors
    from seamark.runtime.worker import Worker

START_FAILED, OTHER_ERROR = 3, 2
WATCH_S = 0.5
LOOPBACK = "http://127.0.0.1:0"
_REST_PREFIXES = ("listeners", "rest.", "admin.listeners", "ssl.", "config.providers")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mirror-maker")(mirror_maker)


def mirror_maker(
    properties: Annotated[Path, typer.Argument(metavar="MM2.properties", help="MirrorMaker 2's keys and spark.*.")],
    clusters: Annotated[
        list[str] | None,
        typer.Option("--clusters", help="Only flows into these clusters; several as `--clusters a b`."),
    ] = None,
    more_clusters: Annotated[list[str] | None, typer.Argument(metavar="", hidden=True)] = None,
) -> None:
    """Run the flows of a MirrorMaker 2 file: records, checkpoints and heartbeats between Kafka clusters."""
    from seamark.errors import ConnectError

    targets = [*(clusters or ()), *(more_clusters or ())]
    if more_clusters and not clusters:
        print(f"error: unexpected argument {more_clusters[0]!r}; name clusters with --clusters", file=sys.stderr)
        raise typer.Exit(OTHER_ERROR)
    is_started = threading.Event()
    try:
        run_until_told(lambda stopping: _run(properties, targets, stopping, is_started))
    except ConnectError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(OTHER_ERROR if is_started.is_set() else START_FAILED) from error


def _run(properties: Path, targets: Sequence[str], stopping: threading.Event, is_started: threading.Event) -> None:
    from seamark.config.properties import read_properties
    from seamark.config.worker import WorkerConfig
    from seamark.mirror.maker_config import MirrorMakerConfig
    from seamark.rest.server import RestServer

    raw = read_properties(properties)
    maker = MirrorMakerConfig(raw)
    unknown = set(targets) - set(maker.clusters)
    if unknown:
        from seamark.errors import ConfigError

        raise ConfigError(f"--clusters names {', '.join(sorted(unknown))}; the file's are {', '.join(maker.clusters)}.")
    flows = maker.flows(targets)
    logs.configure(logging.INFO, raw.get("seamark.log.format", "text"))
    rest = {key: value for key, value in raw.items() if key.startswith(_REST_PREFIXES)}
    if not maker.is_internal_rest_enabled:
        # Other nodes have no business here; a client on this machine may look and help.
        rest.setdefault("listeners", LOOPBACK)
    with ExitStack() as stack:
        server = RestServer(WorkerConfig({"bootstrap.servers": "unused", **rest}))
        server.bind()
        stack.callback(server.stop, 5.0)
        running = _start(maker, flows, raw, rest, server, stack)
        is_started.set()
        note(f"REST API at {server.url}; flows: {', '.join(map(str, flows))}")
        while not stopping.wait(WATCH_S):
            running.spark.check()
        note("stopping ...")


class _Running:
    """What the process holds."""

    def __init__(self, config: WorkerConfig) -> None:
        from seamark.runtime.spark_holder import SparkHolder

        self.spark = SparkHolder(config, self.is_spark_used)
        self.workers: list[Worker] = []
        self.herders: dict[str, DistributedHerder] = {}
        self.connectors: dict[str, FlowConnectors] = {}

    def is_spark_used(self) -> bool:
        return any(worker.is_spark_used() for worker in list(self.workers))

    def problems(self) -> dict[str, str]:
        """What is wrong with which flow."""
        found = {}
        for flow, herder in self.herders.items():
            problem = None if herder.is_ready() else herder.stage() or "the worker has not joined its group yet"
            problem = problem or self.connectors[flow].problem
            if problem is not None:
                found[flow] = problem
        return found

    def mirrors(self) -> object:
        """How far each flow is."""
        from seamark.runtime.mirror_views import mirrors

        return [view for herder in self.herders.values() for view in mirrors(herder)]


def _start(
    maker: MirrorMakerConfig,
    flows: Sequence[SourceAndTarget],
    raw: dict[str, str],
    rest: dict[str, str],
    server: RestServer,
    stack: ExitStack,
) -> _Running:
    from starlette.types import ASGIApp

    from seamark.config.tls_keys import as_prefixed
    from seamark.config.worker import WorkerConfig
    from seamark.engine import tracing
    from seamark.engine.session import end_jvm
    from seamark.mirror.maker_config import CONNECTORS
    from seamark.rest.access import Access
    from seamark.rest.app import create_app
    from seamark.rest.flows import FlowsApp, flow_path
    from seamark.rest.page_access import PageSessions
    from seamark.runtime.distributed import DistributedHerder
    from seamark.runtime.mirror_flow import FlowConnectors
    from seamark.runtime.monitoring import monitor
    from seamark.runtime.worker import Worker
    from seamark.web.mounting import PageApp
    from seamark.web.site import Site

    spark_settings = {
        key: value for key, value in raw.items() if key.startswith(("spark.", "seamark.", "rest.extension."))
    }
    # Of a flow's own settings `ssl.*` is for its Kafka.
    shared = {**spark_settings, **as_prefixed(rest)}
    configs = {flow: WorkerConfig({**shared, **maker.worker_config(flow)}) for flow in flows}
    running = _Running(configs[flows[0]])
    stack.callback(tracing.start(configs[flows[0]], server.worker_id))
    stack.callback(end_jvm)
    stack.callback(running.spark.stop)
    running.spark.start()
    apps: dict[tuple[str, str], ASGIApp] = {}
    pages = {str(flow): f"{flow_path(flow.source, flow.target)}/ui/" for flow in flows}
    access: Access | None = None
    for flow, config in configs.items():
        worker = Worker(config, spark=running.spark)
        running.workers.append(worker)
        stack.callback(worker.stop)
        worker.start(wait_for_spark=False)
        url = server.advertised_url.rstrip("/") + flow_path(flow.source, flow.target)
        herder = DistributedHerder(worker, server.worker_id, url)
        stack.callback(herder.stop)
        metrics = monitor(herder)
        access = Access(config, herder)  # the last one lets users in to what is of no flow
        app = create_app(
            herder,
            config,
            forwarder=herder.forwarder,
            render_metrics=metrics.render,
            observe=metrics.observe_request,
            access=access,
        )
        path = flow_path(flow.source, flow.target)
        sessions = PageSessions(access) if access.is_on else None
        apps[flow.source, flow.target] = PageApp(
            app, Site(server.url + path, path, sessions, pages, verify=server.own_context or True)
        )
        connectors = FlowConnectors(
            str(flow), herder, {name: maker.connector_config(flow, name) for name in CONNECTORS}
        )
        running.herders[str(flow)], running.connectors[str(flow)] = herder, connectors
    server.serve(FlowsApp(apps, running.problems, running.mirrors, access))
    with ThreadPoolExecutor(len(flows), "start-flow") as pool:  # each joins its group, which takes seconds
        list(pool.map(lambda herder: herder.start(), running.herders.values()))
    for connectors in running.connectors.values():
        connectors.start()
        stack.callback(connectors.stop)
    return running
