"""A check, and running it so that none holds up or breaks the others."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from seamark.config.providers import secrets
from seamark.doctor.findings import Finding, error, skipped, warning
from seamark.errors import ConnectError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at.

    Attributes:
        name: what findings are filed under.
        doing: what is shown while it runs, as in "connecting to Kafka".
        look: finds out; may raise.
        limit_s: how long it may take.
        about: which of several clusters or flows it is about.
    """

    name: str
    doing: str
    look: Callable[[], Iterable[Finding]]
    limit_s: float
    about: str = ""


def run_checks(checks: Iterable[Check], starting: Callable[[Check], None]) -> Iterator[tuple[Check, list[Finding]]]:
    """Run one after the other; what the next one is may depend on what the last one found.

    Args:
        checks: may be a generator that looks at what earlier checks have left behind.
        starting: told of each check before it runs.
    """
    for check in checks:
        starting(check)
        found = run_check(check)
        prefix = f"{check.about}: " if check.about else ""
        yield check, [_shown(finding, prefix) for finding in found]


def run_check(check: Check) -> list[Finding]:
    """What a check finds, or why it could not be done. Of one that takes too long, the thread is left behind."""
    outcome: list[list[Finding]] = []

    def look() -> None:
        outcome.append(_looked(check))

    thread = threading.Thread(target=look, name=f"doctor-{check.name}", daemon=True)
    thread.start()
    thread.join(check.limit_s)
    if outcome:
        return outcome[0]
    return [
        warning(
            check.name,
            f"Not finished within {check.limit_s:g} s: {check.doing}.",
            "Try again with a longer `--timeout`, and look at what stands between this machine and the other one.",
        )
    ]


def unchecked(name: str, reason: str, about: str = "") -> Check:
    """Stands for checks that cannot be done."""
    return Check(name, name, lambda: [skipped(name, reason)], 1.0, about)


def _looked(check: Check) -> list[Finding]:
    try:
        return list(check.look())
    except ConnectError as problem:
        return [error(check.name, problem.message, "Mend what the message names, and run `seamark doctor` again.")]
    except Exception as problem:  # a plugin, a library: whatever it is, the other checks go on
        log.debug("The check %s has failed", check.name, exc_info=True)
        return [skipped(check.name, f"Could not be done: {type(problem).__name__}: {problem}")]


def _shown(finding: Finding, prefix: str) -> Finding:
    fix = None if finding.fix is None else secrets.hide(finding.fix)
    return replace(finding, check=prefix + finding.check, found=secrets.hide(finding.found), fix=fix)
