"""`/admin/loggers`, for one worker and for the cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from compat.client import Connect, expect
from seamark.testing.waiting import eventually

LOGGERS = "/admin/loggers"


@pytest.fixture
def logger(name: str) -> str:
    return f"compat.loggers.{name}"


@pytest.fixture
def workers(connect: Connect) -> Iterator[list[Connect]]:
    """A client of each worker."""
    clients = [Connect(connect.target, number) for number in range(len(connect.target.urls))]
    yield clients
    for client in clients:
        client.close()


def test_all_loggers(connect: Connect) -> None:
    loggers = expect(connect.get(LOGGERS), 200)
    assert "root" in loggers
    for level in loggers.values():
        assert list(level) == ["level", "last_modified"]
        assert level["last_modified"] is None or isinstance(level["last_modified"], int)
    assert expect(connect.get(f"{LOGGERS}/root"), 200) == loggers["root"]


def test_unknown_logger(connect: Connect, logger: str) -> None:
    connect.refuses(connect.get(f"{LOGGERS}/{logger}"), 404, f"Logger {logger} not found.")


@pytest.mark.parametrize("query", ["", "?scope=worker", "?scope=WORKER", "?scope=", "?scope=galaxy"])
@pytest.mark.parametrize("level", ["DEBUG", "warn", "Trace"])
def test_level_of_one_worker(connect: Connect, logger: str, query: str, level: str) -> None:
    before = int(time.time() * 1000)
    path = f"{LOGGERS}/{logger}"
    assert expect(connect.put(f"{path}{query}", {"level": level}), 200) == [logger]
    found = expect(connect.get(path), 200)
    assert found["level"] == level.upper()
    assert before - 1000 <= found["last_modified"] <= int(time.time() * 1000) + 1000
    assert expect(connect.get(LOGGERS), 200)[logger] == found


def test_same_level_again_changes_nothing(connect: Connect, logger: str) -> None:
    path = f"{LOGGERS}/{logger}"
    assert expect(connect.put(path, {"level": "ERROR"}), 200) == [logger]
    found = expect(connect.get(path), 200)
    assert expect(connect.put(path, {"level": "error"}), 200) == []
    assert expect(connect.get(path), 200) == found


def test_children_get_the_level_too(connect: Connect, logger: str) -> None:
    """All whose names begin like it, in fact: Kafka Connect does not look for the dot."""
    for child in ("b", "a.b", "a", "ab"):
        expect(connect.put(f"{LOGGERS}/{logger}.{child}", {"level": "WARN"}), 200)
    changed = expect(connect.put(f"{LOGGERS}/{logger}.a", {"level": "ERROR"}), 200)
    assert changed == [f"{logger}.a", f"{logger}.a.b", f"{logger}.ab"]
    levels = expect(connect.get(LOGGERS), 200)
    found = [levels[f"{logger}.{child}"]["level"] for child in ("a", "a.b", "ab", "b")]
    assert found == ["ERROR", "ERROR", "ERROR", "WARN"]


def test_root_is_every_logger(connect: Connect, logger: str) -> None:
    before = expect(connect.get(f"{LOGGERS}/root"), 200)["level"]
    expect(connect.put(f"{LOGGERS}/{logger}", {"level": "DEBUG"}), 200)
    other = "ERROR" if before != "ERROR" else "WARN"
    changed = expect(connect.put(f"{LOGGERS}/root", {"level": other}), 200)
    assert {"root", logger} <= set(changed)
    assert {level["level"] for level in expect(connect.get(LOGGERS), 200).values()} == {other}
    expect(connect.put(f"{LOGGERS}/root", {"level": before}), 200)
    assert expect(connect.get(f"{LOGGERS}/{logger}"), 200)["level"] == before


@pytest.mark.parametrize("scope", ["", "?scope=worker", "?scope=cluster"])
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": None}, 400, "Desired 'level' parameter was not specified in request."),
        ({"other": "DEBUG"}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": "bogus"}, 404, "invalid log level 'bogus'."),
        ({"level": ""}, 500, "Illegal null or empty Level name."),
    ],
    ids=["missing", "null", "other-key", "unknown", "empty"],
)
def test_level_that_is_none(
    connect: Connect, logger: str, scope: str, body: dict[str, str], status: int, message: str
) -> None:
    connect.refuses(connect.put(f"{LOGGERS}/{logger}{scope}", body), status, message)
    assert connect.get(f"{LOGGERS}/{logger}").status_code == 404


@pytest.mark.parametrize("scope", ["cluster", "CLUSTER"])
def test_level_of_the_cluster(connect: Connect, workers: list[Connect], logger: str, scope: str) -> None:
    response = connect.put(f"{LOGGERS}/{logger}?scope={scope}", {"level": "warn"})
    assert expect(response, 204) is None
    for worker in workers:
        eventually(lambda worker=worker: worker.get(f"{LOGGERS}/{logger}").json()["level"] == "WARN")


def test_level_of_one_worker_is_not_that_of_others(connect: Connect, workers: list[Connect], logger: str) -> None:
    expect(connect.put(f"{LOGGERS}/{logger}", {"level": "WARN"}), 200)
    for worker in workers:
        found = worker.get(f"{LOGGERS}/{logger}").status_code
        assert found == (200 if worker.url == connect.url else 404)
