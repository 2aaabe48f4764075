"""Names of remote and internal topics."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.errors import ConfigError
from seamark.mirror.policies import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
    policy_of,
)

JAVA = "org.apache.kafka.connect.mirror"
ALIASES = st.text("abcXYZ019_-", min_size=1, max_size=8)
TOPICS = st.text("abcXYZ019_-.", min_size=1, max_size=20)


class Suffix(ReplicationPolicy):
    """``orders_from_us``: a policy that only answers what it must."""

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return f"{topic}_from_{source_alias}"

    def topic_source(self, topic: str) -> str | None:
        return topic.rpartition("_from_")[2] if "_from_" in topic else None

    def upstream_topic(self, topic: str) -> str | None:
        return topic.rpartition("_from_")[0] or None


def test_the_alias_goes_before_the_topic() -> None:
    policy = policy_of({})
    assert isinstance(policy, DefaultReplicationPolicy)
    assert policy.format_remote_topic("us", "orders") == "us.orders"
    assert (policy.topic_source("us.orders"), policy.upstream_topic("us.orders")) == ("us", "orders")
    assert (policy.topic_source("orders"), policy.upstream_topic("orders")) == (None, None)
    assert policy.original_topic("eu.us.orders") == "orders"


@settings(deadline=None)
@given(ALIASES, TOPICS.filter(lambda topic: topic.strip(".") != ""))
def test_a_remote_topic_knows_where_it_comes_from(alias: str, topic: str) -> None:
    policy = DefaultReplicationPolicy()
    remote = policy.format_remote_topic(alias, topic)
    assert policy.topic_source(remote) == alias
    assert policy.upstream_topic(remote) == topic


@pytest.mark.parametrize("topic", ["us.", "us..", ".", "", "orders"])
def test_nothing_after_the_separator_is_no_copy(topic: str) -> None:
    policy = DefaultReplicationPolicy()
    assert policy.topic_source(topic) is None
    assert policy.upstream_topic(topic) is None
    assert policy.original_topic(topic) == topic


def test_a_separator_of_ones_own_is_in_internal_names_too() -> None:
    policy = policy_of({"replication.policy.separator": "__"})
    assert policy.format_remote_topic("us", "orders") == "us__orders"
    assert policy.offset_syncs_topic("us") == "mm2-offset-syncs__us__internal"
    assert policy.checkpoints_topic("us") == "us__checkpoints__internal"
    assert policy.is_checkpoints_topic("us__checkpoints__internal")
    assert not policy.is_checkpoints_topic("us.checkpoints.internal")


def test_internal_names_can_keep_their_dots() -> None:
    policy = policy_of(
        {"replication.policy.separator": "__", "replication.policy.internal.topic.separator.enabled": "false"}
    )
    assert policy.format_remote_topic("us", "orders") == "us__orders"
    assert policy.offset_syncs_topic("us") == "mm2-offset-syncs.us.internal"
    assert policy.checkpoints_topic("us") == "us.checkpoints.internal"


@pytest.mark.parametrize(
    ("topic", "is_internal"),
    [
        ("__consumer_offsets", True),
        (".hidden", True),
        ("mm2-offset-syncs.us.internal", True),
        ("mm2-configs.us.internal", True),
        ("us.checkpoints.internal", True),
        ("orders.internal", False),
        ("orders-internal", False),
        ("mm2-orders", False),
        ("heartbeats", False),
    ],
)
def test_topics_that_are_never_copied(topic: str, is_internal: bool) -> None:
    assert policy_of({}).is_internal_topic(topic) is is_internal
    assert Suffix().is_internal_topic(topic) is is_internal


@pytest.mark.parametrize(
    ("topic", "expected"), [("heartbeats", True), ("eu.us.heartbeats", True), ("xheartbeats", False)]
)
def test_heartbeats_are_known_however_often_they_were_copied(topic: str, expected: bool) -> None:
    assert policy_of({}).is_heartbeats_topic(topic) is expected


def test_the_identity_policy_keeps_names_except_of_heartbeats() -> None:
    policy = policy_of({"replication.policy.class": f"{JAVA}.IdentityReplicationPolicy", "source.cluster.alias": "us"})
    assert isinstance(policy, IdentityReplicationPolicy)
    assert policy.format_remote_topic("us", "orders") == "orders"
    assert (policy.topic_source("orders"), policy.upstream_topic("orders")) == ("us", "orders")
    assert policy.original_topic("orders") == "orders"
    assert policy.format_remote_topic("us", "heartbeats") == "us.heartbeats"
    assert (policy.topic_source("us.heartbeats"), policy.topic_source("heartbeats")) == ("us", None)
    assert policy.checkpoints_topic("us") == "us.checkpoints.internal"


@pytest.mark.parametrize("name", [f"{__name__}:Suffix", f"{__name__}.Suffix"])
def test_a_policy_of_ones_own(name: str) -> None:
    policy = policy_of({"replication.policy.class": name})
    assert isinstance(policy, Suffix)
    assert policy.original_topic("orders_from_us_from_eu") == "orders"
    assert policy.is_heartbeats_topic("heartbeats_from_us")
    assert policy.offset_syncs_topic("us") == "mm2-offset-syncs.us.internal"


@pytest.mark.parametrize(
    "name", ["NoPolicy", "com.example.Policy", "no_such_module:Policy", f"{__name__}:Missing", "json:JSONDecoder"]
)
def test_an_unknown_policy_is_refused_with_what_would_be_right(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        policy_of({"replication.policy.class": name})
    assert caught.value.key == "replication.policy.class"
    assert f"Invalid value {name} for configuration replication.policy.class" in caught.value.message
    assert f"{JAVA}.DefaultReplicationPolicy" in caught.value.message
    assert "module:Class of a seamark.mirror.policies.ReplicationPolicy" in caught.value.message
