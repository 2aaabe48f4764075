"""Whether a topic of the source is still the one that was copied, or another one of the same name.

A position says nothing about a topic that was deleted and created again: in the new one it may be beyond the end, which
`start_positions` notices, or in the middle, where reading would go on and leave out all that came before. Kafka gives
every topic an id of its own. The connector notes the ids of what it copies, and compares: when it starts, before there
are tasks, which is when positions can be moved, and every half a minute. If one has changed then, it starts anew. Tasks
are told the ids with their partitions; a topic that is not the one they were told of they leave alone until then.

Offsets that are changed by request are meant for the topic that is there: partitions whose offsets were altered since
the id was noted are believed.

A note: ``topic:<source alias>:<topic>`` -> ``{"version": 1, "id": "<topic id>", "altered": "0,2"}``; `altered` only if
there are any. One of a later version is as none: the topic is noted anew.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seamark.connector.connector import ConnectorMemory
from seamark.connector.offsets import SourceOffset, SourcePartition
from seamark.errors import ConnectError, KafkaError, NewerFormatError
from seamark.formats import VERSION, check_version
from seamark.kafka.mirror_admin import MirrorAdmin
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.config import SourceSettings
from seamark.mirror.offsets import CLUSTER, PARTITION, TOPIC, offset_of, source_offset, source_partition
from seamark.mirror.start_positions import recreated

log = logging.getLogger(__name__)

LOOK_S: Final = 30.0
"""How often ids are compared while the connector runs: one request for 200 topics."""
NOTE_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Note:
    """What is known of a topic that was copied."""

    id: str
    altered: frozenset[int] = frozenset()

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Note | None:
        """As it was written; None if a newer worker wrote it, in a way that is not known here."""
        try:
            check_version(value, NOTE_VERSION, "What is known of a mirrored topic")
        except NewerFormatError as error:
            log.warning("%s It is noted anew.", error)
            return None
        numbers = str(value.get("altered") or "")
        return cls(str(value.get("id")), frozenset(int(each) for each in numbers.split(",") if each))

    def value(self) -> dict[str, str | int]:
        """As it is written."""
        numbers = ",".join(map(str, sorted(self.altered)))
        return {VERSION: NOTE_VERSION, "id": self.id, **({"altered": numbers} if numbers else {})}


def changed(known: Mapping[str, str], found: Mapping[str, str]) -> set[str]:
    """The topics that have another id than before."""
    return {topic for topic, each in found.items() if known.get(topic, each) != each}


def note_altered(memory: ConnectorMemory | None, partitions: Iterable[Mapping[str, Any]]) -> None:
    """Offsets of these source partitions are changed by request: whatever the topics are now, they are meant."""
    if memory is None:
        return
    altered: dict[str, set[int]] = defaultdict(set)
    for partition in partitions:
        altered[_note_name(str(partition.get(CLUSTER)), str(partition.get(TOPIC)))].add(int(partition[PARTITION]))
    notes = memory.notes() if altered else {}
    changes: dict[str, SourceOffset | None] = {}
    for name, numbers in altered.items():
        note = Note.of(notes[name]) if name in notes else None
        if note is not None:
            changes[name] = Note(note.id, note.altered | numbers).value()
    memory.write_notes(changes)


class TopicIdentity:
    """The ids of the topics of one flow, as its connector knows them."""

    def __init__(self, settings: SourceSettings, source: MirrorAdmin, memory: ConnectorMemory | None) -> None:
        self._settings, self._source, self._memory = settings, source, memory
        self._known: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._lost: set[TopicPartition] = set()

    def check(self, partitions: Sequence[TopicPartition]) -> None:
        """Compare with what was noted, before there are tasks.

        By `mirror.on.data.loss` positions in topics that were created again are moved, or tasks told to fail.
        """
        self._ids = found = self._find(partitions)
        if self._memory is None or not found:
            return
        try:
            notes = self._notes(self._memory)
            again = {topic for topic in found if topic in notes and notes[topic].id != found[topic]}
            lost = self._lost_positions(self._memory, again, partitions, notes) if again else {}
            if lost and self._settings.on_data_loss == "fail":
                self._lost = set(lost)
            elif lost:
                self._memory.move(self._moved(lost))
            unsolved = {where.topic for where in self._lost}
            fresh = {topic: Note(each) for topic, each in found.items() if topic not in unsolved}
            self._write(self._memory, {topic: note for topic, note in fresh.items() if notes.get(topic) != note})
        except ConnectError as error:
            # As with other looks at the clusters, a start does not depend on it; the next look compares again.
            log.warning("Whether topics were created again cannot be told now: %s", error)
            return
        self._known = found

    def has_changed(self, partitions: Sequence[TopicPartition]) -> bool:
        """Whether a topic is another one than it was, while tasks run: then the connector has to start anew."""
        found = self._find(partitions)
        if self._memory is None or not found:
            return False
        known = self._known
        if not found.keys() <= known.keys():
            try:
                noted = {topic: note.id for topic, note in self._notes(self._memory).items()}
                new = {topic: Note(each) for topic, each in found.items() if topic not in {**noted, **known}}
                self._write(self._memory, new)
            except ConnectError as error:
                log.warning("Whether topics were created again cannot be told now: %s", error)
                return False
            known = {**noted, **known}
        again = changed(known, found)
        if again:
            log.warning("Created again on cluster %s: %s", self._settings.source_alias, ", ".join(sorted(again)))
            return True
        self._known = {**self._known, **found}
        self._ids = {**self._ids, **found}
        return False

    def of(self, partitions: Iterable[TopicPartition]) -> dict[str, str]:
        """The ids of the topics of these partitions, as far as they are known."""
        topics = {where.topic for where in partitions}
        return {topic: self._ids[topic] for topic in sorted(topics & self._ids.keys())}

    def lost(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Those of these partitions whose positions are of a topic that is gone, and whose task has to fail."""
        return [where for where in partitions if where in self._lost]

    def _find(self, partitions: Iterable[TopicPartition]) -> dict[str, str]:
        topics = sorted({where.topic for where in partitions})
        try:
            return self._source.topic_ids(topics, timeout_s=self._settings.admin_timeout_s)
        except KafkaError as error:
            log.warning("The ids of topics on cluster %s cannot be read: %s", self._settings.source_alias, error)
            return {}

    def _notes(self, memory: ConnectorMemory) -> dict[str, Note]:
        prefix = _note_name(self._settings.source_alias, "")
        return {
            name.removeprefix(prefix): note
            for name, value in memory.notes().items()
            if name.startswith(prefix) and (note := Note.of(value)) is not None
        }

    def _write(self, memory: ConnectorMemory, notes: Mapping[str, Note]) -> None:
        memory.write_notes(
            {_note_name(self._settings.source_alias, topic): note.value() for topic, note in notes.items()}
        )

    def _lost_positions(
        self,
        memory: ConnectorMemory,
        again: set[str],
        partitions: Iterable[TopicPartition],
        notes: Mapping[str, Note],
    ) -> dict[TopicPartition, int]:
        """The positions, next to be read, that were committed for topics that are gone."""
        committed = memory.offsets()
        positions = {}
        for where in partitions:
            if where.topic in again and where.partition not in notes[where.topic].altered:
                last = offset_of(committed.get(self._key(where)))
                if last is not None:
                    positions[where] = last + 1
        return positions

    def _moved(self, lost: Mapping[TopicPartition, int]) -> dict[SourcePartition, SourceOffset | None]:
        # One before the first is -1: without an offset, where to begin would be decided as for a new partition.
        return {
            self._key(where): source_offset(recreated(self._source, where, position, self._settings.on_data_loss) - 1)
            for where, position in lost.items()
        }

    def _key(self, where: TopicPartition) -> SourcePartition:
        return source_partition(self._settings.source_alias, where.topic, where.partition)


def _note_name(alias: str, topic: str) -> str:
    return f"topic:{alias}:{topic}"
