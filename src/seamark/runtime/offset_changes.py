"""Offsets of a connector: show them, change some, reset all (KIP-875).

What may be changed when is the herder's to say; this module reads, asks the connector's `alter_offsets` hook and
writes. The hook is called before anything is changed, on an instance that was never started.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from seamark.connector.connector import Connector, ConnectorContext
from seamark.connector.offsets import Offsets, SourcePartition, check_offset_map
from seamark.connector.sink import SinkConnector, TopicPartition
from seamark.connector.source import SourceConnector
from seamark.errors import BadRequestError, ConnectError, DataError, KafkaError
from seamark.runtime.herder import HookRefusedError, RestError
from seamark.runtime.worker import Worker
from seamark.storage.layered import ConnectorOffsetStore
from seamark.storage.offset_keys import normalised
from seamark.storage.offsets import START_TIMEOUT_S
from seamark.storage.sink_offsets import SinkOffsets

log = logging.getLogger(__name__)

TIMEOUT_S = 80.0  # what is left of a request's 90 seconds for the one step that talks to Kafka
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MEMBERS = (
    "Failed to {what} consumer group offsets for connector {name} either because its tasks haven't stopped completely "
    "yet or the connector was resumed before the request to {what} its offsets could be successfully completed. If the "
    "connector is in a stopped state, this operation can be safely retried. If it doesn't eventually succeed, the "
    "Connect cluster may need to be restarted to get rid of the zombie sink tasks."
)

Entries = Sequence[tuple[Any, Any]]
"""(partition, offset) as in a request."""


class OffsetChanges:
    """Works on the offsets of a worker's connectors, wherever they run."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def read(self, name: str, config: Mapping[str, str | None], timeout_s: float = TIMEOUT_S) -> list[dict[str, Any]]:
        """All offsets of a connector, as REST shows them."""
        resolved, connector = self._connector(name, config)
        if isinstance(connector, SourceConnector):
            try:
                offsets = self._with_store(name, resolved, lambda store: store.read(name, timeout_s), timeout_s)
            except ConnectError as error:
                log.warning("[%s] offsets cannot be read: %s", name, error)
                raise RestError(500, f"Failed to retrieve offsets for source connector {name}") from error
            return [{"partition": dict(partition), "offset": offset} for partition, offset in offsets.items()]
        try:
            with self._sink_offsets(resolved) as store:
                committed = store.read(timeout_s=timeout_s)
        except ConnectError as error:
            log.warning("[%s] offsets cannot be read: %s", name, error)
            raise RestError(500, f"Failed to retrieve consumer group offsets for sink connector {name}") from error
        return [
            {
                "partition": {"kafka_partition": where.partition, "kafka_topic": where.topic},
                "offset": {"kafka_offset": offset},
            }
            for where, offset in sorted(committed.items())
        ]

    def alter(
        self, name: str, config: Mapping[str, str | None], entries: Entries, *, is_just_read: bool = False
    ) -> str:
        """Change the offsets that the entries name, and no others; an offset of None resets its partition.

        With `is_just_read` the caller has read the offsets since the connector's tasks ended, so that every form in
        which a partition was ever written is known.

        Raises:
            RestError: with what a client should read; nothing is changed unless Kafka failed half-way.
        """
        resolved, connector = self._connector(name, config)
        if isinstance(connector, SourceConnector):
            is_covered = self._alter_source(name, resolved, connector, _source_offsets(entries), is_just_read)
        else:
            is_covered = self._alter_sink(name, resolved, connector, _sink_offsets(name, entries))
        return _success("altered", is_covered)

    def reset(self, name: str, config: Mapping[str, str | None], *, is_just_read: bool = False) -> str:
        """Reset every offset of the connector; doing it again is no error. `is_just_read` as in `alter`."""
        resolved, connector = self._connector(name, config)
        if isinstance(connector, SourceConnector):
            known = self._with_store(name, resolved, lambda store: self._known(name, store, is_just_read))
            is_covered = self._alter_source(name, resolved, connector, dict.fromkeys(known), is_just_read=True)
        else:
            is_covered = self._reset_sink(name, resolved, connector)
        return _success("reset", is_covered)

    # sources

    def _alter_source(
        self,
        name: str,
        config: Mapping[str, str],
        connector: SourceConnector,
        offsets: Mapping[SourcePartition, Mapping[str, Any] | None],
        is_just_read: bool,
    ) -> bool:
        is_covered = _ask(name, "source", lambda: connector.alter_offsets(config, Offsets(offsets)))
        if offsets:
            try:
                self._with_store(name, config, lambda store: self._write(name, store, offsets, is_just_read))
            except RestError:
                raise
            except ConnectError as error:
                log.warning("[%s] offsets cannot be changed: %s", name, error)
                raise RestError(500, f"Failed to modify offsets for source connector {name}: {error}") from error
        return is_covered

    def _write(
        self,
        name: str,
        store: ConnectorOffsetStore,
        offsets: Mapping[SourcePartition, Mapping[str, Any] | None],
        is_just_read: bool,
    ) -> None:
        if not is_just_read:
            store.read(name, TIMEOUT_S)
        store.write(name, offsets, TIMEOUT_S)

    def _known(self, name: str, store: ConnectorOffsetStore, is_just_read: bool) -> set[SourcePartition]:
        try:
            if not is_just_read:
                store.read(name, TIMEOUT_S)
        except ConnectError as error:
            raise RestError(
                500,
                "Timed out while trying to read to the end of the offsets topic prior to modifying offsets for source "
                f"connector {name}",
            ) from error
        return store.partitions(name)

    def _with_store(
        self,
        name: str,
        config: Mapping[str, str],
        work: Callable[[ConnectorOffsetStore], Any],
        timeout_s: float = START_TIMEOUT_S,
    ) -> Any:
        store = self._worker.offset_store(name, config)
        store.start(min(timeout_s, START_TIMEOUT_S))
        try:
            return work(store)
        finally:
            store.stop()

    # sinks

    def _alter_sink(
        self,
        name: str,
        config: Mapping[str, str],
        connector: SinkConnector,
        offsets: Mapping[TopicPartition, int | None],
    ) -> bool:
        is_covered = _ask(name, "sink", lambda: connector.alter_offsets(config, dict(offsets)))
        if any(offset is not None and offset < 0 for offset in offsets.values()):
            raise RestError(500, f"Failed to modify offsets for sink connector {name}")
        try:
            with self._sink_offsets(config) as store:
                store.alter(offsets, timeout_s=TIMEOUT_S)
        except BadRequestError as error:
            raise RestError(500, _MEMBERS.format(what="alter", name=name)) from error
        except KafkaError as error:
            log.warning("[%s] consumer group offsets cannot be changed: %s", name, error)
            raise RestError(500, f"Failed to alter consumer group offsets for connector {name}") from error
        return is_covered

    def _reset_sink(self, name: str, config: Mapping[str, str], connector: SinkConnector) -> bool:
        with self._sink_offsets(config) as store:
            try:
                known = store.read(timeout_s=TIMEOUT_S)
            except KafkaError as error:
                raise RestError(
                    500, f"Failed to list offsets prior to resetting offsets for sink connector {name}"
                ) from error
            is_covered = _ask(name, "sink", lambda: connector.alter_offsets(config, dict.fromkeys(known)))
            try:
                store.reset(timeout_s=TIMEOUT_S)
            except BadRequestError as error:
                raise RestError(500, _MEMBERS.format(what="reset", name=name)) from error
            except KafkaError as error:
                log.warning("[%s] the consumer group cannot be deleted: %s", name, error)
                raise RestError(500, f"Failed to reset consumer group offsets for sink connector {name}") from error
        return is_covered

    @contextmanager
    def _sink_offsets(self, config: Mapping[str, str]) -> Iterator[SinkOffsets]:
        """The offsets of a sink, over the worker's connection to its Kafka: a new one costs more than the request."""
        with self._worker.admin_of(config["name"], config) as admin:
            with SinkOffsets.for_connector(config, self._worker.config.raw, admin) as store:
                yield store

    def _connector(
        self, name: str, config: Mapping[str, str | None]
    ) -> tuple[dict[str, str], SourceConnector | SinkConnector]:
        """The resolved config and a fresh instance."""
        try:
            resolved = self._worker.resolved(name, config)
            connector: Connector = self._worker.connector_class(resolved)()
        except ConnectError as error:
            raise RestError(500, str(error)) from error
        if not isinstance(connector, (SourceConnector, SinkConnector)):
            raise RestError(500, f"{type(connector).__qualname__} is neither a source nor a sink connector.")
        connector.context = ConnectorContext(
            name,
            _nothing,
            _log_error,
            self._worker.memory_of(name, resolved),
            spark=lambda: self._worker.spark,
        )
        return resolved, connector


def _nothing() -> None:
    """A connector that was never started has no tasks to configure anew."""


def _log_error(error: BaseException) -> None:
    log.warning("A connector that was only asked about its offsets failed", exc_info=error)


def checked_entries(name: str, connector: type[Connector], entries: Entries) -> list[tuple[Any, Any]]:
    """The entries as they would be stored, without asking the connector.

    Raises:
        RestError: their form is wrong; with what a client should read.
    """
    if not issubclass(connector, SinkConnector):
        return [(dict(partition), offset) for partition, offset in _source_offsets(entries).items()]
    return [
        (
            {"kafka_partition": where.partition, "kafka_topic": where.topic},
            None if offset is None else {"kafka_offset": offset},
        )
        for where, offset in _sink_offsets(name, entries).items()
    ]


def _ask(name: str, kind: str, hook: Callable[[], bool]) -> bool:
    try:
        return bool(hook())
    except NotImplementedError as error:
        # That is how a hook says no for good; but it may as well be a gap in what the hook calls.
        log.info("[%s] alter_offsets says that offsets can never be changed", name, exc_info=error)
        raise RestError(
            500,
            f"Failed to modify offsets for connector {name} because it doesn't support external modification of "
            "offsets",
        ) from error
    except ConnectError as error:
        raise HookRefusedError(500, str(error)) from error
    except Exception as error:
        log.exception("[%s] alter_offsets failed", name)
        raise RestError(500, f"Failed to modify offsets for {kind} connector {name}") from error


def _success(what: str, is_covered: bool) -> str:
    if is_covered:
        return f"The offsets for this connector have been {what} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {what} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {what} in the system that the connector "
        "uses."
    )


def _source_offsets(entries: Entries) -> dict[SourcePartition, Mapping[str, Any] | None]:
    offsets: dict[SourcePartition, Mapping[str, Any] | None] = {}
    for partition, offset in entries:
        try:
            check_offset_map(partition)
            check_offset_map(offset)
            if partition is None:
                if offset is not None:
                    raise RestError(500, "Partition objects cannot be null")
                continue  # there is nothing to reset: an offset of no partition is never stored
            offsets[normalised(partition)] = offset
        except DataError as error:
            raise RestError(500, str(error)) from error
    return offsets


def _sink_offsets(name: str, entries: Entries) -> dict[TopicPartition, int | None]:
    offsets: dict[TopicPartition, int | None] = {}
    for partition, offset in entries:
        if partition is None:
            raise RestError(400, "The partition for a sink connector offset cannot be null or missing")
        if not {"kafka_topic", "kafka_partition"} <= partition.keys():
            raise RestError(
                400,
                "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'",
            )
        topic, number = partition["kafka_topic"], partition["kafka_partition"]
        if topic is None:
            raise RestError(400, "Kafka topic names must be valid strings and may not be null")
        if number is None:
            raise RestError(400, "Kafka partitions must be valid numbers and may not be null")
        where = TopicPartition(_text(topic), _integer(number, "partition", 31))
        if offset is None:
            offsets[where] = None
            continue
        if "kafka_offset" not in offset:
            raise RestError(
                400, "The offset for a sink connector should either be null or contain the key 'kafka_offset'"
            )
        offsets[where] = _integer(offset["kafka_offset"], "offset", 63)
    if any(where.partition < 0 for where in offsets):
        raise RestError(500, f"Failed to alter consumer group offsets for connector {name}")
    return offsets


def _integer(value: Any, what: str, bits: int) -> int:
    text = _text(value)
    if _INTEGER.fullmatch(text) is None or not -(1 << bits) <= int(text) < 1 << bits:
        raise RestError(
            400,
            f"Failed to parse the following Kafka {what} value in the provided offsets: '{text}'. "
            f"{what.capitalize()} values for sink connectors need to be integers.",
        )
    return int(text)


def _text(value: Any) -> str:
    """As Java prints it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_text(each) for each in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}={_text(each)}" for key, each in value.items()) + "}"
    return str(value)
