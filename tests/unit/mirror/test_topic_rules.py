"""Which topics are mirrored, and with which settings and ACLs."""

from __future__ import annotations

import pytest

from seamark.kafka import TopicPartition
from seamark.kafka.mirror_admin import ConfigChange, TopicAcl, TopicConfig
from seamark.mirror.config import SourceSettings
from seamark.mirror.topic_sync import TopicRules, deal


def rules(**settings: str) -> TopicRules:
    config = {
        "name": "mirror",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        **{key.replace("__", "."): value for key, value in settings.items()},
    }
    parsed = SourceSettings.of(config)
    return TopicRules(
        parsed.source_alias,
        parsed.target_alias,
        parsed.policy,
        parsed.topic_filter(),
        parsed.config_property_filter(),
        parsed.heartbeats_replication,
    )


IDENTITY = {"replication__policy__class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}


@pytest.mark.parametrize(
    ("topic", "is_replicated"),
    [
        ("orders", True),
        ("c.orders", True),
        ("a.orders", True),  # the source's own alias is not looked for
        ("b.orders", False),
        ("c.b.orders", False),
        ("heartbeats", True),
        ("c.heartbeats", True),
        ("b.heartbeats", False),
        ("mm2-offset-syncs.b.internal", False),
        ("mm2-configs.b.internal", False),
        ("b.checkpoints.internal", False),
        ("__consumer_offsets", False),
        (".hidden", False),
        ("audit.internal", True),
    ],
)
def test_topics_are_replicated_unless_internal_or_from_the_target(topic: str, is_replicated: bool) -> None:
    assert rules(topics=".*", topics__exclude="").should_replicate(topic) is is_replicated


def test_heartbeats_are_replicated_though_no_pattern_names_them_unless_switched_off() -> None:
    assert rules(topics="orders").should_replicate("heartbeats")
    off = rules(topics="orders", heartbeats__replication__enabled="false")
    assert not off.should_replicate("heartbeats")
    assert off.should_replicate("orders")


def test_a_policy_that_keeps_names_cannot_see_cycles() -> None:
    identity = rules(topics=".*", **IDENTITY)
    assert identity.should_replicate("b.orders")
    assert identity.remote("orders") == "orders"
    assert identity.is_remote("orders")


def test_copies_on_the_target_are_known_by_their_names() -> None:
    flow = rules(topics="orders")
    assert flow.is_remote("a.orders")
    assert flow.is_remote("a.payments")  # also what is no longer replicated
    assert not flow.is_remote("c.orders")
    assert not flow.is_remote("orders")
    assert not flow.is_remote("a.checkpoints.internal")


CONFIGS = [
    TopicConfig("retention.ms", "1000", is_default=False),
    TopicConfig("cleanup.policy", "delete", is_default=True),
    TopicConfig("min.insync.replicas", "2", is_default=False),  # excluded by default
    TopicConfig("segment.bytes", "1", is_default=False, is_read_only=True),
    TopicConfig("secret", None, is_default=False, is_sensitive=True),
    TopicConfig("max.message.bytes", "5", is_default=False, is_static=True),
]


def test_settings_of_new_copies_and_changes_of_old_ones() -> None:
    flow = rules()
    assert flow.new_topic_configs(CONFIGS) == {"retention.ms": "1000"}
    assert flow.config_changes(CONFIGS) == [ConfigChange("retention.ms", "1000"), ConfigChange("cleanup.policy", None)]


def test_defaults_of_the_source_are_used_if_asked_for() -> None:
    flow = rules(use__defaults__from="source")
    assert flow.new_topic_configs(CONFIGS) == {"retention.ms": "1000", "cleanup.policy": "delete"}
    assert flow.config_changes(CONFIGS) == [
        ConfigChange("retention.ms", "1000"),
        ConfigChange("cleanup.policy", "delete"),
    ]


def test_acls_are_renamed_and_never_let_others_write() -> None:
    flow = rules(topics="orders")
    acls = [
        TopicAcl("orders", "User:r", "*", "READ", "ALLOW"),
        TopicAcl("orders", "User:w", "*", "WRITE", "ALLOW"),
        TopicAcl("orders", "User:x", "*", "WRITE", "DENY"),
        TopicAcl("orders", "User:admin", "10.0.0.1", "ALL", "ALLOW"),
        TopicAcl("orders", "User:y", "*", "ALL", "DENY"),
        TopicAcl("payments", "User:r", "*", "READ", "ALLOW"),
        TopicAcl("*", "User:r", "*", "READ", "ALLOW"),
    ]
    assert flow.remote_acls(acls) == [
        TopicAcl("a.orders", "User:r", "*", "READ", "ALLOW"),
        TopicAcl("a.orders", "User:x", "*", "WRITE", "DENY"),
        TopicAcl("a.orders", "User:admin", "10.0.0.1", "READ", "ALLOW"),
        TopicAcl("a.orders", "User:y", "*", "ALL", "DENY"),
    ]


def test_partitions_are_dealt_round_robin() -> None:
    partitions = [
        TopicPartition(topic, number) for topic, count in (("t0", 8), ("t1", 2), ("t2", 2)) for number in range(count)
    ]
    dealt = [[f"{each.topic}p{each.partition}" for each in share] for share in deal(partitions, 3)]
    assert dealt == [
        ["t0p0", "t0p3", "t0p6", "t1p1"],
        ["t0p1", "t0p4", "t0p7", "t2p0"],
        ["t0p2", "t0p5", "t1p0", "t2p1"],
    ]
    assert [len(share) for share in deal(partitions[:2], 5)] == [1, 1]
    assert deal([], 5) == []
