"""What a reader does with formats of earlier and of later versions; docs/reference/formats.md says it to users."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fixtures.checkpoints import Written
from seamark.checkpoint.backups import BACKUP_VERSION, make_backup, read_backup
from seamark.checkpoint.errors import CheckpointError, DamagedCheckpointError
from seamark.connector import TopicPartition
from seamark.connector.frame import SinkBatch
from seamark.connector.offsets import Offsets, SourcePartition
from seamark.connectors.spark_sink.target import is_note_of, is_written, note_of
from seamark.engine.lease_client import LeaseTicket
from seamark.engine.sink_ledger import SinkIntent
from seamark.engine.source_ledger import SourceIntent
from seamark.engine.task_spec import TaskSpec
from seamark.errors import ConnectError, DataError, NewerFormatError
from seamark.formats import check_version
from seamark.mirror.topic_identity import Note, note_altered
from seamark.storage import cluster_state
from seamark.storage.cluster_state import ConfigLogReducer
from seamark.storage.config_records import placement_record
from seamark.storage.intents import understood
from seamark.storage.operation_records import OperationRecord
from seamark.storage.operation_store import FileOperationStore

SINK = SinkIntent(7, {TopicPartition("t", 0): 1}, {TopicPartition("t", 0): 9})
SOURCE = SourceIntent(7, 2, Offsets(), Offsets([(SourcePartition(file="a"), {"position": 3})]))
BATCH = SinkBatch("orders", 7, {TopicPartition("t", 0): 1}, {TopicPartition("t", 0): 9}, False)
OPERATION = OperationRecord("00001", "change", "orders", "CHANGING", 1, 1)


def test_what_says_nothing_is_of_the_first_version() -> None:
    check_version({}, 1, "It")
    check_version({"version": 2}, 3, "It")
    with pytest.raises(
        NewerFormatError, match=r"It was written by a newer Seamark: .* version 3, .* up to 2"
    ) as caught:
        check_version({"version": 3}, 2, "It")
    assert (caught.value.version, caught.value.known) == (3, 2)


@pytest.mark.parametrize("version", [0, -1, "1", None, True, 1.0])
def test_what_is_no_version_is_refused(version: object) -> None:
    with pytest.raises(DataError, match="should be a number from 1 on") as caught:
        check_version({"version": version}, 1, "It")
    assert not isinstance(caught.value, NewerFormatError)


# batches


@pytest.mark.parametrize(("intent", "read"), [(SINK, SinkIntent.of), (SOURCE, SourceIntent.of)], ids=["sink", "source"])
def test_a_batch_that_a_newer_worker_began_is_refused(
    intent: SinkIntent | SourceIntent, read: Callable[[Mapping[str, Any]], object]
) -> None:
    value = intent.value()
    without = {name: content for name, content in value.items() if name != "version"}
    for known in (value, {**value, "more": "of the same version"}, without):
        assert read(understood(known) or {}) == intent
    with pytest.raises(NewerFormatError, match="Batch 7 of this connector was written by a newer Seamark"):
        understood({**value, "version": 2})
    # Nothing is left to do: the next batch may begin.
    assert understood({"version": 2, "state": "done", "of": "whatever form"}) is None
    assert understood(None) is None


def test_the_note_beside_a_batch_is_known_by_what_it_says() -> None:
    text = '{"batch": 7, "connector": "orders", "end": {"t-0": 9}, "start": {"t-0": 1}}'
    assert note_of(BATCH) == text  # readers of version 1 compare the whole text
    note = json.loads(text)
    assert is_note_of(json.dumps({**note, "more": True}), BATCH, "The table t")
    assert is_written("The table t", BATCH, 7, json.dumps({"version": 1, **note}))
    assert not is_note_of(json.dumps({**note, "end": {"t-0": 10}}), BATCH, "The table t")
    assert not is_note_of("somebody else's", BATCH, "The table t")
    with pytest.raises(NewerFormatError, match="The table t has a batch 7"):
        is_written("The table t", BATCH, 7, json.dumps({"version": 2, **note}))


# records of workers


def test_a_placement_of_a_later_version_takes_the_connector_away() -> None:
    log = ConfigLogReducer()
    key, value = placement_record("c", 4)
    assert value == b'{"version":1,"slot":4}'
    log.apply(key, value, 0)
    assert log.snapshot().placements == {"c": 4}
    assert log.apply(key, b'{"version":2,"slot":4}', 1) == [cluster_state.PlacementChanged("c")]
    assert log.snapshot().placements == {}
    log.apply(key, b'{"slot":5}', 2)
    assert log.snapshot().placements == {"c": 5}
    assert log.apply(key, b'{"version":"x","slot":4}', 3) == []
    assert log.snapshot().placements == {"c": 5}


def test_an_operation_of_a_later_version_is_left_to_who_knows_it(tmp_path: Path) -> None:
    path = tmp_path / "history"
    newer = json.dumps({**json.loads(OPERATION.encoded()), "version": 2, "phase": "HALFWAY"}).encode()
    other = OperationRecord("00002", "change", "orders", "DONE", 2, 2)
    path.write_bytes(b"".join(line + b"\n" for line in (OPERATION.encoded(), newer, other.encoded())))
    store = FileOperationStore(path)
    store.refresh()
    # Not as it was begun, either: it would be carried out once more.
    assert [each.id for each in store.all()] == ["00002"]
    store.remove("00002")
    assert path.read_bytes() == newer + b"\n"


def test_an_operation_without_a_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "history"
    fields = json.loads(OPERATION.encoded())
    assert fields.pop("version") == 1
    path.write_text(json.dumps(fields) + "\n")
    store = FileOperationStore(path)
    store.refresh()
    assert [(each.id, each.phase) for each in store.all()] == [("00001", "CHANGING")]


class Memory:
    """What a mirror remembers."""

    def __init__(self, notes: dict[str, Any]) -> None:
        self.kept = notes

    def notes(self) -> dict[str, Any]:
        return self.kept

    def write_notes(self, notes: Mapping[str, Any]) -> None:
        self.kept |= notes


def test_a_note_of_a_mirrored_topic_of_a_later_version_is_as_none() -> None:
    note = Note("id-1", frozenset({0, 2}))
    assert note.value() == {"version": 1, "id": "id-1", "altered": "0,2"}
    assert Note.of(note.value()) == Note.of({"id": "id-1", "altered": "0,2"}) == note
    assert Note.of({**note.value(), "version": 2}) is None
    memory = Memory({"topic:a:t": {"version": 2, "id": "id-1"}, "topic:a:u": {"id": "id-2"}})
    note_altered(memory, [{"cluster": "a", "topic": topic, "partition": 1} for topic in "tu"])  # type: ignore[arg-type]
    assert memory.kept["topic:a:t"] == {"version": 2, "id": "id-1"}
    assert memory.kept["topic:a:u"] == {"version": 1, "id": "id-2", "altered": "1"}


# what goes to executors


SPEC = TaskSpec(
    "sink", "c", 0, "a:B", None, LeaseTicket("http://w", "e-0", "", 1, 1), {}, {}, {}, assignment=(("t", 0, 5),)
)


def test_a_task_of_the_same_version_is_read() -> None:
    assert TaskSpec.from_json(SPEC.to_json()) == SPEC


@pytest.mark.parametrize("change", [{"version": 2}, {"of_a_later_version": 1}])
def test_an_executor_with_an_older_seamark_says_so(change: dict[str, int]) -> None:
    with pytest.raises(ConnectError, match=r"this executor is older than that of the worker .*`seamark pack`"):
        TaskSpec.from_json(json.dumps({**json.loads(SPEC.to_json()), **change}))


# files


def test_a_backup_of_a_later_version_is_not_put_back(tmp_path: Path) -> None:
    written = Written(tmp_path)
    backup = make_backup("query", 3, "a move", ())
    content = json.loads(backup.render())
    assert content.pop("version") == BACKUP_VERSION
    written.write(backup.path, json.dumps(content))
    assert read_backup(written.files, backup.path) == backup
    written.write(backup.path, json.dumps({**content, "version": BACKUP_VERSION + 1}))
    with pytest.raises(CheckpointError, match="was written by a newer Seamark") as caught:
        read_backup(written.files, backup.path)
    assert not isinstance(caught.value, DamagedCheckpointError)
    for text in ("[]", '{"version": "new"}'):
        written.write(backup.path, text)
        with pytest.raises(DamagedCheckpointError, match="is no backup"):
            read_backup(written.files, backup.path)
