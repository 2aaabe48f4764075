"""`strimzi.io/connector-offsets: list` on a KafkaMirrorMaker2."""

from __future__ import annotations

import json

import pytest

from fixtures.http_proxy import Answer, Request
from fixtures.kube import condition, conditions, config_map, warnings
from fixtures.worker import Topics
from kube.conftest import SEAMARK_ONLY, MakeMirror
from kube.resources import CONNECTOR, OFFSETS
from seamark.testing.waiting import eventually


@pytest.mark.requirement("STR-01")
@pytest.mark.requirement("STR-07")
@pytest.mark.requirement("STR-09")
@pytest.mark.requirement("STR-12")
@pytest.mark.requirement("STR-14")
@pytest.mark.requirement("STR-18")
def test_offsets_of_a_source_connector_are_written_to_a_new_config_map(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.set_offsets(mirror.source, mirror.row("orders", 0, 15), mirror.row("orders", 1, 7))
    mirror.serve("list", mirror.source)
    made = mirror.cluster.config_map(mirror.namespace, mirror.map_name)
    assert made is not None
    assert list(made["data"]) == [f"{mirror.source_alias}--{mirror.target_alias}.MirrorSourceConnector.json"]
    rows = sorted(mirror.entry(mirror.source), key=lambda row: row["partition"])
    assert rows == [
        {"topic": "orders", "partition": 0, "offset": 15},
        {"topic": "orders", "partition": 1, "offset": 7},
    ]
    assert made["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "kafka.strimzi.io/v1beta2",
            "kind": "KafkaMirrorMaker2",
            "name": mirror.name,
            "uid": mirror.get()["metadata"]["uid"],
            "controller": False,
            "blockOwnerDeletion": False,
        }
    ]
    assert condition(mirror.get(), "Ready") is not None
    assert warnings(mirror.get()) == []


@pytest.mark.requirement("STR-09")
@pytest.mark.requirement("STR-14")
@SEAMARK_ONLY
def test_a_resource_of_v1_is_named_as_such(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(is_v1=True, config_topic="the-configs").create()
    mirror.set_offsets(mirror.source, mirror.row("the-configs", 0, 3), mirror.row("mirrormaker2-cluster-configs", 0, 4))
    mirror.serve("list", mirror.source)
    made = mirror.cluster.config_map(mirror.namespace, mirror.map_name)
    assert made is not None
    assert made["metadata"]["ownerReferences"][0]["apiVersion"] == "kafka.strimzi.io/v1"
    assert {"partition": 0, "offset": 3} in mirror.entry(mirror.source)
    assert {"topic": "mirrormaker2-cluster-configs", "partition": 0, "offset": 4} in mirror.entry(mirror.source)


@pytest.mark.requirement("STR-05")
@pytest.mark.requirement("STR-12")
@pytest.mark.requirement("STR-13")
@pytest.mark.requirement("STR-15")
@pytest.mark.requirement("STR-16")
def test_all_three_connectors_are_listed_into_one_config_map(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    checkpoint = mirror.checkpoint_row("my-group", "inventory", 4)
    mirror.set_offsets(mirror.checkpoint, checkpoint)
    mirror.set_offsets(mirror.heartbeat, mirror.heartbeat_row())
    for connector in (mirror.source, mirror.checkpoint, mirror.heartbeat):
        mirror.serve("list", connector)
    assert mirror.entry(mirror.source) == []
    assert mirror.entry(mirror.checkpoint) == [checkpoint]
    assert mirror.entry(mirror.heartbeat) == [{"offset": {"offset": 0}}]
    made = mirror.cluster.config_map(mirror.namespace, mirror.map_name)
    assert made is not None and len(made["data"]) == 3


@pytest.mark.requirement("STR-14")
@pytest.mark.requirement("STR-17")
@pytest.mark.requirement("STR-42")
def test_a_listed_connector_altered_by_its_list_stays_as_it_is(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    rows = [
        mirror.row("mirrormaker2-cluster-configs", 0, 0),
        mirror.row("orders", 3, 12),
        mirror.row("orders", 3, 99, cluster="somewhere-else"),
    ]
    mirror.set_offsets(mirror.source, *rows)
    before = mirror.offsets(mirror.source)
    mirror.serve("list", mirror.source)
    listed = mirror.entry(mirror.source)
    assert {"partition": 0, "offset": 0} in listed
    assert {"topic": "orders", "partition": 3, "offset": 12} in listed
    assert rows[2] in listed
    mirror.serve("alter", mirror.source)
    assert mirror.offsets(mirror.source) == before
    assert len(before) == 3


@pytest.mark.requirement("STR-07")
@pytest.mark.requirement("STR-14")
@pytest.mark.slow
def test_a_running_mirror_is_listed_with_the_last_record_that_it_copied(
    make_mirror: MakeMirror, topics: Topics, topic_name: str
) -> None:
    topics.create(topic_name)
    topics.send(topic_name, [str(number) for number in range(100)])
    mirror = make_mirror(state="running", sections=("sourceConnector",), topics=topic_name).create()
    eventually(lambda: mirror.offsets(mirror.source), 120, "nothing was copied")
    eventually(lambda: mirror.offsets(mirror.source)[0]["offset"] == {"offset": 99}, 60)
    mirror.serve("list", mirror.source)
    assert mirror.entry(mirror.source) == [{"topic": topic_name, "partition": 0, "offset": 99}]
    mirror.section("source")["state"] = "paused"
    mirror.update()
    eventually(mirror.is_ready, 60)
    mirror.serve("list", mirror.source)


@pytest.mark.requirement("STR-08")
def test_the_connectors_own_place_comes_first(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    own = f"{mirror.map_name}-own"
    mirror.section("source")["listOffsets"] = {"toConfigMap": {"name": own}}
    mirror.create()
    mirror.serve("list", mirror.source)
    assert mirror.entry(mirror.source, own) == []
    assert mirror.cluster.config_map(mirror.namespace, mirror.map_name) is None
    mirror.serve("list", mirror.heartbeat)
    assert mirror.entry(mirror.heartbeat) == []


@pytest.mark.requirement("STR-10")
@pytest.mark.requirement("STR-11")
def test_a_config_map_that_is_there_keeps_what_it_has(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "11111111-2222-3333-4444-555555555555"}
    body = config_map(mirror.namespace, mirror.map_name, {"mine": "keep", mirror.key(mirror.source): "old"})
    body["metadata"] |= {"ownerReferences": [owner], "labels": {"mine": "too"}}
    mirror.cluster.create(body)
    mirror.serve("list", mirror.source)
    found = mirror.cluster.config_map(mirror.namespace, mirror.map_name)
    assert found is not None
    assert found["data"]["mine"] == "keep"
    assert mirror.entry(mirror.source) == []
    assert [each["name"] for each in found["metadata"]["ownerReferences"]] == ["other"]
    assert found["metadata"]["labels"] == {"mine": "too"}


@pytest.mark.requirement("STR-10")
@SEAMARK_ONLY
def test_a_users_config_map_gets_no_owner(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.cluster.create(config_map(mirror.namespace, mirror.map_name))
    mirror.serve("list", mirror.source)
    found = mirror.cluster.config_map(mirror.namespace, mirror.map_name)
    assert found is not None and "ownerReferences" not in found["metadata"]


@pytest.mark.requirement("STR-19")
def test_the_config_map_is_a_snapshot(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.serve("list", mirror.source)
    mirror.set_offsets(mirror.source, mirror.row("orders", 0, 1))
    mirror.cluster.annotate(mirror.body, something="else")
    mirror.await_passes(2)
    assert mirror.entry(mirror.source) == []
    mirror.serve("list", mirror.source)
    assert len(mirror.entry(mirror.source)) == 1


@pytest.mark.requirement("STR-20")
@pytest.mark.requirement("STR-21")
@pytest.mark.requirement("STR-22")
@SEAMARK_ONLY
def test_without_a_place_nothing_is_listed_until_there_is_one(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(places=False).create()
    mirror.ask("list", mirror.checkpoint)
    warning = mirror.await_warning("ListOffsets")
    time = warning.pop("lastTransitionTime")
    assert time.endswith("Z")
    assert warning == {
        "type": "Warning",
        "status": "True",
        "reason": "ListOffsets",
        "message": f"Failed to list the connector offsets for {mirror.checkpoint} due to missing property listOffsets "
        "in KafkaMirrorMaker2 CR.",
    }
    mirror.await_passes(2)
    assert mirror.await_warning("ListOffsets")["lastTransitionTime"] == time
    assert conditions(mirror.get())["Ready"] == "True"
    assert mirror.get()["metadata"]["annotations"][CONNECTOR] == mirror.checkpoint
    assert mirror.rest.calls(path="/offsets") == []
    mirror.body["spec"]["listOffsets"] = {"toConfigMap": {"name": mirror.map_name}}
    mirror.update()
    mirror.await_served()
    assert warnings(mirror.get()) == []


@pytest.mark.requirement("STR-21")
@pytest.mark.requirement("STR-22")
def test_a_worker_that_refuses_a_list_is_asked_again(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.rest.refuse("GET", "/offsets", 500, "the tape is torn")
    mirror.ask("list", mirror.source)
    warning = mirror.await_warning("ListOffsets")
    assert warning["message"] == f'Failed to list the connector offsets for {mirror.source} due to "the tape is torn".'
    eventually(lambda: len(mirror.rest.calls("GET", path="/offsets")) >= 2, 30)
    assert mirror.get()["metadata"]["annotations"][OFFSETS] == "list"
    assert conditions(mirror.get())["Ready"] == "True"
    mirror.rest.before.clear()
    mirror.await_served()
    assert warnings(mirror.get()) == []


@pytest.mark.requirement("STR-21")
def test_a_worker_that_is_away_makes_a_warning_too(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.rest.before.append(lambda request: Answer(None))
    mirror.ask("list", mirror.source)
    mirror.await_warning("ListOffsets")
    assert "NotReady" in conditions(mirror.get())
    mirror.rest.before.clear()
    mirror.await_served()
    eventually(lambda: conditions(mirror.get()) == {"Ready": "True"}, 30)


@pytest.mark.requirement("STR-21")
@SEAMARK_ONLY
def test_a_config_map_that_cannot_be_written_makes_a_warning(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.cluster.create({**config_map(mirror.namespace, mirror.map_name, {}), "immutable": True})
    mirror.ask("list", mirror.source)
    assert "immutable" in mirror.await_warning("ListOffsets")["message"]
    mirror.cluster.delete(config_map(mirror.namespace, mirror.map_name))
    mirror.await_served()


@pytest.mark.requirement("STR-22")
@SEAMARK_ONLY
def test_a_warning_goes_with_the_annotations(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(places=False).create()
    mirror.ask("list", mirror.source)
    mirror.await_warning("ListOffsets")
    mirror.cluster.annotate(mirror.body, connector_offsets=None, mirrormaker_connector=None)
    eventually(lambda: warnings(mirror.get()) == [], 30)


@pytest.mark.requirement("STR-01")
@pytest.mark.parametrize("value", ["delete", "LIST", ""])
@SEAMARK_ONLY
def test_another_value_is_refused(make_mirror: MakeMirror, value: str) -> None:
    mirror = make_mirror().create()
    mirror.rest.clear()
    mirror.ask(value, mirror.source)
    assert repr(value) in mirror.await_warning("ManageOffsets")["message"]
    assert mirror.rest.calls(path="/offsets") == []
    assert mirror.get()["metadata"]["annotations"][OFFSETS] == value
    assert conditions(mirror.get())["Ready"] == "True"


@pytest.mark.requirement("STR-02")
@SEAMARK_ONLY
def test_an_unknown_connector_is_refused(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.ask("list", "nobody->here.MirrorSourceConnector")
    message = mirror.await_warning("ManageOffsets")["message"]
    assert "nobody->here.MirrorSourceConnector" in message
    assert mirror.source in message
    assert mirror.rest.calls(path="/offsets") == []
    assert not mirror.is_served()


@pytest.mark.requirement("STR-03")
@SEAMARK_ONLY
def test_the_connector_has_to_be_named(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.cluster.annotate(mirror.body, connector_offsets="list")
    message = mirror.await_warning("ManageOffsets")["message"]
    assert message == (
        "Encountered error getting connector offsets annotation. KafkaMirrorMaker2 resource "
        f"{mirror.namespace}/{mirror.name} is missing annotation strimzi.io/mirrormaker-connector"
    )
    assert mirror.rest.calls(path="/offsets") == []
    assert mirror.get()["metadata"]["annotations"][OFFSETS] == "list"


@pytest.mark.requirement("STR-04")
@pytest.mark.requirement("STR-39")
def test_without_a_request_nothing_is_done(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(places=False).create()
    mirror.rest.clear()
    version = mirror.cluster.annotate(mirror.body, mirrormaker_connector=mirror.source)["metadata"]["resourceVersion"]
    mirror.await_passes()
    assert mirror.rest.calls(path="/offsets") == []
    assert mirror.rest.changes() == []
    found = mirror.get()
    assert found["metadata"]["resourceVersion"] == version
    assert conditions(found) == {"Ready": "True"}


@pytest.mark.requirement("STR-18")
def test_a_newer_request_is_not_lost(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.set_offsets(mirror.source, mirror.row("orders", 0, 5))

    def ask_again(request: Request) -> None:
        if request.method == "GET" and request.path.endswith("/offsets"):
            mirror.rest.after.clear()
            mirror.cluster.annotate(mirror.body, connector_offsets="reset")

    mirror.rest.after.append(ask_again)
    mirror.ask("list", mirror.source)
    mirror.await_served()
    assert mirror.entry(mirror.source) == [{"topic": "orders", "partition": 0, "offset": 5}]
    assert mirror.offsets(mirror.source) == []


@pytest.mark.requirement("STR-18")
@SEAMARK_ONLY
def test_a_request_that_its_user_takes_back_meanwhile_leaves_nothing(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()

    def take_back(request: Request) -> None:
        if request.path.endswith("/offsets"):
            mirror.rest.after.clear()
            mirror.cluster.annotate(mirror.body, mirrormaker_connector=None)

    mirror.rest.after.append(take_back)
    mirror.ask("list", mirror.source)
    mirror.await_served()


@pytest.mark.requirement("STR-06")
@SEAMARK_ONLY
def test_names_are_encoded_in_requests(make_mirror: MakeMirror) -> None:
    mirror = make_mirror().create()
    mirror.serve("list", mirror.source)
    paths = {call.path for call in mirror.rest.calls(path="/offsets")}
    assert paths == {f"/connectors/{mirror.source_alias}-%3E{mirror.target_alias}.MirrorSourceConnector/offsets"}


@pytest.mark.requirement("STR-41")
def test_all_connectors_can_be_listed_at_once(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    del mirror.body["spec"]["listOffsets"]
    for name in ("source", "checkpoint"):
        mirror.section(name)["listOffsets"] = {"toConfigMap": {"name": mirror.map_name}}
    mirror.create()
    mirror.ask("list", "*")
    message = mirror.await_warning("ListOffsets")["message"]
    assert mirror.heartbeat in message
    assert not mirror.is_served()
    assert mirror.entry(mirror.source) == []
    mirror.section("heartbeat")["listOffsets"] = {"toConfigMap": {"name": mirror.map_name}}
    mirror.update()
    mirror.await_served()
    made = mirror.cluster.config_map(mirror.namespace, mirror.map_name)
    assert made is not None
    assert {json.loads(text)["offsets"] == [] for text in made["data"].values()} == {True}
    assert len(made["data"]) == 3
