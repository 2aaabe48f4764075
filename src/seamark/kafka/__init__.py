"""Everything that talks to Kafka: clients, admin, topics as logs, producers; only here a Kafka client is imported."""

from seamark.kafka.topic_partitions import (
    BROKER_DEFAULT,
    GroupDescription,
    GroupMember,
    TopicDescription,
    TopicPartition,
    TopicSpec,
)

__all__ = [
    "BROKER_DEFAULT",
    "GroupDescription",
    "GroupMember",
    "TopicDescription",
    "TopicPartition",
    "TopicSpec",
]
