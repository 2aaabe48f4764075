"""Differences between Seamark and Kafka Connect are documented ones."""

from __future__ import annotations

from pathlib import Path

from compat.differences import DIFFERENCES

DOCUMENT = Path(__file__).parents[2] / "docs" / "differences.md"


def test_every_difference_is_documented() -> None:
    rows = {line.split(" | ")[0].removeprefix("| ") for line in DOCUMENT.read_text().splitlines() if "| " in line}
    wanted = {difference.row for difference in DIFFERENCES.values()}
    assert sorted(wanted - rows) == []
