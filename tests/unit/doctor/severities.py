"""Short names, and what all findings have in common."""

from __future__ import annotations

from seamark.doctor.findings import Finding, Severity

OK, WARNING, ERROR, SKIPPED = Severity.OK, Severity.WARNING, Severity.ERROR, Severity.SKIPPED


def severities(findings: list[Finding]) -> list[Severity]:
    """Of each finding; what is wrong must come with a fix."""
    for finding in findings:
        assert finding.fix or finding.severity in (OK, SKIPPED), finding
    return [finding.severity for finding in findings]
