"""The config store of a standalone worker."""

from __future__ import annotations

import pytest

from seamark.config.states import TargetState
from seamark.storage import cluster_state as events
from seamark.storage.cluster_state import ConfigEvent
from seamark.storage.config_records import SessionKey
from seamark.storage.memory_config import MemoryConfigStore


@pytest.fixture
def heard() -> list[ConfigEvent]:
    return []


@pytest.fixture
def store(heard: list[ConfigEvent]) -> MemoryConfigStore:
    store = MemoryConfigStore(heard.append)
    store.start()
    store.claim_write_privileges()
    return store


def test_a_connector_is_there_until_it_is_removed(store: MemoryConfigStore, heard: list[ConfigEvent]) -> None:
    store.put_connector_config("c", {"file": "a"}, TargetState.PAUSED, slot=3)
    state = store.snapshot()
    assert store.contains("c")
    assert (state.connector_config("c"), state.target_state("c")) == ({"file": "a"}, TargetState.PAUSED)
    assert state.placements == {"c": 3}
    store.put_task_configs("c", [{"a": "1"}, {"a": "2"}])
    assert store.snapshot().all_task_configs("c") == [{"a": "1"}, {"a": "2"}]
    store.remove_task_configs("c")
    assert store.snapshot().task_counts == {"c": 0}
    store.remove_connector_config("c")
    assert not store.contains("c")
    state = store.snapshot()
    assert (state.target_states, state.task_configs, state.placements) == ({}, {}, {})
    assert heard == [
        events.PlacementChanged("c"),
        events.ConnectorConfigUpdated("c"),
        events.TaskConfigsUpdated("c", (0, 1)),
        events.TaskConfigsUpdated("c", ()),
        events.ConnectorConfigRemoved("c"),
        events.PlacementChanged("c"),
    ]


def test_everything_else_is_told_too(store: MemoryConfigStore, heard: list[ConfigEvent]) -> None:
    store.put_connector_config("c", {})
    heard.clear()
    store.put_target_state("c", TargetState.STOPPED)
    store.put_task_count_record("c", 2)
    store.put_session_key(SessionKey(b"k" * 32, "HmacSHA256", 5))
    store.put_restart_request("c", include_tasks=True, only_failed=False)
    store.put_logger_level("root", "DEBUG")
    store.put_placement("c", 1)
    store.refresh(1)
    assert heard == [
        events.TargetStateChanged("c"),
        events.SessionKeyUpdated(),
        events.RestartRequested("c", True, False),
        events.LoggerLevelUpdated("root", "DEBUG"),
        events.PlacementChanged("c"),
    ]
    state = store.snapshot()
    assert state.session_key == SessionKey(b"k" * 32, "HmacSHA256", 5)
    assert state.task_count_records == {"c": 2}


@pytest.mark.requirement("K980-16")
def test_a_state_left_over_from_a_dead_leader_does_not_decide_for_a_new_connector(store: MemoryConfigStore) -> None:
    store.put_target_state("c", TargetState.STOPPED)
    assert not store.contains("c")
    store.put_connector_config("c", {})
    assert store.snapshot().target_state("c") is TargetState.STARTED
    store.put_target_state("c", TargetState.PAUSED)
    store.put_connector_config("c", {"file": "b"})
    assert store.snapshot().target_state("c") is TargetState.PAUSED


def test_a_listener_that_fails_does_not_hold_up_the_others_changes(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_event: ConfigEvent) -> None:
        raise RuntimeError("of the listener")

    store = MemoryConfigStore(fail)
    store.put_connector_config("c", {})
    store.put_target_state("c", TargetState.PAUSED)
    assert store.snapshot().target_state("c") is TargetState.PAUSED
    assert "of the listener" in caplog.text
