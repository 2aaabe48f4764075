"""The rules by which the config topic is read, one by one."""

from __future__ import annotations

import pytest

from seamark.config.states import TargetState
from seamark.storage import cluster_state as events
from seamark.storage.cluster_state import ClusterConfigState, ConfigEvent, ConfigLogReducer
from seamark.storage.config_records import SessionKey

STARTED, PAUSED, STOPPED = TargetState.STARTED, TargetState.PAUSED, TargetState.STOPPED
CONFIG = '{"properties":{"name":"c","file":"a"}}'


class Log:
    """A config topic with one reader."""

    def __init__(self) -> None:
        self.reducer = ConfigLogReducer()
        self.end = 0

    def add(self, key: str, value: str | bytes | None) -> list[ConfigEvent]:
        self.end += 1
        content = value.encode() if isinstance(value, str) else value
        return self.reducer.apply(key, content, self.end - 1)

    def add_tasks(self, name: str, count: int, version: str = "1") -> list[ConfigEvent]:
        for task in range(count):
            self.add(f"task-{name}-{task}", f'{{"properties":{{"v":"{version}"}}}}')
        return self.add(f"commit-{name}", f'{{"tasks":{count}}}')

    @property
    def state(self) -> ClusterConfigState:
        return self.reducer.snapshot()


@pytest.fixture
def log() -> Log:
    return Log()


def test_nothing_is_known_before_the_first_record(log: Log) -> None:
    assert log.state == ClusterConfigState()
    assert log.state.offset == -1
    assert (log.state.tasks("c"), log.state.target_state("c"), log.state.connector_config("c")) == ([], None, None)


def test_keys_of_no_known_kind_are_skipped_and_move_the_offset(log: Log) -> None:
    for key in ("", "junk", "tasks-", "session-keys", "Connector-c"):
        assert log.add(key, '{"properties":{}}') == []
    assert log.state == ClusterConfigState(offset=5)


def test_a_connector_may_be_called_like_another_kind_of_record(log: Log) -> None:
    for name in ("connector-", "state", "task-x-0", "fencing-c"):
        log.add(f"connector-{name}", CONFIG)
    log.add("target-state-connector-", '{"state":"PAUSED","state.v2":"PAUSED"}')
    assert set(log.state.connectors) == {"connector-", "state", "task-x-0", "fencing-c"}
    assert log.state.target_state("connector-") is PAUSED


@pytest.mark.parametrize("name", ["c", "my-connector", "a-1", "a--", "-", "ünï 😀", "a-1-2"])
def test_names_may_contain_dashes(log: Log, name: str) -> None:
    log.add(f"connector-{name}", CONFIG)
    log.add(f"tasks-fencing-{name}", '{"task-count":3}')
    assert log.add_tasks(name, 2) == [events.TaskConfigsUpdated(name, (0, 1))]
    assert log.state.all_task_configs(name) == [{"v": "1"}, {"v": "1"}]
    assert log.state.task_count_records == {name: 3}


@pytest.mark.parametrize("key", ["task-c", "task-0", "task-c-x", "task-c-", "task-c-1.0", "task-c-²"])
def test_a_task_without_a_number_is_skipped(log: Log, key: str) -> None:
    log.add("connector-c", CONFIG)
    assert log.add(key, CONFIG) == []
    log.add("commit-c", '{"tasks":1}')
    assert log.state.inconsistent == {"c"}


@pytest.mark.requirement("K875-42")
@pytest.mark.parametrize(
    ("value", "state"),
    [
        ('{"state":"PAUSED","state.v2":"STOPPED"}', STOPPED),
        ('{"state":"PAUSED","state.v2":"PAUSED"}', PAUSED),
        ('{"state":"STARTED","state.v2":"STARTED"}', STARTED),
        ('{"state":"PAUSED"}', PAUSED),
        ('{"state":"STOPPED"}', STOPPED),
        ('{"state.v2":"STOPPED"}', STOPPED),
        ('{"state":"PAUSED","state.v2":null}', PAUSED),
        ('{"state":"PAUSED","state.v2":7}', PAUSED),
    ],
)
def test_the_newer_field_of_a_target_state_counts_when_it_is_a_text(log: Log, value: str, state: TargetState) -> None:
    log.add("connector-c", CONFIG)
    log.add("target-state-c", value)
    assert log.state.target_state("c") is state


@pytest.mark.parametrize(
    "value", ['{"state":"RUNNING"}', '{"state":"PAUSED","state.v2":"paused"}', "{}", "[]", '{"state":1}', '"PAUSED"']
)
def test_a_target_state_that_is_none_changes_nothing(log: Log, value: str) -> None:
    log.add("connector-c", CONFIG)
    log.add("target-state-c", '{"state":"PAUSED"}')
    assert log.add("target-state-c", value) == []
    assert log.state.target_state("c") is PAUSED
    assert log.state.offset == 3


def test_a_connector_without_a_state_is_started(log: Log) -> None:
    assert log.add("connector-c", CONFIG) == [events.ConnectorConfigUpdated("c")]
    assert log.state.target_states == {"c": STARTED}


def test_a_deleted_state_is_started_while_the_connector_exists(log: Log) -> None:
    log.add("connector-c", CONFIG)
    log.add("target-state-c", '{"state":"PAUSED"}')
    assert log.add("target-state-c", None) == []
    assert log.state.target_states == {"c": STARTED}
    log.add("connector-c", None)
    log.add("target-state-c", None)
    assert log.state.target_states == {}


@pytest.mark.requirement("K980-16")
def test_a_state_without_a_connector_is_kept_silently_until_there_is_one(log: Log) -> None:
    assert log.add("target-state-c", '{"state":"PAUSED","state.v2":"STOPPED"}') == []
    assert not log.state.connectors
    assert log.state.target_state("c") is None
    assert log.add("connector-c", CONFIG) == [events.ConnectorConfigUpdated("c")]
    assert log.state.target_state("c") is STOPPED


def test_only_a_change_of_state_is_told(log: Log) -> None:
    log.add("connector-c", CONFIG)
    assert log.add("target-state-c", '{"state":"STARTED"}') == []
    assert log.add("target-state-c", '{"state":"PAUSED"}') == [events.TargetStateChanged("c")]
    assert log.add("target-state-c", '{"state":"PAUSED"}') == []


def test_tasks_wait_for_their_commit(log: Log) -> None:
    log.add("connector-c", CONFIG)
    assert log.add("task-c-0", '{"properties":{"v":"1"}}') == []
    assert log.state.task_configs == {}
    assert log.add("commit-c", '{"tasks":1}') == [events.TaskConfigsUpdated("c", (0,))]
    assert log.state.task_configs == {("c", 0): {"v": "1"}}
    log.add("task-c-0", '{"properties":{"v":"2"}}')
    assert log.state.task_config("c", 0) == {"v": "1"}


def test_more_tasks_than_are_committed_do_no_harm(log: Log) -> None:
    log.add("connector-c", CONFIG)
    log.add("task-c-1", '{"properties":{"v":"old"}}')
    assert log.add_tasks("c", 1) == [events.TaskConfigsUpdated("c", (0,))]
    assert log.state.task_configs == {("c", 0): {"v": "1"}}


def test_a_commit_without_all_its_tasks_leaves_the_connector_inconsistent(log: Log) -> None:
    log.add("connector-c", CONFIG)
    log.add("task-c-1", CONFIG)
    assert log.add("commit-c", '{"tasks":2}') == [events.TaskConfigsUpdated("c", ())]
    assert log.state.inconsistent == {"c"}
    assert (log.state.task_count("c"), log.state.tasks("c"), log.state.all_task_configs("c")) == (2, [], [])
    assert not log.state.is_applied("c")
    # What came before a commit does not count after it.
    log.add("task-c-0", CONFIG)
    log.add("commit-c", '{"tasks":2}')
    assert log.state.inconsistent == {"c"}
    log.add_tasks("c", 2)
    assert log.state.inconsistent == frozenset()
    assert log.state.tasks("c") == [0, 1]


def test_a_stop_is_a_commit_of_no_tasks(log: Log) -> None:
    log.add("connector-c", CONFIG)
    log.add_tasks("c", 2)
    assert log.add("commit-c", '{"tasks":0}') == [events.TaskConfigsUpdated("c", ())]
    assert (log.state.task_counts, log.state.task_configs) == ({"c": 0}, {})


def test_tasks_of_a_connector_that_does_not_exist_are_dropped(log: Log) -> None:
    assert log.add_tasks("c", 1) == []
    log.add("connector-c", CONFIG)
    assert (log.state.task_counts, log.state.inconsistent, log.state.pending_fencing) == ({}, frozenset(), frozenset())
    log.add("commit-c", '{"tasks":1}')  # the configuration from before is gone as well
    assert log.state.inconsistent == {"c"}


def test_a_deleted_connector_takes_its_tasks_along_but_not_its_fencing(log: Log) -> None:
    log.add("connector-c", CONFIG)
    log.add("tasks-fencing-c", '{"task-count":2}')
    log.add_tasks("c", 2)
    assert log.add("connector-c", None) == [events.ConnectorConfigRemoved("c")]
    state = log.state
    assert (state.connectors, state.task_counts, state.task_configs, state.applied_configs) == ({}, {}, {}, {})
    assert state.task_count_records == {"c": 2}
    assert log.add("connector-c", None) == [events.ConnectorConfigRemoved("c")]


def test_the_configuration_behind_the_tasks_is_remembered(log: Log) -> None:
    log.add("connector-c", CONFIG)
    assert not log.state.is_applied("c")
    log.add_tasks("c", 1)
    assert log.state.is_applied("c")
    log.add("connector-c", '{"properties":{"name":"c","file":"b"}}')
    assert not log.state.is_applied("c")
    assert log.state.applied_configs == {"c": {"name": "c", "file": "a"}}
    log.add_tasks("c", 1)
    assert log.state.is_applied("c")


def test_a_commit_asks_for_fencing_and_a_count_record_settles_it(log: Log) -> None:
    log.add("connector-c", CONFIG)
    log.add_tasks("c", 1)
    assert log.state.pending_fencing == {"c"}
    assert log.add("tasks-fencing-c", '{"task-count":1}') == []
    assert (log.state.pending_fencing, log.state.task_count_records) == (frozenset(), {"c": 1})
    log.add("commit-c", '{"tasks":0}')
    assert log.state.pending_fencing == {"c"}


def test_values_of_a_configuration_may_be_null(log: Log) -> None:
    log.add("connector-c", '{"properties":{"a":null,"b":""}}')
    assert log.state.connector_config("c") == {"a": None, "b": ""}


@pytest.mark.parametrize("value", ["", "{", "not json", b"\xff\xfe", "{'a':1}"])
def test_what_is_no_json_is_skipped_and_does_not_move_the_offset(log: Log, value: str | bytes) -> None:
    log.add("connector-c", CONFIG)
    for key in ("connector-c", "target-state-c", "commit-c", "session-key", "placement-c", "whatever"):
        assert log.add(key, value) == []
    assert log.state.offset == 1
    log.add("connector-d", CONFIG)
    assert log.state.offset == 8
    assert set(log.state.connectors) == {"c", "d"}


@pytest.mark.parametrize("value", ["[]", '"x"', "7", "true", "{}", '{"properties":[]}', '{"tasks":"1"}', "1.5"])
@pytest.mark.parametrize(
    "key",
    [
        "connector-c",
        "task-c-0",
        "commit-c",
        "tasks-fencing-c",
        "session-key",
        "logger-cluster-root",
        "target-state-c",
        "placement-c",
    ],
)
def test_json_of_the_wrong_shape_is_skipped_and_moves_the_offset(log: Log, key: str, value: str) -> None:
    log.add("connector-c", CONFIG)
    before = log.state
    assert log.add(key, value) == []
    after = log.state
    assert after.offset == 2
    assert (after.connectors, after.task_counts, after.inconsistent) == (before.connectors, {}, frozenset())
    assert (after.session_key, after.placements, after.task_count_records) == (None, {}, {})


@pytest.mark.parametrize("count", ['"1"', "-1", "1.0", "true", "null", "4294967296"])
def test_a_count_that_is_none_is_skipped(log: Log, count: str) -> None:
    log.add("connector-c", CONFIG)
    assert log.add("commit-c", f'{{"tasks":{count}}}') == []
    log.add("tasks-fencing-c", f'{{"task-count":{count}}}')
    assert (log.state.task_counts, log.state.task_count_records) == ({}, {})


def test_records_without_a_value_are_only_deletions_where_there_is_something_to_delete(log: Log) -> None:
    log.add("connector-c", CONFIG)
    log.add_tasks("c", 1)
    log.add("session-key", '{"key":"AAAA","algorithm":"HmacSHA256","creation-timestamp":5}')
    before = log.state
    for key in ("task-c-0", "commit-c", "tasks-fencing-c", "session-key", "restart-connector-c", "logger-cluster-x"):
        assert log.add(key, None) == []
        assert log.add(key, "null") == []
    after = log.state
    assert after.session_key == before.session_key is not None
    assert (after.task_configs, after.task_counts) == (before.task_configs, before.task_counts)


def test_the_session_key_is_the_last_one(log: Log) -> None:
    assert log.add("session-key", '{"key":"AAEC","algorithm":"HmacSHA256","creation-timestamp":1700000000000}') == [
        events.SessionKeyUpdated()
    ]
    assert log.state.session_key == SessionKey(b"\x00\x01\x02", "HmacSHA256", 1700000000000)
    assert log.add("session-key", '{"key":"!","algorithm":"HmacSHA256","creation-timestamp":1}') == []
    assert log.state.session_key == SessionKey(b"\x00\x01\x02", "HmacSHA256", 1700000000000)


def test_the_session_key_is_not_shown() -> None:
    assert "secret" not in repr(ClusterConfigState(session_key=SessionKey(b"secret", "HmacSHA256", 1)))


@pytest.mark.parametrize(
    ("value", "include_tasks", "only_failed"),
    [
        ('{"include-tasks":true,"only-failed":false}', True, False),
        ('{"include-tasks":false,"only-failed":true}', False, True),
        ("{}", False, False),
        ('{"include-tasks":"true","only-failed":1}', False, False),
    ],
)
def test_a_restart_request_is_told(log: Log, value: str, include_tasks: bool, only_failed: bool) -> None:
    assert log.add("restart-connector-c", value) == [events.RestartRequested("c", include_tasks, only_failed)]
    assert log.add("restart-connector-c", "[]") == []


def test_a_logger_level_is_told_as_it_was_sent(log: Log) -> None:
    assert log.add("logger-cluster-org.apache", '{"level":"warn"}') == [events.LoggerLevelUpdated("org.apache", "warn")]


def test_a_placement_is_kept_until_it_is_taken_back(log: Log) -> None:
    assert log.add("placement-c", '{"slot":7}') == [events.PlacementChanged("c")]
    assert log.add("placement-c", '{"slot":7}') == []
    assert log.state.placements == {"c": 7}
    assert log.add("placement-c", '{"slot":8}') == [events.PlacementChanged("c")]
    assert log.add("placement-c", None) == [events.PlacementChanged("c")]
    assert log.add("placement-c", None) == []
    assert log.state.placements == {}


def test_a_snapshot_does_not_change_and_cannot_be_changed(log: Log) -> None:
    log.add("connector-c", CONFIG)
    before = log.state
    assert log.state is before
    log.add("connector-c", None)
    log.add("connector-d", CONFIG)
    assert set(before.connectors) == {"c"}
    with pytest.raises(TypeError):
        before.connectors["e"] = {}  # type: ignore[index]
    with pytest.raises(TypeError):
        before.connectors["c"]["file"] = "b"  # type: ignore[index]
    copy = before.connector_config("c")
    assert copy is not None
    copy["file"] = "changed"
    assert before.connector_config("c") == {"name": "c", "file": "a"}
