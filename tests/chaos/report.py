"""Results as a table, and as JSON for those who compare runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chaos.checker import MOST_SHOWN, PROMISES
from chaos.run import Result


def table(results: Sequence[Result]) -> str:
    """Promises down, runs across: how often broken, of how many checks."""
    titles = ["", *(f"{result.order.kind} (seed {result.order.seed})" for result in results)]
    rows = [[text, *(_cell(result, promise) for result in results)] for promise, text in PROMISES.items()]
    facts = [
        ["records carried", *(f"{result.records:,}" for result in results)],
        ["requests done / refused / without an answer", *(_requests(result) for result in results)],
        ["faults", *(str(sum(result.strikes.values())) for result in results)],
        ["failed tasks restarted by the caretaker", *(str(result.restarts) for result in results)],
        ["lines that sinks wrote again", *(f"{result.repeated:,}" for result in results)],
        ["until all had been carried, s", *(_seconds(result) for result in results)],
    ]
    lines = ["| " + " | ".join(row) + " |" for row in (titles, ["---"] * len(titles), *rows, *facts)]
    return "\n".join(lines)


def details(result: Result) -> str:
    """Violations, and what was left out."""
    lines = []
    for finding in result.findings:
        for violation in finding.violations[:MOST_SHOWN]:
            lines.append(f"{result.order.kind}: {PROMISES[finding.promise]}: {violation}")
        if len(finding.violations) > MOST_SHOWN:
            lines.append(f"  ... and {len(finding.violations) - MOST_SHOWN} more")
    lines += [f"{result.order.kind}: no {name}: {why}" for name, why in result.left_out.items()]
    lines += result.notes
    struck = ", ".join(f"{name} {count}" for name, count in result.strikes.items() if count)
    return "\n".join([*lines, f"{result.order.kind}: struck: {struck or 'nothing'}"])


def as_json(result: Result) -> dict[str, Any]:
    return {
        "kind": result.order.kind,
        "seed": result.order.seed,
        "seconds": result.order.seconds,
        "records": result.records,
        "requests": result.requests,
        "strikes": result.strikes,
        "recovery_s": result.recovery_s,
        "restarts": result.restarts,
        "repeated": result.repeated,
        "findings": {each.promise: {"checks": each.checks, "violations": each.violations} for each in result.findings},
    }


def violations(result: Result) -> int:
    return sum(len(finding.violations) for finding in result.findings)


def _cell(result: Result, promise: str) -> str:
    finding = result.findings.of[promise]
    if not finding.checks:
        return "-"
    mark = "**" if finding.violations else ""
    return f"{mark}{len(finding.violations)}{mark} of {finding.checks:,}"


def _requests(result: Result) -> str:
    return " / ".join(str(result.requests.get(kind, 0)) for kind in ("done", "refused", "unknown"))


def _seconds(result: Result) -> str:
    return "not reached" if result.recovery_s is None else f"{result.recovery_s:.0f}"
