"""The command as a process: on a terminal, in a pipe, and as shells ask it for completions."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from unit.cli.conftest import FleetHerder

SEAMARK = str(Path(sys.executable).with_name("seamark"))


@pytest.fixture
def environment(fleet: FleetHerder, worker_url: str, config_file: Path) -> dict[str, str]:
    fleet.add("orders")
    fleet.add("lines")
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return {**kept, "SEAMARK_URL": worker_url, "TERM": "xterm", "COLUMNS": "100"}


def on_terminal(environment: dict[str, str], *arguments: str) -> str:
    """What a person sees."""
    person, command = pty.openpty()
    try:
        process = subprocess.Popen(
            [SEAMARK, *arguments], stdin=command, stdout=command, stderr=command, env=environment
        )
    finally:
        os.close(command)
    shown = b""
    with os.fdopen(person, "rb", buffering=0) as terminal:
        try:
            while chunk := terminal.read(4096):
                shown += chunk
        except OSError:  # this is how Linux says that the other side is closed
            pass
    assert process.wait(60) == 0
    return shown.decode()


def test_there_are_colours_on_a_terminal_only(environment: dict[str, str]) -> None:
    assert "\x1b[32mRUNNING" in on_terminal(environment, "get")
    assert "\x1b[32m" not in on_terminal({**environment, "NO_COLOR": "1"}, "get")
    piped = subprocess.run([SEAMARK, "get"], env=environment, capture_output=True, text=True, check=True)
    assert "\x1b" not in piped.stdout
    assert "RUNNING" in piped.stdout


@pytest.mark.parametrize(("typed", "offered"), [("seamark stop ord", ["orders"]), ("seamark offsets l", ["list"])])
def test_shells_are_told_completions(environment: dict[str, str], typed: str, offered: list[str]) -> None:
    asked = {"_SEAMARK_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = subprocess.run([SEAMARK], env={**environment, **asked}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == offered
