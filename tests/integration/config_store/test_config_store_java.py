"""The config store against the real Kafka Connect."""

from __future__ import annotations

import urllib.parse
from pathlib import Path

import pytest

from fixtures.config_topics import CONFIG, PAUSED, STARTED, STOPPED, Started, raw_records, written
from seamark.kafka.broker import EmbeddedBroker
from seamark.storage.cluster_state import ClusterConfigState
from seamark.storage.config_records import SessionKey
from seamark.storage.kafka_config import KafkaConfigStore
from seamark.testing.java_connect import JavaConnect
from seamark.testing.waiting import eventually


def java_worker(connect: JavaConnect) -> dict[str, str]:
    wanted = ("offset.", "config.", "status.", "bootstrap.", "group.")
    return {key: value for key, value in connect.config.items() if key.startswith(wanted)}


def of_connector(records: list[tuple[str, str | None]], name: str) -> list[tuple[str, str | None]]:
    kinds = ("connector-", "target-state-", "commit-", "restart-connector-", "tasks-fencing-")
    keys = {kind + name for kind in kinds}
    return [record for record in records if record[0] in keys or record[0].startswith(f"task-{name}-")]


@pytest.mark.java
@pytest.mark.requirement("K875-41")
@pytest.mark.requirement("K980-15")
@pytest.mark.requirement("K980-17")
def test_bytes_and_order_are_those_of_kafka_connect_and_we_read_its_records(
    java_connect: JavaConnect, leader: KafkaConfigStore, worker: dict[str, str], started: Started, topic_name: str
) -> None:
    theirs = java_worker(java_connect)
    reader = started(None, theirs)
    name = f"{topic_name}-ü"
    config: dict[str, str | None] = {
        "file": "/does/not/exist 😀\t",
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "topic": topic_name,
        "tasks.max": "1",
    }
    sent = {key: value for key, value in config.items() if value is not None}

    def state() -> ClusterConfigState:
        reader.refresh(30)
        return reader.snapshot()

    java_connect.create(name, sent, initial_state="PAUSED")
    java_connect.wait_state(name, "PAUSED", tasks=0)
    assert state().target_state(name) is PAUSED
    assert state().connector_config(name) == {**config, "name": name}
    assert (state().task_counts.get(name), state().is_applied(name)) == (None, False)
    java_connect.resume(name)
    assert state().target_state(name) is STARTED
    tasks = state().all_task_configs(name)
    assert [task["task.class"] for task in tasks] == ["org.apache.kafka.connect.file.FileStreamSourceTask"]
    assert state().is_applied(name)
    status, answer = java_connect.request("POST", f"/connectors/{urllib.parse.quote(name)}/restart?includeTasks=true")
    assert status == 202, answer
    java_connect.stop_connector(name)
    assert (state().target_state(name), state().task_count(name)) == (STOPPED, 0)
    java_connect.delete(name)
    eventually(lambda: name not in state().connectors and name not in state().target_states)

    leader.put_connector_config(name, {**config, "name": name}, PAUSED)
    leader.put_target_state(name, STARTED)
    leader.put_task_configs(name, tasks)
    leader.put_restart_request(name, include_tasks=True, only_failed=False)
    leader.remove_task_configs(name)
    leader.put_target_state(name, STOPPED)
    leader.remove_connector_config(name)
    assert written(worker) == of_connector(written(theirs), name)

    key = state().session_key
    assert key is not None
    assert (key.algorithm, len(key.key)) == ("HmacSHA256", 32)
    leader.put_session_key(key)
    assert written(worker)[-1] == [record for record in written(theirs) if record[0] == "session-key"][-1]


@pytest.mark.java
@pytest.mark.requirement("K980-14")
def test_with_transactions_kafka_connect_leaves_the_same_offsets(
    broker: EmbeddedBroker, leader: KafkaConfigStore, worker: dict[str, str], tmp_path: Path, topic_name: str
) -> None:
    settings = {"exactly.once.source.support": "enabled"}
    with JavaConnect(
        tmp_path, broker.bootstrap_servers, group_id=f"{topic_name}-java", config=settings, heap="256m"
    ) as java:
        source = {"connector.class": "FileStreamSource", "file": "none", "topic": topic_name}
        java.create("c", source, initial_state="STOPPED")
        java.wait_state("c", "STOPPED", tasks=0)
        theirs = [record for record in raw_records(java_worker(java)) if record.key != "session-key"]
    leader.put_session_key(SessionKey(b"k" * 32, "HmacSHA256", 1))
    leader.put_connector_config("c", {**source, "name": "c"}, STOPPED)
    leader.remove_task_configs("c")
    ours = [record for record in raw_records(worker) if record.key != "session-key"]
    first = min(record.offset for record in theirs)
    assert [(record.offset - first, record.key, record.value) for record in theirs[:2]] == [
        (record.offset - ours[0].offset, record.key, record.value) for record in ours[:2]
    ]
    assert ours[1].offset == ours[0].offset + 1


@pytest.mark.java
def test_kafka_connect_takes_over_what_we_wrote(broker: EmbeddedBroker, tmp_path: Path, topic_name: str) -> None:
    java = JavaConnect(tmp_path / "connect", broker.bootstrap_servers, group_id=topic_name, heap="256m")
    store = KafkaConfigStore.for_worker(java_worker(java))
    lines = tmp_path / "lines.txt"
    lines.write_text("one\n")
    source = {"connector.class": "FileStreamSource", "file": str(lines), "topic": topic_name, "tasks.max": "1"}
    names = {"running": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED", "stopped-later": "STOPPED"}
    store.start()
    try:
        store.claim_write_privileges()
        store.put_session_key(SessionKey(b"k" * 32, "HmacSHA256", 1))
        for slot, (name, initial) in enumerate(
            (("running", None), ("paused", PAUSED), ("stopped", STOPPED), ("stopped-later", None), ("deleted", PAUSED))
        ):
            store.put_connector_config(name, {**source, "name": name}, initial, slot=slot)
        for name in ("running", "paused", "stopped-later"):
            store.put_task_configs(
                name, [{**source, "task.class": "org.apache.kafka.connect.file.FileStreamSourceTask"}]
            )
        store.remove_task_configs("stopped-later")
        store.put_target_state("stopped-later", STOPPED)
        store.remove_connector_config("deleted")
        store.release_write_privileges()
        with java:
            assert sorted(java.request("GET", "/connectors")[1]) == sorted(names)
            for name, expected in names.items():
                java.wait_state(name, expected)
                assert java.request("GET", f"/connectors/{name}/config") == (200, {**source, "name": name})
            assert java.request("GET", "/connectors/running/tasks")[1][0]["config"]["task.class"].endswith("SourceTask")
            java.resume("stopped-later")
            java.pause("running")
            java.delete("paused")
        # And back: what it changed is ours again.
        store.refresh(30)
        state = store.snapshot()
        assert {name: state.target_state(name) for name in state.connectors} == {
            "running": PAUSED,
            "stopped": STOPPED,
            "stopped-later": STARTED,
        }
        assert state.tasks("stopped-later") == [0]
        assert state.session_key is not None
        assert state.session_key.key != b"k" * 32  # it had expired
        store.claim_write_privileges()
        store.put_connector_config("again", CONFIG)
        assert store.contains("again")
    finally:
        store.stop()
