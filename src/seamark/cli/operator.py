"""`seamark operator`: KafkaMirrorMaker2, KafkaConnect, KafkaConnector and ResetOffset in Kubernetes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from seamark.cli import logs
from seamark.cli.signals import run_until_told


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(operator)


def operator(
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="How to reach Kubernetes. By default the pod's ServiceAccount, else KUBECONFIG or ~/.kube/config.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    namespace: Annotated[
        list[str] | None,
        typer.Option("--namespace", "-n", help="A namespace to serve; may be repeated. By default all."),
    ] = None,
    credentials_for: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Addresses of workers that get the credentials of --user or --token-file (or SEAMARK_USER, "
            "SEAMARK_TOKEN_FILE ...), with *; may be repeated. By default none does.",
        ),
    ] = None,
    log_format: Annotated[str, typer.Option(help="text or json.")] = "text",
) -> None:
    """Run the Kubernetes operator."""
    from seamark.cli.connection import worker_settings
    from seamark.operator import running
    from seamark.operator.workers import Workers

    workers = Workers(worker_settings(), credentials_for or ())

    logs.configure(logging.INFO, log_format)
    for noisy in ("kopf", "httpx"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # It warns that it leaves signals alone; they are ours to handle.
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)
    run_until_told(lambda stopping: running.run(kubeconfig, namespace or (), stopping, workers))
