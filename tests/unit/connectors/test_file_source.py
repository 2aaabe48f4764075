from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.connector import ExactlyOnceSupport, Offsets, RecordBatch, SourcePartition
from seamark.connector.schema import STRING_SCHEMA
from seamark.connectors import file_source
from seamark.connectors.file_source import FileStreamSourceConnector, FileStreamSourceTask
from seamark.connectors.line_reader import LineReader
from seamark.errors import ConfigError, ConnectError

Start = Callable[..., FileStreamSourceTask]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "in.txt"


@pytest.fixture
def start(file: Path) -> Iterator[Start]:
    started: list[FileStreamSourceTask] = []

    def begin(position: Any = None, **config: str) -> FileStreamSourceTask:
        task = FileStreamSourceTask()
        offsets = {} if position is None else {SourcePartition(filename=str(file)): {"position": position}}
        task.start({"file": str(file), "topic": "t", **config}, Offsets(offsets))
        started.append(task)
        return task

    yield begin
    for task in started:
        task.stop()


def read_all(task: FileStreamSourceTask) -> tuple[list[str], list[int]]:
    """All lines at hand, and the position after each poll."""
    lines: list[str] = []
    positions: list[int] = []
    while (batch := task.poll()) is not None:
        assert batch.source_offset is not None
        lines += batch.values
        positions.append(batch.source_offset["position"])
    return lines, positions


def test_a_batch_has_javas_shape(file: Path, start: Start) -> None:
    file.write_bytes(b"one\ntwo\n")
    before_ms = time.time_ns() // 1_000_000
    batch = start().poll()
    assert isinstance(batch, RecordBatch)
    assert (batch.topic, batch.values, batch.value_schema) == ("t", ["one", "two"], STRING_SCHEMA)
    assert (batch.keys, batch.kafka_partition) == (None, None)
    assert batch.source_partition == {"filename": str(file)}
    assert batch.source_offset == {"position": 8}
    assert isinstance(batch.timestamps, int)
    assert before_ms <= batch.timestamps <= time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("content", "lines", "position"),
    [
        (b"", [], 0),
        (b"a", [], 0),
        (b"\n\n", ["", ""], 2),
        (b"a\nb", ["a"], 2),
        (b"a\r\nb\rc\nd", ["a", "b", "c"], 7),
        (b"a\r", [], 0),
        (b"a\rb", ["a"], 2),
        (b"a\n\r", ["a"], 2),
        (b"a\r\r\nb\n", ["a", "", "b"], 6),
        ("grün\n€\n".encode(), ["grün", "€"], 10),
        (b"bad\xff\xfe\nok\n", ["bad\ufffd\ufffd", "ok"], 9),
        ("a\u2028b\x0cc\x85\n".encode(), ["a\u2028b\x0cc\x85"], 10),
    ],
)
def test_lines_end_where_java_says(
    content: bytes, lines: list[str], position: int, file: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_source, "IDLE_POLL_S", 0.0)
    file.write_bytes(content)
    found, positions = read_all(start())
    assert found == lines
    assert (positions or [0])[-1] == position


def java_lines(content: bytes) -> tuple[list[bytes], int]:
    """A slow, plain statement of the rule: lines and where the unread rest begins."""
    lines, begin, at = [], 0, 0
    while at < len(content):
        if content[at : at + 1] == b"\n" or (content[at : at + 1] == b"\r" and at + 1 < len(content)):
            lines.append(content[begin:at])
            at += 2 if content[at : at + 2] == b"\r\n" else 1
            begin = at
        else:
            at += 1
    return lines, begin


@given(st.text(alphabet="ab\r\nü", max_size=40), st.integers(1, 5), st.integers(1, 7))
def test_any_chunks_and_limits_give_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, text: str, limit: int, chunk_size: int
) -> None:
    file = tmp_path_factory.mktemp("lines") / "f"
    content = text.encode()
    file.write_bytes(content)
    expected, end = java_lines(content)
    reader = LineReader(str(file), 0, chunk_size=chunk_size)
    found: list[str] = []
    while lines := reader.read(limit):
        assert len(lines) <= limit
        found += lines
        # each position in between is where a restarted task finds the rest
        assert java_lines(content[reader.position :])[0] == expected[len(found) :]
    reader.close()
    assert found == [line.decode() for line in expected]
    assert reader.position == end


def test_reading_goes_on_after_the_committed_position(file: Path, start: Start) -> None:
    file.write_bytes(b"one\ntwo\nthree\n")
    assert read_all(start(position=4)) == (["two", "three"], [14])


def test_batch_size_limits_a_poll_and_positions_are_exact(file: Path, start: Start) -> None:
    file.write_text("".join(f"{number}\n" for number in range(5)))
    assert read_all(start(**{"batch.size": "2"})) == (["0", "1", "2", "3", "4"], [4, 8, 10])
    assert read_all(start(**{"batch.size": "0"}))[1] == [2, 4, 6, 8, 10]


def test_without_batch_size_a_poll_returns_more_than_javas_default(file: Path, start: Start) -> None:
    file.write_text("x\n" * 5000)
    batch = start().poll()
    assert batch is not None
    assert len(batch) == 5000


def test_a_line_longer_than_a_chunk_is_one_record(file: Path) -> None:
    file.write_bytes(b"x" * 1000 + b"\nend\n")
    reader = LineReader(str(file), 0, chunk_size=16)
    assert reader.read(1) == ["x" * 1000]
    assert reader.position == 1001
    assert reader.read(1) == ["end"]
    reader.close()


def test_an_appended_line_is_returned_within_milliseconds_by_the_running_poll(file: Path, start: Start) -> None:
    file.write_bytes(b"")
    task = start()
    delays_s = []
    for number in range(5):
        appended_s: list[float] = []

        def append(text: str = f"{number}\n", at: list[float] = appended_s) -> None:
            with file.open("a") as out:
                out.write(text)
            at.append(time.monotonic())

        timer = threading.Timer(0.05, append)
        timer.start()
        while (batch := task.poll()) is None:
            pass
        timer.join()
        delays_s.append(time.monotonic() - appended_s[0])
        assert batch.values == [str(number)]
    assert min(delays_s) < 0.05


def test_an_idle_poll_gives_control_back_and_costs_next_to_nothing(file: Path, start: Start) -> None:
    file.write_bytes(b"no line end")
    task = start()
    began_s, began_cpu_s = time.monotonic(), time.thread_time()
    assert task.poll() is None
    assert time.monotonic() - began_s < 1.0
    assert time.thread_time() - began_cpu_s < 0.05


def test_an_unfinished_line_is_finished_later(file: Path, start: Start) -> None:
    file.write_bytes(b"one\ntw")
    task = start()
    assert read_all(task) == (["one"], [4])
    with file.open("ab") as out:
        out.write(b"o\r")
    assert task.poll() is None
    with file.open("ab") as out:
        out.write(b"\nthree\n")
    assert read_all(task) == (["two", "three"], [15])


def test_a_missing_file_is_waited_for(file: Path, start: Start, caplog: pytest.LogCaptureFixture) -> None:
    task = start()
    with caplog.at_level(logging.WARNING):
        assert task.poll() is None
        assert task.poll() is None
    assert [record.message for record in caplog.records] == [
        f"Couldn't find file {file} for FileStreamSourceTask, waiting for it to be created"
    ]
    file.write_text("here\n")
    assert read_all(task)[0] == ["here"]


def test_a_directory_fails_the_task(tmp_path: Path) -> None:
    task = FileStreamSourceTask()
    task.start({"file": str(tmp_path), "topic": "t"}, Offsets())
    with pytest.raises(ConnectError, match="it is a directory"):
        task.poll()


def test_a_pipe_fails_the_task_instead_of_blocking_it(file: Path, start: Start) -> None:
    os.mkfifo(file)
    with pytest.raises(ConnectError, match="not a regular file"):
        start().poll()


def test_an_unreadable_path_fails_the_task(file: Path, tmp_path: Path) -> None:
    file.write_text("a file, not a directory")
    task = FileStreamSourceTask()
    task.start({"file": str(file / "below"), "topic": "t"}, Offsets())
    with pytest.raises(ConnectError, match=r"Error while trying to open file .*below: Not a directory"):
        task.poll()


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """Root may read everything, so it steps down for a moment."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


@pytest.mark.usefixtures("ordinary_user")
def test_a_file_without_permission_fails_the_task() -> None:
    task = FileStreamSourceTask()
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "secret"
        file.write_text("secret\n")
        file.chmod(0)
        task.start({"file": str(file), "topic": "t"}, Offsets())
        with pytest.raises(ConnectError, match="secret: Permission denied"):
            task.poll()


def test_a_truncated_file_fails_the_task_and_says_what_to_do(file: Path, start: Start) -> None:
    file.write_bytes(b"one\ntwo\n")
    task = start()
    assert read_all(task)[1] == [8]
    file.write_bytes(b"x\n")
    with pytest.raises(ConnectError, match=r"has 2 bytes, but 8 were read already.*alter or reset its offset"):
        task.poll()
    with pytest.raises(ConnectError, match="has 2 bytes, but 8 were read already"):
        start(position=8).poll()


def test_a_file_replaced_by_a_longer_one_is_read_on(file: Path, start: Start) -> None:
    file.write_bytes(b"one\n")
    task = start()
    assert read_all(task)[0] == ["one"]
    replacement = file.with_suffix(".new")
    replacement.write_bytes(b"one\ntwo\n")
    replacement.replace(file)
    assert read_all(task) == (["two"], [8])


@pytest.mark.parametrize("position", ["8", 1.5, True, -1])
def test_an_offset_that_is_no_position_fails_the_task(position: object, file: Path, start: Start) -> None:
    file.write_text("x\n")
    with pytest.raises(ConnectError, match="Offset position is the incorrect type"):
        start(position=position)


# the connector


def test_required_keys() -> None:
    connector = FileStreamSourceConnector()
    with pytest.raises(ConfigError, match='Missing required configuration "topic" which has no default value'):
        connector.start({"file": "f"})
    with pytest.raises(ConfigError, match="configuration topic: String must be non-empty"):
        connector.start({"file": "f", "topic": ""})
    errors = {report.name: report.errors for report in connector.validate({"file": "f"})}
    assert errors["topic"]
    assert not errors["file"]


@pytest.mark.parametrize("config", [{"topic": "t"}, {"topic": "t", "file": " "}])
def test_without_a_file_there_are_no_records(config: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    connector = FileStreamSourceConnector()
    assert not [error for report in connector.validate(config) for error in report.errors]
    connector.start(config)
    assert "no standard input" in caplog.text
    assert connector.has_work(config, Offsets({})) is False
    task = FileStreamSourceTask()
    task.start(config, Offsets({}))
    assert task.poll() is None
    task.stop()


def test_a_file_has_one_task() -> None:
    connector = FileStreamSourceConnector()
    connector.start({"file": "f", "topic": "t", "extra": "kept"})
    assert connector.task_configs(5) == [{"file": "f", "topic": "t", "extra": "kept"}]


def test_exactly_once_needs_a_file() -> None:
    connector = FileStreamSourceConnector()
    assert connector.exactly_once_support({"file": "f"}) is ExactlyOnceSupport.SUPPORTED
    assert connector.exactly_once_support({}) is ExactlyOnceSupport.UNSUPPORTED


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        ({"filename": "f"}, {}, "Offset objects should either be null or contain the key 'position'"),
        (
            {"filename": "f"},
            {"position": "1"},
            "The value for the 'position' key in the offset is expected to be a Long value",
        ),
        (
            {"filename": "f"},
            {"position": True},
            "The value for the 'position' key in the offset is expected to be a Long value",
        ),
        (
            {"filename": "f"},
            {"position": -1},
            "The value for the 'position' key in the offset should be a non-negative value",
        ),
        ({"other": "f"}, {"position": 1}, "Partition objects should contain the key 'filename'"),
    ],
)
def test_bad_offsets_are_refused_with_javas_words(partition: Any, offset: Any, message: str) -> None:
    with pytest.raises(ConnectError) as caught:
        FileStreamSourceConnector().alter_offsets({"file": "f"}, Offsets([(partition, offset)]))
    assert caught.value.message == message


def test_offsets_of_any_file_and_any_tombstone_are_accepted() -> None:
    connector = FileStreamSourceConnector()
    assert connector.alter_offsets({"file": "f"}, Offsets([({"x": 1}, None), ({"filename": "g"}, {"position": 0})]))
    with pytest.raises(ConnectError, match="Offsets cannot be modified if the 'file' configuration is unspecified"):
        connector.alter_offsets({}, Offsets())


def test_has_work_looks_for_a_complete_line_past_the_position(file: Path, tmp_path: Path) -> None:
    connector, config = FileStreamSourceConnector(), {"file": str(file), "topic": "t"}

    def has_work(position: int) -> bool | None:
        return connector.has_work(config, Offsets([({"filename": str(file)}, {"position": position})]))

    assert has_work(0) is None
    file.write_bytes(b"one\n")
    assert connector.has_work(config, Offsets()) is True
    assert has_work(0) is True
    assert has_work(4) is False
    with file.open("ab") as out:
        out.write(b"tw")
    assert has_work(4) is False
    with file.open("ab") as out:
        out.write(b"o\n")
    assert has_work(4) is True
    assert has_work(100) is True, "the task must run to report the truncation"
    assert connector.has_work({"file": str(tmp_path), "topic": "t"}, Offsets()) is True
