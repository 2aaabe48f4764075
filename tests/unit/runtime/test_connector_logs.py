"""Which lines of the log are a connector's, and how many are kept."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from seamark.runtime.connector_logs import LONGEST, Line, LogCapture, LogRings
from seamark.runtime.log_context import for_connector, for_task

log = logging.getLogger("seamark.test_connector_logs")


@pytest.fixture
def rings() -> Iterator[LogRings]:
    rings = LogRings()
    capture = LogCapture(rings, lambda name: name in ("orders", "other"))
    log.addHandler(capture)
    log.setLevel(logging.DEBUG)
    yield rings
    log.removeHandler(capture)


def messages(rings: LogRings, name: str = "orders", level: int = 0) -> list[tuple[int | None, str]]:
    return [(line.task, line.message) for line in rings.of(name, 100, level)]


def test_lines_of_a_thread_that_works_for_a_connector(rings: LogRings) -> None:
    with for_connector("orders"):
        log.info("one %d", 1)
    with for_task("orders", 3):
        log.warning("two")
    with for_connector("of another worker"):
        log.info("three")
    log.info("four")
    assert messages(rings) == [(None, "one 1"), (3, "two")]
    assert messages(rings, level=logging.WARNING) == [(3, "two")]
    assert rings.of("of another worker", 10) == []


def test_lines_that_name_a_connector(rings: LogRings) -> None:
    log.info("[orders] runs again")
    log.error("[orders|task-12] failed")
    log.info("[unknown] is nobody's")
    with for_connector("other"):
        log.info("[orders] is not about this one")
    assert messages(rings) == [(None, "runs again"), (12, "failed")]
    assert messages(rings, "other") == [(None, "[orders] is not about this one")]


def test_no_secrets_and_a_trace(rings: LogRings) -> None:
    with for_connector("orders"):
        try:
            raise ValueError("no login with password=hunter2")
        except ValueError:
            log.exception("it failed")
        log.info("x" * 2 * LONGEST)
    (_, trace), (_, long) = messages(rings)
    assert "hunter2" not in trace
    assert "ValueError" in trace
    assert len(long) < LONGEST + 20


def line(text: str) -> Line:
    return Line(0, "INFO", 20, "l", None, text)


def test_only_the_last_lines_are_kept() -> None:
    rings = LogRings(lines=3)
    for number in range(5):
        rings.add("a", line(str(number)))
    assert [each.message for each in rings.of("a", 10)] == ["2", "3", "4"]
    assert [each.message for each in rings.of("a", 2)] == ["3", "4"]


def test_a_talkative_connector_costs_others_nothing() -> None:
    rings = LogRings(limit=10_000)
    rings.add("quiet", line("here"))
    for _ in range(100):
        rings.add("loud", line("x" * 300))
    assert rings.size <= 10_000
    assert [each.message for each in rings.of("quiet", 10)] == ["here"]
    assert rings.of("loud", 100)
