"""Whatever a leader wrote, wherever it died and whatever compaction removed: the state that is read makes sense."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seamark.config.states import TargetState
from seamark.storage import config_records as records
from seamark.storage.cluster_state import ClusterConfigState, ConfigLogReducer
from seamark.storage.config_records import ConfigRecord

NAMES = ("a", "a-1")
KINDS = ("create", "config", "config", "tasks", "tasks", "tasks", "died", "stop", "state", "delete", "fence", "place")
Entry = tuple[int, str, bytes | None]

names = st.sampled_from(NAMES)
configs = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2", "3"]), max_size=2)
states = st.sampled_from(list(TargetState))


@st.composite
def operations(draw: st.DrawFn) -> list[ConfigRecord]:
    """The records of one operation, in the order in which a leader writes them."""
    name = draw(names)
    kind = draw(st.sampled_from(KINDS))
    if kind == "create":
        return [records.target_state_record(name, draw(states)), records.connector_record(name, draw(configs))]
    if kind == "config":
        return [records.connector_record(name, draw(configs))]
    if kind in ("tasks", "died"):
        tasks = [records.task_record(name, i, config) for i, config in enumerate(draw(st.lists(configs, max_size=3)))]
        return tasks[: draw(st.integers(0, 3))] if kind == "died" else [*tasks, records.commit_record(name, len(tasks))]
    if kind == "stop":
        return [records.commit_record(name, 0), records.target_state_record(name, TargetState.STOPPED)]
    if kind == "state":
        return [records.target_state_record(name, draw(states))]
    if kind == "delete":
        return [(records.CONNECTOR + name, None), (records.TARGET_STATE + name, None)]
    if kind == "fence":
        return [records.fencing_record(name, draw(st.integers(0, 3)))]
    return [records.placement_record(name, draw(st.none() | st.integers(0, 24)))]


logs = st.lists(operations(), min_size=5, max_size=25).map(
    lambda all_of_them: [
        (offset, *record) for offset, record in enumerate(record for one in all_of_them for record in one)
    ]
)


def compacted(log: list[Entry], cleaned: int, without_tombstones: int) -> list[Entry]:
    """What compaction leaves: the last record of each key up to one point, deletions only after another."""
    last = {key: offset for offset, key, _ in log[:cleaned]}
    return [
        (offset, key, value)
        for offset, key, value in log
        if offset >= cleaned or (last[key] == offset and (value is not None or offset >= without_tombstones))
    ]


def read(log: list[Entry]) -> ClusterConfigState:
    reducer = ConfigLogReducer()
    for offset, key, value in log:
        reducer.apply(key, value, offset)
        check(reducer.snapshot())
    return reducer.snapshot()


def check(state: ClusterConfigState) -> None:
    connectors = set(state.connectors)
    assert connectors <= set(state.target_states)
    assert set(state.task_counts) | set(state.applied_configs) | state.inconsistent <= connectors
    assert {name for name, _ in state.task_configs} <= connectors
    for name in connectors:
        assert len(state.all_task_configs(name)) == len(state.tasks(name))
        if name in state.inconsistent:
            assert not state.tasks(name)
        elif name in state.task_counts:
            assert len(state.tasks(name)) == state.task_count(name)
            assert name in state.applied_configs


@given(logs, st.data())
def test_a_compacted_log_says_the_same_or_that_tasks_have_to_be_written_anew(
    log: list[Entry], data: st.DataObject
) -> None:
    cleaned = data.draw(st.integers(0, len(log)))
    left = compacted(log, cleaned, data.draw(st.integers(0, cleaned)))
    whole, found = read(log), read(left)
    assert not whole.inconsistent  # a leader that writes the rest of its tasks before a commit is never inconsistent
    assert found.connectors == whole.connectors
    assert found.placements == whole.placements
    assert found.task_count_records == whole.task_count_records
    for name in whole.connectors:
        assert found.target_state(name) is whole.target_state(name)
        if name in found.task_counts:
            assert found.task_count(name) == whole.task_count(name)
            assert (name in found.pending_fencing) == (name in whole.pending_fencing)
        if name in found.task_counts and name not in found.inconsistent:
            assert found.all_task_configs(name) == whole.all_task_configs(name)
            assert found.is_applied(name) == whole.is_applied(name)
        else:
            assert not found.tasks(name)
            assert not found.is_applied(name)


@given(logs, st.data())
def test_new_tasks_mend_any_log(log: list[Entry], data: st.DataObject) -> None:
    cleaned = data.draw(st.integers(0, len(log)))
    reducer = ConfigLogReducer()
    for offset, key, value in compacted(log, cleaned, cleaned):
        reducer.apply(key, value, offset)
    tasks = data.draw(st.lists(configs, max_size=3))
    for name in reducer.snapshot().connectors:
        for task, config in enumerate(tasks):
            reducer.apply(*records.task_record(name, task, config), len(log))
        reducer.apply(*records.commit_record(name, len(tasks)), len(log))
    state = reducer.snapshot()
    assert not state.inconsistent
    for name in state.connectors:
        assert state.all_task_configs(name) == tasks
        assert state.is_applied(name)


@given(st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=30)), max_size=20))
def test_nothing_that_anyone_writes_makes_reading_fail(junk: list[tuple[str, bytes | None]]) -> None:
    prefixes = ["", "connector-", "task-", "commit-", "target-state-", "session-key", "tasks-fencing-", "placement-"]
    read([(offset, prefixes[offset % len(prefixes)] + key, value) for offset, (key, value) in enumerate(junk)])
