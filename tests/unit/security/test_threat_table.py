"""Every test that docs/security.md names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def named_tests() -> list[tuple[str, str]]:
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)


def test_every_test_of_the_table_exists() -> None:
    found = named_tests()
    assert len(found) > 30
    for path, name in found:
        functions = {
            node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)
        }
        assert name in functions, f"{path} has no {name}"


def test_every_threat_has_a_test() -> None:
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    table = text.partition("| Threat | Defence | Test |")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert rows
    assert all(re.search(r"`tests/[\w/]+\.py::\w+` \|$", row) for row in rows)
