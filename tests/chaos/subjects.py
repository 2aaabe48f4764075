"""The connectors of a run: what they are made of, and where their records are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from chaos.cluster import WORKER_VARIABLE
from chaos.lines import Numbered, length

OWNER_HEADER = "owner"
_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
_INSERT_HEADER = "org.apache.kafka.connect.transforms.InsertHeader"


class Subject(ABC):
    """A connector, and the numbered records that it is to carry."""

    def __init__(self, name: str, topic: str) -> None:
        self.name, self.topic = name, topic

    @property
    @abstractmethod
    def config(self) -> dict[str, str]:
        """What it is created with."""

    @property
    @abstractmethod
    def fed(self) -> int:
        """How many records there are to carry by now."""

    @property
    @abstractmethod
    def partition(self) -> dict[str, Any]:
        """The one partition that it has."""

    @abstractmethod
    def offset(self, number: int) -> dict[str, Any]:
        """The offset from which record `number` is the next."""

    @abstractmethod
    def number(self, offset: dict[str, Any]) -> int:
        """The next record from an offset."""

    def facts(self) -> dict[str, Any]:
        """What can be seen of its output just now."""
        return {}


class Source(Subject):
    """A file into a topic."""

    def __init__(self, name: str, directory: Path) -> None:
        super().__init__(name, f"{name}-records")
        self.file = Numbered(directory / f"{name}.txt", name)

    @property
    def config(self) -> dict[str, str]:
        return {
            "connector.class": _SOURCE,
            "tasks.max": "1",
            "file": str(self.file.path),
            "topic": self.topic,
            "batch.size": "200",
            "transforms": "owner",
            "transforms.owner.type": _INSERT_HEADER,
            "transforms.owner.header": OWNER_HEADER,
            "transforms.owner.value.literal": f"${{env:{WORKER_VARIABLE}}}",
        }

    @property
    def fed(self) -> int:
        return self.file.written

    @property
    def partition(self) -> dict[str, Any]:
        return {"filename": str(self.file.path)}

    def offset(self, number: int) -> dict[str, Any]:
        return {"position": number * length(self.name)}

    def number(self, offset: dict[str, Any]) -> int:
        return int(offset["position"]) // length(self.name)


class Sink(Subject):
    """A topic, which the run itself fills, into a file."""

    def __init__(self, name: str, directory: Path) -> None:
        super().__init__(name, f"{name}-records")
        self.output = directory / f"{name}.out"
        self.acknowledged = 0
        """Records that are in the topic for certain, counted by the run's own producer."""

    @property
    def config(self) -> dict[str, str]:
        return {"connector.class": _SINK, "tasks.max": "1", "file": str(self.output), "topics": self.topic}

    @property
    def fed(self) -> int:
        return self.acknowledged

    @property
    def partition(self) -> dict[str, Any]:
        return {"kafka_topic": self.topic, "kafka_partition": 0}

    def offset(self, number: int) -> dict[str, Any]:
        return {"kafka_offset": number}

    def number(self, offset: dict[str, Any]) -> int:
        return int(offset["kafka_offset"])

    def facts(self) -> dict[str, Any]:
        return {"size": self.output.stat().st_size if self.output.exists() else 0}
