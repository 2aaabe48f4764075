"""Parsers of what a cluster stores: records of internal topics, files of a standalone worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fuzz.target import Target, of_file
from seamark.config.states import State, TargetState
from seamark.connector.offsets import SourcePartition, check_offset_map
from seamark.errors import DataError, OffsetStoreError
from seamark.storage import codec, config_records, java_serialization
from seamark.storage.cluster_state import ClusterConfigState, ConfigLogReducer
from seamark.storage.file_offsets import FileOffsetStore
from seamark.storage.offset_keys import decode_key, decode_value, encode_key, encode_value
from seamark.storage.operation_records import OperationRecord, decode_operation
from seamark.storage.operation_store import FileOperationStore
from seamark.storage.status_records import StatusTable

NAME = "orders"


def records_of(data: bytes) -> Iterator[tuple[str, bytes | None]]:
    """Records of a topic: a line each, the key, a tab and the value; without a tab the value is null."""
    for line in data.split(b"\n"):
        key, tab, value = line.partition(b"\t")
        yield key.decode("utf-8", "replace"), value if tab else None  # as the readers of the topics decode keys


# any JSON


def _check_json(data: bytes, found: Any) -> None:
    try:
        written = codec.dumps(found)
    except DataError as error:  # half of a surrogate pair can be read, but is no UTF-8
        assert b"\\u" in data or "too deeply" in str(error), f"it can be read, but not be written: {error}"
        return
    assert codec.loads(written) == found or "inf" in repr(found)  # which JSON can only have as a text


# offsets


def _check_key(data: bytes, found: tuple[str, SourcePartition] | None) -> None:
    if found is not None:
        connector, partition = found
        check_offset_map(partition)
        try:
            key = encode_key(connector, partition)
        except DataError:  # half of a surrogate pair
            assert b"\\u" in data
            return
        assert decode_key(key) == found, "another partition is written"


def _check_value(data: bytes, found: dict[str, Any] | None) -> None:
    try:
        written = encode_value(found)
    except DataError:  # Java's workers read maps in maps, but write none
        return
    assert decode_value(written) == found or "inf" in repr(found)


# configs, session keys, placements


def _config_topic(data: bytes) -> ClusterConfigState:
    reducer = ConfigLogReducer()
    reducer.apply(*config_records.connector_record(NAME, {"name": NAME}), 0)
    for offset, (key, value) in enumerate(records_of(data), start=1):
        reducer.apply(key, value, offset)
    return reducer.snapshot()


def _check_cluster(data: bytes, state: ClusterConfigState) -> None:
    for name, config in state.connectors.items():
        assert all(isinstance(key, str) and isinstance(value, str | None) for key, value in config.items())
        assert isinstance(state.target_state(name), TargetState)
        assert len(state.all_task_configs(name)) in (0, state.task_count(name))
    counts = (*state.task_counts.values(), *state.task_count_records.values(), *state.placements.values())
    assert all(type(count) is int and 0 <= count < 2**31 for count in counts)
    assert all(type(task) is int and 0 <= task < 2**31 for _, task in state.task_configs)
    if state.session_key is not None:
        assert isinstance(state.session_key.key, bytes)
        assert type(state.session_key.creation_timestamp) is int


# status


def _status_topic(data: bytes) -> StatusTable:
    table = StatusTable()
    for key, value in records_of(data):
        table.take(key, value)
    return table


def _check_status(data: bytes, table: StatusTable) -> None:
    rows = [*table.connectors.values(), *(row for tasks in table.tasks.values() for row in tasks.values())]
    for row in rows:
        assert isinstance(row.state, State)
        assert isinstance(row.worker_id, str)
        assert type(row.generation) is int
        assert isinstance(row.trace, str | None)
    for topics in table.topics.values():
        for topic in topics.values():
            assert isinstance(topic.topic, str)
            assert type(topic.task) is int


# operations


def _check_operation(data: bytes, found: OperationRecord) -> None:
    for name in ("id", "kind", "connector", "phase", "who"):
        assert isinstance(getattr(found, name), str), f"{name} is {getattr(found, name)!r}"
    for name in ("reason", "former_state", "message", "error"):
        assert isinstance(getattr(found, name), str | None), f"{name} is {getattr(found, name)!r}"
    assert type(found.created_ms) is type(found.updated_ms) is int
    for rows in (found.before or [], found.after or []):
        assert all(isinstance(row["partition"], dict) and isinstance(row["offset"], dict | None) for row in rows)
    assert isinstance(found.request, dict)
    assert isinstance(found.details, dict)
    assert all(isinstance(step, dict) for step in found.steps)
    assert decode_operation(found.encoded()).encoded() == found.encoded(), "another record is written"


def _operation_file(path: Any) -> list[OperationRecord]:
    store = FileOperationStore(path)
    store.refresh()
    store.trim(NAME)
    return store.all()


def _check_operation_file(data: bytes, found: list[OperationRecord]) -> None:
    for record in found:
        _check_operation(data, record)


# the file of a standalone worker


def _check_map(data: bytes, found: dict[bytes | None, bytes | None]) -> None:
    entries = {key: value for key, value in found.items() if key is not None}
    assert java_serialization.loads(java_serialization.dumps(entries)) == entries


def _offsets_file(path: Any) -> Any:
    store = FileOffsetStore(path)
    store.start()
    return store.read(NAME), store.raw_keys(NAME)


_JSON = (b'{"a":1}', b'["orders",{"a":1}]', b"1.0E23", b"-0.0", b'"\\u001F"')
_STATES = (b'"STARTED"', b'"PAUSED"', b'"STOPPED"', b'"RUNNING"', b'"FAILED"', b'"UNASSIGNED"')
_KEYS = (
    b"connector-orders",
    b"target-state-orders",
    b"task-orders-0",
    b"commit-orders",
    b"tasks-fencing-orders",
    b"session-key",
    b"restart-connector-orders",
    b"logger-cluster-root",
    b"placement-orders",
    b"\t",
    b'{"tasks":1}',
    b'{"properties":{}}',
    b'"task-count"',
    b'{"slot":0}',
    b"\n",
)

TARGETS = (
    Target("stored-json", codec.loads, (DataError,), _check_json, _JSON),
    Target("offset-key", decode_key, (), _check_key, _JSON),
    Target("offset-value", decode_value, (DataError,), _check_value, _JSON),
    Target("config-topic", _config_topic, (), _check_cluster, (*_KEYS, *_STATES)),
    Target(
        "status-topic",
        _status_topic,
        (),
        _check_status,
        (
            *_STATES,
            b"status-connector-orders",
            b"status-task-orders-0",
            b"status-topic-t:connector-orders",
            b"\t",
            b"\n",
        ),
    ),
    Target(
        "operation", decode_operation, (DataError,), _check_operation, (b'"phase"', b'"DONE"', b'"before"', b'"offset"')
    ),
    Target("operation-file", of_file(_operation_file), (OffsetStoreError,), _check_operation_file, (b"\n", b'"id"')),
    Target(
        "java-serialization", java_serialization.loads, (DataError,), _check_map, (b"q\x00~\x00\x02", b"ur", b"p", b"x")
    ),
    Target(
        "offsets-file", of_file(_offsets_file), (OffsetStoreError,), None, (b'["orders",{"a":1}]', b"\x00\x00\x00\x02")
    ),
)
