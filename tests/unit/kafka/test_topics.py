from __future__ import annotations

import pytest

from seamark.errors import ConfigError
from seamark.kafka import TopicSpec
from seamark.kafka.topics import TopicCreation

DEFAULT = {"topic.creation.default.replication.factor": "3", "topic.creation.default.partitions": "5"}


def creation(**more: str) -> TopicCreation:
    return TopicCreation.from_config({**DEFAULT, **{f"topic.creation.{k}": v for k, v in more.items()}}, {})


def test_without_settings_creation_is_left_to_the_broker() -> None:
    assert not TopicCreation.from_config({"name": "c"}, {}).is_enabled
    assert not TopicCreation.from_config(DEFAULT, {"topic.creation.enable": "false"}).is_enabled
    assert TopicCreation.from_config(DEFAULT, {"topic.creation.enable": "true"}).is_enabled


def test_a_wrong_setting_does_no_harm_where_creation_is_disabled() -> None:
    config = {"topic.creation.default.partitions": "x"}
    assert TopicCreation.from_config(config, {"topic.creation.enable": "false"}).group_for("t") is None


def test_the_first_group_that_matches_decides() -> None:
    found = creation(
        **{
            "groups": "logs, compacted,default",
            "logs.include": "log-.*,audit",
            "logs.exclude": "log-x",
            "logs.partitions": "1",
            "compacted.include": ".*-x,log-.*",
            "compacted.replication.factor": "-1",
            "compacted.cleanup.policy": "compact",
            "default.compression.type": "zstd",
            "default.include": "only-this",  # has no effect, as in Kafka Connect
        }
    )
    specs = {}
    for topic in ("log-a", "audit", "log-x", "other", "my-log-a"):
        group = found.group_for(topic)
        assert group is not None
        specs[topic] = (group.name, group.spec(topic))
    compressed = {"compression.type": "zstd"}
    assert specs == {
        "log-a": ("logs", TopicSpec("log-a", 1, 3, {})),
        "audit": ("logs", TopicSpec("audit", 1, 3, {})),
        "log-x": ("compacted", TopicSpec("log-x", 5, -1, {"cleanup.policy": "compact"})),
        "other": ("default", TopicSpec("other", 5, 3, compressed)),
        "my-log-a": ("default", TopicSpec("my-log-a", 5, 3, compressed)),
    }


@pytest.mark.parametrize(
    ("config", "key", "words"),
    [
        ({"topic.creation.groups": "a"}, "topic.creation.default.replication.factor", "which has no default value"),
        ({**DEFAULT, "topic.creation.groups": "a,b,a"}, "topic.creation.groups", "Duplicate alias provided."),
        ({**DEFAULT, "topic.creation.default.partitions": "0"}, "topic.creation.default.partitions",
         "Number of partitions must be positive, or -1 to use the broker's default"),
        ({**DEFAULT, "topic.creation.default.partitions": "many"}, "topic.creation.default.partitions",
         "Invalid value many for configuration topic.creation.default.partitions: Not a number of type INT"),
        ({**DEFAULT, "topic.creation.default.replication.factor": "-2"}, "topic.creation.default.replication.factor",
         "Replication factor must be positive and not larger than the number of brokers"),
        ({**DEFAULT, "topic.creation.default.replication.factor": "40000"}, "topic.creation.default.replication.factor",
         "Not a number of type SHORT"),
        ({**DEFAULT, "topic.creation.groups": "a", "topic.creation.a.partitions": "-3"}, "topic.creation.a.partitions",
         "Number of partitions"),
        ({**DEFAULT, "topic.creation.groups": "a", "topic.creation.a.include": "ok,["}, "topic.creation.a.include",
         "Syntax error in regular expression"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused_with_connects_words(config: dict[str, str], key: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        TopicCreation.from_config(config, {})
    assert error.value.key == key
    assert words in str(error.value)
