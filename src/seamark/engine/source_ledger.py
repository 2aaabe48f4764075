"""The driver's half of exactly-once frame sources: which batch is under way, kept in the offsets topic.

Under ``__seamark:<connector>`` the offsets topic holds, in one partition:

* the intent, ``{"intent": "source"}`` -> ``{"version", "batch", "state", "writers", "start", "end"}``: the batch that
  was begun last. `state` is ``pending`` or ``done``; `start` and `end` are JSON texts of the source offsets that the
  batch moves;
* a marker per writer, ``{"writer": j}`` -> ``{"batch"}``: the last batch of which writer *j* has committed its rows.

The intent is written by the producer with the transactional id ``<group.id>-<connector>-0``. Whoever takes that id
over, a newer driver or an administrator who alters offsets, fences this one: it can neither begin another batch nor
commit offsets. A batch ends with one transaction that holds its offsets and the intent as ``done``.

A pending intent whose `start` is where the connector still is gets replayed, with the same id and the same range. If
the connector is elsewhere, someone has moved it, and the intent is void.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.engine.plan import SourcePlan
from seamark.engine.stage import StageEnvironment
from seamark.engine.writer import SOURCE_INTENT, Ledger, markers_of
from seamark.errors import KafkaError, OffsetStoreError
from seamark.formats import VERSION
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config
from seamark.kafka.partitioner import partition_for
from seamark.kafka.producer import RecordProducer
from seamark.kafka.stable import wait_until_stable
from seamark.kafka.topic_partitions import TopicPartition
from seamark.storage.intents import (
    DONE,
    INTENT_VERSION,
    PENDING,
    intent_key,
    intent_partition,
    intents_name,
    understood,
)
from seamark.storage.layered import ConnectorOffsetStore
from seamark.storage.offsets import encode_key, encode_value

OffsetMap = Mapping[SourcePartition, "SourceOffset | None"]


@dataclass(frozen=True, slots=True)
class SourceIntent:
    """A batch of a frame source: what it moves, and how many writers share it."""

    batch: int
    writers: int
    start: Offsets
    end: Offsets
    state: str = PENDING

    def value(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            VERSION: INTENT_VERSION,
            "batch": self.batch,
            "state": self.state,
            "writers": self.writers,
            "start": offsets_text(self.start),
            "end": offsets_text(self.end),
        }

    @staticmethod
    def of(value: Mapping[str, Any]) -> SourceIntent:
        """From what is stored."""
        return SourceIntent(
            int(value["batch"]),
            int(value["writers"]),
            parse_offsets(value["start"]),
            parse_offsets(value["end"]),
            str(value["state"]),
        )

    def is_current(self, committed: Offsets) -> bool:
        """Whether the batch was begun, not ended, and the connector is still where it begins."""
        return self.state == PENDING and all(
            committed.get(partition) == offset for partition, offset in self.start.items()
        )


def changes(plan: SourcePlan) -> tuple[Offsets, Offsets]:
    """Start and end of those partitions that the plan moves."""
    moved = [partition for partition, offset in plan.end.items() if plan.start.get(partition) != offset]
    return Offsets((p, plan.start.get(p)) for p in moved), Offsets((p, plan.end[p]) for p in moved)


def overlay(start: Offsets, end: Offsets) -> Offsets:
    """`start`, moved to `end` where that says so."""
    return Offsets({**dict(start.items()), **dict(end.items())})


def normalised(offsets: OffsetMap) -> Offsets:
    """The offsets as they will be read back: the first run of a batch and a replay must see the same."""
    return parse_offsets(offsets_text(offsets))


def offsets_text(offsets: OffsetMap) -> str:
    """Offsets as one JSON text, since values in the offsets topic are primitive."""
    return json.dumps([[_json(partition), _json(offset)] for partition, offset in offsets.items()])


def parse_offsets(text: str) -> Offsets:
    """The reverse of `offsets_text`."""
    return Offsets((partition, offset) for partition, offset in json.loads(text))


def _json(data: Mapping[str, Any] | None) -> Any:
    encoded = encode_value(data)
    return None if encoded is None else json.loads(encoded)


class SourceLedger:
    """Intents of one connector. Any method may raise KafkaError; then `close` it and make a new one."""

    def __init__(self, environment: StageEnvironment) -> None:
        self._environment = environment
        self._name = intents_name(environment.name)
        topic = environment.offsets.topic
        if topic is None:
            raise OffsetStoreError("Exactly-once support needs source offsets in a topic, not in a file.")
        self.topic = topic
        self._copy_timeout_s = environment.worker.offset_flush_timeout_ms / 1000
        self._admin = Admin(self._client_config("admin"))
        self._producer = RecordProducer(self._client_config("producer"), self._transactional_id(0))
        try:
            self._producer.init_transactions()
            self._partitions = self._admin.partitions_of([topic])
            self._key = intent_key(environment.name, SOURCE_INTENT)
            self.partition = partition_for(self._key, len(self._partitions))
        except BaseException:
            self.close()
            raise

    def settle_reads(self) -> None:
        """Call before offsets or intents are read.

        Our own last commit, or a predecessor's, may still hide behind transactions that are open.
        """
        wait_until_stable(self._admin, self._partitions)

    def last(self) -> SourceIntent | None:
        """The batch that was begun last.

        Raises:
            NewerFormatError: a newer worker has begun it, and not ended it.
        """
        value = understood(self._environment.offsets.read(self._name).get(intent_partition(SOURCE_INTENT)))
        return None if value is None else SourceIntent.of(value)

    def begin(self, intent: SourceIntent) -> Ledger:
        """Record a new batch; its writers may start when this returns."""
        where = TopicPartition(self.topic, self.partition)
        position = self._admin.list_offsets({where: "latest"})[where]
        self._write([self._record(intent)])
        return Ledger(self.topic, self.partition, position, intent.batch)

    def resume(self, intent: SourceIntent) -> Ledger:
        """Go on with a batch that was begun before."""
        where = TopicPartition(self.topic, self.partition)
        position = wait_until_stable(self._admin, [where])[where]
        done = markers_of(self._environment.offsets.read(self._name), intent.batch)
        return Ledger(self.topic, self.partition, position, intent.batch, done)

    def settle(self, intent: SourceIntent) -> None:
        """End the batch: its offsets and the intent become visible together."""
        environment = self._environment
        raw_keys = environment.offsets.raw_keys(environment.name)
        records = [
            (encode_key(environment.name, partition, raw_keys), encode_value(offset), None)
            for partition, offset in intent.end.items()
        ]
        store = environment.offsets
        has_copy = isinstance(store, ConnectorOffsetStore)
        if has_copy:
            store.write_deletions_to_secondary(environment.name, intent.end, self._copy_timeout_s)
        self._write([*records, self._record(replace(intent, state=DONE))])
        if has_copy:
            store.copy_to_secondary(environment.name, intent.end, self._copy_timeout_s)

    def fence_writers(self, writers: int, *, timeout_s: float) -> None:
        """End every writer that may still run."""
        ids = [self._transactional_id(writer + 1) for writer in range(writers)]
        self._admin.fence_producers(ids, timeout_s=timeout_s)

    def close(self) -> None:
        """Let go of the broker."""
        self._producer.close(0.0)
        self._admin.close()

    def _record(self, intent: SourceIntent) -> tuple[bytes, bytes | None, int | None]:
        return self._key, encode_value(intent.value()), self.partition

    def _write(self, records: Iterable[tuple[bytes, bytes | None, int | None]]) -> None:
        self._producer.begin()
        try:
            for key, value, partition in records:
                self._producer.send(self.topic, value, key=key, partition=partition)
        except KafkaError:
            with contextlib.suppress(Exception):  # what led here matters more, and whoever opens the ledger next fences
                self._producer.abort()
            raise
        self._producer.commit()

    def _transactional_id(self, index: int) -> str:
        return f"{self._environment.worker.group_id}-{self._environment.name}-{index}"

    def _client_config(self, role: Any) -> dict[str, str]:
        environment = self._environment
        return effective_client_config(
            role, environment.worker.raw, environment.config, connector_name=environment.name, task=None
        )
