from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
LIST = """
## A: first

Status: built

| ID | Requirement | Kind |
|---|---|---|
| A-01 | One \\| two. | must |
| A-02 | Three. | test plan |
| A-03 | Four. | future |

## B: second

Status: planned

| B-01 | Five. | must |
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("seamark_requirements_script", ROOT / "scripts" / "requirements.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "seamark_requirements_script", module)
    spec.loader.exec_module(module)
    return module


def test_markers_are_found_wherever_pytest_allows_them(script: ModuleType) -> None:
    source = """
import pytest
pytestmark = [pytest.mark.requirement("M-01")]

@pytest.mark.requirement("A-01", "A-02")
@pytest.mark.requirement("A-03")
def test_one(): ...

@pytest.mark.requirement("C-01")
class TestMany:
    @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("P-01"))])
    async def test_two(self, x): ...
"""
    assert sorted(script.find_markers(source, "f.py")) == [
        ("A-01", "f.py::test_one"),
        ("A-02", "f.py::test_one"),
        ("A-03", "f.py::test_one"),
        ("C-01", "f.py::TestMany"),
        ("M-01", "f.py"),
        ("P-01", "f.py::TestMany::test_two"),
    ]


def test_a_computed_marker_is_refused(script: ModuleType) -> None:
    with pytest.raises(SystemExit, match="not a plain text"):
        list(script.find_markers("@pytest.mark.requirement(ID)\ndef test(): ...", "f.py"))


def test_uncovered_binding_rows_of_built_parts_are_problems(script: ModuleType) -> None:
    requirements = script.read_requirements(LIST)
    lines, problems = script.report(requirements, {"A-01": ["t.py::test_a", "t.py::test_b"]})
    assert problems == ["A-02 (test plan) has no test"]
    assert any(line.split() == ["A-01", "must", "t.py::test_a"] for line in lines)
    assert "B-01" not in "\n".join(lines)


def test_an_unknown_id_is_a_problem(script: ModuleType) -> None:
    requirements = script.read_requirements(LIST)
    covered = {"A-01": ["t"], "A-02": ["t"]}
    assert script.report(requirements, covered)[1] == []
    assert script.report(requirements, {**covered, "Z-99": ["t.py::test_z"]})[1] == [
        "Z-99 is named by t.py::test_z but not listed in docs/requirements.md"
    ]


def test_a_row_listed_twice_is_refused(script: ModuleType) -> None:
    with pytest.raises(SystemExit, match="A-01 is listed twice"):
        script.read_requirements(LIST + "| A-01 | Again. | must |\n")


def test_the_projects_list_is_whole(script: ModuleType) -> None:
    requirements = script.read_requirements((ROOT / "docs" / "requirements.md").read_text(encoding="utf-8"))
    parts: dict[str, list[int]] = {}
    for name in requirements:
        part, _, number = name.partition("-")
        parts.setdefault(part, []).append(int(number))
    assert {part: len(numbers) for part, numbers in parts.items()} == {
        "STR": 42,
        "K875": 57,
        "RST": 37,
        "K910": 32,
        "K980": 34,
    }
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in parts.values())
