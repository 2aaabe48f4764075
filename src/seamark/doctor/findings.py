"""What a check has found, how bad it is, and what would mend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    """It works, but not as well or as safely as it should; or it will fail under conditions that are not met now."""
    ERROR = "error"
    """It does not work."""
    SKIPPED = "skipped"
    """It could not be looked at; `found` says why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        check: what was looked at.
        severity: how bad it is.
        found: what is so, a sentence.
        fix: what would mend it, a sentence with a command or key; of an error or warning always.
    """

    check: str
    severity: Severity
    found: str
    fix: str | None = None

    def as_data(self) -> dict[str, str | None]:
        """For JSON and YAML."""
        return {"check": self.check, "severity": self.severity.value, "found": self.found, "fix": self.fix}


def ok(check: str, found: str) -> Finding:
    """All is well."""
    return Finding(check, Severity.OK, found)


def warning(check: str, found: str, fix: str) -> Finding:
    """It works, but."""
    return Finding(check, Severity.WARNING, found, fix)


def error(check: str, found: str, fix: str) -> Finding:
    """It does not work."""
    return Finding(check, Severity.ERROR, found, fix)


def skipped(check: str, found: str, fix: str | None = None) -> Finding:
    """It could not be looked at."""
    return Finding(check, Severity.SKIPPED, found, fix)


def counts(findings: Iterable[Finding]) -> Mapping[Severity, int]:
    """How many there are of each severity."""
    counted = Counter(finding.severity for finding in findings)
    return {severity: counted[severity] for severity in Severity}


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether something does not work."""
    return any(finding.severity is Severity.ERROR for finding in findings)
