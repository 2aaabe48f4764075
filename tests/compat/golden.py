"""What the real Kafka Connect says of its plugins' config keys, as data to compare with.

`golden/*.json` hold facts only (names, types, defaults, order); they were read from Kafka Connect 4.2.0, and the suite
compares them with it again each time it runs there.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from compat.differences import differs
from compat.targets import Target

# Keys whose documentation must not be empty.
DOCUMENTED_ELSEWHERE: Final = {"name", "connector.class", "topics", "file", "topic", "transforms"}


def facts_of(keys: list[dict[str, Any]], target: Target) -> list[dict[str, Any]]:
    """The keys without their documentation, and without what Seamark has otherwise."""
    facts = []
    for key in keys:
        kept = {field: value for field, value in key.items() if field != "documentation"}
        if key["name"] == "batch.size":
            assert kept.pop("default_value") == "2000" or differs(target, "plugin-config/batch.size")
        facts.append(kept)
    return facts


@cache
def golden(name: str) -> dict[str, Any]:
    """One of the files."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / f"{name}.json").read_text())
    return found
