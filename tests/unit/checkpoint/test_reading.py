"""What is read of a checkpoint, as Spark would start from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.checkpoints import Written, line, offsets_text
from seamark.checkpoint.entries import parse_initial, parse_offsets, parse_positions, render_positions
from seamark.checkpoint.errors import DamagedCheckpointError, MissingCheckpointError, NotACheckpointError
from seamark.checkpoint.files import LocalFiles, local_path
from seamark.checkpoint.reading import read_checkpoint

FILE_SOURCE = '{"logOffset":3}'


def test_a_committed_batch_is_where_it_goes_on(orders: Written) -> None:
    found = read_checkpoint(orders.files)
    assert found.query_id.startswith("2ab1e1c4")
    assert (found.latest, found.committed, found.unfinished) == (2, 2, None)
    assert [source.positions for source in found.sources] == [{("orders", 0): 30, ("orders", 1): 60}]
    assert found.sources[0].initial == {("orders", 0): 1, ("orders", 1): 2}
    assert found.sources[0].planned is None
    assert found.watermark_ms == 77
    assert not found.is_stateful and not found.is_fenced


def test_an_unfinished_batch_begins_where_the_one_before_it_ended(orders: Written) -> None:
    orders.batch(3, line(orders={0: 40, 1: 80, 2: 5}), is_committed=False)
    found = read_checkpoint(orders.files)
    assert found.unfinished == 3
    source = found.sources[0]
    assert source.positions == {("orders", 0): 30, ("orders", 1): 60}
    assert source.planned == {("orders", 0): 40, ("orders", 1): 80, ("orders", 2): 5}
    assert source.partitions == [("orders", 0), ("orders", 1), ("orders", 2)]


def test_the_first_batch_begins_where_the_source_did(written: Written) -> None:
    written.began(0, line(orders={0: 7}))
    written.batch(0, line(orders={0: 9}), is_committed=False)
    found = read_checkpoint(written.files)
    assert (found.latest, found.committed, found.unfinished) == (0, None, 0)
    assert found.sources[0].positions == {("orders", 0): 7}


def test_a_query_that_waits_for_its_first_record_is_where_it_began(written: Written) -> None:
    written.began(0, line(orders={0: 7}))
    found = read_checkpoint(written.files)
    assert (found.latest, found.unfinished) == (None, None)
    assert found.sources[0].positions == {("orders", 0): 7}


def test_numbers_may_be_missing_with_asynchronous_progress(written: Written) -> None:
    for number in (0, 2):
        written.batch(number, line(orders={0: number}))
    written.batch(5, line(orders={0: 5}), is_committed=False)
    found = read_checkpoint(written.files)
    assert (found.committed, found.unfinished) == (2, 5)
    assert found.sources[0].positions == {("orders", 0): 2}
    assert sorted(found.entries) == [2, 5]


def test_commits_may_be_two_behind(written: Written) -> None:
    for number in range(5):
        written.batch(number, line(orders={0: number}), is_committed=number <= 2)
    found = read_checkpoint(written.files)
    assert sorted(found.entries) == [2, 3, 4]
    assert found.sources[0].positions == {("orders", 0): 3}, "Spark begins at the batch before the last one"


def test_other_sources_are_left_alone(written: Written) -> None:
    written.began(1, line(orders={0: 0}))
    written.batch(0, FILE_SOURCE, line(orders={0: 5}), "-")
    found = read_checkpoint(written.files)
    assert [(source.name, source.positions) for source in found.sources] == [
        ("0", None),
        ("1", {("orders", 0): 5}),
        ("2", None),
    ]
    assert [source.name for source in found.kafka_sources] == ["1"]
    assert found.sources[0].text == FILE_SOURCE


def test_a_source_that_came_late_is_where_it_began(written: Written) -> None:
    written.began(0, line(a={0: 1}))
    written.began(1, line(b={0: 2}))
    written.batch(0, line(a={0: 5}), "-")
    written.batch(1, line(a={0: 6}), line(b={0: 3}), is_committed=False)
    found = read_checkpoint(written.files)
    assert [source.positions for source in found.sources] == [{("a", 0): 5}, {("b", 0): 2}]


def test_a_stream_that_is_used_twice_is_one_source(written: Written) -> None:
    written.began(0, line(orders={0: 0}))
    written.batch(0, line(orders={0: 5}), line(orders={0: 5}))
    found = read_checkpoint(written.files)
    assert [(source.name, source.lines) for source in found.sources] == [("0", ("0", "1"))]


def test_two_streams_of_the_same_topic_are_two_sources(written: Written) -> None:
    for source in (0, 1):
        written.began(source, line(orders={0: 0}))
    written.batch(0, line(orders={0: 5}), line(orders={0: 5}))
    assert [source.lines for source in read_checkpoint(written.files).sources] == [("0",), ("1",)]


def test_named_sources_of_newer_sparks(written: Written) -> None:
    text = 'v2\n{"batchWatermarkMs":0}\nclicks:{"c":{"0":4}}\norders:{"o":{"0":5}}\nagain:{"c":{"0":4}}'
    written.write("offsets/0", text)
    written.write("commits/0", 'v3\n{"nextBatchWatermarkMs":0}')
    found = read_checkpoint(written.files)
    assert {source.name: source.positions for source in found.sources} == {
        "clicks": {("c", 0): 4},
        "orders": {("o", 0): 5},
        "again": {("c", 0): 4},
    }
    moved = found.entries[0].moved("orders", {("o", 0): 9}, {})
    assert moved.render() == text.replace('{"0":5}', '{"0":9}')


@pytest.mark.parametrize("commit", ['v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a"]]}}', None])
def test_state_is_seen(orders: Written, commit: str | None) -> None:
    if commit is None:
        orders.write("state/0/0/1.delta", "x")
    else:
        orders.write("commits/2", commit)
    assert read_checkpoint(orders.files).is_stateful


def test_nothing_is_there(tmp_path: Path) -> None:
    with pytest.raises(MissingCheckpointError, match="There is no directory"):
        read_checkpoint(LocalFiles("gone", tmp_path / "gone"))


def test_something_else_is_there(tmp_path: Path, orders: Written) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(NotACheckpointError) as caught:
        read_checkpoint(LocalFiles(str(tmp_path), tmp_path))
    assert "metadata, offsets, commits and sources; here is: checkpoint, data" in str(caught.value)
    assert caught.value.hint == f"There are checkpoints in it: {orders.root}"
    inside = orders.root / "offsets"
    with pytest.raises(NotACheckpointError) as caught:
        read_checkpoint(LocalFiles(str(inside), inside))
    assert caught.value.hint == "The directory above looks like one."
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(MissingCheckpointError):
        read_checkpoint(LocalFiles(str(file), file))


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("metadata", "{}", '"id"'),
        ("offsets/2", "v9\n\n{}", "'v9'; known are"),
        ("offsets/2", "", "''; known are"),
        ("offsets/2", "v1\n{}", "no offsets: it is incomplete"),
        ("commits/9", "v1\n{}", "committed batch 9"),
    ],
)
def test_damage_is_said(orders: Written, path: str, text: str, says: str) -> None:
    orders.write(path, text)
    with pytest.raises(DamagedCheckpointError, match=says):
        read_checkpoint(orders.files)


def test_an_unfinished_batch_needs_the_one_before_it(written: Written) -> None:
    written.batch(4, line(orders={0: 1}), is_committed=False)
    with pytest.raises(DamagedCheckpointError, match="not the one before it"):
        read_checkpoint(written.files)


def test_positions_are_told_from_other_offsets() -> None:
    assert parse_positions('{"t":{"0":23,"11":-1}}') == {("t", 0): 23, ("t", 11): -1}
    for other in (
        "5",
        "-",
        "{}",
        FILE_SOURCE,
        '{"shard":{"iterator":"x"}}',
        '{"t":{"0":1.5}}',
        '{"t":{"0":true}}',
        "[]",
    ):
        assert parse_positions(other) is None, other
    assert render_positions({("b", 10): 1, ("b", 9): 2, ("a", 0): 3}) == '{"a":{"0":3},"b":{"9":2,"10":1}}'
    assert parse_initial('\0v1\n{"t":{"0":1}}') == parse_initial('\0{"t":{"0":1}}') == {("t", 0): 1}


def test_an_entry_is_written_as_it_was_read() -> None:
    text = offsets_text(line(a={0: 1}), "-", FILE_SOURCE)
    assert parse_offsets(text, "x").render() == text


def test_where_files_are() -> None:
    assert local_path("/data/c") == local_path("file:///data/c") == local_path("file:/data/c") == Path("/data/c")
    assert local_path("c") == Path("c")
    assert local_path("file:///data/a%20b#c") == Path("/data/a%20b#c"), "as Spark takes it"
    assert local_path("a:b/c") == Path("a:b/c")
    assert local_path("hdfs://node/c") is None
    assert local_path("s3a://bucket/c") is None
