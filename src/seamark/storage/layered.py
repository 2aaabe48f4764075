"""The offset store of one connector: its own topic first, the worker's store second.

A connector with ``offsets.storage.topic`` has its offsets there, and a copy in the worker's store so that it can go
back to it. Reads take the connector's own and fill gaps from the worker's. Deletions go to the worker's store first:
if they came second and failed, a deleted offset would shine through the gap.

===================================================  ======================================  ==========================
Connector                                            First                                   Second
===================================================  ======================================  ==========================
no topic of its own                                  the worker's store                      none
topic of its own                                     that topic, on its producer's cluster   the worker's store
topic of its own, the worker's topic and cluster     that topic                              none
exactly once, no topic, producer on other cluster    worker's topic name on that cluster     the worker's store
===================================================  ======================================  ==========================
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.errors import ConfigError, ConnectError
from seamark.kafka.clients import broker_set, effective_client_config
from seamark.storage.file_offsets import FileOffsetStore
from seamark.storage.kafka_offsets import KafkaOffsetStore, offsets_topic_spec
from seamark.storage.offsets import READ_TIMEOUT_S, START_TIMEOUT_S, WRITE_TIMEOUT_S, OffsetStore

_log = logging.getLogger(__name__)


class ConnectorOffsetStore(OffsetStore):
    """One connector's view of where its offsets are."""

    def __init__(
        self,
        primary: OffsetStore,
        secondary: OffsetStore | None = None,
        *,
        is_primary_own: bool = True,
        transactional_id: str | None = None,
    ) -> None:
        """Layer two stores.

        Args:
            primary: where offsets count.
            secondary: fills gaps, and gets a copy of what is written.
            is_primary_own: start and stop the primary with this store; the worker's store is the worker's to stop.
            transactional_id: write to the primary in transactions of this id.
        """
        self._primary, self._secondary = primary, secondary
        self._is_primary_own, self._transactional_id = is_primary_own, transactional_id

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        if self._is_primary_own:
            self._primary.start(timeout_s)

    def stop(self) -> None:
        if self._is_primary_own:
            self._primary.stop()

    @property
    def topic(self) -> str | None:
        """The topic in which the offsets count."""
        return self._primary.topic

    @property
    def has_secondary(self) -> bool:
        """Whether copies go to the worker's store."""
        return self._secondary is not None

    def read(self, connector: str, timeout_s: float = READ_TIMEOUT_S) -> Offsets:
        deadline = time.monotonic() + timeout_s
        first = self._primary.read(connector, timeout_s)
        if self._secondary is None:
            return first
        return Offsets({**self._secondary.read(connector, max(0.5, deadline - time.monotonic())), **first})

    def raw_keys(self, connector: str) -> dict[SourcePartition, bytes]:
        return self._primary.raw_keys(connector)

    def partitions(self, connector: str) -> set[SourcePartition]:
        known = self._primary.partitions(connector)
        return known if self._secondary is None else known | self._secondary.partitions(connector)

    def write(
        self,
        connector: str,
        offsets: Mapping[SourcePartition, SourceOffset | None] | Mapping[Any, SourceOffset | None],
        timeout_s: float = WRITE_TIMEOUT_S,
        *,
        transactional_id: str | None = None,
    ) -> None:
        deadline = time.monotonic() + timeout_s
        self.write_deletions_to_secondary(connector, offsets, timeout_s)
        self._primary.write(
            connector,
            offsets,
            max(0.5, deadline - time.monotonic()),
            transactional_id=transactional_id or self._transactional_id,
        )
        self.copy_to_secondary(connector, offsets, max(0.5, deadline - time.monotonic()))

    def write_deletions_to_secondary(
        self, connector: str, offsets: Mapping[Any, SourceOffset | None], timeout_s: float = WRITE_TIMEOUT_S
    ) -> None:
        """Delete from the worker's store what is going to be deleted: before a task's transaction commits."""
        deleted = {partition: None for partition, offset in offsets.items() if offset is None}
        if self._secondary is not None and deleted:
            self._secondary.write(connector, deleted, timeout_s)

    def copy_to_secondary(
        self, connector: str, offsets: Mapping[Any, SourceOffset | None], timeout_s: float = WRITE_TIMEOUT_S
    ) -> None:
        """Copy what has been written to the worker's store; a failure is logged, for the copy is not what counts."""
        kept = {partition: offset for partition, offset in offsets.items() if offset is not None}
        if self._secondary is None or not kept:
            return
        try:
            self._secondary.write(connector, kept, timeout_s)
        except ConnectError as error:
            _log.warning("[%s] The worker's copy of the offsets is out of date: %s", connector, error)


def worker_offset_store(worker_config: Mapping[str, str]) -> OffsetStore:
    """The worker's own store: a topic, or a file for a standalone worker.

    Raises:
        ConfigError: neither is configured.
    """
    if worker_config.get("offset.storage.topic"):
        return KafkaOffsetStore.for_worker(worker_config)
    if worker_config.get("offset.storage.file.filename"):
        return FileOffsetStore.for_worker(worker_config)
    raise ConfigError(
        "The worker has nowhere to keep offsets: set offset.storage.topic, or offset.storage.file.filename for a "
        "standalone worker.",
        key="offset.storage.topic",
    )


def offset_store_for(
    connector_config: Mapping[str, str],
    worker_config: Mapping[str, str],
    worker_store: OffsetStore,
    exactly_once: bool,
) -> ConnectorOffsetStore:
    """The store of a source connector; it is not started.

    Args:
        connector_config: the connector's configuration, with its name.
        worker_config: the worker's properties.
        worker_store: the worker's store, started.
        exactly_once: whether the connector's tasks write in transactions.
    """
    name = connector_config["name"]
    group = worker_config.get("group.id", "")
    transactional_id = f"{group}-{name}-0" if exactly_once else None
    if worker_store.topic is None:  # standalone: a connector's own topic has no effect there
        return ConnectorOffsetStore(worker_store, is_primary_own=False)
    own_topic = connector_config.get("offsets.storage.topic")
    if own_topic is not None and not own_topic.strip():
        raise ConfigError(
            "Invalid value  for configuration offsets.storage.topic: String must be non-empty",
            key="offsets.storage.topic",
            value=own_topic,
        )
    producer = effective_client_config("producer", worker_config, connector_config, connector_name=name, task=None)
    is_same_cluster = broker_set(producer["bootstrap.servers"]) == broker_set(worker_config["bootstrap.servers"])
    is_same_topic = own_topic in (None, worker_store.topic) and is_same_cluster
    if own_topic is None and (is_same_cluster or not exactly_once) and _sees_transactions(worker_store, exactly_once):
        return ConnectorOffsetStore(worker_store, is_primary_own=False, transactional_id=transactional_id)
    primary = _own_store(own_topic or worker_store.topic, connector_config, worker_config, producer, exactly_once)
    secondary = None if is_same_topic else worker_store
    return ConnectorOffsetStore(primary, secondary, transactional_id=transactional_id)


def _own_store(
    topic: str,
    connector: Mapping[str, str],
    worker: Mapping[str, str],
    producer: Mapping[str, str],
    exactly_once: bool,
) -> KafkaOffsetStore:
    name = connector["name"]
    consumer = effective_client_config("consumer", worker, connector, connector_name=name, task=None)
    if exactly_once:
        consumer["isolation.level"] = "read_committed"
    else:
        consumer.setdefault("isolation.level", "read_committed")
    return KafkaOffsetStore(
        topic,
        consumer_config=consumer,
        producer_config=producer,
        admin_config=effective_client_config("admin", worker, connector, connector_name=name, task=None),
        spec=offsets_topic_spec(topic, worker),
        setting="offsets.storage.topic",
    )


def _sees_transactions(store: OffsetStore, exactly_once: bool) -> bool:
    """Whether the worker's store will do: one that reads uncommitted offsets is no store for exactly once."""
    return not exactly_once or not isinstance(store, KafkaOffsetStore) or store.is_read_committed
