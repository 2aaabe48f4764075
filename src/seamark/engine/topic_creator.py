"""Creates topics that records are about to go to, once per task and topic."""

from __future__ import annotations

from collections.abc import Callable

from seamark.kafka.admin import Admin
from seamark.kafka.topics import TopicCreation


class TopicCreator:
    """Remembers which topics exist, so that the hot path is a set look-up."""

    def __init__(self, creation: TopicCreation, admin: Callable[[], Admin]) -> None:
        self._creation, self._admin = creation, admin
        self._known: set[str] = set()

    def ensure(self, topic: str) -> None:
        """Create the topic by the connector's `topic.creation.*` settings unless it exists."""
        if topic not in self._known:
            self._creation.ensure(self._admin(), topic)
            self._known.add(topic)

    @property
    def topics(self) -> list[str]:
        """The topics that records went to."""
        return sorted(self._known)
