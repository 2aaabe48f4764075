"""`strimzi.io/connector-offsets: alter` and `reset` on a KafkaMirrorMaker2."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compat.client import path_of
from fixtures.kube import conditions, config_map, warnings
from fixtures.worker import Topics
from kube.conftest import SEAMARK_ONLY, MakeMirror
from kube.resources import Mirror
from seamark.testing.waiting import eventually


@pytest.mark.requirement("STR-23")
@pytest.mark.requirement("STR-25")
@pytest.mark.requirement("STR-26")
@pytest.mark.requirement("STR-27")
@pytest.mark.requirement("STR-42")
def test_short_and_full_rows_are_sent_in_full(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.set_offsets(mirror.source, mirror.row("orders", 0, 1), mirror.row("orders", 4, 1), mirror.row("kept", 0, 8))
    mirror.serve("list", mirror.source)
    mirror.rest.clear()
    mirror.write_entry(
        mirror.source,
        [
            {"topic": "orders", "partition": 0, "offset": 15},
            {"topic": "orders", "partition": 1, "offset": {"offset": 16}, "note": "ignored"},
            mirror.row("orders", 2, 17),
            {"partition": {"topic": "orders", "partition": 3}, "offset": 18},
            {"topic": "orders", "partition": 4, "offset": None},
        ],
    )
    mirror.serve("alter", mirror.source)
    expected = [*(mirror.row("orders", partition, 15 + partition) for partition in range(4)), mirror.row("kept", 0, 8)]
    assert mirror.offsets(mirror.source) == _sorted(expected)
    (sent,) = mirror.rest.calls("PATCH")
    assert all(set(row) == {"partition", "offset"} for row in sent.json["offsets"])
    assert all(set(row["partition"]) == {"cluster", "topic", "partition"} for row in sent.json["offsets"])


def _sorted(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.requirement("STR-05")
@pytest.mark.requirement("STR-28")
@pytest.mark.requirement("STR-29")
def test_checkpoints_and_heartbeats_are_altered(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    row = mirror.checkpoint_row("my-group", "inventory", 4)
    mirror.write_entry(mirror.checkpoint, [row])
    mirror.serve("alter", mirror.checkpoint)
    assert mirror.offsets(mirror.checkpoint) == [row]
    mirror.write_entry(mirror.heartbeat, [{"offset": {"offset": 0}}])
    mirror.serve("alter", mirror.heartbeat)
    assert mirror.offsets(mirror.heartbeat) == [mirror.heartbeat_row()]


@pytest.mark.requirement("STR-27")
def test_a_missing_topic_is_the_config_topic_or_refused(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.set_offsets(mirror.source, mirror.row("orders", 0, 1), mirror.row("invoices", 0, 1))
    mirror.write_entry(mirror.source, [{"partition": 0, "offset": 3}])
    mirror.ask("alter", mirror.source)
    message = mirror.await_warning("AlterOffsets")["message"]
    assert "invoices, orders" in message
    assert mirror.rest.calls("PATCH") == []
    mirror.set_offsets(mirror.source, mirror.row("mirrormaker2-cluster-configs", 0, 1))
    mirror.await_served()
    assert mirror.row("mirrormaker2-cluster-configs", 0, 3) in mirror.offsets(mirror.source)


@pytest.mark.requirement("STR-24")
@SEAMARK_ONLY
def test_without_a_place_nothing_is_altered(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(places=False).create()
    mirror.ask("alter", mirror.source)
    assert mirror.await_warning("AlterOffsets")["message"] == (
        f"Failed to alter the connector offsets for {mirror.source} due to missing property alterOffsets in "
        "KafkaMirrorMaker2 CR."
    )
    assert mirror.rest.calls("PATCH") == []
    assert not mirror.is_served()
    mirror.section("source")["alterOffsets"] = {"fromConfigMap": {"name": mirror.map_name}}
    mirror.write_entry(mirror.source, [{"topic": "orders", "partition": 0, "offset": 3}])
    mirror.update()
    mirror.await_served()
    assert mirror.offsets(mirror.source) == [mirror.row("orders", 0, 3)]


@pytest.mark.requirement("STR-33")
@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("{not json", "not valid JSON"),
        ('{"offset": []}', 'a list "offsets"'),
        ("[]", 'a list "offsets"'),
        ('{"offsets": [{"topic": "t", "partition": "0", "offset": 1}]}', "partition should be a number"),
        ('{"offsets": [{"topic": "t", "partition": 0, "offset": "1"}]}', "offset should be a number"),
        ('{"offsets": [{"topic": "t", "partition": 0}]}', "offset is missing"),
        ('{"offsets": [{"topic": 5, "partition": 0, "offset": 1}]}', "topic should be a text"),
        ('{"offsets": ["t"]}', "should be an object"),
    ],
)
@SEAMARK_ONLY
def test_a_broken_entry_is_refused(make_mirror: MakeMirror, entry: str, fault: str) -> None:
    mirror = make_mirror(sections=("sourceConnector",)).create()
    mirror.write_entry(mirror.source, entry)
    mirror.ask("alter", mirror.source)
    message = mirror.await_warning("AlterOffsets")["message"]
    assert fault in message
    assert mirror.key(mirror.source) in message
    assert message.startswith(f"Failed to alter the connector offsets for {mirror.source} due to ")
    assert mirror.rest.calls("PATCH") == []
    assert not mirror.is_served()
    assert conditions(mirror.get())["Ready"] == "True"


@pytest.mark.requirement("STR-28")
@pytest.mark.parametrize("missing", ["partition", "topic", "group", "offset"])
@SEAMARK_ONLY
def test_a_checkpoint_says_everything_itself(make_mirror: MakeMirror, missing: str) -> None:
    mirror = make_mirror(sections=("checkpointConnector",)).create()
    row = mirror.checkpoint_row("my-group", "inventory", 4)
    if missing == "offset":
        del row["offset"]
    else:
        del row["partition"][missing]
    mirror.write_entry(mirror.checkpoint, [row])
    mirror.ask("alter", mirror.checkpoint)
    assert f"{missing} is missing" in mirror.await_warning("AlterOffsets")["message"]
    assert mirror.rest.calls("PATCH") == []


@pytest.mark.requirement("STR-33")
@pytest.mark.requirement("STR-34")
def test_a_missing_map_or_entry_is_waited_for(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.ask("alter", mirror.source)
    assert (
        f"ConfigMap {mirror.namespace}/{mirror.map_name} does not exist"
        in mirror.await_warning("AlterOffsets")["message"]
    )
    mirror.cluster.apply(config_map(mirror.namespace, mirror.map_name, {"other.json": "{broken"}))
    eventually(lambda: f"{mirror.key(mirror.source)} is missing" in warnings(mirror.get())[0]["message"], 30)
    mirror.cluster.merge(
        config_map(mirror.namespace, mirror.map_name),
        {
            "data": {
                mirror.key(mirror.source): '{"offsets": [{"topic": "t", "partition": 0, "offset": 1, "x": 2}], "y": 3}'
            }
        },
    )
    mirror.await_served()
    assert mirror.offsets(mirror.source) == [mirror.row("t", 0, 1)]


@pytest.mark.requirement("STR-30")
def test_the_workers_own_words_are_told(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    row = mirror.checkpoint_row("my-group", "inventory", 4)
    row["offset"] = {"offset": 7}
    mirror.write_entry(mirror.checkpoint, [row])
    mirror.ask("alter", mirror.checkpoint)
    answer = mirror.connect.call("PATCH", path_of(mirror.checkpoint, "offsets"), {"offsets": [row]})
    message = mirror.await_warning("AlterOffsets")["message"]
    assert answer.status_code >= 400
    assert message == (
        f'Failed to alter the connector offsets for {mirror.checkpoint} due to "{answer.json()["message"]}".'
    )
    eventually(lambda: len(mirror.rest.calls("PATCH")) >= 2, 30, "it was not tried again")
    assert not mirror.is_served()
    mirror.write_entry(mirror.checkpoint, [mirror.checkpoint_row("my-group", "inventory", 4)])
    mirror.await_served()
    assert warnings(mirror.get()) == []


@pytest.mark.requirement("STR-31")
@pytest.mark.requirement("STR-37")
@pytest.mark.parametrize(("action", "reason"), [("alter", "AlterOffsets"), ("reset", "ResetOffsets")])
@pytest.mark.parametrize("state", ["running", "paused"])
def test_offsets_of_what_is_not_stopped_are_left_alone(
    make_mirror: MakeMirror, action: str, reason: str, state: str
) -> None:
    mirror = make_mirror(state=state, sections=("heartbeatConnector",)).create()
    mirror.write_entry(mirror.heartbeat, [{"offset": {"offset": 0}}])
    mirror.rest.clear()
    mirror.ask(action, mirror.heartbeat)
    message = mirror.await_warning(reason)["message"]
    assert "Connector is not in STOPPED state" in message
    assert message.startswith(f"Failed to {action} the connector offsets for {mirror.heartbeat} due to ")
    assert mirror.rest.calls(path="/offsets") == []
    assert not mirror.is_served()


@pytest.mark.requirement("STR-31")
def test_a_connector_that_somebody_let_go_on_is_stopped_before(make_mirror: MakeMirror) -> None:
    """The resource says stopped, the worker says running: it is stopped first."""
    mirror = make_mirror(sections=("heartbeatConnector",)).create()
    mirror.rest.clear()

    def goes_on() -> bool:
        # Again, if the operator has looked just then and put it right.
        mirror.connect.call("PUT", path_of(mirror.heartbeat, "resume"))
        return mirror.connect.status(mirror.heartbeat)["connector"]["state"] == "RUNNING"

    eventually(goes_on, 60)
    mirror.write_entry(mirror.heartbeat, [{"offset": {"offset": 0}}])
    mirror.serve("alter", mirror.heartbeat)
    called = [call.path.rpartition("/")[2] for call in mirror.rest.calls("PUT", "PATCH")]
    assert [each for each in called if each != "resume"][-2:] == ["stop", "offsets"]


@pytest.mark.requirement("STR-31")
@SEAMARK_ONLY
def test_an_unstoppable_connector_is_told(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(state="running", sections=("heartbeatConnector",)).create()
    mirror.write_entry(mirror.heartbeat, [{"offset": {"offset": 0}}])
    mirror.rest.refuse("PUT", "/stop", 500, "it does not want to")
    mirror.section("heartbeat")["state"] = "stopped"
    mirror.update()
    mirror.ask("alter", mirror.heartbeat)
    assert "it does not want to" in mirror.await_warning("AlterOffsets")["message"]
    assert mirror.rest.calls("PATCH") == []
    mirror.rest.before.clear()
    mirror.await_served()


@pytest.mark.requirement("STR-06")
@pytest.mark.requirement("STR-32")
@pytest.mark.requirement("STR-38")
@pytest.mark.parametrize("action", ["alter", "reset"])
@pytest.mark.slow
def test_one_edit_stops_a_connector_and_changes_its_offsets(
    make_mirror: MakeMirror, topics: Topics, topic_name: str, action: str
) -> None:
    topics.create(topic_name)
    topics.send(topic_name, [str(number) for number in range(20)])
    mirror = make_mirror(state="running", sections=("sourceConnector",), topics=topic_name).create()
    eventually(lambda: mirror.offsets(mirror.source) == [mirror.row(topic_name, 0, 19)], 120)
    mirror.write_entry(mirror.source, [{"topic": topic_name, "partition": 0, "offset": 4}])
    mirror.rest.clear()
    mirror.section("source")["state"] = "stopped"
    annotations = {"strimzi.io/connector-offsets": action, "strimzi.io/mirrormaker-connector": mirror.source}
    mirror.cluster.merge(mirror.body, {"metadata": {"annotations": annotations}, "spec": mirror.body["spec"]})
    mirror.await_served()
    assert mirror.offsets(mirror.source) == ([mirror.row(topic_name, 0, 4)] if action == "alter" else [])
    changes = [call.path.rpartition("/")[2] for call in mirror.rest.calls("PUT", "PATCH", "DELETE")]
    assert changes == ["stop", "offsets"]
    mirror.section("source")["state"] = "running"
    mirror.update()
    copied = 35 if action == "alter" else 40
    eventually(lambda: topics.committed_end(f"{mirror.source_alias}.{topic_name}") >= copied, 120)
    assert topics.values(f"{mirror.source_alias}.{topic_name}")[20:] == [str(n) for n in range(40 - copied, 20)]


@pytest.mark.requirement("STR-02")
@pytest.mark.requirement("STR-05")
@pytest.mark.requirement("STR-35")
def test_reset_clears_the_offsets_of_one_connector(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(places=False).create()
    mirror.set_offsets(mirror.source, mirror.row("orders", 0, 1), mirror.row("orders", 1, 1))
    mirror.set_offsets(mirror.checkpoint, mirror.checkpoint_row("g", "t", 0))
    mirror.set_offsets(mirror.heartbeat, mirror.heartbeat_row())
    mirror.serve("reset", mirror.source)
    assert mirror.offsets(mirror.source) == []
    assert len(mirror.offsets(mirror.checkpoint)) == len(mirror.offsets(mirror.heartbeat)) == 1
    for connector in (mirror.checkpoint, mirror.heartbeat):
        mirror.serve("reset", connector)
        assert mirror.offsets(connector) == []


@pytest.mark.requirement("STR-36")
def test_a_failed_reset_is_told_and_tried_again(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.rest.refuse("DELETE", "/offsets", 500, 'the "message" of the endpoint')
    mirror.ask("reset", mirror.source)
    assert mirror.await_warning("ResetOffsets")["message"] == (
        f'Failed to reset the connector offsets for {mirror.source} due to "the "message" of the endpoint".'
    )
    eventually(lambda: len(mirror.rest.calls("DELETE")) >= 2, 30)
    assert not mirror.is_served()
    mirror.rest.before.clear()
    mirror.await_served()


@pytest.mark.requirement("STR-41")
def test_all_connectors_are_reset_at_once(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.section("heartbeat")["state"] = "paused"
    mirror.create()
    mirror.set_offsets(mirror.source, mirror.row("orders", 0, 1))
    mirror.set_offsets(mirror.checkpoint, mirror.checkpoint_row("g", "t", 0))
    mirror.ask("reset", "*")
    assert mirror.heartbeat in mirror.await_warning("ResetOffsets")["message"]
    eventually(lambda: mirror.offsets(mirror.source) == mirror.offsets(mirror.checkpoint) == [], 30)
    assert not mirror.is_served()
    mirror.section("heartbeat")["state"] = "stopped"
    mirror.update()
    mirror.await_served()


@SEAMARK_ONLY
def test_colliding_entries_are_refused(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(sections=("sourceConnector",))
    spec, servers = mirror.body["spec"], mirror.body["spec"]["clusters"][0]["bootstrapServers"]
    first, second = f"a--{mirror.target_alias}", "a"
    other = f"{mirror.target_alias}--{mirror.target_alias}"
    spec["clusters"] += [{"alias": alias, "bootstrapServers": servers} for alias in (first, second, other)]
    spec["mirrors"] = [
        {**mirror.mirror, "sourceCluster": first, "targetCluster": mirror.target_alias},
        {**mirror.mirror, "sourceCluster": second, "targetCluster": other},
    ]
    mirror.create(await_ready=False)
    name = f"{first}->{mirror.target_alias}.MirrorSourceConnector"
    assert Mirror.key(name) == Mirror.key(f"{second}->{other}.MirrorSourceConnector")
    mirror.ask("list", name)
    assert f"{second}->{other}" in mirror.await_warning("ManageOffsets", 60)["message"]
    assert mirror.rest.calls(path="/offsets") == []
