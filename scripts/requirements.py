"""Which requirement is proved by which tests.

Reads docs/requirements.md and the `@pytest.mark.requirement("ID")` markers of all tests (without importing them),
prints `ID  kind  tests`, and exits with 1 if a `must` or `test plan` of a built part has no test, or a test names an
unknown ID.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINDING_KINDS = ("must", "test plan")
_ROW = re.compile(r"^\| (?P<id>[A-Z0-9]+-\d+) \| (?P<text>.*) \| (?P<kind>must|test plan|future|alternative) \|$")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A row of the list."""

    id: str
    kind: str
    part: str
    built: bool


def read_requirements(text: str) -> dict[str, Requirement]:
    """All rows by ID, in order."""
    found: dict[str, Requirement] = {}
    part, built = "", False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("## "):
            part, built = line[3:], False
        elif line.startswith("Status: "):
            built = line == "Status: built"
        elif match := _ROW.match(line):
            if match["id"] in found:
                raise SystemExit(f"docs/requirements.md, line {number}: {match['id']} is listed twice")
            found[match["id"]] = Requirement(match["id"], match["kind"], part, built)
    return found


def find_markers(source: str, name: str) -> Iterator[tuple[str, str]]:
    """Pairs of ID and test in a Python source; `name` is what the file is called in the result."""
    yield from _walk(ast.parse(source, name), name)


def _walk(node: ast.AST, owner: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        owner = f"{owner}::{node.name}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
        for argument in node.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value, owner
            else:
                raise SystemExit(f"{owner}: an argument of requirement(...) is not a plain text: {ast.unparse(node)}")
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, owner)


def report(requirements: dict[str, Requirement], tests: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """The lines of the table, and what is wrong."""
    lines: list[str] = []
    problems: list[str] = []
    for part in dict.fromkeys(requirement.part for requirement in requirements.values()):
        rows = [requirement for requirement in requirements.values() if requirement.part == part]
        covered = sum(1 for row in rows if tests.get(row.id))
        state = "built" if rows[0].built else "planned"
        lines += ["", f"{part} ({state}; {covered} of {len(rows)} have a test)"]
        for row in rows:
            named = tests.get(row.id, [])
            if row.built or named:
                lines += [f"  {row.id:9} {row.kind:12} {named[0] if named else '-'}"]
                lines += [f"  {'':22} {test}" for test in named[1:]]
            if row.built and not named and row.kind in BINDING_KINDS:
                problems.append(f"{row.id} ({row.kind}) has no test")
    for unknown in sorted(tests.keys() - requirements.keys()):
        problems.append(f"{unknown} is named by {', '.join(tests[unknown])} but not listed in docs/requirements.md")
    return lines, problems


def main() -> int:
    requirements = read_requirements((ROOT / "docs" / "requirements.md").read_text(encoding="utf-8"))
    tests: dict[str, list[str]] = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for requirement, test in find_markers(file.read_text(encoding="utf-8"), str(file.relative_to(ROOT))):
            named = tests.setdefault(requirement, [])
            if test not in named:
                named.append(test)
    lines, problems = report(requirements, tests)
    print("\n".join(lines).lstrip("\n"))
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
