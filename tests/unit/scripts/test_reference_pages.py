from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


@pytest.fixture
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("seamark_reference_script", SCRIPTS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "reference.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_key_of_the_worker_is_on_its_page(reference: ModuleType) -> None:
    page = reference.worker_page()
    for key in reference.worker_config_def().names():
        assert f"| `{key}` |" in page


def test_a_stale_page_is_noticed_and_written_anew(
    reference: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "PAGES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["reference.py", "--check"])
    assert reference.main() == 1
    assert "worker.md is out of date" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["reference.py"])
    assert reference.main() == 0
    monkeypatch.setattr(sys, "argv", ["reference.py", "--check"])
    assert reference.main() == 0
