"""Jar sets without a network: lock files, what counts as complete, what Ivy's output means."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from seamark.errors import JarError
from seamark.kafka import ivy, jars
from seamark.kafka.ivy import Coordinate
from seamark.kafka.jars import JarSet


@pytest.mark.parametrize("jar_set", jars.ALL, ids=lambda jar_set: jar_set.name)
def test_committed_locks_are_sorted_unique_and_hold_their_roots(jar_set: JarSet) -> None:
    coordinates = [jar.coordinate for jar in jar_set.jars]
    assert coordinates == sorted(set(coordinates))
    assert {str(coordinate) for coordinate in coordinates} >= set(jar_set.roots)
    names = [(coordinate.organisation, coordinate.name) for coordinate in coordinates]
    assert len(names) == len(set(names)), "two versions of one library"


def test_what_spark_carries_is_not_in_sparks_set() -> None:
    carried = {path.name for path in ivy.spark_jars().glob("*.jar")}
    assert not carried & {jar.file_name for jar in jars.SPARK_KAFKA.jars}
    assert len(carried) > 100


@pytest.mark.parametrize("line", ["", "abc 1 a:b:1", f"{'0' * 64} one a:b:1", f"{'0' * 64} 1 a:b"])
def test_damaged_lock_is_refused(tmp_path: Path, line: str) -> None:
    lock = tmp_path / "x.lock"
    lock.write_text(f"{line}\n")
    with pytest.raises(JarError):
        _ = JarSet("x", (), lock).jars


def test_missing_lock_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JarError):
        _ = JarSet("x", (), tmp_path / "none.lock").jars


def test_a_complete_set_needs_neither_network_nor_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    lock = tmp_path / "tiny.lock"
    content = b"a jar"
    lock.write_text(f"{hashlib.sha256(content).hexdigest()}  {len(content)}  org.example:tiny:1.0\n")
    tiny = JarSet("tiny", ("org.example:tiny:1.0",), lock)
    cache = tmp_path / "cache"
    with pytest.raises(JarError, match="JAVA_HOME"):
        jars.ensure(tiny, cache=cache)

    tiny.folder(cache).mkdir(parents=True)
    (tiny.folder(cache) / "tiny-1.0.jar").write_bytes(content)
    assert jars.ensure(tiny, cache=cache) == [tiny.folder(cache) / "tiny-1.0.jar"]
    assert jars.classpath(tiny, cache=cache) == str(tiny.folder(cache) / "tiny-1.0.jar")


def test_the_environment_moves_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(jars.CACHE_ENV, str(tmp_path))
    assert jars.BROKER.folder().parent == tmp_path
    monkeypatch.delenv(jars.CACHE_ENV)
    assert jars.cache_dir() == Path.home() / ".cache" / "seamark" / "jars"


def test_another_lock_is_another_folder(tmp_path: Path) -> None:
    folders = set()
    for revision in ("1.0", "1.1"):
        lock = tmp_path / f"{revision}.lock"
        lock.write_text(f"{'0' * 64}  1  org.example:tiny:{revision}\n")
        folders.add(JarSet("tiny", (), lock).folder(tmp_path))
    assert len(folders) == 2


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JarError, match=jars.CACHE_ENV):
        jars.ensure(jars.BROKER, cache=tmp_path / "file" / "cache")


def test_ivys_output_becomes_one_sentence() -> None:
    unreachable = [
        ":: org.example#a;1: not found",
        "\tServer access error at url https://r.example/a-1.jar (java.net.ConnectException: Connection refused)",
        "\tServer access error at url https://r.example/b-1.jar (java.net.ConnectException: Connection refused)",
    ]
    sentence = ivy.failure_sentence(unreachable)
    assert "a-1.jar and 1 more" in sentence
    assert "r.example was not reached (ConnectException: Connection refused)" in sentence
    assert ivy.failure_sentence(["\t\t:: org.example#a;1: not found"]).endswith("org.example#a;1: not found")
    assert "bad settings" in ivy.failure_sentence(["bad settings", ""])
    assert "nothing" in ivy.failure_sentence([])


@pytest.mark.parametrize("text", ["", "a:b", "a::1", "a:b:1:c"])
def test_coordinates_have_three_parts(text: str) -> None:
    with pytest.raises(JarError, match="organisation:name:revision"):
        Coordinate.parse(text)


def test_the_command_refuses_unknown_sets(capsys: pytest.CaptureFixture[str]) -> None:
    assert jars.main(["nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err
