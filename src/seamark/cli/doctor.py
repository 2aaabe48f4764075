"""`seamark doctor`: is everything there that a worker needs, and what would a running cluster lose by moving?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from seamark.cli.connection import ContextName, Form, Output, settings_for
from seamark.cli.exits import REFUSED, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.status import Status

    from seamark.client import Settings
    from seamark.doctor.checks import Check
    from seamark.doctor.findings import Finding

_COLOURS: Final = {"ok": "green", "warning": "yellow", "error": "red", "skipped": "bright_black"}
_WIDTH: Final = 8


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(
    properties: Annotated[
        Path | None, typer.Argument(metavar="[WORKER.properties]", help="Of a worker, or of MirrorMaker 2.")
    ] = None,
    mm2: Annotated[
        Path | None, typer.Option("--mm2", metavar="FILE", help="A MirrorMaker 2 file, whatever it looks like.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="A running worker, Java's or Seamark's, to move from.")
    ] = None,
    context: ContextName = None,
    spark: Annotated[bool, typer.Option("--spark", help="Start Spark and run a job, to see whether it does.")] = False,
    write_probe: Annotated[
        bool,
        typer.Option(
            "--write-probe", help="Write a record in a transaction, to a topic that is made for it and deleted."
        ),
    ] = False,
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=1, metavar="SECONDS", help="How long to wait for each answer.")
    ] = 10.0,
    output: Form = Output.table,
) -> None:
    """Check versions, jars, a worker's file, Kafka, Spark and plugins before a worker is started.

    With --url also whether the connectors of a running cluster could be moved. Nothing is changed, unless
    --write-probe allows it. Ends with 5 if there is an error, with 0 if there are only warnings.
    """
    import logging

    from seamark.cli.shown import note, print_data
    from seamark.doctor.checks import run_checks
    from seamark.doctor.diagnosis import Diagnosis, Options
    from seamark.doctor.findings import Severity, counts, has_errors

    if properties is not None and mm2 is not None:
        raise RefusedError("Give a worker's file or --mm2 FILE, not both")
    # What clients and plugins would log is in the findings.
    logging.getLogger("seamark").addHandler(logging.NullHandler())
    options = Options(
        file=mm2 or properties,
        is_mirror=mm2 is not None,
        running=_running(url, context, timeout_s),
        timeout_s=timeout_s,
        starts_spark=spark,
        writes=write_probe,
    )
    found: list[Finding] = []
    is_data = output in (Output.json, Output.yaml)
    progress = _Progress()
    try:
        for _, findings in run_checks(Diagnosis(options).checks(), progress.show):
            progress.hide()
            found += findings
            if not is_data:
                _print(findings)
    finally:
        progress.hide()
    totals = counts(found)
    summary = {
        "ok": totals[Severity.OK],
        "warnings": totals[Severity.WARNING],
        "errors": totals[Severity.ERROR],
        "skipped": totals[Severity.SKIPPED],
    }
    if is_data:
        print_data({"summary": summary, "findings": [finding.as_data() for finding in found]}, output)
    note(", ".join(f"{name}: {number}" for name, number in summary.items()))
    if has_errors(found):
        raise typer.Exit(REFUSED)


def _running(url: str | None, context: str | None, timeout_s: float) -> Settings | None:
    """Only a worker that is named is asked: that of a context in use may have nothing to do with the file."""
    if url is None and context is None:
        return None
    from dataclasses import replace

    from seamark.client import Retry

    return replace(settings_for(url, context), timeout_s=timeout_s, retry=Retry(deadline_s=timeout_s))


def _print(findings: Sequence[Finding]) -> None:
    from seamark.cli.shown import console

    out = console()
    for finding in findings:
        out.print(f"{finding.severity.value:{_WIDTH}}", style=_COLOURS[finding.severity.value], end="")
        out.print(f" {finding.check}: {finding.found}")
        if finding.fix is not None:
            out.print(f"{'':{_WIDTH}} fix: {finding.fix}")


class _Progress:
    """Shows on stderr what is being looked at: on a terminal a line that goes away, else a line for each check."""

    def __init__(self) -> None:
        self._status: Status | None = None

    def show(self, check: Check) -> None:
        """Until `hide`, which has to come before anything is printed."""
        from seamark.cli.shown import note

        told = f"{check.about}: {check.doing} ..." if check.about else f"{check.doing} ..."
        if not sys.stderr.isatty():
            note(told)
            return
        from rich.console import Console

        self._status = Console(stderr=True, highlight=False, markup=False).status(told)
        self._status.start()

    def hide(self) -> None:
        """What is printed while it is shown would go to stderr, too."""
        if self._status is not None:
            self._status.stop()
            self._status = None
