"""`seamark doctor` against a real Kafka, real workers of both kinds, and things that are wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka
import pytest

from fixtures.command import Run, caller
from fixtures.secured import settings as secured_settings
from fixtures.two_workers import build_java_plugins
from fixtures.worker import STRING, Topics
from seamark.client import ConnectClient, Settings
from seamark.config.properties import dump_properties
from seamark.kafka import TopicSpec
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.broker_storage import free_port
from seamark.kafka.mirror_admin import MirrorAdmin, TopicAcl
from seamark.testing.java_connect import JavaConnect
from seamark.testing.waiting import eventually

pytestmark = pytest.mark.timeout(600)

ERRORS = 5
PATIENT = ("--timeout", "60")


@dataclass
class Report:
    """What the command printed and ended with."""

    code: int
    findings: list[dict[str, str | None]]
    err: str

    def of(self, check: str, severity: str | None = None) -> list[str]:
        """What was found by a check, together with the fix."""
        return [
            f"{each['found']} FIX: {each['fix']}"
            for each in self.findings
            if each["check"] == check and severity in (None, each["severity"])
        ]

    def one(self, check: str, severity: str) -> str:
        (found,) = self.of(check, severity)
        return found


Examine = Callable[..., Report]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.setenv("SEAMARK_CONFIG", str(tmp_path / "contexts.yaml"))
    return caller(monkeypatch, capsys)


@pytest.fixture
def examine(run: Run, tmp_path: Path) -> Examine:
    """Runs the command on a file with these properties."""

    def examined(properties: Mapping[str, str], *options: str) -> Report:
        file = tmp_path / "worker.properties"
        file.write_text(dump_properties(properties))
        ran = run("doctor", str(file), *PATIENT, "-o", "json", *options)
        told = json.loads(ran.out)
        assert sum(told["summary"].values()) == len(told["findings"])
        return Report(ran.code, told["findings"], ran.err)

    return examined


def worker(servers: str, group: str, **changes: str) -> dict[str, str]:
    properties = {"bootstrap.servers": servers, "group.id": group}
    for kind, suffix in (("config", "configs"), ("offset", "offsets"), ("status", "status")):
        properties |= {
            f"{kind}.storage.topic": f"{group}-{suffix}",
            f"{kind}.storage.replication.factor": "1",
        }
    return {**properties, **{key.replace("__", "."): value for key, value in changes.items()}}


@pytest.fixture
def dead_address() -> Iterator[str]:
    """An address at which nobody listens, and nobody else can meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


# the file and its Kafka


def test_a_worker_that_can_be_started(
    broker: EmbeddedBroker, topics: Topics, examine: Examine, topic_name: str
) -> None:
    before = topics.admin.list_topics()
    report = examine(worker(broker.bootstrap_servers, topic_name))
    assert report.code == 0
    assert report.of("worker file", "ok")
    assert len(report.of("internal topics", "ok")) == 3
    assert all("can be created" in each for each in report.of("internal topics"))
    assert "Nobody uses" in report.one("group", "ok")
    assert topics.admin.list_topics() - before <= {"__consumer_offsets", "__transaction_state"}
    assert f"{topic_name}-configs" not in topics.admin.list_topics()
    assert "connecting to Kafka at" in report.err


def test_the_table_has_a_line_for_each_finding_and_its_fix(
    broker: EmbeddedBroker, run: Run, topic_name: str, tmp_path: Path
) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(dump_properties(worker(broker.bootstrap_servers, topic_name, ofset__flush__interval__ms="1")))
    ran = run("doctor", str(file), *PATIENT)
    assert ran.code == 0
    assert re.search(r"^warning  worker file: `ofset\.flush\.interval\.ms` is not a key", ran.out, re.MULTILINE)
    assert re.search(r"^ +fix: Write `offset\.flush\.interval\.ms` instead", ran.out, re.MULTILINE)
    assert re.search(r"^ok       kafka: Kafka cluster", ran.out, re.MULTILINE)
    assert "warnings: 1, errors: 0" in ran.err


def test_a_broker_that_is_away_stops_no_other_check(dead_address: str, examine: Examine, topic_name: str) -> None:
    report = examine(worker(dead_address, topic_name, spark__master=f"spark://{dead_address}"))
    assert report.code == ERRORS
    found = report.one("kafka", "error")
    assert "connection refused" in found
    assert "bootstrap.servers" in found
    assert "Kafka cannot be reached" in report.one("transactions", "skipped")
    assert "nobody answers there" in report.one("spark", "error")
    assert report.of("plugins", "ok")
    assert report.of("jars")


def test_a_port_that_speaks_something_else_is_told_from_one_that_is_dead(examine: Examine, topic_name: str) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        properties = worker(f"127.0.0.1:{silent.getsockname()[1]}", topic_name)
        report = examine(properties, "--timeout", "3")
    assert report.code == ERRORS
    assert "The port takes connections" in report.one("kafka", "error")


def test_internal_topics_that_are_wrong(
    broker: EmbeddedBroker, topics: Topics, examine: Examine, topic_name: str
) -> None:
    topics.admin.create_topics(
        [
            TopicSpec(f"{topic_name}-configs", 3, 1, {"cleanup.policy": "compact"}),
            TopicSpec(f"{topic_name}-offsets", 1, 1, {"cleanup.policy": "compact"}),
            TopicSpec(f"{topic_name}-status", 5, 1, {"cleanup.policy": "delete"}),
        ]
    )
    eventually(lambda: len(topics.admin.describe_topics([f"{topic_name}-{kind}" for kind in KINDS])) == 3)
    report = examine(worker(broker.bootstrap_servers, topic_name))
    assert report.code == ERRORS
    configs, status = report.of("internal topics", "error")
    assert "has 3 partitions and must have one" in configs
    assert "cleanup.policy=delete" in status
    assert f"--entity-name {topic_name}-status --add-config cleanup.policy=compact" in status
    assert "all connectors run on one worker" in report.one("internal topics", "warning")


KINDS = ("configs", "offsets", "status")


def test_too_many_replicas_and_mistakes_in_the_file(broker: EmbeddedBroker, examine: Examine, topic_name: str) -> None:
    properties = worker(broker.bootstrap_servers, topic_name, config__storage__replication__factor="3")
    report = examine({**properties, "session.timeout.ms": "2000", "plugin.path": "/no/such/place"})
    assert report.code == ERRORS
    assert "`config.storage.replication.factor=1`" in report.one("internal topics", "error")
    assert "session.timeout.ms is 2000; the brokers take 6000" in report.one("kafka", "error")
    assert "/no/such/place" in report.one("plugins", "error")
    wrong = examine({**properties, "offset.flush.interval.ms": "soon"})
    assert wrong.code == ERRORS
    assert "offset.flush.interval.ms" in wrong.one("worker file", "error")
    assert "has to be corrected first" in wrong.one("worker file", "skipped")
    assert not wrong.of("kafka")


def test_a_file_that_is_not_there(run: Run, tmp_path: Path) -> None:
    ran = run("doctor", str(tmp_path / "none.properties"))
    assert ran.code == ERRORS
    assert "cannot be read" in ran.out


def test_a_worker_file_and_a_mirror_file_are_not_checked_at_once(run: Run) -> None:
    ran = run("doctor", "worker.properties", "--mm2", "mm2.properties")
    assert (ran.code, ran.out) == (ERRORS, "")
    assert "not both" in ran.err


def test_converters_and_plugins_are_tried(
    broker: EmbeddedBroker, examine: Examine, topic_name: str, tmp_path: Path
) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / f"broken_{abs(hash(topic_name))}.py").write_text("import no_such_module_anywhere\n")
    properties = worker(broker.bootstrap_servers, topic_name, plugin__path=str(plugins))
    report = examine({**properties, "key.converter": "io.example.ProtobufConverter"})
    assert report.code == ERRORS
    broken, converter = report.of("plugins", "error")
    assert "no_such_module_anywhere" in broken
    assert "key.converter is io.example.ProtobufConverter" in converter


def test_a_record_is_written_only_if_that_is_asked_for(
    broker: EmbeddedBroker, topics: Topics, examine: Examine, topic_name: str
) -> None:
    properties = worker(broker.bootstrap_servers, topic_name)
    assert "--write-probe" in examine(properties).one("clock", "skipped")
    report = examine(properties, "--write-probe")
    assert report.code == 0
    assert "in a transaction" in report.one("write probe", "ok")
    assert "agree" in report.one("clock", "ok")
    eventually(lambda: not [name for name in topics.admin.list_topics() if name.startswith("seamark-doctor-")])


def test_a_group_that_consumers_are_in(
    broker: EmbeddedBroker, topics: Topics, examine: Examine, topic_name: str
) -> None:
    topic = topics.create(topic_name)
    config = {"bootstrap.servers": broker.bootstrap_servers, "client.id": "some-app", "group.id": topic_name}
    consumer = confluent_kafka.Consumer(config)
    consumer.subscribe([topic])
    try:

        def has_joined() -> bool:
            consumer.poll(0.1)
            return bool(consumer.assignment())

        eventually(has_joined, 60)
        report = examine(worker(broker.bootstrap_servers, topic_name))
    finally:
        consumer.close()
    assert report.code == ERRORS
    assert "some-app" in report.one("group", "error")


# security


def test_a_login_that_is_refused(
    secured: str, certificate: tuple[Path, Path], examine: Examine, topic_name: str
) -> None:
    right = secured_settings(secured, certificate)
    fine = examine({**worker(secured, topic_name), **right})
    assert (fine.code, len(fine.of("kafka", "ok"))) == (0, 2)
    wrong = secured_settings(secured, certificate, password="another-word")
    report = examine({**worker(secured, topic_name), **wrong}, "--timeout", "10")
    assert report.code == ERRORS
    assert "sasl" in report.one("kafka", "error").lower()
    assert "another-word" not in json.dumps(report.findings)


def test_what_a_user_may_not_do(tmp_path_factory: pytest.TempPathFactory, examine: Examine, topic_name: str) -> None:
    port, users, controller = (free_port("127.0.0.1") for _ in range(3))
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    extra = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},USERS://127.0.0.1:{users},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},USERS://127.0.0.1:{users}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,USERS:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.users.plain.sasl.jaas.config": f'{module} required user_bob="word";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    folder = tmp_path_factory.mktemp("forbidden")
    with EmbeddedBroker(folder, port=port, heap="256m", extra_properties=extra) as broker:
        topics = Topics(broker.bootstrap_servers)
        topics.admin.create_topics([TopicSpec(f"{topic_name}-configs", 1, 1, {"cleanup.policy": "compact"})])
        eventually(lambda: topics.admin.describe_topics([f"{topic_name}-configs"]))
        topics.admin.group_offsets("any")  # so that there is a coordinator to ask
        topics.close()
        acls = [TopicAcl(f"{topic_name}-configs", "User:bob", "*", each, "ALLOW") for each in ("DESCRIBE", "READ")]
        with MirrorAdmin({"bootstrap.servers": broker.bootstrap_servers}) as admin:
            assert admin.create_topic_acls(acls) == {}
            eventually(lambda: admin.topic_acls() == sorted(acls))
        report = examine(
            {
                **worker(f"127.0.0.1:{users}", topic_name),
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{module} required username="bob" password="word";',
            }
        )
    assert report.code == ERRORS
    hidden = report.of("internal topics", "error")
    assert len(hidden) == 2
    assert all("TOPIC_AUTHORIZATION_FAILED" in each for each in hidden)
    assert "cleanup.policy is not known" in report.one("internal topics", "skipped")
    topic, group, transactional_id = report.of("permissions", "error")
    assert "--operation Write --transactional-id connect-cluster-" in transactional_id
    assert f"User:bob may not write topic {topic_name}-configs" in topic
    assert f"--operation Write --topic {topic_name}-configs" in topic
    assert f"may not describe or read group {topic_name}" in group
    assert "may not be read" in report.one("permissions", "warning")


# mirrors


def test_a_mirror_maker_file(
    broker: EmbeddedBroker, topics: Topics, dead_address: str, examine: Examine, topic_name: str
) -> None:
    topics.create(topic_name)
    one = {f"{kind}.replication.factor": "1" for kind in ("offset.storage", "config.storage", "status.storage")}
    one |= {f"{kind}.topic.replication.factor": "1" for kind in ("heartbeats", "checkpoints", "offset-syncs")}
    properties = {
        "clusters": "here, there",
        "here.bootstrap.servers": broker.bootstrap_servers,
        "there.bootstrap.servers": broker.bootstrap_servers,
        "here->there.enabled": "true",
        "here->there.topics": topic_name,
        "there->here.emit.heartbeats.enabled": "false",
        "replication.factor": "1",
        **one,
    }
    report = examine(properties)
    assert report.code == 0
    assert "1 flows: here->there" in report.one("mirror file", "ok")
    assert f"would copy 1 topics: {topic_name}" in report.one("here->there: flow", "ok")
    assert "the same Kafka cluster" in report.one("here->there: flow", "warning")
    assert len(report.of("here->there: internal topics", "ok")) == 6
    assert "Nobody uses group.id here-mm2" in report.one("here->there: group", "ok")

    away = examine({**properties, "there.bootstrap.servers": dead_address, "here->there.topcs": "x"})
    assert away.code == ERRORS
    assert "`there.bootstrap.servers`" in away.one("there: kafka", "error")
    assert "there cannot be reached" in away.one("here->there: flow", "skipped")
    assert "`here->there.topics`" in away.one("mirror file", "warning")


# running workers


@pytest.fixture
def standalone(broker: EmbeddedBroker, tmp_path: Path, topic_name: str) -> Iterator[str]:
    """The URL of a real standalone worker with a connector, as users start it."""
    folder = tmp_path / "standalone"
    folder.mkdir()
    file, connector, log = folder / "worker.properties", folder / "copy.json", folder / "log"
    properties = {
        "bootstrap.servers": broker.bootstrap_servers,
        "offset.storage.file.filename": str(folder / "offsets"),
        "listeners": "http://127.0.0.1:0",
        "key.converter": STRING,
        "value.converter": STRING,
    }
    file.write_text(dump_properties(properties))
    config = {"connector.class": "FileStreamSource", "file": str(folder / "in"), "topic": topic_name}
    connector.write_text(json.dumps({"name": topic_name, "config": config, "initial_state": "STOPPED"}))
    command = [sys.executable, "-m", "seamark.cli.main", "standalone", str(file), str(connector)]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
    try:

        def url() -> str | None:
            assert process.poll() is None, log.read_text()
            told = re.search(r"REST API at (http://[0-9.:]+)", log.read_text())
            return told[1] if told else None

        found = eventually(url, 120, "no worker")
        assert found is not None
        with ConnectClient(Settings(found)) as client:
            eventually(lambda: client.connectors() == [topic_name], 120, "the connector of the file is not there")
        yield found
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_running_seamark_worker(
    broker: EmbeddedBroker, standalone: str, run: Run, examine: Examine, topic_name: str
) -> None:
    alone = run("doctor", "--url", standalone, *PATIENT)
    assert alone.code == 0, alone.out
    assert re.search(r"ok +running worker: .* is Seamark .*: 1 connectors", alone.out)
    assert "Seamark has FileStreamSource." in alone.out
    assert "Seamark would take 1 of 1 configs" in alone.out
    assert re.search(r"ok +clock: The clock of http", alone.out)
    # Its connectors are in no topic.
    report = examine(worker(broker.bootstrap_servers, topic_name), "--url", standalone)
    assert report.code == 0
    assert f"{topic_name}-configs (config.storage.topic) does not exist" in report.one("take-over", "warning")


def test_no_worker_at_the_url(dead_address: str, run: Run) -> None:
    ran = run("doctor", "--url", f"http://{dead_address}")
    assert ran.code == ERRORS
    assert re.search(r"^error +running worker: No worker answers", ran.out, re.MULTILINE)


@pytest.mark.java
@pytest.mark.slow
def test_a_running_java_cluster_is_judged_and_can_be_taken_over_when_it_is_stopped(
    broker: EmbeddedBroker, examine: Examine, topic_name: str, tmp_path: Path
) -> None:
    plugins = {"plugin.path": str(build_java_plugins(tmp_path)), "plugin.discovery": "only_scan"}
    java = JavaConnect(tmp_path / "java", broker.bootstrap_servers, group_id=topic_name, config=plugins, heap="256m")
    ours = {key: value for key, value in java.config.items() if key != "plugin.path"}
    with java:
        java.create(
            "lines",
            {
                "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
                "file": str(tmp_path / "in"),
                "topic": topic_name,
                "transforms": "route",
                "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
                "transforms.route.regex": "a",
                "transforms.route.replacement": "b",
            },
            initial_state="STOPPED",
        )
        sink = {"connector.class": "RecordingSink", "topics": topic_name, "file": str(tmp_path / "out")}
        java.create("recorded", sink, initial_state="STOPPED")
        report = examine(ours, "--url", java.url)
    assert report.code == ERRORS
    assert "is Kafka Connect 4.2.0" in report.one("running worker", "ok")
    assert "Seamark has no connector RecordingSink, which recorded uses" in report.one("connectors", "error")
    has, takes = report.of("connectors", "ok")
    assert "FileStreamSourceConnector" in has
    assert "RegexRouter" in has
    assert "1 of 1 configs" in takes
    assert "cannot be mixed" in report.one("group", "error")
    assert "has all 2 connectors" in report.one("take-over", "ok")
    assert len(report.of("internal topics", "ok")) == 3

    def is_free() -> bool:
        return "cannot be mixed" not in " ".join(examine(ours).of("group"))

    eventually(is_free, 60, "the group of the Java worker is still live")


@pytest.mark.slow
def test_spark_is_started_if_that_is_asked_for(examine: Examine, tmp_path: Path) -> None:
    properties = {"offset.storage.file.filename": str(tmp_path / "offsets"), "spark.master": "local[1]"}
    report = examine(properties, "--spark")
    assert report.code == 0, report.findings
    assert "Spark 4.0.0 starts on local[1]" in report.one("spark", "ok")
    assert "embedded Kafka" in report.one("kafka", "ok")
    broken = examine({**properties, "spark.master": "local[x]"}, "--spark")
    assert broken.code == ERRORS
    assert "Could not parse Master URL" in broken.one("spark", "error")
