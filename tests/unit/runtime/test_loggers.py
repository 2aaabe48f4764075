"""Levels of loggers, with Connect's names and rules."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator

import pytest

from seamark.errors import ConnectError, NotFoundError
from seamark.runtime.herder import LoggerLevel
from seamark.runtime.loggers import LEVELS, Loggers, parse_level


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    """Levels as before, whatever a test does."""
    before = {name: logger.level for name, logger in _all().items()}
    root = logging.getLogger().level
    yield
    logging.getLogger().setLevel(root)
    for name, logger in _all().items():
        logger.setLevel(before.get(name, logging.NOTSET))


def _all() -> dict[str, logging.Logger]:
    found = logging.root.manager.loggerDict.copy().items()
    return {name: logger for name, logger in found if isinstance(logger, logging.Logger)}


@pytest.fixture
def namespace() -> str:
    return f"org.test.{uuid.uuid4().hex}"


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_of_connect_can_be_set_and_read(namespace: str, level: str) -> None:
    loggers = Loggers()
    loggers.set_level(namespace, "OFF" if level == "ALL" else "ALL")
    assert loggers.set_level(namespace, f" {level.lower()} ") == [namespace]
    assert loggers.level(namespace) is not None
    assert loggers.all_levels()[namespace].level == level


def test_levels_do_what_they_say(namespace: str) -> None:
    loggers, logger = Loggers(), logging.getLogger(namespace)
    enabled = {}
    for level in LEVELS:
        loggers.set_level(namespace, level)
        enabled[level] = [number for number in (5, 10, 20, 30, 40, 50) if logger.isEnabledFor(number)]
    assert enabled == {
        "ALL": [5, 10, 20, 30, 40, 50],
        "TRACE": [5, 10, 20, 30, 40, 50],
        "DEBUG": [10, 20, 30, 40, 50],
        "INFO": [20, 30, 40, 50],
        "WARN": [30, 40, 50],
        "ERROR": [40, 50],
        "FATAL": [50],
        "OFF": [],
    }


def test_children_follow_and_only_what_changed_is_told(namespace: str) -> None:
    now = iter(range(100, 200))
    loggers = Loggers(clock_ms=lambda: next(now))
    children = [f"{namespace}.a", f"{namespace}.b.c"]
    for child in children:
        logging.getLogger(child).setLevel(logging.INFO)
    loggers.set_level(children[0], "ERROR")
    assert loggers.set_level(namespace, "ERROR") == [namespace, children[1]]
    assert [loggers.level(name) for name in (namespace, *children)] == [
        LoggerLevel("ERROR", 101),
        LoggerLevel("ERROR", 100),
        LoggerLevel("ERROR", 101),
    ]


def test_the_same_level_again_changes_nothing(namespace: str) -> None:
    now = iter(range(100, 200))
    loggers = Loggers(clock_ms=lambda: next(now))
    loggers.set_level(namespace, "DEBUG")
    assert loggers.set_level(namespace, "debug") == []
    assert loggers.level(namespace) == LoggerLevel("DEBUG", 100)


def test_names_are_matched_from_their_start_as_connect_does(namespace: str) -> None:
    loggers = Loggers()
    loggers.set_level(f"{namespace}.bar", "DEBUG")
    assert loggers.set_level(f"{namespace}.b", "ERROR") == [f"{namespace}.b", f"{namespace}.bar"]


def test_root_is_all_loggers(namespace: str) -> None:
    loggers = Loggers()
    loggers.set_level(namespace, "WARN")
    changed = loggers.set_level("Root", "FATAL")
    assert {"root", namespace} <= set(changed)
    assert loggers.level("ROOT") == loggers.all_levels()["root"]
    assert {level.level for level in loggers.all_levels().values()} == {"FATAL"}


def test_an_unknown_logger_has_no_level(namespace: str) -> None:
    logging.getLogger(f"{namespace}.child")
    loggers = Loggers()
    assert loggers.level(namespace) is None  # exists only as the parent of another
    assert loggers.level(f"{namespace}.child") is not None
    assert namespace not in loggers.all_levels()


@pytest.mark.parametrize("text", ["bogus", " ", "WARNING", "0"])
def test_what_is_no_level_is_refused_in_connects_words(text: str) -> None:
    with pytest.raises(NotFoundError) as error:
        parse_level(text)
    assert error.value.message == f"invalid log level '{text}'."


def test_an_empty_level_is_another_error() -> None:
    with pytest.raises(ConnectError) as error:
        parse_level("")
    assert not isinstance(error.value, NotFoundError)
    assert error.value.message == "Illegal null or empty Level name."
