"""What names of topics tell about clusters upstream."""

from __future__ import annotations

import pytest

from seamark.mirror.client import hops_of, sources_of
from seamark.mirror.policies import policy_of

IDENTITY = {
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "source.cluster.alias": "a",
}


@pytest.mark.parametrize(
    ("topic", "sources"),
    [
        ("heartbeats", []),
        ("a.heartbeats", ["a"]),
        ("b.a.heartbeats", ["b", "a"]),
        ("a.b.a.heartbeats", ["a", "b"]),  # stops at a cluster that was met already
    ],
)
def test_a_topic_names_the_clusters_it_came_over(topic: str, sources: list[str]) -> None:
    assert sources_of(policy_of({}), topic) == sources


def test_hops_are_counted_from_the_nearest_cluster() -> None:
    policy = policy_of({})
    assert hops_of(policy, "b.a.heartbeats", "b") == 1
    assert hops_of(policy, "b.a.heartbeats", "a") == 2
    assert hops_of(policy, "b.a.heartbeats", "c") == -1
    assert hops_of(policy, "heartbeats", "a") == -1


def test_a_policy_that_keeps_names_does_not_lead_in_circles() -> None:
    policy = policy_of(IDENTITY)
    assert sources_of(policy, "orders") == ["a"]
    assert hops_of(policy, "orders", "z") == -1
