"""Which batch a frame sink is writing, and where its consumer group is.

A sink that can write a batch twice without harm (`FrameSink.idempotent`) gets exactly-once from an *intent*: the
range of a batch is recorded before it is written, and after a crash exactly that range is written again under the
same id. The intent is kept in the offsets topic under ``__seamark:<connector>``, ``{"intent": "sink"}`` ->
``{"version", "batch", "state", "start", "end"}``; `start` and `end` are JSON texts of ``{"<topic>": {"<partition>":
<offset>}}``.

If the offsets topic and the consumer group are in the same cluster, intent and group offsets change in one
transaction, and whoever takes over the transactional id ``<group.id>-<connector>-0`` fences the driver before.
Otherwise they change one after the other: a crash between them is noticed, because the group is then at the end of a
pending batch, but a driver that lost its connector unawares could still commit.
"""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from seamark.connector.sink import TopicPartition
from seamark.engine.plan import Positions, is_same_range
from seamark.engine.stage import StageEnvironment
from seamark.errors import KafkaError, KafkaTimeoutError
from seamark.formats import VERSION
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config, worker_client_config
from seamark.kafka.group_offsets import GroupOffsets
from seamark.kafka.group_transactions import GroupOffsetProducer
from seamark.kafka.overrides import broker_set
from seamark.kafka.partitioner import partition_for
from seamark.kafka.stable import STABLE_TIMEOUT_S, wait_until_stable
from seamark.storage.intents import DONE, INTENT_VERSION, PENDING, IntentStore, intent_key, understood
from seamark.storage.offsets import OffsetStore, encode_value

SINK_INTENT: Final = "sink"
_ABORT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class SinkIntent:
    """A batch of a frame sink."""

    batch: int
    start: Mapping[TopicPartition, int]
    end: Mapping[TopicPartition, int]
    state: str = PENDING

    def value(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            VERSION: INTENT_VERSION,
            "batch": self.batch,
            "state": self.state,
            "start": positions_text(self.start),
            "end": positions_text(self.end),
        }

    @staticmethod
    def of(value: Mapping[str, Any]) -> SinkIntent:
        """From what is stored."""
        start, end = parse_positions(value["start"]), parse_positions(value["end"])
        return SinkIntent(int(value["batch"]), start, end, str(value["state"]))

    def is_current(self, committed: Positions) -> bool:
        """Whether the batch was begun, not ended, and the group is still where it begins."""
        return self.state == PENDING and is_same_range(committed, self.start, self.start)


def positions_text(positions: Positions) -> str:
    """Positions in the form that Spark's Kafka source takes, too."""
    nested: dict[str, dict[str, int]] = {}
    for partition, offset in sorted(positions.items()):
        nested.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return json.dumps(nested)


def parse_positions(text: str) -> dict[TopicPartition, int]:
    """The reverse of `positions_text`."""
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in json.loads(text).items()
        for partition, offset in partitions.items()
    }


class SinkLedger(ABC):
    """Batches and group offsets of one connector. After an error, `close` it and open another."""

    def __init__(self, consumer_config: Mapping[str, str]) -> None:
        # A commit returns before its offsets are in place. Whoever read the old ones then would do the same work again:
        # reading what is stable waits for them.
        config = {**consumer_config, "isolation.level": "read_committed"}
        self._group = GroupOffsets(config, consumer_config["group.id"])

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where the consumer group is."""
        return self._group.read(partitions, STABLE_TIMEOUT_S)

    @abstractmethod
    def last(self) -> SinkIntent | None:
        """The batch that was begun last.

        Raises:
            NewerFormatError: a newer worker has begun it, and not ended it.
        """

    @abstractmethod
    def begin(self, intent: SinkIntent, resets: Positions) -> None:
        """Record a batch before it is written, and the positions that `auto.offset.reset` chose."""

    @abstractmethod
    def settle(self, intent: SinkIntent) -> None:
        """The batch is written: move the group to its end."""

    @abstractmethod
    def move(self, positions: Positions) -> None:
        """Commit positions without a batch."""

    def close(self) -> None:
        """Let go of the broker."""
        self._group.close()


class GroupOnlyLedger(SinkLedger):
    """For sinks that cannot write a batch twice without harm: only positions, so at least once."""

    def last(self) -> SinkIntent | None:
        return None

    def begin(self, intent: SinkIntent, resets: Positions) -> None:
        self.move(resets)

    def settle(self, intent: SinkIntent) -> None:
        self.move(intent.end)

    def move(self, positions: Positions) -> None:
        self._group.commit(positions)


class StoredLedger(GroupOnlyLedger):
    """Intents in the worker's offset store, one step before and one step after the group's offsets."""

    def __init__(
        self, consumer_config: Mapping[str, str], store: OffsetStore, connector: str, timeout_s: float
    ) -> None:
        super().__init__(consumer_config)
        self._intents, self._connector, self._timeout_s = IntentStore(store), connector, timeout_s

    def last(self) -> SinkIntent | None:
        value = understood(self._intents.read(self._connector, SINK_INTENT))
        return None if value is None else SinkIntent.of(value)

    def begin(self, intent: SinkIntent, resets: Positions) -> None:
        self.move(resets)
        self._intents.write(self._connector, SINK_INTENT, intent.value(), self._timeout_s)

    def settle(self, intent: SinkIntent) -> None:
        self.move(intent.end)
        self._intents.write(self._connector, SINK_INTENT, replace(intent, state=DONE).value(), self._timeout_s)


class TransactionalLedger(SinkLedger):
    """Intents and group offsets in one transaction each time."""

    def __init__(self, environment: StageEnvironment, topic: str, consumer_config: Mapping[str, str]) -> None:
        super().__init__(consumer_config)
        worker, name = environment.worker, environment.name
        self._intents, self._connector, self._topic = IntentStore(environment.offsets), name, topic
        self._key = intent_key(name, SINK_INTENT)
        self._own = Admin(worker_client_config("admin", worker.raw))
        config = worker_client_config("producer", worker.raw, client_id=f"connector-producer-{name}")
        self._producer = GroupOffsetProducer(config, f"{worker.group_id}-{name}-0", consumer_config)
        try:
            self._producer.init_transactions()
            self._partition = partition_for(self._key, len(self._own.partitions_of([topic])))
        except BaseException:
            self.close()
            raise

    def last(self) -> SinkIntent | None:
        # Our own last commit, or a predecessor's, may still hide behind transactions that are open.
        wait_until_stable(self._own, [TopicPartition(self._topic, self._partition)])
        value = understood(self._intents.read(self._connector, SINK_INTENT))
        return None if value is None else SinkIntent.of(value)

    def begin(self, intent: SinkIntent, resets: Positions) -> None:
        self._write(intent, resets)

    def settle(self, intent: SinkIntent) -> None:
        self._write(replace(intent, state=DONE), intent.end)

    def move(self, positions: Positions) -> None:
        self._write(None, positions)

    def close(self) -> None:
        self._producer.close(0.0)
        self._own.close()
        super().close()

    def _write(self, intent: SinkIntent | None, positions: Positions) -> None:
        self._producer.begin()
        try:
            if intent is not None:
                value = encode_value(intent.value())
                self._producer.send(self._topic, value, key=self._key, partition=self._partition)
            if positions:
                self._producer.send_group_offsets(positions)
        except KafkaTimeoutError:
            raise  # the request is still under way, and an abort would wait for it
        except KafkaError:
            with contextlib.suppress(Exception):  # what led here matters more, and whoever opens the ledger next fences
                self._producer.abort(_ABORT_S)
            raise
        self._producer.commit()


def open_ledger(environment: StageEnvironment, *, is_idempotent: bool) -> SinkLedger:
    """The strongest ledger that the sink and the clusters allow."""
    worker, name = environment.worker, environment.name
    consumer = effective_client_config("consumer", worker.raw, environment.config, connector_name=name, task=None)
    if not is_idempotent:
        return GroupOnlyLedger(consumer)
    topic = environment.offsets.topic
    if topic is None or broker_set(consumer["bootstrap.servers"]) != broker_set(worker.bootstrap_servers or ""):
        return StoredLedger(consumer, environment.offsets, name, worker.offset_flush_timeout_ms / 1000)
    return TransactionalLedger(environment, topic, consumer)
