"""Levels of loggers, read and changed while the worker runs: what `/admin/loggers` shows and sets.

Connect's level names over Python's logging. A logger keeps whatever name it is given: ``org.apache.kafka.connect`` is
as good as ``seamark.engine``, although nothing of ours logs there, so that scripts made for a Java worker do not fail.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from seamark.errors import ConnectError, NotFoundError
from seamark.runtime.herder import LoggerLevel

log = logging.getLogger(__name__)

ROOT: Final = "root"
# ALL is not 0: that is Python's number for "as the parent".
LEVELS: Final = {"ALL": 1, "TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50, "OFF": 1000}
_BY_NUMBER: Final = sorted((number, name) for name, number in LEVELS.items())


def parse_level(text: str) -> str:
    """The name of a level, in whatever case it was given.

    Raises:
        NotFoundError: there is no such level.
        ConnectError: the text is empty.
    """
    if not text:
        raise ConnectError("Illegal null or empty Level name.")
    level = text.strip().upper()
    if level not in LEVELS:
        raise NotFoundError(f"invalid log level '{text}'.")
    return level


def _name(number: int) -> str:
    """The level that a number of Python's belongs to: the first that is not lower."""
    return next((name for limit, name in _BY_NUMBER if number <= limit), "OFF")


class Loggers:
    """The loggers of this process."""

    def __init__(self, clock_ms: Callable[[], int] = lambda: int(time.time() * 1000)) -> None:
        self._clock_ms = clock_ms
        self._modified: dict[str, int] = {}
        self._lock = threading.Lock()

    def all_levels(self) -> dict[str, LoggerLevel]:
        """The level that is in force for each logger that is known, by name."""
        with self._lock:
            loggers = {**_known(), ROOT: logging.getLogger()}
            return {name: self._level(name, loggers[name]) for name in sorted(loggers)}

    def level(self, name: str) -> LoggerLevel | None:
        """The level that is in force for a logger; None if nobody knows it."""
        with self._lock:
            logger = logging.getLogger() if name.lower() == ROOT else _known().get(name)
            return None if logger is None else self._level(ROOT if name.lower() == ROOT else name, logger)

    def set_level(self, namespace: str, level: str) -> list[str]:
        """Set the level of a logger and of all known ones below it; with ``root``, of all there are.

        Returns:
            The names of those whose level has changed, in order.

        Raises:
            NotFoundError: there is no such level.
        """
        number = LEVELS[parse_level(level)]
        with self._lock:
            if namespace.lower() == ROOT:
                loggers = {**_known(), ROOT: logging.getLogger()}
            else:
                below = {name: logger for name, logger in _known().items() if name.startswith(namespace)}
                loggers = {**below, namespace: logging.getLogger(namespace)}
            changed = sorted(
                name for name, logger in loggers.items() if _name(logger.getEffectiveLevel()) != _name(number)
            )
            now = self._clock_ms()
            for name in changed:
                loggers[name].setLevel(number)
                self._modified[name] = now
        log.info("Set level of namespace %s and children to %s", namespace, _name(number))
        return changed

    def _level(self, name: str, logger: logging.Logger) -> LoggerLevel:
        return LoggerLevel(_name(logger.getEffectiveLevel()), self._modified.get(name))


def _known() -> dict[str, logging.Logger]:
    """The loggers that somebody has asked for; not the names between that exist for the sake of others only."""
    return {
        name: logger
        for name, logger in logging.root.manager.loggerDict.copy().items()
        if isinstance(logger, logging.Logger)
    }
