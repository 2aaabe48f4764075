"""What is said about jars, clocks, Spark, plugins, mirrors, and connectors that shall move."""

from __future__ import annotations

import pytest

from seamark.config.configdef import ConfigValue
from seamark.doctor.clocks import Skew, judge_skew
from seamark.doctor.findings import Finding, Severity
from seamark.doctor.jar_sets import judge_jars
from seamark.doctor.migration import (
    ClassUse,
    TakeOver,
    judge_classes,
    judge_configs,
    judge_states,
    judge_take_over,
    named_classes,
)
from seamark.doctor.mirror_file import FlowFacts, is_mirror_file, judge_connectors, judge_flow, judge_keys
from seamark.doctor.plugins import PathEntry, PluginFacts, judge_plugins
from seamark.doctor.spark import Started, addresses_of, judge_master, judge_start
from seamark.engine.plugin_path import PluginProblem
from seamark.kafka.jar_cache import CachedJars, JarCache
from unit.doctor.severities import ERROR, OK, SKIPPED, WARNING, severities

# jars


def test_missing_jars_are_downloaded_if_they_can_be() -> None:
    here, away = CachedJars("broker", 30, (), 0), CachedJars("delta", 3, ("a.jar", "b.jar"), 12_000_000)
    assert severities(judge_jars(JarCache("/cache", True, (here,)))) == [OK]
    (finding,) = judge_jars(JarCache("/cache", True, (here, away)), packages="delta")
    assert finding.severity is WARNING
    assert "2 of the 3 delta jars" in finding.found
    assert "12 MB" in finding.found
    assert "`seamark prepare --packages delta`" in (finding.fix or "")
    assert severities(judge_jars(JarCache("/cache", False, (away,)))) == [ERROR]


def test_jars_that_spark_looks_up_itself_need_a_network() -> None:
    found = judge_jars(JarCache("/cache", True, ()), spark_packages="org.example:driver:1")
    assert severities(found) == [OK, WARNING]


# clocks


@pytest.mark.parametrize(
    ("skew", "expected", "said"),
    [
        (Skew.of(1000, 1010, 1005), OK, "agree"),
        (Skew.of(1000, 1010, 61_000), WARNING, "60.0 s ahead of"),
        (Skew.of(61_000, 61_010, 1_000), WARNING, "60.0 s behind"),
        (Skew.of(0, 60_000, 30_000), OK, "agree"),  # an answer that took a minute tells no more
        (Skew.of(1_999, 2_000, 1_000, 1000), OK, "agree"),
    ],
)
def test_clocks(skew: Skew, expected: Severity, said: str) -> None:
    finding = judge_skew("the broker", skew)
    assert finding.severity is expected
    assert said in finding.found


# Spark


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local[*]", []),
        ("spark://m1:7077,m2:7077", ["m1:7077", "m2:7077"]),
        ("k8s://https://api:6443", ["api:6443"]),
        ("k8s://api", ["api:443"]),
        ("k8s://http://api", ["api:80"]),
        ("yarn", []),
    ],
)
def test_where_a_master_answers(master: str, expected: list[str]) -> None:
    assert addresses_of(master) == expected


@pytest.mark.parametrize(
    ("master", "connections", "host", "environment", "expected"),
    [
        ("local[*]", {}, None, {}, [SKIPPED]),
        ("spark://m:7077", {"m:7077": None}, "here", {}, [OK]),
        ("spark://m:7077,n:7077", {"m:7077": "connection refused", "n:7077": None}, "here", {}, [OK]),
        ("spark://m:7077", {"m:7077": "connection refused"}, "here", {}, [ERROR]),
        ("spark://m:7077", {"m:7077": None}, None, {}, [WARNING]),
        ("spark://m:7077", {"m:7077": None}, "localhost", {}, [WARNING]),
        ("yarn", {}, "here", {}, [ERROR]),
        ("yarn", {}, "here", {"HADOOP_CONF_DIR": "/etc/hadoop"}, [OK]),
        ("mesos://m:5050", {}, "here", {}, [ERROR]),
    ],
)
def test_masters(
    master: str,
    connections: dict[str, str | None],
    host: str | None,
    environment: dict[str, str],
    expected: list[Severity],
) -> None:
    assert severities(judge_master(master, connections, host, environment)) == expected


def test_what_came_of_starting_spark() -> None:
    assert judge_start("local[*]", Started(9.6, "4.0.0")).found.endswith("after 10 s.")
    failed = judge_start("local[*]", Started(1, problem="no memory"))
    assert (failed.severity, "no memory" in failed.found) == (ERROR, True)


# plugins


def test_directories_and_modules_that_cannot_be_used() -> None:
    entries = [PathEntry("/gone", False), PathEntry("/java", True, 0, 7), PathEntry("/ours", True, 2, 0)]
    problems = [PluginProblem("/gone", "not a directory"), PluginProblem("/ours/a.py", "ImportError: no b")]
    found = judge_plugins(PluginFacts(entries, problems, 0))
    assert severities(found) == [ERROR, WARNING, ERROR]
    assert "7 jars and no Python" in found[1].found
    assert "ImportError: no b" in found[2].found
    assert severities(judge_plugins(PluginFacts(entries[2:], [], 3))) == [OK]


# migration


CONFIG = {
    "connector.class": "com.example.Sink",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "transforms": "a, b",
    "transforms.a.type": "com.example.Mask$Value",
    "transforms.b.predicate": "p",
    "predicates": "p",
    "predicates.p.type": "com.example.IsOld",
    "header.converter": None,
}


def test_all_classes_of_a_config_are_found() -> None:
    assert list(named_classes(CONFIG)) == [
        ("connector", "com.example.Sink"),
        ("converter", "org.apache.kafka.connect.storage.StringConverter"),
        ("transformation", "com.example.Mask$Value"),
        ("predicate", "com.example.IsOld"),
    ]


def test_classes_that_seamark_lacks_are_errors_with_who_uses_them() -> None:
    jdbc = "io.confluent.connect.jdbc.JdbcSinkConnector"
    found = judge_classes(
        [
            ClassUse("connector", "com.example.Sink", ["a", "b"], False),
            ClassUse("connector", jdbc, ["c"], False),
            ClassUse("converter", "org.apache.kafka.connect.json.JsonConverter", ["a"], True),
        ]
    )
    assert severities(found) == [ERROR, ERROR, OK]
    assert "com.example.Sink, which a, b use." in found[0].found
    assert "plugin.path" in (found[0].fix or "")
    assert "`SparkSink` with `format=jdbc`" in (found[1].fix or "")
    assert "JsonConverter" in found[2].found


def test_configs_that_would_be_refused() -> None:
    found = judge_configs({"a": ["tasks.max is 0"]}, 3)
    assert severities(found) == [ERROR, OK]
    assert "2 of 3" in found[1].found


def take_over(cluster: str = "k", stored: list[str] | None = None) -> Finding:
    return judge_take_over(TakeOver("http://w:8083", ["a", "b"], "k", cluster, "configs", stored))


def test_state_can_be_taken_over_where_all_connectors_are_in_the_files_topic() -> None:
    assert take_over(stored=["a", "b", "c"]).severity is OK
    assert take_over("other", ["a", "b"]).severity is ERROR
    lacking = take_over(stored=["a"])
    assert (lacking.severity, "does not have b" in lacking.found) == (WARNING, True)
    missing = take_over()
    assert (missing.severity, "does not exist" in missing.found) == (WARNING, True)


def test_connectors_that_have_failed_already_are_told() -> None:
    assert judge_states([], "http://w:8083") == []
    assert severities(judge_states(["a"], "http://w:8083")) == [WARNING]


# mirrors


def test_a_mirror_file_is_known_by_its_clusters() -> None:
    assert is_mirror_file({"clusters": "a, b"})
    assert not is_mirror_file({"clusters": "a, b", "bootstrap.servers": "kafka:9092"})
    assert not is_mirror_file({"bootstrap.servers": "kafka:9092"})


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("a->b.topcs", "a->b.topics"),
        ("a.bootstrap.server", "a.bootstrap.servers"),
        ("a.producer.batch.sizes", "a.producer.batch.size"),
        ("replication.facter", "replication.factor"),
    ],
)
def test_misspelt_keys_of_a_mirror_file(key: str, meant: str) -> None:
    (finding,) = judge_keys({key: ""}, ["a", "b"])
    assert finding.severity is WARNING
    assert f"`{meant}`" in (finding.fix or "")


@pytest.mark.parametrize(
    "key",
    [
        "clusters",
        "a->b.enabled",
        "a->b.topics",
        "a->b.source.consumer.max.poll.records",
        "a.bootstrap.servers",
        "a.security.protocol",
        "b.producer.acks",
        "sync.group.offsets.enabled",
        "offset.storage.replication.factor",
        "spark.master",
        "dedicated.mode.enable.internal.rest",
        "replication.policy.class",
    ],
)
def test_keys_of_a_mirror_file_that_are_known(key: str) -> None:
    assert judge_keys({key: ""}, ["a", "b"]) == []


def test_flows_between_clusters_that_there_are_not() -> None:
    found = judge_keys({"a->c.enabled": "true", "a->c.topics": ".*"}, ["a", "b"])
    assert severities(found) == [WARNING]
    assert "a->c is not a flow" in found[0].found


def test_what_connectors_of_a_flow_are_refused_for() -> None:
    report = ConfigValue("tasks.max", errors=["too low"])
    (finding,) = judge_connectors({"MirrorSourceConnector of a->b": [report, ConfigValue("topics")]})
    assert (finding.severity, finding.fix) == (ERROR, "Correct `tasks.max`.")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (FlowFacts("a->b", True, ["orders"], 1, 1, False, "orders"), [OK]),
        (FlowFacts("a->b", False, [], 1, 1, False, ".*"), [OK]),
        (FlowFacts("a->b", True, [], 1, 1, False, "ordres"), [WARNING]),
        (FlowFacts("a->b", True, ["orders"], 3, 1, False, ".*"), [ERROR, OK]),
        (FlowFacts("a->b", True, ["orders"], 1, 1, True, ".*"), [WARNING, OK]),
    ],
)
def test_flows(facts: FlowFacts, expected: list[Severity]) -> None:
    assert severities(judge_flow(facts)) == expected
