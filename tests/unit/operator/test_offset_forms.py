from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.client import encode
from seamark.operator import offset_forms
from seamark.operator.offset_forms import MirrorFields, MirrorType, OffsetsInvalidError, TopicUnknownError

CONFIGS = "mirrormaker2-cluster-configs"


def fields(kind: MirrorType = MirrorType.SOURCE) -> MirrorFields:
    return MirrorFields(kind, "east", "west", CONFIGS)


def full(topic: str, partition: int, offset: int, cluster: str = "east") -> dict[str, Any]:
    return {"partition": {"cluster": cluster, "topic": topic, "partition": partition}, "offset": {"offset": offset}}


def completed(kind: MirrorType, rows: list[Any], topics: list[str] | None = None) -> list[Any]:
    return [encode(each) for each in offset_forms.complete(fields(kind), rows, topics or [], "entry")]


def test_a_source_row_loses_what_the_resource_knows() -> None:
    rows = [full("orders", 0, 15), full(CONFIGS, 2, 3)]
    assert offset_forms.shorten(fields(), rows) == [
        {"topic": "orders", "partition": 0, "offset": 15},
        {"partition": 2, "offset": 3},
    ]


@pytest.mark.parametrize(
    "row",
    [
        full("orders", 0, 1, cluster="south"),
        {"partition": {"topic": "orders", "partition": 0}, "offset": {"offset": 1}},
        {"partition": {"cluster": "east", "topic": "orders", "partition": 0, "more": 1}, "offset": {"offset": 1}},
        {"partition": {"cluster": "east", "topic": "orders", "partition": 0}, "offset": {"offset": 1, "more": 2}},
        {"partition": {"cluster": "east", "topic": "orders", "partition": "0"}, "offset": {"offset": 1}},
        {"partition": {"cluster": "east", "topic": "orders", "partition": 0}, "offset": None},
        {"partition": None, "offset": {"offset": 1}},
    ],
)
def test_an_unusual_source_row_stays_as_it_is(row: dict[str, Any]) -> None:
    assert offset_forms.shorten(fields(), [row]) == [row]


def test_heartbeats_lose_their_aliases_and_checkpoints_nothing() -> None:
    usual = {"partition": {"sourceClusterAlias": "east", "targetClusterAlias": "west"}, "offset": {"offset": 0}}
    other = {"partition": {"sourceClusterAlias": "east", "targetClusterAlias": "south"}, "offset": {"offset": 0}}
    assert offset_forms.shorten(fields(MirrorType.HEARTBEAT), [usual, other]) == [{"offset": {"offset": 0}}, other]
    row = {"partition": {"group": "g", "topic": CONFIGS, "partition": 0}, "offset": {"offset": 0}}
    assert offset_forms.shorten(fields(MirrorType.CHECKPOINT), [row]) == [row]


_topic = st.sampled_from([CONFIGS, "orders", "invoices"])
_rows = st.dictionaries(
    st.tuples(st.sampled_from(["east", "south"]), _topic, st.integers(0, 2**31 - 1)), st.integers(0, 2**63 - 1)
)


@given(_rows)
def test_what_was_listed_comes_back(rows: dict[tuple[str, str, int], int]) -> None:
    listed = [full(topic, partition, offset, cluster) for (cluster, topic, partition), offset in rows.items()]
    short = json.loads(json.dumps(offset_forms.shorten(fields(), listed)))
    assert completed(MirrorType.SOURCE, short, offset_forms.topics_of(listed)) == listed


def test_null_resets_a_row_of_any_connector() -> None:
    assert completed(MirrorType.SOURCE, [{"topic": "t", "partition": 0, "offset": None}])[0]["offset"] is None
    assert completed(MirrorType.HEARTBEAT, [{"offset": None}])[0]["offset"] is None
    row = {"partition": {"group": "g", "topic": "t", "partition": 0}, "offset": None}
    assert completed(MirrorType.CHECKPOINT, [row]) == [row]


def test_a_topic_is_never_guessed() -> None:
    assert offset_forms.needs_topics(fields(), [{"partition": 0, "offset": 1}])
    assert not offset_forms.needs_topics(fields(), [{"topic": "t", "partition": 0, "offset": 1}, full("t", 0, 1)])
    with pytest.raises(TopicUnknownError, match="invoices, orders"):
        completed(MirrorType.SOURCE, [{"partition": 0, "offset": 1}], ["orders", "invoices"])
    assert completed(MirrorType.SOURCE, [{"partition": 0, "offset": 1}], [CONFIGS]) == [full(CONFIGS, 0, 1)]


def test_unknown_fields_are_ignored() -> None:
    row = {"topic": "t", "partition": 0, "offset": {"offset": 1, "x": 1}, "y": 2}
    assert completed(MirrorType.SOURCE, [row]) == [full("t", 0, 1)]


@pytest.mark.parametrize(
    ("kind", "row", "fault"),
    [
        (MirrorType.SOURCE, {"topic": "t", "offset": 1}, "partition is missing"),
        (MirrorType.SOURCE, {"partition": {"topic": "t"}, "offset": 1}, "partition.partition is missing"),
        (MirrorType.SOURCE, {"topic": "t", "partition": True, "offset": 1}, "partition should be a number"),
        (MirrorType.SOURCE, {"topic": "t", "partition": -1, "offset": 1}, "partition should be a number"),
        (MirrorType.SOURCE, {"topic": "t", "partition": 2**31, "offset": 1}, "partition should be a number"),
        (MirrorType.SOURCE, {"topic": "t", "partition": 0, "offset": -1}, "offset should be a number from 0"),
        (MirrorType.SOURCE, {"topic": "t", "partition": 0, "offset": 1.5}, "offset should be a number"),
        (MirrorType.SOURCE, {"topic": "t", "partition": 0, "offset": {}}, "offset.offset is missing"),
        (MirrorType.SOURCE, {"topic": ["t"], "partition": 0, "offset": 1}, "topic should be a text"),
        (MirrorType.SOURCE, {"cluster": 1, "topic": "t", "partition": 0, "offset": 1}, "cluster should be a text"),
        (MirrorType.SOURCE, 5, r"offsets\[0\] should be an object"),
        (MirrorType.CHECKPOINT, {"partition": 0, "offset": {"offset": 0}}, "partition should be an object"),
        (MirrorType.CHECKPOINT, {"offset": {"offset": 0}}, "partition is missing"),
        (MirrorType.HEARTBEAT, {"offset": 0}, "offset should be an object"),
        (MirrorType.HEARTBEAT, {"partition": 1, "offset": None}, "partition should be an object"),
        (MirrorType.HEARTBEAT, {}, "offset is missing"),
    ],
)
def test_faults_are_named(kind: MirrorType, row: Any, fault: str) -> None:
    with pytest.raises(OffsetsInvalidError, match=fault):
        completed(kind, [row])


def test_one_partition_cannot_go_to_two_places() -> None:
    twice = [{"topic": "t", "partition": 0, "offset": 1}, full("t", 0, 2)]
    with pytest.raises(OffsetsInvalidError, match="another offset"):
        completed(MirrorType.SOURCE, twice)
    assert len(completed(MirrorType.SOURCE, [twice[0], full("t", 0, 1)])) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"offsets"', '{"offsets": {}}', "[" * 100_000])
def test_an_entry_is_an_object_with_offsets(text: str) -> None:
    with pytest.raises(OffsetsInvalidError):
        offset_forms.parse(text, "entry")


def test_a_topic_of_null_is_a_missing_one() -> None:
    row = {"topic": None, "cluster": None, "partition": 0, "offset": 1}
    assert offset_forms.needs_topics(fields(), [row])
    assert completed(MirrorType.SOURCE, [row], [CONFIGS]) == [full(CONFIGS, 0, 1)]
    nested = {"topic": "orders", "partition": {"partition": 0, "topic": None}, "offset": 1}
    assert not offset_forms.needs_topics(fields(), [nested])
    assert completed(MirrorType.SOURCE, [nested]) == [full("orders", 0, 1)]


def test_rows_of_other_connectors_are_sent_without_what_is_unknown() -> None:
    row = {"partition": {"file": "a", "any": 1}, "offset": None}
    assert offset_forms.plain([{**row, "comment": "back to the start"}, {}], "entry") == [row, {}]
    with pytest.raises(OffsetsInvalidError, match=r"entry: offsets\[1\] should be an object, but is 3"):
        offset_forms.plain([row, 3], "entry")
