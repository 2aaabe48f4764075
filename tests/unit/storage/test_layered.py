"""Primary and secondary stores; both are real file stores, which need no broker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from seamark.connector.offsets import Offsets
from seamark.errors import ConfigError, OffsetStoreError
from seamark.storage import java_serialization
from seamark.storage.file_offsets import FileOffsetStore
from seamark.storage.intents import IntentStore, intent_key
from seamark.storage.kafka_offsets import KafkaOffsetStore
from seamark.storage.layered import ConnectorOffsetStore, offset_store_for, worker_offset_store

A, B = {"f": "a"}, {"f": "b"}


class Watched(FileOffsetStore):
    """A store that notes what is written to it, and can be told to fail."""

    def __init__(self, path: Path, journal: list[tuple[str, dict[str, Any]]]) -> None:
        super().__init__(path)
        self.journal, self.fails_on = journal, set[str]()

    def write(self, connector: str, offsets: Mapping[Any, Any], timeout_s: float = 1.0, **more: Any) -> None:
        kinds = {"tombstone" if offset is None else "value" for offset in offsets.values()}
        self.journal.append((self.path.name, {p["f"]: o for p, o in offsets.items()}))
        if kinds & self.fails_on:
            raise OffsetStoreError("no")
        super().write(connector, offsets, timeout_s, **more)


@pytest.fixture
def journal() -> list[tuple[str, dict[str, Any]]]:
    return []


@pytest.fixture
def primary(tmp_path: Path, journal: list[tuple[str, dict[str, Any]]]) -> Watched:
    return Watched(tmp_path / "primary", journal)


@pytest.fixture
def secondary(tmp_path: Path, journal: list[tuple[str, dict[str, Any]]]) -> Watched:
    return Watched(tmp_path / "secondary", journal)


def test_the_primarys_offset_wins_and_the_secondary_fills_gaps(primary: Watched, secondary: Watched) -> None:
    primary.write("c", Offsets([(A, {"p": 1})]))
    secondary.write("c", Offsets([(A, {"p": 0}), (B, {"p": 2})]))
    store = ConnectorOffsetStore(primary, secondary)
    assert store.read("c") == Offsets([(A, {"p": 1}), (B, {"p": 2})])
    assert {p["f"] for p in store.partitions("c")} == {"a", "b"}


def test_without_deletions_the_primary_is_written_first(primary: Watched, secondary: Watched, journal: Any) -> None:
    ConnectorOffsetStore(primary, secondary).write("c", Offsets([(A, {"p": 1})]))
    assert journal == [("primary", {"a": {"p": 1}}), ("secondary", {"a": {"p": 1}})]


def test_deletions_reach_the_secondary_before_the_primary(primary: Watched, secondary: Watched, journal: Any) -> None:
    ConnectorOffsetStore(primary, secondary).write("c", Offsets([(A, None), (B, {"p": 1})]))
    assert journal == [
        ("secondary", {"a": None}),
        ("primary", {"a": None, "b": {"p": 1}}),
        ("secondary", {"b": {"p": 1}}),
    ]


def test_a_failed_deletion_in_the_secondary_stops_the_write(primary: Watched, secondary: Watched, journal: Any) -> None:
    secondary.fails_on = {"tombstone"}
    with pytest.raises(OffsetStoreError):
        ConnectorOffsetStore(primary, secondary).write("c", Offsets([(A, None)]))
    assert [name for name, _ in journal] == ["secondary"]


def test_a_failed_copy_is_logged_only(primary: Watched, secondary: Watched, caplog: pytest.LogCaptureFixture) -> None:
    secondary.fails_on = {"value"}
    store = ConnectorOffsetStore(primary, secondary)
    store.write("c", Offsets([(A, {"p": 1})]))
    assert store.read("c") == Offsets([(A, {"p": 1})])
    assert "out of date" in caplog.text


def test_a_failed_primary_is_not_copied(primary: Watched, secondary: Watched, journal: Any) -> None:
    primary.fails_on = {"value"}
    with pytest.raises(OffsetStoreError):
        ConnectorOffsetStore(primary, secondary).write("c", Offsets([(A, {"p": 1})]))
    assert [name for name, _ in journal] == ["primary"]


WORKER = {"bootstrap.servers": "one:1,two:2", "group.id": "g", "offset.storage.topic": "offsets"}


@pytest.fixture
def worker_store() -> KafkaOffsetStore:
    return KafkaOffsetStore.for_worker(WORKER)


@pytest.mark.parametrize(
    ("more", "exactly_once", "topic", "is_own", "has_secondary"),
    [
        ({}, False, "offsets", False, False),
        ({}, True, "offsets", False, False),
        ({"offsets.storage.topic": "own"}, False, "own", True, True),
        ({"offsets.storage.topic": "own"}, True, "own", True, True),
        ({"offsets.storage.topic": "offsets"}, False, "offsets", True, False),
        ({"offsets.storage.topic": "offsets"}, True, "offsets", True, False),
        ({"producer.override.bootstrap.servers": "two:2, one:1"}, True, "offsets", False, False),
        ({"producer.override.bootstrap.servers": "far:1"}, False, "offsets", False, False),
        ({"producer.override.bootstrap.servers": "far:1"}, True, "offsets", True, True),
        (
            {"producer.override.bootstrap.servers": "far:1", "offsets.storage.topic": "offsets"},
            False,
            "offsets",
            True,
            True,
        ),
    ],
)
def test_which_stores_a_connector_gets(
    worker_store: KafkaOffsetStore,
    more: dict[str, str],
    exactly_once: bool,
    topic: str,
    is_own: bool,
    has_secondary: bool,
) -> None:
    store = offset_store_for({"name": "c", **more}, WORKER, worker_store, exactly_once)
    assert (store.topic, store.has_secondary) == (topic, has_secondary)
    assert (store._primary is not worker_store) == is_own
    assert store._transactional_id == ("g-c-0" if exactly_once else None)


def test_a_store_that_reads_uncommitted_offsets_is_not_shared_with_exactly_once() -> None:
    worker_store = KafkaOffsetStore.for_worker({**WORKER, "consumer.isolation.level": "read_uncommitted"})
    store = offset_store_for({"name": "c"}, WORKER, worker_store, exactly_once=True)
    assert store._primary is not worker_store
    assert isinstance(store._primary, KafkaOffsetStore) and store._primary.is_read_committed


def test_standalone_ignores_a_topic_of_the_connectors_own(tmp_path: Path) -> None:
    worker = {"bootstrap.servers": "one:1", "offset.storage.file.filename": str(tmp_path / "offsets")}
    worker_store = worker_offset_store(worker)
    assert isinstance(worker_store, FileOffsetStore)
    store = offset_store_for({"name": "c", "offsets.storage.topic": "own"}, worker, worker_store, False)
    assert store.topic is None
    assert store._primary is worker_store


def test_an_empty_topic_of_its_own_is_refused(worker_store: KafkaOffsetStore) -> None:
    with pytest.raises(ConfigError) as error:
        offset_store_for({"name": "c", "offsets.storage.topic": ""}, WORKER, worker_store, False)
    assert error.value.key == "offsets.storage.topic"


def test_a_worker_without_a_place_for_offsets_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"offset\.storage\.topic, or offset\.storage\.file\.filename"):
        worker_offset_store({"bootstrap.servers": "one:1"})


def test_intents_are_stored_under_a_name_of_their_own(tmp_path: Path) -> None:
    store = FileOffsetStore(tmp_path / "offsets")
    intents = IntentStore(store)
    assert intents.read("c", "batch") is None
    intents.write("c", "batch", {"id": 7, "start": "0"})
    intents.write("c", "other", {"id": 8})
    assert intents.read("c", "batch") == {"id": 7, "start": "0"}
    assert store.read("c") == Offsets()
    assert intent_key("c", "batch") == b'["__seamark:c",{"intent":"batch"}]'
    assert intent_key("c", "batch") in java_serialization.loads(store.path.read_bytes())
    intents.write("c", "batch", None)
    assert intents.read("c", "batch") is None
    assert intents.read("c", "other") == {"id": 8}
