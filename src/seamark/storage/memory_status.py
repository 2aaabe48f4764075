"""Statuses of a standalone worker, in memory."""

from __future__ import annotations

import threading
import time

from seamark.storage.status_store import ConnectorStatusRow, StatusStore, TaskStatusRow, TopicStatusRow


class MemoryStatusStore(StatusStore):
    """Statuses that end with the process. What is written can be read at once; no other worker can say otherwise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connectors: dict[str, ConnectorStatusRow] = {}
        self._tasks: dict[str, dict[int, TaskStatusRow]] = {}
        self._topics: dict[tuple[str, str], TopicStatusRow] = {}

    def start(self) -> None:
        """Nothing to read."""

    def stop(self) -> None:
        """Nothing to let go of."""

    def flush(self, timeout_s: float) -> None:
        """Nothing is on its way."""

    def put_connector(self, row: ConnectorStatusRow) -> None:
        with self._lock:
            self._connectors[row.name] = row

    def put_connector_safe(self, row: ConnectorStatusRow) -> None:
        self.put_connector(row)

    def put_task(self, row: TaskStatusRow) -> None:
        with self._lock:
            self._tasks.setdefault(row.name, {})[row.task] = row

    def put_task_safe(self, row: TaskStatusRow) -> None:
        self.put_task(row)

    def delete_connector(self, name: str) -> None:
        with self._lock:
            self._connectors.pop(name, None)
            self._tasks.pop(name, None)

    def delete_task(self, name: str, task: int) -> None:
        with self._lock:
            self._tasks.get(name, {}).pop(task, None)

    def put_topic(self, topic: str, connector: str, task: int) -> None:
        with self._lock:
            row = TopicStatusRow(topic, connector, task, time.time_ns() // 1_000_000)
            self._topics.setdefault((connector, topic), row)

    def delete_topics(self, connector: str) -> None:
        with self._lock:
            for key in [key for key in self._topics if key[0] == connector]:
                del self._topics[key]

    def get_connector(self, name: str) -> ConnectorStatusRow | None:
        with self._lock:
            return self._connectors.get(name)

    def get_task(self, name: str, task: int) -> TaskStatusRow | None:
        with self._lock:
            return self._tasks.get(name, {}).get(task)

    def get_tasks(self, name: str) -> list[TaskStatusRow]:
        with self._lock:
            return [row for _, row in sorted(self._tasks.get(name, {}).items())]

    def get_topics(self, connector: str) -> list[TopicStatusRow]:
        with self._lock:
            return [row for key, row in sorted(self._topics.items()) if key[0] == connector]

    def connectors(self) -> set[str]:
        with self._lock:
            return set(self._connectors)
