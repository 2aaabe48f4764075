"""Offsets of the mirror connectors as users may write them."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.connector.offsets import Offsets, SourcePartition
from seamark.errors import ConnectError
from seamark.mirror import offsets

SOURCE = offsets.source_partition("a", "t", 0)
CHECKPOINT = offsets.checkpoint_partition("g", "a.t", 0)
HEARTBEAT = offsets.heartbeat_partition("a", "b")


def test_keys_are_in_the_order_in_which_java_writes_them() -> None:
    assert list(SOURCE.items()) == [("cluster", "a"), ("partition", 0), ("topic", "t")]
    assert list(CHECKPOINT.items()) == [("partition", 0), ("topic", "a.t"), ("group", "g")]
    assert list(HEARTBEAT.items()) == [("sourceClusterAlias", "a"), ("targetClusterAlias", "b")]
    assert offsets.source_offset(7) == {"offset": 7}


@pytest.mark.parametrize(("offset", "expected"), [(None, None), ({}, None), ({"offset": -1}, None), ({"offset": 0}, 0)])
def test_the_last_offset_that_was_copied(offset: dict[str, Any] | None, expected: int | None) -> None:
    assert offsets.offset_of(offset) == expected


def test_good_offsets_pass() -> None:
    offsets.check_source_offsets(Offsets({SOURCE: {"offset": 2**40}}))
    offsets.check_checkpoint_offsets(Offsets({CHECKPOINT: {"offset": 0}}))
    offsets.check_heartbeat_offsets(Offsets({HEARTBEAT: {"offset": 0}}))
    offsets.check_source_offsets({})


def test_anything_may_be_reset() -> None:
    garbage: dict[Any, Any] = {SourcePartition(foo=1): None, None: None}
    for check in (offsets.check_source_offsets, offsets.check_checkpoint_offsets, offsets.check_heartbeat_offsets):
        check(garbage)


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        (None, {"offset": 1}, "Source partitions may not be null"),
        (
            {"partition": 0, "topic": "t"},
            {"offset": 1},
            "Source partition {partition=0, topic=t} is missing the 'cluster' key, which is required",
        ),
        (
            {"cluster": "a", "partition": 0, "topic": 5},
            {"offset": 1},
            "Source partition {cluster=a, partition=0, topic=5} has an invalid value 5 for the 'topic' key, which must "
            "be a string",
        ),
        (
            {"cluster": "a", "partition": "0", "topic": "t"},
            {"offset": 1},
            "Source partition {cluster=a, partition=0, topic=t} has an invalid value 0 for the 'partition' key, which "
            "must be an integer",
        ),
        (
            {"cluster": "a", "partition": 2**31, "topic": "t"},
            {"offset": 1},
            "Source partition {cluster=a, partition=2147483648, topic=t} has an invalid value 2147483648 for the "
            "'partition' key, which must be an integer",
        ),
        (
            {"cluster": "a", "partition": True, "topic": "t"},
            {"offset": 1},
            "Source partition {cluster=a, partition=true, topic=t} has an invalid value true for the 'partition' key, "
            "which must be an integer",
        ),
        (
            {"cluster": "a", "partition": -1, "topic": "t"},
            {"offset": 1},
            "Source partition {cluster=a, partition=-1, topic=t} has an invalid value -1 for the 'partition' key, "
            "which cannot be negative",
        ),
        (
            dict(SOURCE),
            {"foo": 3},
            "Source offset {foo=3} for source partition {cluster=a, partition=0, topic=t} is missing the 'offset' key, "
            "which is required",
        ),
        (
            dict(SOURCE),
            {"offset": None},
            "Source offset {offset=null} for source partition {cluster=a, partition=0, topic=t} has an invalid value "
            "null for the 'offset' key, which must be an integer",
        ),
        (
            dict(SOURCE),
            {"offset": -1},
            "Source offset {offset=-1} for source partition {cluster=a, partition=0, topic=t} has an invalid value -1 "
            "for the 'offset' key, which cannot be negative",
        ),
    ],
)
def test_what_the_source_connector_refuses(partition: Any, offset: dict[str, Any], message: str) -> None:
    key = None if partition is None else SourcePartition(partition)
    with pytest.raises(ConnectError) as caught:
        offsets.check_source_offsets({key: offset})
    assert caught.value.message == message


def test_the_other_connectors_accept_only_zero() -> None:
    with pytest.raises(ConnectError) as caught:
        offsets.check_checkpoint_offsets({CHECKPOINT: {"offset": 5}})
    assert caught.value.message == (
        "Source offset {offset=5} for source partition {partition=0, topic=a.t, group=g} has an invalid value 5 for "
        "the 'offset' key; the only accepted value is 0"
    )
    with pytest.raises(ConnectError, match="the only accepted value is 0"):
        offsets.check_heartbeat_offsets({HEARTBEAT: {"offset": -1}})


@pytest.mark.parametrize("missing", ["sourceClusterAlias", "targetClusterAlias"])
def test_a_heartbeat_needs_both_clusters(missing: str) -> None:
    partition = SourcePartition({name: value for name, value in HEARTBEAT.items() if name != missing})
    with pytest.raises(ConnectError, match=f"is missing the '{missing}' key"):
        offsets.check_heartbeat_offsets({partition: {"offset": 0}})
