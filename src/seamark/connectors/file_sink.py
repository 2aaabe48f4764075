"""FileStreamSink: a line per record, appended to a file. Java's configs.

A value is written as Java prints it, except that bytes are written as they are (Java prints an object's address). What
`flush` has returned for is on the disk: offsets are committed after that, so a crash repeats lines but loses none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, Type
from seamark.connector.records import SinkRecord, ValueBatch
from seamark.connector.schema import Schema
from seamark.connector.sink import SinkConnector, SinkTask, TopicPartition
from seamark.connectors import VERSION
from seamark.engine.converters.java_columns import texts_of
from seamark.engine.converters.java_text import to_java_string
from seamark.errors import ConnectError

_NULL = b"null"
_STDERR = 2  # standard output of a Python worker is for Spark


class FileStreamSinkTask(SinkTask):
    """Appends lines. Several tasks may share a file: a `put` is one write to the end of it, so lines are never torn."""

    def __init__(self) -> None:
        self._fd = -1
        self._unsynced = False

    def start(self, config: Mapping[str, str]) -> None:
        self._file: str = FileStreamSinkConnector.config_def().parse(config)["file"] or ""
        if not self._file:
            self._fd = os.dup(_STDERR)
            return
        try:
            self._fd = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise ConnectError(
                f"Couldn't find or create file '{self._file}' for FileStreamSinkTask: {error.strerror}"
            ) from error

    def put(self, records: Sequence[SinkRecord]) -> None:
        self._append([_line(record) for record in records])

    def put_values(self, values: Sequence[bytes | None]) -> None:
        """Append raw values: the fast path where no converter or transform changes them."""
        self._append(values if None not in values else [_NULL if value is None else value for value in values])

    def put_batches(self, batches: Sequence[ValueBatch]) -> None:
        """Append values as converter and transforms leave them: the fast path where many are processed at once."""
        self._append([_lines(batch) for batch in batches if batch.count])

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        if self._unsynced and self._file:
            try:
                os.fdatasync(self._fd)
            except OSError as error:
                raise ConnectError(f"File {self._file} could not be flushed: {error.strerror}") from error
            self._unsynced = False

    def stop(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, lines: Sequence[Any]) -> None:
        if not lines:
            return
        data = b"\n".join(lines) + b"\n"
        self._unsynced = True
        try:
            written = os.write(self._fd, data)
            while written < len(data):  # a nearly full disk, or more than 2 GB
                written += os.write(self._fd, memoryview(data)[written:])
        except OSError as error:
            what = f"file {self._file}" if self._file else "standard error"
            raise ConnectError(f"Couldn't write to {what}: {error.strerror}") from error


def _line(record: SinkRecord) -> bytes:
    return _text(record.value, record.value_schema)


def _text(value: Any, schema: Schema | None) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    return to_java_string(value, schema).encode("utf-8", "replace")


def _lines(batch: ValueBatch) -> bytes:
    """The lines of many records, without the last line's end."""
    if batch.fields is None and any(isinstance(value, (bytes, bytearray, memoryview)) for value in batch.rows):
        return b"\n".join([_text(value, batch.schema) for value in batch.rows])
    return "\n".join(texts_of(batch)).encode("utf-8", "replace")


class FileStreamSinkConnector(SinkConnector):
    """Appends the values of records to a file, one per line."""

    version = VERSION
    task_class = FileStreamSinkTask

    def __init__(self) -> None:
        self._config: dict[str, str] = {}

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "file",
            Type.STRING,
            None,
            importance=Importance.HIGH,
            doc="The file to append to, created if missing. With executors on several machines each writes its own. "
            "Without it lines go to the executor's standard error, which with a local Spark is the worker's. "
            "(Java workers write to standard output then.)",
        )

    def start(self, config: Mapping[str, str]) -> None:
        self.config_def().parse(config)
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self._config) for _ in range(max_tasks)]

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return True  # nothing is kept outside the consumer group
