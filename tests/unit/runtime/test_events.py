"""What has happened to connectors, and how much of it is remembered."""

from __future__ import annotations

from seamark.runtime import events
from seamark.runtime.events import EventLog, config_changes


def test_events_are_kept_in_order_and_bounded() -> None:
    seen = EventLog(clock=lambda: 12.5)
    for number in range(events.EVENTS + 3):
        seen.add("c", "state", str(number), who="alice", detail={"n": number})
    found = seen.of("c")
    assert len(found) == events.EVENTS
    assert found[0].message == "3"
    assert found[-1].shown() == {
        "at": 12500,
        "kind": "state",
        "message": "202",
        "who": "alice",
        "detail": {"n": 202},
    }
    assert seen.of("unknown") == []


def test_connectors_without_news_are_forgotten_first() -> None:
    seen = EventLog()
    for number in range(events.CONNECTORS):
        seen.add(f"c{number}", "created", "created")
    seen.add("c0", "state", "RUNNING")
    seen.add("one more", "created", "created")
    assert seen.of("c0")
    assert not seen.of("c1")


def test_changes_of_a_config_are_named_without_values() -> None:
    before = {"a": "1", "b": "secret", "c": "3"}
    after = {"a": "1", "b": "other", "d": None}
    assert config_changes(before, after) == {"added": ["d"], "changed": ["b"], "removed": ["c"]}
    assert config_changes(after, after) == {}
