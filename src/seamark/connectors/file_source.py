"""FileStreamSource: the lines of a file, each a record. Java's configs, source partitions and source offsets.

Source partition ``{"filename": <file as configured>}``, source offset ``{"position": <bytes before the next line>}``.
The file may only be appended to: a file that is shorter than the position fails the task, since nobody can know what
was lost.

Three differences from the Java connector, all on purpose. Positions count bytes; Java's count characters, so for a
file with other than ASCII characters only ours are right (both sides *read* them as bytes). Java waits silently, or
for ever, on a truncated file. And there is no standard input in a Spark task: without `file` there are no records, as
from a Java worker whose standard input has ended.
"""

from __future__ import annotations

import functools
import logging
import os
import stat
import time
from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, NonEmptyString, Type
from seamark.connector.offsets import Offsets, SourcePartition
from seamark.connector.records import RecordBatch
from seamark.connector.schema import STRING_SCHEMA
from seamark.connector.source import ExactlyOnceSupport, SourceConnector, SourceTask
from seamark.connectors import VERSION
from seamark.connectors.line_reader import LineReader
from seamark.errors import ConnectError

log = logging.getLogger(__name__)

FILENAME_FIELD, POSITION_FIELD = "filename", "position"
DEFAULT_BATCH_SIZE = 2000
# More than Java's default: with exactly-once each poll pays for a transaction. A poll is at most a chunk (4 MB) anyway.
UNSET_BATCH_SIZE = 50000
IDLE_POLL_S = 0.1  # how long a poll without data waits: the engine commits and renews its lease between polls
LOOK_INTERVAL_S = 0.01  # how late, at worst, an appended line is noticed
MISSING_FILE_WARNING_S = 30.0
LOOK_AHEAD_BYTES = 64 * 1024  # how much of a file `has_work` reads to see whether a line is complete


class FileStreamSourceTask(SourceTask):
    """Reads complete lines, many at a time."""

    def __init__(self) -> None:
        self._reader: LineReader | None = None
        self._last_warning_s = float("-inf")

    def start(self, config: Mapping[str, str], offsets: Offsets) -> None:
        values = FileStreamSourceConnector.config_def().parse(config)
        self._file: str = values["file"] or ""
        self._topic: str = values["topic"]
        self._batch_size = max(1, values["batch.size"]) if "batch.size" in config else UNSET_BATCH_SIZE
        self._partition = SourcePartition(filename=self._file)
        self._position = position_of(offsets.get(self._partition))

    def poll(self) -> RecordBatch | None:
        deadline_s = time.monotonic() + IDLE_POLL_S
        while True:
            reader = self._open()
            lines = reader.read(self._batch_size) if reader is not None else []
            if reader is not None and lines:
                start, self._position = self._position, reader.position
                return RecordBatch(
                    topic=self._topic,
                    values=lines,
                    value_schema=STRING_SCHEMA,
                    timestamps=time.time_ns() // 1_000_000,
                    source_partition=self._partition,
                    source_offset={POSITION_FIELD: self._position},
                    offset_at=functools.partial(_offset_at, self._file, start),
                )
            if time.monotonic() >= deadline_s:
                return None
            time.sleep(LOOK_INTERVAL_S)

    def stop(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _open(self) -> LineReader | None:
        """The open file, or None if there is none yet."""
        if not self._file:
            return None
        if self._reader is None or self._reader.was_replaced():
            self.stop()
            try:
                self._reader = LineReader(self._file, self._position)
            except FileNotFoundError:
                if time.monotonic() - self._last_warning_s >= MISSING_FILE_WARNING_S:
                    self._last_warning_s = time.monotonic()
                    log.warning(
                        "Couldn't find file %s for FileStreamSourceTask, waiting for it to be created", self._file
                    )
        return self._reader


class FileStreamSourceConnector(SourceConnector):
    """Copies the lines of a file to a topic, and goes on with what is appended."""

    version = VERSION
    task_class = FileStreamSourceTask

    def __init__(self) -> None:
        self._config: dict[str, str] = {}
        self._looked: tuple[tuple[Any, ...], bool] | None = None

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define(
                "file",
                Type.STRING,
                None,
                importance=Importance.HIGH,
                doc="The file to read. Executors must be able to open it. Without it nothing is read. "
                "(Java workers read standard input then; a Spark task has none.)",
            )
            .define(
                "topic",
                Type.STRING,
                validator=NonEmptyString(),
                importance=Importance.HIGH,
                doc="The topic to write to.",
            )
            .define(
                "batch.size",
                Type.INT,
                DEFAULT_BATCH_SIZE,
                importance=Importance.LOW,
                doc="The most lines that one poll returns. The default is the Java connector's; while the key is not "
                f"set, up to {UNSET_BATCH_SIZE} are returned, which is faster where a poll is a transaction.",
            )
        )

    def start(self, config: Mapping[str, str]) -> None:
        if not self.config_def().parse(config)["file"]:
            log.warning("There is no 'file' to read, and no standard input in a Spark task: there will be no records")
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self._config)]  # a file has one reader

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED if _file_of(config) else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        if not _file_of(config):
            raise ConnectError(
                "Offsets cannot be modified if the 'file' configuration is unspecified. "
                "This is because stdin is used for input and offsets are not tracked."
            )
        for partition, offset in offsets.items():
            if offset is None:
                continue  # anything may be removed, also what an earlier config left behind
            if POSITION_FIELD not in offset:
                raise ConnectError(f"Offset objects should either be null or contain the key '{POSITION_FIELD}'")
            position = offset[POSITION_FIELD]
            if not isinstance(position, int) or isinstance(position, bool):
                raise ConnectError(
                    f"The value for the '{POSITION_FIELD}' key in the offset is expected to be a Long value"
                )
            if position < 0:
                raise ConnectError(
                    f"The value for the '{POSITION_FIELD}' key in the offset should be a non-negative value"
                )
            if FILENAME_FIELD not in partition:
                raise ConnectError(f"Partition objects should contain the key '{FILENAME_FIELD}'")
        return True  # whether the position fits the file is for the task to find out

    def has_work(self, config: Mapping[str, str], offsets: Offsets) -> bool | None:
        """Whether a complete line follows the committed position.

        None if there is no such file here: on a cluster the file may be where the executors are, so only a task can
        tell. True if the task would fail, so that it does and says why.
        """
        file = _file_of(config)
        if not file:
            return False
        try:
            found = os.stat(file)
            position = position_of(offsets.get(SourcePartition(filename=file)))
        except FileNotFoundError:
            return None
        except (OSError, ConnectError):
            return True
        if found.st_size == position and stat.S_ISREG(found.st_mode):
            return False
        seen = (file, position, found.st_size, found.st_mtime_ns)
        if self._looked is None or self._looked[0] != seen:
            self._looked = (seen, _has_complete_line(file, position))
        return self._looked[1]


def _file_of(config: Mapping[str, str]) -> str:
    """The file that a config names, also one that was not parsed yet and may have a null; empty if none."""
    return (config.get("file") or "").strip()


def _offset_at(file: str, start: int, index: int) -> dict[str, int]:
    """The offset after the line of that index, counted from a position: lines are read again to find it."""
    reader = LineReader(file, start)
    try:
        left = index + 1
        while left:
            left -= len(reader.read(left))
        return {POSITION_FIELD: reader.position}
    finally:
        reader.close()


def _has_complete_line(file: str, position: int) -> bool:
    """Reads at most a little: an unfinished line must not wake a connector again and again."""
    try:
        reader = LineReader(file, position, chunk_size=LOOK_AHEAD_BYTES)
    except (OSError, ConnectError):
        return True
    try:
        return reader.has_line()
    except (OSError, ConnectError):
        return True
    finally:
        reader.close()


def position_of(offset: Mapping[str, Any] | None) -> int:
    """The byte position that a source offset stands for.

    Raises:
        ConnectError: it is not a whole number of bytes.
    """
    position = (offset or {}).get(POSITION_FIELD)
    if position is None:
        return 0
    if not isinstance(position, int) or isinstance(position, bool) or position < 0:
        raise ConnectError(
            f"Offset position is the incorrect type: {position!r} where a number of bytes, zero or more, was expected"
        )
    return position
