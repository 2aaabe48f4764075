"""Every test that docs/security.md and docs/reliability.md name exists, and no threat or promise is without one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TABLES = {
    "docs/security.md": "| Threat | Defence | Test |",
    "docs/reliability.md": "| Promise | Struck by | Test |",
}


@pytest.mark.parametrize("page", TABLES)
def test_every_test_of_the_table_exists(page: str) -> None:
    found = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / page).read_text(encoding="utf-8"))
    assert len(found) > 25
    for path, name in found:
        functions = {
            node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)
        }
        assert name in functions, f"{path} has no {name}"


@pytest.mark.parametrize(("page", "heading"), TABLES.items())
def test_every_row_has_a_test(page: str, heading: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    table = text.partition(heading)[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert rows
    assert all(re.search(r"`tests/[\w/]+\.py::\w+` \|$", row) for row in rows)
