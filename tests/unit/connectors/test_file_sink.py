from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seamark.connector import SinkRecord
from seamark.connector.schema import FLOAT32_SCHEMA
from seamark.connectors.file_sink import FileStreamSinkConnector, FileStreamSinkTask
from seamark.errors import ConnectError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


@pytest.fixture
def task(file: Path) -> Iterator[FileStreamSinkTask]:
    started = FileStreamSinkTask()
    started.start({"file": str(file)})
    yield started
    started.stop()


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("ü", "ü".encode()), ("", b""), (None, b"null"), (True, b"true"), (1e10, b"1.0E10"), ([1, None], b"[1, null]"),
        ({"a": 1}, b"{a=1}"), (b"\xff", b"\xff"),
    ],
)  # fmt: skip
def test_values_are_printed_as_java_does(value: Any, line: bytes, file: Path, task: FileStreamSinkTask) -> None:
    task.put([SinkRecord("t", value), SinkRecord("t", 0.1, value_schema=FLOAT32_SCHEMA)])
    assert file.read_bytes() == line + b"\n0.1\n"


def test_raw_values_take_the_fast_path(file: Path, task: FileStreamSinkTask) -> None:
    task.put_values([b"one", None, b""])
    task.put_values([])
    task.put([])
    task.put_values([b"two"])
    assert file.read_bytes() == b"one\nnull\n\ntwo\n"


def test_what_is_there_is_kept(file: Path, task: FileStreamSinkTask) -> None:
    task.put_values([b"one"])
    other = FileStreamSinkTask()
    other.start({"file": str(file)})
    other.put_values([b"two"])
    other.flush({})
    other.stop()
    other.stop()
    task.put_values([b"three"])
    assert file.read_text() == "one\ntwo\nthree\n"


def test_several_tasks_never_tear_lines(file: Path) -> None:
    code = """if True:
        import sys
        from seamark.connectors.file_sink import FileStreamSinkTask
        task = FileStreamSinkTask()
        task.start({"file": sys.argv[1]})
        for _ in range(50):
            task.put_values([sys.argv[2].encode() * 1000] * 20)
        task.flush({})
    """
    writers = [subprocess.Popen([sys.executable, "-c", code, str(file), letter]) for letter in "abc"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    lines = file.read_text().splitlines()
    assert len(lines) == 3000
    assert {(line[0], len(line)) for line in lines if len(set(line)) == 1} == {("a", 1000), ("b", 1000), ("c", 1000)}


def test_a_target_that_cannot_be_opened_is_a_clear_error(tmp_path: Path) -> None:
    task = FileStreamSinkTask()
    with pytest.raises(
        ConnectError, match=r"Couldn't find or create file '.*/missing/out' for FileStreamSinkTask: No such"
    ):
        task.start({"file": str(tmp_path / "missing" / "out")})
    task.stop()


def test_a_full_disk_is_a_clear_error() -> None:
    task = FileStreamSinkTask()
    task.start({"file": "/dev/full"})
    with pytest.raises(ConnectError, match="Couldn't write to file /dev/full: No space left on device"):
        task.put_values([b"x"])
    task.stop()


def test_the_connector_gives_each_task_its_config() -> None:
    connector = FileStreamSinkConnector()
    connector.start({"file": "f", "topics": "t"})
    assert connector.task_configs(2) == [{"file": "f", "topics": "t"}] * 2
    assert connector.alter_offsets({}, {}) is True


@pytest.mark.parametrize("config", [{"topics": "t"}, {"topics": "t", "file": ""}])
def test_without_a_file_lines_go_to_standard_error(config: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    connector = FileStreamSinkConnector()
    connector.start(config)
    task = FileStreamSinkTask()
    task.start(connector.task_configs(1)[0])
    task.put_values([b"one", None])
    task.flush({})
    task.stop()
    assert capfd.readouterr() == ("", "one\nnull\n")
