"""`seamark up`: embedded Kafka, Spark, a worker and the example pipeline, in one process."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from seamark.cli import logs
from seamark.cli.signals import run_until_told

if TYPE_CHECKING:
    from seamark.cli.processes import RunningWorker
    from seamark.runtime.example import ExamplePipeline
    from seamark.runtime.worker import Worker

_REPORT_S = 5.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(up)


def up(
    properties: Annotated[
        Path | None, typer.Argument(metavar="WORKER.properties", help="Worker settings; all have defaults.")
    ] = None,
    data_dir: Annotated[
        Path, typer.Option(help="Where Kafka's logs and the example's files are kept between runs.")
    ] = Path(".seamark"),
    example: Annotated[bool, typer.Option(help="Run the example pipeline: file -> Kafka -> Parquet.")] = True,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Of the REST API, on this machine only; 0 for a free one. Default: 8083."),
    ] = None,
) -> None:
    """Run everything in one process: Kafka (unless bootstrap.servers is set), Spark, a worker, an example pipeline."""
    logs.configure()
    run_until_told(lambda stopping: _Up(properties, data_dir.resolve(), example, port, stopping).run())


class _Up:
    def __init__(
        self, properties: Path | None, data_dir: Path, example: bool, port: int | None, stopping: threading.Event
    ) -> None:
        from seamark.config.properties import read_properties
        from seamark.config.worker import WorkerConfig

        defaults = {
            "exactly.once.source.support": "enabled",
            "offset.flush.interval.ms": "1000",
            "group.id": "seamark-up",
            "config.storage.topic": "seamark-up-configs",
            "offset.storage.topic": "seamark-up-offsets",
            "status.storage.topic": "seamark-up-status",
            # Alone in its group, a worker that was killed is not to be waited for.
            "session.timeout.ms": "6000",
            "listeners": "http://127.0.0.1:8083",
        }
        given = read_properties(properties) if properties else {}
        chosen = {} if port is None else {"listeners": f"http://127.0.0.1:{port}"}
        self._config = WorkerConfig({**defaults, **given, **chosen})
        self._data_dir, self._with_example, self._stopping = data_dir, example, stopping
        self._out = Console(highlight=False, soft_wrap=True)

    def run(self) -> None:
        from seamark.errors import JarError

        with ExitStack() as stack:
            try:
                running = self._start(stack)
            except JarError:
                # The terminal tells a download to stop, too, which fails then.
                if not self._stopping.is_set():
                    raise
                running = None
            if running is not None and not self._stopping.is_set():
                pipeline = self._start_example(running, stack) if self._with_example else None
                self._tell_where(running, pipeline)
                while not self._stopping.wait(_REPORT_S):
                    self._report(running.worker, pipeline)
            self._out.print("stopping ... (Ctrl-C again ends everything at once)")
        self._out.print("stopped")

    def _start(self, stack: ExitStack) -> RunningWorker | None:
        """Start Kafka, Spark and the worker, or less if told to stop meanwhile."""
        config = self._config
        if not config.bootstrap_servers:
            from seamark.kafka.broker import EmbeddedBroker

            with self._step("Kafka"):
                broker = stack.enter_context(EmbeddedBroker(self._data_dir / "kafka"))
            config = config.with_embedded_broker(broker.bootstrap_servers)
        if self._stopping.is_set():
            return None
        from seamark.cli.processes import start_worker
        from seamark.runtime.distributed import DistributedHerder

        with self._step("Spark and the worker"):
            return start_worker(
                config,
                stack,
                lambda worker, server: DistributedHerder(worker, server.worker_id, server.advertised_url),
                wait_for_spark=True,
            )

    def _step(self, what: str) -> _Step:
        return _Step(self._out, what)

    def _start_example(self, running: RunningWorker, stack: ExitStack) -> ExamplePipeline:
        from seamark.runtime.example import ExamplePipeline

        pipeline = ExamplePipeline(self._data_dir / "example")
        pipeline.start()
        stack.callback(pipeline.stop)
        herder = running.herder
        known = herder.connectors()
        for name, config in pipeline.connectors().items():
            named = {**config, "name": name}
            # One that an earlier run has left keeps its state; only what it does must be what is shown here.
            if name not in known or herder.connector_config(name) != named:
                herder.put_connector_config(name, named, None, allow_replace=True)
        return pipeline

    def _tell_where(self, running: RunningWorker, pipeline: ExamplePipeline | None) -> None:
        out, worker = self._out, running.worker
        out.print()
        out.print(f"Web page         {running.server.url}/ui/")
        out.print(f"REST API         {running.server.url}  (try curl {running.server.url}/connectors?expand=status)")
        out.print(f"Kafka            {worker.config.bootstrap_servers}")
        out.print(f"Spark            {worker.spark.sparkContext.master}, version {worker.spark.version}")
        if pipeline is not None:
            from seamark.runtime.example import SINK, SOURCE, TOPIC

            out.print(f"lines appear in  {pipeline.file}")
            out.print(f"  {SOURCE} copies them to topic {TOPIC}, exactly once")
            out.print(f"  {SINK} writes the topic to {pipeline.parquet}")
            out.print("append a line of your own to the file and watch the counters; stop with Ctrl-C")
        out.print()

    def _report(self, worker: Worker, pipeline: ExamplePipeline | None) -> None:
        from seamark.errors import cause_of

        parts = [f"{pipeline.lines()} lines in the file"] if pipeline is not None else []
        for name in worker.connectors():
            status = worker.status(name)
            position = _position(worker, name)
            parts.append(f"{name} {status.state.value}{position}")
            traces = [status.trace, *(task.trace for task in status.tasks)]
            failed = next((trace for trace in traces if trace), None)
            if failed:
                parts.append(f"FAILED: {cause_of(failed)}")
        self._out.print(time.strftime("%H:%M:%S"), " | ".join(parts))


def _position(worker: Worker, name: str) -> str:
    positions = [position for task in worker.progress(name) for position in task.positions]
    if not positions:
        return ""
    if "topic" in positions[0]:
        return " at " + ", ".join(f"{p['topic']}-{p['partition']}@{p['offset']}" for p in positions[:3])
    return " at " + ", ".join(str(p["offset"]) for p in positions[:3])


class _Step:
    """Says what is being started, and how long it took."""

    def __init__(self, out: Console, what: str) -> None:
        self._out, self._what = out, what

    def __enter__(self) -> None:
        self._began = time.monotonic()
        self._out.print(f"starting {self._what} ...")

    def __exit__(self, *failed: object) -> None:
        if failed[0] is None:
            self._out.print(f"  {self._what} ready in {time.monotonic() - self._began:.1f} s")
