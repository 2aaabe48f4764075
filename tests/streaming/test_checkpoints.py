"""`seamark checkpoint` on checkpoints of real queries: after a move they go on exactly there."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from fixtures.streaming import Stream, offsets
from fixtures.worker import Topics
from seamark.checkpoint.errors import CheckpointError
from seamark.checkpoint.files import Files, LocalFiles
from seamark.checkpoint.reading import read_checkpoint
from seamark.cli import exits
from seamark.cli import main as cli_main
from seamark.engine.hadoop_files import HadoopFiles
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

HOUR_MS = 3_600_000
Run = Callable[..., "Ran"]


class Ran:
    """What a command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit code {self.code}\n{self.out}\n{self.err}"


@pytest.fixture
def run(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("set", path, "--to", "earliest")`, as it is called."""

    def command(verb: str, path: object, *options: str, typed: str = "") -> Ran:
        kafka = [] if verb == "restore" else ["--bootstrap-server", broker.bootstrap_servers]
        monkeypatch.setattr(sys, "argv", ["seamark", "checkpoint", verb, str(path), *kafka, *options])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli_main.main()
        said = capsys.readouterr()
        return Ran(ended.value.code if isinstance(ended.value.code, int) else 0, said.out, said.err)

    return command


@pytest.fixture
def move(run: Run) -> Run:
    """The same for a command that has to succeed."""

    def command(verb: str, path: object, *options: str) -> Ran:
        ran = run(verb, path, *options, "--yes", "--wait", "0")
        assert ran.code == 0, ran
        return ran

    return command


@pytest.fixture
def topic(topics: Topics, topic_name: str) -> str:
    """Two partitions with ten records each."""
    topics.create(topic_name, 2)
    for partition in (0, 1):
        topics.send(topic_name, [str(number) for number in range(10)], partition)
    return topic_name


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture
def stream(spark: SparkSession, broker: EmbeddedBroker, checkpoint: Path, topic: str) -> Stream:
    """A query on the topic, which has read all of it."""
    made = Stream(spark, broker.bootstrap_servers, checkpoint, topic)
    assert len(made.run()) == 20
    return made


def positions(checkpoint: Path) -> dict[tuple[str, int], int]:
    found = read_checkpoint(LocalFiles(str(checkpoint), checkpoint)).sources
    return {where: at for source in found for where, at in (source.positions or {}).items()}


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@contextmanager
def stopped_after(query: StreamingQuery) -> Iterator[StreamingQuery]:
    try:
        yield query
    finally:
        query.stop()


# moves


def test_a_moved_query_goes_on_exactly_at_the_new_position(
    move: Run, run: Run, stream: Stream, checkpoint: Path, topics: Topics, topic: str
) -> None:
    topics.send(topic, ["10", "11"], 0)
    shown = run("show", checkpoint)
    assert [row.split() for row in shown.out.splitlines()] == [
        ["TOPIC", "PARTITION", "POSITION", "START", "END", "LAG"],
        [topic, "0", "10", "0", "12", "2"],
        [topic, "1", "10", "0", "10", "0"],
    ]
    ran = move("set", checkpoint, "--to", f"{topic}:0=4", "--to", f"{topic}:1=-3")
    assert [row.split() for row in ran.err.splitlines() if row.startswith("  ")] == [
        ["TOPIC", "PARTITION", "OLD", "NEW", "BY"],
        [topic, "0", "10", "4", "-6"],
        [topic, "1", "10", "7", "-3"],
    ]
    assert stream.run() == [*offsets(topic, 0, range(4, 12)), *offsets(topic, 1, range(7, 10))]
    assert [number for number, _ in stream.batches] == [0, 1, 2], "no number is left out"
    assert stream.batches[1] == (1, [])

    topics.send(topic, ["12", "13", "14"], 0)
    topics.send(topic, ["10"], 1)
    move("set", checkpoint, "--to", f"{topic}:0=+2")
    assert stream.run() == [(topic, 0, 14), (topic, 1, 10)], "two were skipped"
    assert positions(checkpoint) == {(topic, 0): 15, (topic, 1): 11}
    assert stream.run() == []


def test_moves_by_time_reset_and_restore(
    move: Run, run: Run, stream: Stream, checkpoint: Path, broker: EmbeddedBroker, topics: Topics, topic: str
) -> None:
    now_ms = time.time_ns() // 1_000_000
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for hours in (30, 20, 10):  # in a partition that begins with records of now: the first one of -25h is record 0
        producer.produce(topic, b"old", partition=1, timestamp=now_ms - hours * HOUR_MS)
    assert producer.flush(30) == 0
    before = {path: text for path, text in snapshot(checkpoint).items() if not path.endswith(".crc")}
    move("set", checkpoint, "--to", "latest")
    assert positions(checkpoint) == {(topic, 0): 10, (topic, 1): 13}
    assert run("set", checkpoint, "--to", f"{topic}=-25h", "--yes", "--wait", "0").code == exits.REFUSED
    move("set", checkpoint, "--to", f"{topic}=-25h", "--clamp")
    assert positions(checkpoint) == {(topic, 0): 0, (topic, 1): 0}
    move("set", checkpoint, "--to", "5")
    for expected in (
        {(topic, 0): 0, (topic, 1): 0},
        {(topic, 0): 10, (topic, 1): 13},
        {(topic, 0): 10, (topic, 1): 10},
    ):
        move("restore", checkpoint)
        assert positions(checkpoint) == expected
    after = {path: text for path, text in snapshot(checkpoint).items() if not path.endswith(".crc")}
    assert {path: text for path, text in after.items() if "backups" not in path} == before
    assert run("restore", checkpoint, "--yes").code == exits.REFUSED

    move("reset", checkpoint, "--only", f"{topic}:1")
    assert stream.run() == offsets(topic, 1, range(13))
    assert run("restore", checkpoint, "--yes").code == exits.REFUSED, "the query has run"
    move("reset", checkpoint)
    assert stream.run() == [*offsets(topic, 0, range(10)), *offsets(topic, 1, range(13))]


def test_json_tells_programs_what_was_done(run: Run, stream: Stream, checkpoint: Path, topic: str) -> None:
    dry = run("set", checkpoint, "--to", f"{topic}:0=3", "--dry-run", "-o", "json")
    assert dry.code == 0
    change = {"source": "0", "topic": topic, "partition": 0, "old": 10, "new": 3, "clamped": None}
    assert json.loads(dry.out)["changes"] == [change]
    assert positions(checkpoint)[topic, 0] == 10
    done = json.loads(run("set", checkpoint, "--to", f"{topic}:0=3", "--yes", "--wait", "0", "-o", "json").out)
    assert done["changes"] == [change]
    assert done["unfinished_batch"] == 1
    assert (checkpoint / done["backup"]).exists()
    assert "is there already" in run("set", checkpoint, "--to", f"{topic}:0=3", "--yes", "--wait", "0").err


def test_without_a_fence_no_empty_batch_is_run(move: Run, stream: Stream, checkpoint: Path, topic: str) -> None:
    move("set", checkpoint, "--to", f"{topic}:0=8", "--no-fence")
    assert stream.run() == offsets(topic, 0, (8, 9))
    assert [number for number, _ in stream.batches] == [0, 1]


def test_an_unfinished_batch_is_run_without_what_was_moved(
    move: Run, run: Run, stream: Stream, checkpoint: Path, topics: Topics, topic: str
) -> None:
    topics.send(topic, ["poison", "11"], 0)
    topics.send(topic, ["10"], 1)

    def refuse(number: int, rows: list[tuple[str, int, int]]) -> None:
        if (topic, 0, 10) in rows:
            raise ValueError("this record cannot be understood")

    stream.refuse = refuse
    with pytest.raises(Exception, match="cannot be understood"):
        stream.run()
    shown = run("show", checkpoint)
    assert [row.split() for row in shown.out.splitlines()][:2] == [
        ["TOPIC", "PARTITION", "POSITION", "PLANNED", "START", "END", "LAG"],
        [topic, "0", "10", "12", "0", "12", "2"],
    ]
    assert "Batch 1 is unfinished" in shown.err
    move("set", checkpoint, "--to", f"{topic}:0=11")
    assert stream.run() == [(topic, 0, 11), (topic, 1, 10)], "all but the one that was skipped"
    assert stream.batches[1:] == [(1, [(topic, 1, 10)]), (2, [(topic, 0, 11)])]


def test_the_first_batch_may_be_unfinished(
    move: Run, spark: SparkSession, broker: EmbeddedBroker, checkpoint: Path, topic: str
) -> None:
    stream = Stream(spark, broker.bootstrap_servers, checkpoint, topic)

    def refuse(number: int, rows: list[tuple[str, int, int]]) -> None:
        raise ValueError("not yet")

    stream.refuse = refuse
    with pytest.raises(Exception, match="not yet"):
        stream.run()
    stream.refuse = lambda number, rows: None
    move("set", checkpoint, "--to", f"{topic}:0=7")
    assert stream.run() == [*offsets(topic, 0, range(7, 10)), *offsets(topic, 1, range(10))]


def test_a_query_that_waits_for_its_first_record_can_be_moved(
    move: Run, spark: SparkSession, broker: EmbeddedBroker, checkpoint: Path, topic: str
) -> None:
    stream = Stream(spark, broker.bootstrap_servers, checkpoint, topic)
    stream.options = {"startingOffsets": "latest"}
    assert stream.run() == []
    assert positions(checkpoint) == {(topic, 0): 10, (topic, 1): 10}
    move("set", checkpoint, "--to", f"{topic}:1=8")
    assert stream.run() == offsets(topic, 1, (8, 9))


def test_two_topics_and_two_sources(
    move: Run, run: Run, spark: SparkSession, broker: EmbeddedBroker, checkpoint: Path, topics: Topics, topic: str
) -> None:
    other = topics.create(f"{topic}-other", 1)
    topics.send(other, ["a", "b", "c"], 0)
    stream = Stream(spark, broker.bootstrap_servers, checkpoint)
    stream.frame = lambda: stream.read(topic, other).union(stream.read(other))
    assert len(stream.run()) == 26
    ambiguous = run("set", checkpoint, "--to", f"{other}=earliest", "--yes")
    assert ambiguous.code == exits.REFUSED
    assert "Choose one with --source. Valid: 0, 1" in ambiguous.err
    move("set", checkpoint, "--to", f"{topic}:1=9")
    assert stream.run() == [(topic, 1, 9)]
    move("set", checkpoint, "--to", "1", "--source", "1")
    assert stream.run() == offsets(other, 0, (1, 2))
    move("set", checkpoint, "--to", f"{other}=2", "--to", f"{topic}:0=9", "--source", "0")
    assert stream.run() == sorted([(other, 0, 2), (topic, 0, 9)])


def test_a_stream_that_is_used_twice_moves_as_one(
    move: Run, spark: SparkSession, broker: EmbeddedBroker, checkpoint: Path, topic: str
) -> None:
    stream = Stream(spark, broker.bootstrap_servers, checkpoint)

    def twice() -> DataFrame:
        read = stream.read(topic)
        return read.where("partition = 0").union(read.where("partition = 1"))

    stream.frame = twice
    assert len(stream.run()) == 20
    assert [source.lines for source in read_checkpoint(LocalFiles("", checkpoint)).sources] == [("0", "1")]
    move("set", checkpoint, "--to", "8")
    assert stream.run() == [*offsets(topic, 0, (8, 9)), *offsets(topic, 1, (8, 9))]


def test_a_source_of_the_older_kind_goes_on_there_too(
    move: Run, spark: SparkSession, broker: EmbeddedBroker, checkpoint: Path, topics: Topics, topic: str
) -> None:
    """It looks at the last committed batch again, which may not end before it began."""
    provider = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
    spark.conf.set("spark.sql.streaming.disabledV2MicroBatchReaders", provider)
    try:
        stream = Stream(spark, broker.bootstrap_servers, checkpoint, topic)
        assert len(stream.run()) == 20
        topics.send(topic, ["10"], 0)
        assert len(stream.run()) == 1
        move("set", checkpoint, "--to", "4")
        assert stream.run() == [*offsets(topic, 0, range(4, 11)), *offsets(topic, 1, range(4, 10))]
    finally:
        spark.conf.unset("spark.sql.streaming.disabledV2MicroBatchReaders")


def test_a_file_sink_finds_every_batch(
    move: Run, spark: SparkSession, broker: EmbeddedBroker, tmp_path: Path, checkpoint: Path, topic: str
) -> None:
    """It keeps a log of batches and fails at a number that is missing; one that it knows it skips."""
    spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "2")
    stream = Stream(spark, broker.bootstrap_servers, checkpoint, topic)
    out = tmp_path / "out"

    def run() -> int:
        rows = stream.read(topic).selectExpr("partition", "offset")
        writer = rows.writeStream.format("json").option("path", str(out)).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        return spark.read.schema("partition int, offset long").json(str(out)).count()

    try:
        assert run() == 20
        for moved in range(1, 5):
            move("set", checkpoint, "--to", f"{topic}:0=-2")
            assert run() == 20 + 2 * moved
        (
            checkpoint / "commits" / str(max(map(int, (each.name for each in (checkpoint / "commits").glob("[0-9]")))))
        ).unlink()
        for crc in (checkpoint / "commits").glob(".*.crc"):
            crc.unlink()
        move("set", checkpoint, "--to", f"{topic}:0=5")  # the sink has written the batch that is unfinished now
        assert run() == 20 + 2 * 4 + 5
    finally:
        spark.conf.unset("spark.sql.streaming.fileSink.log.compactInterval")


def test_asynchronous_progress(
    move: Run, spark: SparkSession, broker: EmbeddedBroker, checkpoint: Path, topics: Topics, topic: str
) -> None:
    copy = topics.create(f"{topic}-copy", 1)
    stream = Stream(spark, broker.bootstrap_servers, checkpoint, topic)

    def start() -> StreamingQuery:
        rows = stream.read(topic).selectExpr("cast(partition || ':' || offset as string) as value")
        writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        writer = writer.option("topic", copy).option("checkpointLocation", str(checkpoint))
        return writer.option("asyncProgressTrackingEnabled", "true").start()

    with stopped_after(start()) as query:
        eventually(lambda: len(topics.values(copy)) >= 20, 60)
        query.processAllAvailable()
        eventually(lambda: (checkpoint / "commits/0").exists(), 60)
    move("set", checkpoint, "--to", f"{topic}:1=7", "--to", f"{topic}:0=latest")
    with stopped_after(start()):
        eventually(lambda: len(topics.values(copy)) >= 23, 60)
    assert sorted(topics.values(copy)[20:]) == ["1:7", "1:8", "1:9"]


# state


def test_a_stateful_query_is_moved_only_by_force(
    run: Run, spark: SparkSession, broker: EmbeddedBroker, checkpoint: Path, topic: str
) -> None:
    stream = Stream(spark, broker.bootstrap_servers, checkpoint, topic)
    counts: list[int] = []

    def count() -> None:
        grouped = stream.read(topic).groupBy("partition").count().writeStream.outputMode("update")
        writer = grouped.foreachBatch(lambda frame, _: counts.extend(row["count"] for row in frame.collect()))
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        assert query.awaitTermination(120)

    count()
    assert counts == [10, 10]
    before = snapshot(checkpoint)
    refused = run("set", checkpoint, "--to", f"{topic}:0=8", "--yes", "--wait", "0")
    assert refused.code == exits.REFUSED
    assert "error: The query is stateful." in refused.err
    assert "hint: If that is what you want, add --force." in refused.err
    assert snapshot(checkpoint) == before
    forced = run("set", checkpoint, "--to", f"{topic}:0=8", "--yes", "--wait", "0", "--force")
    assert forced.code == 0
    assert "warning: the query is stateful." in forced.err
    count()
    assert counts == [10, 10, 12], "two were counted twice, on top of what it remembered"


# refusals


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("payments=earliest", "There is no topic 'payments' here. Valid: {topic}."),
        ("{topic}:7=earliest", "Topic '{topic}' has no partition 7 here. Valid: 0 to 1."),
        ("{topic}:0=11", "Offset 11 is behind the end of the log. Valid: offsets 0 to 10."),
        ("+1", "Offset 11, which is 10 + 1, is behind the end of the log. Valid: offsets 0 to 10, or clamp"),
        ("2026-13-01T00:00:00Z", "is no RFC 3339 time"),
        ("2999-01-01T00:00:00Z", "is in the future"),
        ("soon", "'soon' is no position. Valid are 'earliest', 'latest', a time like"),
    ],
)
def test_bad_positions_are_refused_and_nothing_changes(
    run: Run, stream: Stream, checkpoint: Path, topic: str, to: str, says: str
) -> None:
    before = snapshot(checkpoint)
    ran = run("set", checkpoint, "--to", to.format(topic=topic), "--yes", "--wait", "0")
    assert ran.code == exits.REFUSED, ran
    assert says.format(topic=topic) in ran.err
    assert snapshot(checkpoint) == before


def test_clamping_goes_to_what_there_is(move: Run, stream: Stream, checkpoint: Path, topic: str) -> None:
    ran = move("set", checkpoint, "--to", f"{topic}:0=-100", "--clamp")
    assert "is before the first record that is still there" in ran.err
    assert positions(checkpoint)[topic, 0] == 0


def test_a_topic_that_is_gone_is_said(run: Run, stream: Stream, checkpoint: Path, topics: Topics, topic: str) -> None:
    topics.admin.delete_topics([topic])
    eventually(lambda: not topics.admin.describe_topics([topic]))
    shown = run("show", checkpoint)
    assert [row.split()[2:] for row in shown.out.splitlines()][1] == ["10", "-", "-", "-"]
    ran = run("set", checkpoint, "--to", "earliest", "--yes", "--wait", "0")
    assert ran.code == exits.REFUSED
    assert f"{topic}:0: The checkpoint has it, but it is not in this Kafka (nor is its topic)." in ran.err


def test_an_answer_of_no_changes_nothing(run: Run, stream: Stream, checkpoint: Path) -> None:
    before = snapshot(checkpoint)
    ran = run("set", checkpoint, "--to", "earliest", "--wait", "0", typed="n\n")
    assert ran.code == exits.FAILED
    assert "Nothing was changed: it was not confirmed" in ran.err
    assert snapshot(checkpoint) == before


# running queries


def test_a_query_at_work_is_refused(
    run: Run, stream: Stream, checkpoint: Path, broker: EmbeddedBroker, topic: str
) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    seen = stream.refuse

    def feed(number: int, rows: list[tuple[str, int, int]]) -> None:
        producer.produce(topic, b"more", partition=0)
        producer.flush(30)
        seen(number, rows)

    stream.refuse = feed  # every batch brings a record for the next one
    producer.produce(topic, b"first", partition=0)
    producer.flush(30)
    with stopped_after(stream.start(processingTime="0 seconds")) as query:
        stream.await_rows(22)
        ran = run("set", checkpoint, "--to", f"{topic}:1=0", "--yes", "--wait", "60")
        assert ran.code == exits.REFUSED, ran
        assert f"A query is running on {checkpoint}:" in ran.err
        assert "hint: Stop the query" in ran.err
        before = len(stream.batches)
        eventually(lambda: len(stream.batches) > before + 1, 60)
        assert query.exception() is None, "it goes on unharmed"
    assert positions(checkpoint)[topic, 1] == 10


def test_a_query_that_waits_unnoticed_fails_instead_of_going_on_elsewhere(
    run: Run, stream: Stream, checkpoint: Path, topics: Topics, topic: str
) -> None:
    with stopped_after(stream.start(processingTime="0 seconds")) as query:
        query.processAllAvailable()
        ran = run("set", checkpoint, "--to", f"{topic}:0=6", "--yes", "--wait", "0.5")
        assert ran.code == 0, ran
        assert "A query that waits for records looks the same: make sure that it is stopped." in ran.err
        topics.send(topic, ["10"], 0)
        eventually(lambda: query.exception() is not None, 60)
    assert stream.run() == offsets(topic, 0, range(6, 11))


# interruptions

KILLED = """
import os, signal, sys
from seamark.checkpoint.errors import CheckpointError
from seamark.checkpoint.files import Files, LocalFiles
from seamark.cli import main

before, left = LocalFiles.replace, [int(sys.argv.pop(1))]

def replace(files, path, text):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    before(files, path, text)

LocalFiles.replace = replace
main.main()
"""


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_command_that_is_killed_leaves_the_old_position(
    run: Run, stream: Stream, checkpoint: Path, broker: EmbeddedBroker, topics: Topics, topic: str, steps: int
) -> None:
    """Killed before the backup, before the file, before the fence."""
    topics.send(topic, ["10"], 0)
    command = [sys.executable, "-c", KILLED, str(steps), "checkpoint", "set", str(checkpoint), "--to", "2"]
    options = ["--bootstrap-server", broker.bootstrap_servers, "--yes", "--wait", "0"]
    ended = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, env=os.environ)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    if steps:
        with pytest.raises(Exception, match="seamark: this checkpoint is being changed"):
            stream.run()
        assert "warning: a change is under way or was interrupted" in run("show", checkpoint).err
        if steps == 1:
            assert run("restore", checkpoint).code == 0
        else:  # the next command does it, too
            ran = run("set", checkpoint, "--to", f"{topic}:0=10", "--yes", "--wait", "0")
            assert "was interrupted (set --to 2): it is undone." in ran.err
    assert stream.run() == [(topic, 0, 10)]


# other file systems


@pytest.mark.parametrize("kind", ["local", "hadoop", "older hadoop"])
def test_file_systems_do_the_same(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    root = tmp_path / "a b"
    (root / "offsets").mkdir(parents=True)
    files: Files = LocalFiles(str(root), root)
    if kind != "local":
        files = hadoop = HadoopFiles(f"file:{root}", {})
        assert hadoop._context is not None
        if kind == "older hadoop":
            hadoop._context = None
    assert files.list("gone") is None
    assert files.read("gone") is None
    files.delete("gone")
    assert files.create("offsets/1", "v1\nä")
    assert not files.create("offsets/1", "other")
    assert files.read("offsets/1") == "v1\nä"
    for text in ("\0v1\nlonger than before", "short"):
        files.replace("offsets/1", text)
        assert files.read("offsets/1") == text
        assert HadoopFiles(f"file:{root}", {}).read("offsets/1") == text, "no checksum contradicts it"
    files.replace("backups/1", "x")
    assert [(each.name, each.is_directory) for each in sorted(files.list("") or (), key=lambda each: each.name)] == [
        ("backups", True),
        ("offsets", True),
    ]
    (found,) = files.list("offsets") or ()
    assert (found.name, found.is_directory, found.size) == ("1", False, 5)
    assert abs(found.modified_ms - time.time() * 1000) < 60_000
    assert files.list("offsets/1") is None
    files.delete("offsets/1")
    assert files.list("offsets") == []
    assert [path for path in root.rglob("*") if path.is_file() and path.parent.name == "offsets"] == []
    with pytest.raises(CheckpointError, match="Could not write"):
        files.replace("backups/1/below", "x")


def test_a_checkpoint_on_a_hadoop_file_system(
    run: Run, spark: SparkSession, broker: EmbeddedBroker, tmp_path: Path, topics: Topics, topic: str
) -> None:
    mounts = f"mounts{uuid.uuid4().hex[:8]}"
    key = f"fs.viewfs.mounttable.{mounts}.link./checkpoints"
    spark.sparkContext._jsc.hadoopConfiguration().set(key, tmp_path.as_uri())
    location = f"viewfs://{mounts}/checkpoints/orders"
    conf = ["--spark-conf", f"spark.hadoop.{key}={tmp_path.as_uri()}"]
    stream = Stream(spark, broker.bootstrap_servers, location, topic)
    assert len(stream.run()) == 20
    assert run("show", location, *conf).out.splitlines()[1].split() == [topic, "0", "10", "0", "10", "0"]

    ran = run("set", location, "--to", f"{topic}:0=6", "--to", f"{topic}:1=9", "--yes", "--wait", "0", *conf)
    assert ran.code == 0, ran
    assert run("restore", location, "--yes", "--wait", "0", *conf).code == 0
    assert run("restore", location, "--yes", "--wait", "0", *conf).code == exits.REFUSED
    assert stream.run() == []
    assert run("set", location, "--to", f"{topic}:0=6", "--yes", "--wait", "0", *conf).code == 0
    assert run("set", location, "--to", f"{topic}:0=7", "--yes", "--wait", "0", *conf).code == 0
    assert stream.run() == offsets(topic, 0, (7, 8, 9))

    with stopped_after(stream.start(processingTime="0 seconds")) as query:
        query.processAllAvailable()
        assert run("set", location, "--to", f"{topic}:1=6", "--yes", "--wait", "0.5", *conf).code == 0
        topics.send(topic, ["10"], 1)
        eventually(lambda: query.exception() is not None, 60)
    assert stream.run() == offsets(topic, 1, range(6, 11))

    command = [sys.executable, "-m", "seamark.cli.main", "checkpoint", "show", location, *conf]
    apart = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert apart.returncode == 0, apart.stderr
    assert apart.stdout.splitlines()[1].split() == [topic, "0", "10"], "with a JVM of its own"
    assert "is committed" in apart.stderr

    missing = run("show", f"viewfs://{mounts}/checkpoints/gone", *conf)
    assert missing.code == exits.NOT_FOUND
    assert run("show", "viewfs://unknown/checkpoints/gone").code == exits.REFUSED
    assert run("show", "nofs://x/y").code == exits.REFUSED
    assert run("show", location, "--spark-conf", "fs.x=1").code == exits.REFUSED
