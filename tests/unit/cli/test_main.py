"""How the command reports errors, without running anything."""

from __future__ import annotations

import sys

import pytest

from seamark.cli import main as cli_main
from seamark.errors import ConfigError


class ErrorWithHint(ConfigError):
    hint = "Try a number."


def fail_with(error: Exception):
    def app() -> None:
        raise error

    return app


def test_errors_on_purpose_are_one_line_and_a_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_main, "app", fail_with(ErrorWithHint("tasks.max is 'x'")))
    with pytest.raises(SystemExit) as ended:
        cli_main.main()
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "error: tasks.max is 'x'\n\nhint: Try a number.\n"


def test_other_errors_keep_their_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_main, "app", fail_with(RuntimeError("a bug")))
    with pytest.raises(RuntimeError):
        cli_main.main()


def test_help_lists_the_broker_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["seamark", "--help"])
    with pytest.raises(SystemExit) as ended:
        cli_main.main()
    assert ended.value.code == 0
    assert "broker" in capsys.readouterr().out
