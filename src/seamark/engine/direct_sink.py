"""Direct stage of sink connectors: the worker assigns partitions to tasks and commits for them."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from seamark.config.connector import sink_topics, sink_topics_regex
from seamark.connector.sink import TopicPartition
from seamark.engine.direct import DirectStage
from seamark.engine.leases import EpochServices
from seamark.engine.stage import Ending, StageEnvironment, StageOutcome
from seamark.errors import ConfigError, KafkaError, KafkaTimeoutError
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config
from seamark.storage.sink_offsets import SinkOffsets

log = logging.getLogger(__name__)

METADATA_S = 10.0  # how often the worker looks for new topics and partitions
MISSING_S = 1.0  # the same while none of the topics exists yet
ASK_S = 2.0  # for one question to the group's coordinator; finding it takes a second the first time


def subscribed_topics(config: Mapping[str, str], admin: Admin) -> list[str]:
    """The topics that the connector's `topics` or `topics.regex` names, whether they exist or not."""
    pattern = sink_topics_regex(config)
    if pattern is None:
        return sorted(set(sink_topics(config)))
    return sorted(topic for topic in admin.list_topics() if pattern.fullmatch(topic))


def spread(partitions: Sequence[TopicPartition], tasks: int) -> dict[int, list[TopicPartition]]:
    """Partitions dealt out evenly over tasks; tasks without any are left out."""
    shares: dict[int, list[TopicPartition]] = {}
    for index, partition in enumerate(sorted(partitions)):
        shares.setdefault(index % tasks, []).append(partition)
    return shares


class SinkServices:
    """Commits consumer-group offsets on behalf of tasks that hold a lease."""

    def __init__(self, offsets: SinkOffsets, timeout_s: float) -> None:
        self._offsets, self._timeout_s = offsets, timeout_s

    def read_offsets(self) -> dict[str, Any]:
        raise TypeError("a sink task has no source offsets")

    def write_offsets(self, task: int, body: Mapping[str, Any]) -> None:
        raise TypeError("a sink task has no source offsets")

    def commit_sink(self, task: int, body: Mapping[str, Any]) -> None:
        offsets = {TopicPartition(topic, partition): offset for topic, partition, offset in body["offsets"]}
        self._offsets.commit(offsets, timeout_s=self._timeout_s)


class DirectSinkStage(DirectStage):
    """Runs `SinkTask` objects."""

    kind = "sink"

    def __init__(self, environment: StageEnvironment) -> None:
        super().__init__(environment)
        worker, config, name = environment.worker.raw, environment.config, environment.name
        self._consumer_config = effective_client_config("consumer", worker, config, connector_name=name, task=None)
        admin_config = effective_client_config("admin", worker, config, connector_name=name, task=None)
        self._admin = environment.admins.borrow(admin_config)
        self._offsets = SinkOffsets.for_connector(config, worker, self._admin)
        self._planned: dict[TopicPartition, int] = {}
        self._looked_at = 0.0
        self._is_outdated = False
        self._found_last: set[TopicPartition] = set()

    def plan(self) -> dict[int, dict[str, Any]]:
        partitions = self._partitions()
        self._looked_at, self._is_outdated = time.monotonic(), False
        committed = self._committed(partitions)
        start = {partition: committed[partition] for partition in partitions if partition in committed}
        # Where nothing was committed yet an earlier plan holds: `latest` must not pass over what has come since.
        start |= {each: self._planned[each] for each in partitions if each not in committed and each in self._planned}
        start |= self._reset([partition for partition in partitions if partition not in start])
        self._planned = start
        return {
            task: {"assignment": tuple((p.topic, p.partition, start[p]) for p in share)}
            for task, share in spread(partitions, len(self.environment.task_configs)).items()
        }

    def services(self) -> EpochServices:
        return SinkServices(self._offsets, self._worker.offset_flush_timeout_ms / 1000)

    def run(self) -> StageOutcome:
        outcome = super().run()
        if outcome.ending is Ending.IDLE:
            # Where a partition never had a record nothing was committed; its planned start is still where it goes on.
            try:
                committed = self._offsets.read_of(self._planned, timeout_s=ASK_S)
            except KafkaError as error:  # it is watched with what was planned, which may only wake it needlessly
                log.warning("[%s] is idle, but its offsets cannot be read yet: %s", self.environment.name, error)
                return outcome
            finally:
                self._offsets.rest()
            self._planned |= committed
        return outcome

    def has_work(self) -> bool | None:
        if self.is_outdated():
            return True
        ends = self._admin.list_offsets(dict.fromkeys(self._planned, "latest")) if self._planned else {}
        return any(ends.get(partition, 0) > position for partition, position in self._planned.items())

    def can_tell_work(self) -> bool:
        return True

    def watch_positions(self) -> Mapping[TopicPartition, int] | None:
        return None if self.is_outdated() else self._planned

    def is_outdated(self) -> bool:
        interval_s = METADATA_S if self._planned else MISSING_S
        if not self._is_outdated and time.monotonic() - self._looked_at >= interval_s:
            self._looked_at = time.monotonic()
            try:
                found, planned = set(self._partitions()), set(self._planned)
                # A broker that has just started may not know all its topics: what is missing has to stay missing.
                self._is_outdated = found != planned and (found > planned or found == self._found_last)
                self._found_last = found
            except KafkaError as error:
                log.warning("[%s] could not look for new partitions: %s", self.environment.name, error)
        return self._is_outdated

    def _committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The committed offsets; asked for again and again while Kafka is away, unless told to stop."""
        deadline = time.monotonic() + self._worker["seamark.retry.timeout.ms"] / 1000
        while True:
            try:
                return self._offsets.read_of(partitions, timeout_s=ASK_S)
            except KafkaTimeoutError:
                if self._stop_requested.is_set() or time.monotonic() >= deadline:
                    raise

    def close(self) -> None:
        super().close()
        self._offsets.close()
        self.environment.admins.give_back(self._admin)

    def _partitions(self) -> list[TopicPartition]:
        return self._admin.partitions_of(subscribed_topics(self.environment.config, self._admin))

    def _reset(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        if not partitions:
            return {}
        policy = self._consumer_config.get("auto.offset.reset", "earliest").lower()
        if policy == "earliest":
            return self._admin.list_offsets(dict.fromkeys(partitions, "earliest"))
        if policy == "latest":
            return self._admin.list_offsets(dict.fromkeys(partitions, "latest"))
        without = ", ".join(map(str, partitions))
        raise ConfigError(
            f"Consumer group {self._offsets.group_id} has no committed offset for {without} and "
            f"consumer.override.auto.offset.reset is {policy!r}. Commit offsets for it, or use earliest or latest.",
            key="consumer.override.auto.offset.reset",
            value=policy,
        )
