from __future__ import annotations

import os
from pathlib import Path

import pytest

from seamark.connector.offsets import Offsets, SourcePartition
from seamark.errors import ConfigError, DataError, OffsetStoreError
from seamark.storage import java_serialization
from seamark.storage.file_offsets import FileOffsetStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "offsets"


def opened(path: Path) -> FileOffsetStore:
    store = FileOffsetStore(path)
    store.start()
    return store


def test_a_missing_or_empty_file_holds_no_offsets(path: Path) -> None:
    assert opened(path).read("c") == Offsets()
    path.parent.mkdir()
    path.touch()
    assert opened(path).read("c") == Offsets()


def test_offsets_survive_a_restart(path: Path) -> None:
    opened(path).write("lines", {SourcePartition({"filename": "a"}): {"position": 4}})
    store = opened(path)
    assert store.read("lines") == Offsets({SourcePartition({"filename": "a"}): {"position": 4}})
    assert store.partitions("lines") == {SourcePartition({"filename": "a"})}
    assert store.read("other") == Offsets()


def test_writing_changes_only_what_is_named_and_none_deletes(path: Path) -> None:
    store = opened(path)
    store.write("c", Offsets([({"f": "a"}, {"p": 1}), ({"f": "b"}, {"p": 2})]))
    store.write("d", Offsets([({"f": "a"}, {"p": 9})]))
    store.write("c", Offsets([({"f": "a"}, None), ({"f": "x"}, None)]))
    for again in (store, opened(path)):
        assert again.read("c") == Offsets([({"f": "b"}, {"p": 2})])
        assert again.read("d") == Offsets([({"f": "a"}, {"p": 9})])


def test_a_java_workers_file_is_taken_over_key_by_key(path: Path) -> None:
    odd = b'["c", {"f": "odd"}]'
    path.parent.mkdir()
    path.write_bytes(java_serialization.dumps({odd: b'{"p":1}', b'["c",{"f":"gone"}]': None, b"junk": b"{}"}))
    store = opened(path)
    assert store.read("c") == Offsets([({"f": "odd"}, {"p": 1})])
    store.write("c", Offsets([({"f": "odd"}, {"p": 2})]))
    assert java_serialization.loads(path.read_bytes())[odd] == b'{"p":2}'
    assert java_serialization.loads(path.read_bytes())[b"junk"] == b"{}"


def test_a_damaged_file_is_an_error_and_stays(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    with pytest.raises(OffsetStoreError, match="move it away"):
        opened(path)
    assert path.read_bytes() == b"damaged"


def test_a_failed_write_leaves_file_and_store_as_they_were(path: Path) -> None:
    store = opened(path)
    store.write("c", Offsets([({"f": "a"}, {"p": 1})]))
    before = path.read_bytes()
    (path.parent / "offsets.tmp").mkdir()  # the new file cannot be made
    with pytest.raises(OffsetStoreError, match="unchanged"):
        store.write("c", Offsets([({"f": "a"}, {"p": 2})]))
    assert path.read_bytes() == before
    assert store.read("c") == Offsets([({"f": "a"}, {"p": 1})])


def test_what_cannot_be_stored_is_refused_before_anything_is_written(path: Path) -> None:
    store = opened(path)
    with pytest.raises(DataError):
        store.write("c", Offsets([({"f": "a"}, {"p": 1}), ({"f": "b"}, {"p": [1]})]))
    assert not path.exists()


def test_the_file_is_forced_to_disk_before_it_takes_its_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(path)
    store.write("c", Offsets([({"f": "a"}, {"p": 1})]))
    before, seen, real = path.read_bytes(), [], os.fsync

    def fsync(descriptor: int) -> None:
        seen.append((os.readlink(f"/proc/self/fd/{descriptor}"), path.read_bytes() == before))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    store.write("c", Offsets([({"f": "a"}, {"p": 2})]))
    assert seen == [(str(path) + ".tmp", True), (str(path.parent), False)]


def test_the_worker_has_to_name_the_file() -> None:
    with pytest.raises(ConfigError) as error:
        FileOffsetStore.for_worker({})
    assert error.value.key == "offset.storage.file.filename"
