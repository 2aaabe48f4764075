"""What observable connectors did, seen from another process.

Each task instance appends a JSON line per call to a file of its own below `observe.dir`; `Observed` reads them all, in
order of time, and can steer the connectors through files in the same directory.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamark.testing.waiting import patience

ALLOWED_FILE, NEXT_UPDATE_FILE = "allowed", "next-update.json"
_LOOK_INTERVAL_S = 0.02


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method of a connector or task."""

    method: str
    connector: str
    task: int | None
    """None for the connector itself."""
    instance: str
    """A task object; a new epoch, a Spark retry or a restart makes a new one."""
    pid: int
    time_ns: int
    details: dict[str, Any]
    """What the method was given or returned; see `seamark.testing.observable`."""

    def __getitem__(self, name: str) -> Any:
        return self.details[name]


class CallLog:
    """Writes the calls of one connector or task object."""

    def __init__(self, directory: str, connector: str, task: int | None) -> None:
        self._connector, self._task = connector, task
        self.instance = uuid.uuid4().hex[:12]
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._file = self.directory / f"{connector}-{'connector' if task is None else task}-{self.instance}.jsonl"

    def write(self, method: str, **details: Any) -> None:
        """Append one call; it survives a kill of the process right after."""
        line = {
            "method": method,
            "connector": self._connector,
            "task": self._task,
            "instance": self.instance,
            "pid": os.getpid(),
            "time_ns": time.time_ns(),
            "details": details,
        }
        data = json.dumps(line, default=str).encode() + b"\n"
        fd = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)

    def await_release(self, name: str) -> None:
        """Wait for `Observed.release`, a minute at most."""
        deadline_s = time.monotonic() + patience(60)
        while not (self.directory / f"release-{name}").exists() and time.monotonic() < deadline_s:
            time.sleep(_LOOK_INTERVAL_S)

    def first_time(self, what: str) -> bool:
        """True once for `what` per connector and task, also across processes."""
        marker = self.directory / f"once-{self._connector}-{self._task}-{what}"
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


class Observed:
    """The calls below an `observe.dir`."""

    def __init__(self, directory: str | Path, connector: str | None = None) -> None:
        self.directory = Path(directory)
        self.connector = connector

    def calls(self, method: str | None = None, *, task: int | None = None, connector: str | None = None) -> list[Call]:
        """All calls so far, or those of one method, task or connector, in order of time."""
        wanted = connector or self.connector
        found = [
            call
            for file in self.directory.glob("*.jsonl")
            for call in _read(file)
            if (method is None or call.method == method)
            and (task is None or call.task == task)
            and (wanted is None or call.connector == wanted)
        ]
        return sorted(found, key=lambda call: call.time_ns)

    def wait_for(
        self, method: str, condition: Callable[[list[Call]], bool] | None = None, *, within_s: float = 60.0
    ) -> list[Call]:
        """The calls of a method, as soon as there is one, or as soon as they satisfy the condition.

        Raises:
            AssertionError: they do not within the time; shows the last ones.
        """
        deadline_s = time.monotonic() + patience(within_s)
        while True:
            calls = self.calls(method)
            if condition(calls) if condition is not None else calls:
                return calls
            if time.monotonic() >= deadline_s:
                latest = "\n".join(map(str, self.calls()[-10:]))
                raise AssertionError(f"No such call of {method!r} within {within_s} s; the latest calls are:\n{latest}")
            time.sleep(_LOOK_INTERVAL_S)

    def instances(self, task: int | None = 0) -> list[str]:
        """The objects that a task has had so far, in order."""
        return list(dict.fromkeys(call.instance for call in self.calls("start", task=task)))

    def allow(self, records: int) -> None:
        """Let each task with ``gated=true`` return records up to this number in all."""
        self._put(ALLOWED_FILE, str(records))

    def next_update(self, step: Any) -> None:
        """Decide what the next call of `update_offsets`, of any task, does: a step as in `update.offsets.script`."""
        self._put(NEXT_UPDATE_FILE, json.dumps(step))

    def release(self, name: str) -> None:
        """Let calls go on that wait for this name."""
        self._put(f"release-{name}", "")

    @property
    def next_update_is_pending(self) -> bool:
        """Whether the step given to `next_update` still waits for a call."""
        return (self.directory / NEXT_UPDATE_FILE).exists()

    def _put(self, name: str, text: str) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        draft = self.directory / f".{name}-{uuid.uuid4().hex}"
        draft.write_text(text)
        draft.rename(self.directory / name)  # whole or not at all


def _read(file: Path) -> Iterable[Call]:
    for line in file.read_bytes().split(b"\n")[:-1]:  # what follows the last line end is being written
        yield Call(**json.loads(line))


def sequences(values: Iterable[str | bytes]) -> dict[str, list[int]]:
    """The sequence numbers in record values of an observable source, per source, in the order of the values.

    With every record once and in order, each list is ``[1, 2, 3, ...]``.
    """
    found: dict[str, list[int]] = {}
    for value in values:
        text = value.decode() if isinstance(value, bytes) else value
        source, _, number = text.rpartition("-")
        found.setdefault(source, []).append(int(number))
    return found
