"""Records of the config topic, byte for byte as a Java worker was seen to write them."""

from __future__ import annotations

import pytest

from seamark.config.states import TargetState
from seamark.errors import DataError
from seamark.storage import config_records as records
from seamark.storage.config_records import SessionKey


@pytest.mark.requirement("K875-41")
@pytest.mark.requirement("K980-17")
def test_a_stopped_connector_is_paused_to_workers_that_know_no_stop() -> None:
    assert records.target_state_record("c", TargetState.STOPPED) == (
        "target-state-c",
        b'{"state":"PAUSED","state.v2":"STOPPED"}',
    )
    assert records.target_state_record("c", TargetState.PAUSED)[1] == b'{"state":"PAUSED","state.v2":"PAUSED"}'
    assert records.target_state_record("c", TargetState.STARTED)[1] == b'{"state":"STARTED","state.v2":"STARTED"}'


def test_a_connectors_configuration_keeps_its_order() -> None:
    config = {"file": "ü/😀\t", "connector.class": "X", "absent": None, "name": "c"}
    assert records.connector_record("c", config) == (
        "connector-c",
        '{"properties":{"file":"ü/\\uD83D\\uDE00\\t","connector.class":"X","absent":null,"name":"c"}}'.encode(),
    )
    assert records.connector_record("c", {})[1] == b'{"properties":{}}'


def test_a_tasks_configuration_has_the_order_of_a_hash_map() -> None:
    config = {"topic": "t", "partition": "1", "cluster": "src"}
    assert records.task_record("my-c", 3, config) == (
        "task-my-c-3",
        b'{"properties":{"cluster":"src","partition":"1","topic":"t"}}',
    )


def test_structs_keep_the_order_of_their_fields() -> None:
    assert records.commit_record("c", 2) == ("commit-c", b'{"tasks":2}')
    assert records.fencing_record("c", 2) == ("tasks-fencing-c", b'{"task-count":2}')
    assert records.session_key_record(SessionKey(b"\x00\x01\x02", "HmacSHA256", 1700000000000)) == (
        "session-key",
        b'{"key":"AAEC","algorithm":"HmacSHA256","creation-timestamp":1700000000000}',
    )
    assert records.restart_record("c", include_tasks=True, only_failed=False) == (
        "restart-connector-c",
        b'{"include-tasks":true,"only-failed":false}',
    )
    assert records.logger_record("org.apache", "warn") == ("logger-cluster-org.apache", b'{"level":"warn"}')
    assert records.placement_record("c", 4) == ("placement-c", b'{"version":1,"slot":4}')
    assert records.placement_record("c", None) == ("placement-c", None)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(DataError):
        records.connector_record("c", {"file": "\ud83d"})
