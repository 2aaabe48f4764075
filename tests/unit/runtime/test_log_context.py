"""Log lines: whose they are, in which form, and without secrets."""

from __future__ import annotations

import json
import logging
import re
import sys
import threading

import pytest

from seamark.cli import logs
from seamark.config.providers import secrets
from seamark.runtime import log_context
from seamark.runtime.log_context import for_connector, for_offsets, for_task, for_validation, formatter


def line(style: str, message: str, *args: object, level: int = logging.INFO, trace: bool = False) -> str:
    info = sys.exc_info() if trace else None
    record = logging.LogRecord("seamark.test", level, "file.py", 12, message, args, info)
    return formatter(style).format(record)


def test_lines_begin_with_what_they_are_about() -> None:
    assert re.fullmatch(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] INFO hi (.+)", line("text", "hi"))
    with for_connector("c"):
        assert "INFO [c|worker] hi (seamark.test:12)" in line("text", "hi")
        with for_task("c", 0):
            assert "WARN [c|task-0] hi" in line("text", "%s", "hi", level=logging.WARNING)
            with for_offsets("c", 0):
                assert "[c|task-0|offsets] hi" in line("text", "hi")
        with for_validation("d"):
            assert "[d|validate] hi" in line("text", "hi")
        assert "[c|worker] hi" in line("text", "hi")
    assert log_context.current() is None


def test_a_line_that_names_its_connector_itself_is_not_marked_twice() -> None:
    with for_connector("c"):
        assert line("text", "[c] hi").count("[c") == 1


def test_other_threads_have_contexts_of_their_own() -> None:
    found = []
    with for_task("c", 1):
        thread = threading.Thread(target=lambda: found.append(log_context.current()))
        thread.start()
        thread.join()
    assert found == [None]


def test_json_lines_have_fields() -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        with for_task("c", 3):
            fields = json.loads(line("json", "said %s", "ü", level=logging.CRITICAL, trace=True))
    trace, timestamp = fields.pop("trace"), fields.pop("timestamp")
    assert trace.endswith("ValueError: broken")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", timestamp)
    assert fields == {
        "level": "FATAL",
        "logger": "seamark.test",
        "thread": threading.current_thread().name,
        "message": "said ü",
        "connector": "c",
        "task": 3,
    }


@pytest.mark.parametrize("style", ["text", "json"])
def test_values_of_providers_are_not_shown_not_even_in_traces(style: str) -> None:
    secrets.add(["s3cr3t-of-a-provider"])
    try:
        raise ValueError("refused s3cr3t-of-a-provider")
    except ValueError:
        text = line(style, "with %s", "s3cr3t-of-a-provider", trace=True)
    assert "s3cr3t" not in text
    assert text.count("[hidden]") == 3  # the message, the error, and the line of code in the trace


@pytest.mark.parametrize(
    "text",
    [
        "sasl.password=hunter2 for x",
        "{'db.password': 'hunter2', 'a': 'b'}",
        'Login required username="u" password="hunter2";',
        "aws.secret.access.key: hunter2",
        '{"token": "hunter2"}',
        "ssl.keystore.password = hunter2",
    ],
)
def test_what_is_called_a_password_is_not_shown(text: str) -> None:
    shown = line("text", "%s", text)
    assert "hunter2" not in shown
    assert "[hidden]" in shown


def test_ordinary_lines_stay_as_they_are() -> None:
    text = "3 tokens read from topic passwords; secretary=, connector x: 5 records"
    assert line("text", "%s", text).find(text) > 0


def test_the_command_line_logs_to_stderr_in_the_chosen_form(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers.clear()
    try:
        logs.configure(logging.WARNING)
        logs.configure(logging.WARNING, "json")
        logging.getLogger("seamark.test").warning("hello")
        assert [type(handler) for handler in root.handlers] == [logging.StreamHandler]
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    assert json.loads(capsys.readouterr().err)["message"] == "hello"
