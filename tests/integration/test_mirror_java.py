"""The mirror's rules against MirrorMaker 2's own classes, in one JVM: same bytes, names, translations and errors."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fixtures.mirror_oracle import mirror_maker_answers
from seamark.config.configdef import ConfigKey
from seamark.config.connector_keys import common_config_def
from seamark.config.parsing import to_text
from seamark.config.worker_keys import ENGINE_KEYS
from seamark.connector.offsets import SourcePartition
from seamark.errors import ConnectError
from seamark.mirror import filters, keys, offsets
from seamark.mirror.config import client_config, validate_checkpoint, validate_heartbeat, validate_source
from seamark.mirror.emission import SyncEmission
from seamark.mirror.maker_config import CONNECTORS, MirrorMakerConfig
from seamark.mirror.policies import policy_of
from seamark.mirror.sync_store import SLOTS, OffsetSyncStore
from seamark.mirror.wire import Checkpoint, Heartbeat, OffsetSync

pytestmark = pytest.mark.java

SEED = int(os.environ.get("SEAMARK_TEST_SEED", "6"))
Question = Mapping[str, Any]

# questions


def store_questions() -> dict[str, Question]:
    """Syncs in many rhythms: dense, sparse, growing steps, rewinds, repeated offsets, huge offsets."""
    generator = random.Random(SEED)
    rhythms: dict[str, list[int]] = {
        "one by one": list(range(300)),
        "with a hole": [*range(10), 15],
        "steps of ten": list(range(0, 1001, 10)),
        "steps of a hundred": list(range(7, 40_000, 100)),
        "powers": [1 << exponent for exponent in range(63)],
        "the largest offsets": [2**63 - 1 - back for back in (2**62, 10_000, 500, 100, 7, 1, 0)],
        "repeated": [5, 5, 5, 6, 6, 9, 9],
        "rewound": [*range(0, 500, 7), *range(100, 300, 3), 50, 51],
        "none": [],
    }
    for index in range(60):
        upstream, rhythm = generator.choice([0, 1, generator.randrange(2**40)]), []
        for _ in range(generator.randrange(1, 200)):
            upstream = max(0, upstream + generator.choice([0, 1, 1, 1, generator.randrange(1, 101), 100, 10_000]))
            if generator.random() < 0.01:
                upstream = generator.randrange(upstream + 1)
            rhythm.append(upstream)
        rhythms[f"random {index}"] = rhythm
    questions: dict[str, Question] = {}
    for name, rhythm in rhythms.items():
        downstream, syncs = 0, []
        for upstream in rhythm:
            downstream += generator.randrange(1, 50)
            syncs.append([upstream, downstream])
        around = {u + step for u in generator.sample(rhythm, min(20, len(rhythm))) for step in (-1, 0, 1)}
        asked = sorted(u for u in {0, *around} if 0 <= u < 2**63)
        for unread in {0, len(syncs) // 2}:
            questions[f"{name}, {unread} unread"] = {
                "ask": "store",
                "syncs": syncs,
                "upstream": asked,
                "unread": unread,
            }
    return questions


def emission_questions() -> dict[str, Question]:
    generator = random.Random(SEED)
    questions: dict[str, Question] = {}
    for index in range(40):
        lag = generator.choice([0, 1, 3, 10, 100])
        at = {0: [0, 0], 1: [generator.randrange(1000), generator.randrange(1000)]}
        events: list[Any] = []
        for _ in range(generator.randrange(1, 300)):
            partition = generator.randrange(2)
            events.append([partition, *at[partition]])
            at[partition][0] += generator.choice([1] * 30 + [2, 17])
            at[partition][1] += generator.choice([1] * 30 + [2, 5])
            if generator.random() < 0.02:
                at[partition][1] = 0
            if generator.random() < 0.05:
                events.append("commit")
        questions[f"emission {index}"] = {"ask": "emission", "lag": lag, "events": events}
    return questions


RECORDS: dict[str, tuple[str, OffsetSync | Checkpoint | Heartbeat, list[Any]]] = {
    "sync": ("sync", OffsetSync("probe-s", 1, 14, 14), ["probe-s", 1, 14, 14]),
    "large sync": ("sync", OffsetSync("t", 2**31 - 1, 2**63 - 1, 0), ["t", 2**31 - 1, 2**63 - 1, 0]),
    "checkpoint": ("checkpoint", Checkpoint("g", "a.t", 1, 5, 1), ["g", "a.t", 1, 5, 1, ""]),
    "words": ("checkpoint", Checkpoint("grüppe", "a.t", 0, 5, -1, "日本 😀"), ["grüppe", "a.t", 0, 5, -1, "日本 😀"]),
    "heartbeat": ("heartbeat", Heartbeat("pra", "prb", 1795000000000), ["pra", "prb", 1795000000000]),
}
POLICY_TOPICS = """
    t us.t us.eu.t us. .t . .. a..b us.. heartbeats us.heartbeats us.eu.heartbeats myheartbeats x.myheartbeats
    us.checkpoints.internal checkpoints.internal us_checkpoints_internal mm2-offset-syncs.us.internal
    mm2-configs.us.internal mm2-offset-syncs_us_internal my.internal my-internal mm2.internal mm2internal
    __consumer_offsets .hidden us__t us__heartbeats us-t us->t
""".split()
POLICIES: dict[str, Question] = {
    f"{name} {config}": {"ask": "policy", "class": name, "config": config, "topics": ["", *POLICY_TOPICS]}
    for name in ("DefaultReplicationPolicy", "IdentityReplicationPolicy")
    for config in (
        {},
        {"source.cluster.alias": "us"},
        {"replication.policy.separator": "__"},
        {"replication.policy.separator": "_", "replication.policy.internal.topic.separator.enabled": "false"},
        {"replication.policy.separator": "-", "replication.policy.internal.topic.separator.enabled": "True"},
        {"replication.policy.internal.topic.separator.enabled": "false"},
        {"replication.policy.separator": ""},
        {"replication.policy.separator": "->"},
    )
}
FILTER_NAMES = [
    *("", "orders", "orders2", "my.orders", "us.orders.replica", "mm2-configs.us.internal", "app.internal", "__x", "b"),
    *("console-consumer-1", "connect-sink", "group", "min.insync.replicas", "minXinsync.replicas", "retention.ms"),
    *("follower.replication.throttled.replicas", "Ünicode", "a\nb"),
]
FILTERS: dict[str, Question] = {
    str(config): {"ask": "filters", "config": config, "names": FILTER_NAMES}
    for config in (
        {},
        {"topics": "orders", "groups": "group", "config.properties.exclude": "retention.ms"},
        {"topics": " orders , b ", "topics.exclude": "b"},
        {"topics": "", "groups": "", "config.properties.exclude": ""},
        {"topics.exclude": "", "groups.exclude": ""},
        {"topics": "ord.*|b", "topics.exclude": "orders\\d"},
        {"topics": "(?i)ORDERS.*,UNIcode", "use.defaults.from": "source"},
        {"topics": "\\p{Lu}\\w*code,[\\w&&[^o]]+"},
        {"topics": "orders,orders", "use.defaults.from": "Source"},
        {"topics": "a,,b"},
        {"topics": "orders,"},
        {"groups": "gr", "use.defaults.from": " source "},
    )
}
NAMED: dict[str, tuple[Callable[[], Any], Callable[[Mapping[str, str]], Any]]] = {
    "MirrorSourceConnector": (keys.source_config_def, validate_source),
    "MirrorCheckpointConnector": (keys.checkpoint_config_def, validate_checkpoint),
    "MirrorHeartbeatConnector": (keys.heartbeat_config_def, validate_heartbeat),
}
BASE = {"name": "m", "connector.class": "x", "source.cluster.alias": "a"}
VALIDATED: list[dict[str, str]] = [
    {},
    {**BASE},
    {**BASE, "exactly.once.support": "required"},
    {**BASE, "exactly.once.support": "required", "source.consumer.isolation.level": "read_committed"},
    {
        **BASE,
        "exactly.once.support": "required",
        "consumer.isolation.level": "read_committed",
        "source.consumer.isolation.level": "read_uncommitted",
    },
    {**BASE, "exactly.once.support": "required", "source.cluster.isolation.level": "read_committed"},
    {**BASE, "emit.offset-syncs.enabled": "false"},
    {**BASE, "emit.offset-syncs.enabled": "false", "offset-syncs.topic.location": "target"},
    {**BASE, "emit.offset-syncs.enabled": "false", "offset-syncs-source-producer.x": "1"},
    {**BASE, "emit.offset-syncs.enabled": "false", "emit.checkpoints.enabled": "false"},
    {**BASE, "emit.offset-syncs.enabled": "false", "emit.checkpoints.enabled": "false", "enabled": "false"},
    {**BASE, "offset-syncs.topic.location": "nowhere", "replication.factor": "two", "enabled": "maybe"},
    {**BASE, "topics": "a,a", "groups": "b,,c", "topics.exclude": "", "config.providers": "x,x"},
    {**BASE, "security.protocol": "sasl_ssl", "offset.lag.max": "-1", "offset-syncs.topic.replication.factor": "40000"},
    {**BASE, "security.protocol": "http", "emit.heartbeats.interval.seconds": "1.5"},
]
PARTITIONS: dict[str, list[Any]] = {
    "MirrorSourceConnector": [
        None,
        {},
        {"cluster": "a", "topic": "t", "partition": 0},
        {"topic": "t", "partition": 0},
        {"cluster": 5, "topic": "t", "partition": 0},
        {"cluster": "a", "partition": 0},
        {"cluster": "a", "topic": None, "partition": 0},
        {"cluster": "a", "topic": "t"},
        *({"cluster": "a", "topic": "t", "partition": bad} for bad in ("0", 1.5, None, True, -1, 2**31, 2**31 - 1)),
        {"cluster": "a", "topic": "t", "partition": 0, "more": "x", "zone": True},
    ],
    "MirrorCheckpointConnector": [
        {"group": "g", "topic": "a.t", "partition": 0},
        {"topic": "a.t", "partition": 0},
        {"group": "g", "partition": 0},
        {"group": True, "topic": "a.t", "partition": 0},
        {"group": "g", "topic": "a.t", "partition": "0"},
        {"group": "g", "topic": "a.t", "partition": -7},
    ],
    "MirrorHeartbeatConnector": [
        {"sourceClusterAlias": "a", "targetClusterAlias": "b"},
        {"sourceClusterAlias": "a"},
        {"targetClusterAlias": "b"},
        {"sourceClusterAlias": 1, "targetClusterAlias": "b"},
        None,
    ],
}
OFFSETS: list[Any] = [
    *(None, {}, {"foo": 3}, {"offset": 0}, {"offset": 5}, {"offset": -1}, {"offset": "3"}, {"offset": 1.5}),
    *({"offset": None}, {"offset": True}, {"offset": 2**40, "more": "x"}),
]
CHECKS: dict[str, Callable[[Any], None]] = {
    "MirrorSourceConnector": offsets.check_source_offsets,
    "MirrorCheckpointConnector": offsets.check_checkpoint_offsets,
    "MirrorHeartbeatConnector": offsets.check_heartbeat_offsets,
}
CLIENT_CONFIG = {
    **BASE,
    "target.cluster.alias": "b",
    "source.cluster.bootstrap.servers": "a1:9092",
    "source.cluster.security.protocol": "SSL",
    "source.cluster.ssl.truststore.location": "a.pem",
    "source.cluster.request.timeout.ms": "5",
    "source.cluster.client.id": "never",
    "target.cluster.bootstrap.servers": "b1:9092",
    "target.cluster.sasl.mechanism": "PLAIN",
    "consumer.poll.timeout.ms": "10",
    "consumer.auto.offset.reset": "latest",
    "consumer.enable.auto.commit": "true",
    "consumer.client.id": "mine",
    "producer.linger.ms": "3",
    "producer.bootstrap.servers": "all:1",
    "admin.retries": "4",
    "admin.timeout.ms": "77",
    "source.consumer.auto.offset.reset": "none",
    "source.producer.acks": "1",
    "target.producer.acks": "0",
    "target.admin.client.id": "other",
    "source.": "x",
}
CLIENTS = [
    (side, kind, config)
    for side in ("source", "target")
    for kind in ("consumer", "producer", "admin")
    for config in (
        CLIENT_CONFIG,
        {**BASE, "task.index": "3", "task.assigned.partitions": "t-0"},
    )
]
MAKERS: dict[str, dict[str, str]] = {
    "two": {
        "clusters": "a, b",
        "a.bootstrap.servers": "a1:9092",
        "b.bootstrap.servers": "b1:9092",
        "a->b.enabled": "true",
        "a->b.topics": "orders.*",
        "a->b.producer.client.id": "x",
        "b->a.emit.heartbeats.enabled": "false",
        "b->a.enabled": "false",
    },
    "three": {
        "clusters": "primary, backup, edge-1",
        "emit.heartbeats.enabled": "false",
        "primary->backup.enabled": "TRUE",
        "backup->edge-1.emit.heartbeats.enabled": "true",
        "edge-1->primary.enabled": "yes",
        "primary->primary.enabled": "true",
        "primary->nowhere.enabled": "true",
        "replication.factor": "3",
        "tasks.max": "7",
        "task.shutdown.graceful.timeout.ms": "1",
        "worker.something": "w",
        "name": "own-name",
        "enabled": "true",
        "unknown.key": "dropped",
        "offset.storage.topic": "offs",
        "offset.storage.replication.factor": "1",
        "status.storage.partitions": "2",
        "config.storage.replication.factor": "1",
        "key.converter": "K",
        "key.converter.schemas.enable": "false",
        "header.converter": "H",
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "replication.policy.custom": "c",
        "security.protocol": "SSL",
        "ssl.truststore.location": "all.pem",
        "ssl.key.password": "top",
        "sasl.mechanism": "PLAIN",
        "bootstrap.servers": "everywhere:1",
        "primary.bootstrap.servers": "p:1",
        "primary.ssl.truststore.location": "p.pem",
        "primary.consumer.isolation.level": "read_committed",
        "primary.producer.security.protocol": "PLAINTEXT",
        "primary.administrator": "odd",
        "primary.group.id": "own-group",
        "backup.offset.flush.interval.ms": "5",
        "backup.exactly.once.source.support": "enabled",
        "backup.client.id": "own-id",
        "backup.producer.acks": "1",
        "backup.key.converter": "weak",
        "primary->backup.offset.lag.max": "0",
        "primary->backup.source.cluster.alias": "renamed",
        "primary->backup.tasks.max": "9",
        "listeners": "http://localhost:0",
        "consumer.fetch.max.bytes": "1",
        "topics": "t",
        "metric.reporters": "",
    },
    "alone": {"clusters": "a"},
    "repeated": {"clusters": "a,a,b"},
    "empty member": {"clusters": "a,,b"},
    "missing": {},
}


def provider_properties(folder: Path) -> dict[str, str]:
    secrets = folder / "secrets.properties"
    secrets.write_text("on=true\npassword=tiger-in-a-file\n")
    return {
        "clusters": "a,b",
        "emit.heartbeats.enabled": "false",
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "b.ssl.key.password": f"${{file:{secrets}:password}}",
        "a.ssl.key.password": f"${{file:{secrets}:password}}",
        "a->b.enabled": f"${{file:{secrets}:on}}",
        "a->b.topics": "${other:x:y}",
    }


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Question, dict[str, Any]]]:
    """All questions of this module with their answers, by name: one JVM for all of them."""
    questions: dict[str, Question] = {**store_questions(), **emission_questions(), **POLICIES}
    for name, (record, ours, fields) in RECORDS.items():
        questions[f"wire {name}"] = {"ask": "wire", "record": record, "is": fields}
        bytes_ = {"key": ours.key().hex(), "value": ours.value().hex() + "00ff"}  # what follows is ignored
        questions[f"read {name}"] = {"ask": "read", "record": record, **bytes_}
    questions |= {f"filters {name}": question for name, question in FILTERS.items()}
    for connector in NAMED:
        questions[f"definition {connector}"] = {"ask": "definition", "class": connector}
        for index, config in enumerate(VALIDATED):
            questions[f"validate {connector} {index}"] = {"ask": "validate", "class": connector, "config": config}
        for partition in PARTITIONS[connector]:
            for offset in OFFSETS:
                questions[f"offsets {connector} {partition} {offset}"] = {
                    "ask": "offsets",
                    "class": connector,
                    "partition": partition,
                    "offset": offset,
                }
    for side, kind, config in CLIENTS:
        questions[f"client {side} {kind} {len(config)}"] = {
            "ask": "client",
            "class": "MirrorSourceTaskConfig" if "task.index" in config else "MirrorSourceConfig",
            "method": f"{side}{kind.capitalize()}Config",
            "role": "some-role",
            "config": config,
        }
    makers = {**MAKERS, "providers": provider_properties(tmp_path_factory.mktemp("maker"))}
    for name, made in makers.items():
        # Otherwise Java looks through every class of every jar for plugins.
        properties = {**made, "plugin.discovery": "service_load"}
        questions[f"maker {name}"] = {"ask": "maker", "properties": properties}
    return dict(
        zip(
            questions, zip(questions.values(), mirror_maker_answers(list(questions.values())), strict=True), strict=True
        )
    )


Asked = dict[str, tuple[Question, dict[str, Any]]]


def of_kind(asked: Asked, kind: str) -> Asked:
    found = {name: pair for name, pair in asked.items() if pair[0]["ask"] == kind}
    assert found
    return found


# answers


def test_the_store_keeps_and_translates_as_mirror_maker_does(asked: Asked) -> None:
    for name, (question, answer) in of_kind(asked, "store").items():
        unread = question["unread"]
        store = OffsetSyncStore(only_last=unread > 0)
        for index, (upstream, downstream) in enumerate(question["syncs"], 1):
            store.add(OffsetSync("t", 0, upstream, downstream))
            if index == unread:
                store.read_to_end()
        ours = [[sync.upstream, sync.downstream] for sync in store.syncs("t", 0)]
        slots: list[list[int]] = answer["answer"]["slots"]
        assert len(slots) == (SLOTS if question["syncs"] else 0)
        # Syncs that repeat each other in the topic are different entries here, and look the same there.
        assert distinct(ours) == distinct(slots), f"{name}, seed {SEED}"
        translated = [store.downstream("t", 0, upstream) for upstream in question["upstream"]]
        assert translated == answer["answer"]["translated"], f"{name}, seed {SEED}"


def distinct(entries: list[list[int]]) -> list[list[int]]:
    return [entry for index, entry in enumerate(entries) if index == 0 or entry != entries[index - 1]]


def test_syncs_are_due_when_mirror_maker_sends_them(asked: Asked) -> None:
    for name, (question, answer) in of_kind(asked, "emission").items():
        emission = SyncEmission(question["lag"])
        previous: dict[int, int] = {}
        waiting: dict[int, list[int]] = {}
        for event, expected in zip(question["events"], answer["answer"], strict=True):
            if event == "commit":
                emission.promote()
            else:
                partition, upstream, downstream = event
                is_gap = upstream != previous.get(partition, -1) + 1
                emission.acknowledged("t", partition, upstream, downstream, is_gap=is_gap)
                previous[partition] = upstream
            # Java's are never taken in this test; ours are, and put where they would still be waiting.
            for sync in emission.take(1000):
                waiting[sync.partition] = [sync.partition, sync.upstream, sync.downstream]
            assert list(waiting.values()) == expected, f"{name}, seed {SEED}"


@pytest.mark.parametrize("name", RECORDS)
def test_records_have_the_same_bytes(asked: Asked, name: str) -> None:
    _, ours, fields = RECORDS[name]
    assert asked[f"wire {name}"][1] == {"answer": [ours.key().hex(), ours.value().hex()]}
    assert asked[f"read {name}"][1] == {"answer": fields}
    assert type(ours).from_record(ours.key(), ours.value() + b"\x00\xff") == ours


def test_policies_give_the_same_names(asked: Asked) -> None:
    for name, (question, answer) in of_kind(asked, "policy").items():
        policy = policy_of({**question["config"], "replication.policy.class": question["class"]})
        for topic, java in zip(question["topics"], answer["answer"], strict=False):
            ours = [
                policy.format_remote_topic("us", topic),
                policy.topic_source(topic),
                policy.upstream_topic(topic),
                policy.original_topic(topic),
                policy.is_heartbeats_topic(topic),
                policy.is_checkpoints_topic(topic),
                policy.is_mm2_internal_topic(topic),
                policy.is_internal_topic(topic),
            ]
            assert ours == java, f"{name}: {topic!r}"
        own = [policy.heartbeats_topic(), policy.offset_syncs_topic("us"), policy.checkpoints_topic("us")]
        assert own == answer["answer"][-1]


@pytest.mark.parametrize("name", FILTERS)
def test_filters_select_the_same_names(asked: Asked, name: str) -> None:
    question, answer = asked[f"filters {name}"]
    try:
        topics, groups = filters.topic_filter(question["config"]), filters.group_filter(question["config"])
        properties = filters.config_property_filter(question["config"])
    except ConnectError as error:
        assert answer == {"error": error.message}
        return
    ours = [
        [
            topics.should_replicate_topic(name),
            groups.should_replicate_group(name),
            properties.should_replicate_config_property(name),
            properties.should_replicate_source_default(name),
        ]
        for name in question["names"]
    ]
    assert ours == answer["answer"]


@pytest.mark.parametrize("connector", NAMED)
def test_keys_and_defaults_are_the_same_in_the_same_order(asked: Asked, connector: str) -> None:
    definition = NAMED[connector][0]()
    common = [name for name in common_config_def().names() if name not in ENGINE_KEYS]
    java = asked[f"definition {connector}"][1]["answer"]
    assert [key[0] for key in java[: len(common)]] == common
    own = [key for key in definition.keys() if not key.name.startswith("mirror.")]
    assert [described(key) for key in own] == java[len(common) :]


def described(key: ConfigKey) -> list[Any]:
    return [key.name, key.type.value, key.importance.value, "(required)" if key.required else to_text(key.default)]


@pytest.mark.parametrize("connector", NAMED)
@pytest.mark.parametrize("index", range(len(VALIDATED)))
def test_configurations_are_refused_in_the_same_words(asked: Asked, connector: str, index: int) -> None:
    reports = {report.name: report.errors for report in NAMED[connector][1](VALIDATED[index]) if report.errors}
    java = {
        name: errors
        for name, errors in asked[f"validate {connector} {index}"][1]["answer"].items()
        if name not in ("name", "connector.class")  # the runtime's part
    }
    assert reports == java


def test_offsets_are_refused_in_the_same_words(asked: Asked) -> None:
    for name, (question, answer) in of_kind(asked, "offsets").items():
        partition = None if question["partition"] is None else SourcePartition(question["partition"])
        try:
            CHECKS[question["class"]]({partition: question["offset"]})
        except ConnectError as error:
            assert {"error": error.message} == answer, name
        else:
            assert answer == {"answer": True}, name


@pytest.mark.parametrize(("side", "kind", "config"), CLIENTS)
def test_clients_get_the_same_settings(asked: Asked, side: Any, kind: Any, config: dict[str, str]) -> None:
    java = asked[f"client {side} {kind} {len(config)}"][1]["answer"]
    assert client_config(config, side, kind, "some-role") == java


@pytest.mark.parametrize("name", [*MAKERS, "providers"])
def test_a_mirror_maker_file_means_the_same(asked: Asked, name: str) -> None:
    question, answer = asked[f"maker {name}"]
    try:
        config = MirrorMakerConfig(question["properties"])
    except ConnectError as error:
        assert answer == {"error": error.message}
        return
    try:
        flows = config.flows()
    except ConnectError as error:
        assert error.message.startswith("No source->target replication flows.")
        assert answer == {"answer": {}}
        return
    ours = {
        str(flow): {
            "worker": config.worker_config(flow),
            **{connector: config.connector_config(flow, connector) for connector in CONNECTORS},
        }
        for flow in flows
    }
    assert ours == answer["answer"]
    if name == "providers":
        assert ours["a->b"]["worker"]["ssl.key.password"] == "tiger-in-a-file"
        assert ours["a->b"]["MirrorSourceConnector"]["topics"] == "${other:x:y}"
