from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fixtures.event_receiver import Receiver
from seamark.connector import SinkRecord
from seamark.connector.records import Header
from seamark.connector.sink import SinkTaskContext
from seamark.connectors.http_sink import DeliveryError, HttpSinkConnector, HttpSinkTask
from seamark.errors import ConfigError, RetriableError


class Reporter:
    def __init__(self) -> None:
        self.reported: list[tuple[SinkRecord, BaseException]] = []

    def report(self, record: SinkRecord, error: BaseException) -> None:
        self.reported.append((record, error))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def make_task(receiver: Receiver) -> Iterator[Callable[..., HttpSinkTask]]:
    made: list[HttpSinkTask] = []

    def make(reporter: Reporter | None = None, **settings: str) -> HttpSinkTask:
        task = HttpSinkTask()
        task.context = SinkTaskContext("http", 0, reporter)
        task.start({"http.url": receiver.url, **{key.replace("__", "."): value for key, value in settings.items()}})
        made.append(task)
        return task

    yield make
    for task in made:
        task.stop()


def record(offset: int, value: Any = None, partition: int = 0, **fields: Any) -> SinkRecord:
    return SinkRecord(
        "orders",
        f"{partition}:{offset}" if value is None else value,
        kafka_partition=partition,
        kafka_offset=offset,
        original_topic="orders",
        original_kafka_partition=partition,
        original_kafka_offset=offset,
        **fields,
    )


def test_a_record_becomes_an_event(receiver: Receiver, make_task: Callable[..., HttpSinkTask]) -> None:
    make_task(http__authorization="Bearer x").put([record(7, "hällo", 2, key="k 1", timestamp=1_000)])
    headers, body = receiver.taken[0]
    assert body.decode() == "hällo"
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert headers["authorization"] == "Bearer x"
    found = {key: value for key, value in headers.items() if key.startswith("ce-")}
    assert found == {
        "ce-specversion": "1.0",
        "ce-id": "2:7",
        "ce-source": "/kafka/orders",
        "ce-type": "dev.seamark.kafka.record",
        "ce-subject": "partition:2#7",
        "ce-time": "1970-01-01T00:00:01.000Z",
        "ce-partitionkey": "k%201",
    }


def test_an_event_stays_what_it_is(receiver: Receiver, make_task: Callable[..., HttpSinkTask]) -> None:
    headers = {"ce_specversion": "1.0", "ce_id": "a", "ce_source": "/s", "ce_type": "t", "ce_mine": "ü"}
    all_headers = tuple(Header(key, value) for key, value in {**headers, "content-type": "application/json"}.items())
    make_task().put([record(0, b'{"a":1}', headers=all_headers)])
    sent, body = receiver.taken[0]
    assert body == b'{"a":1}'
    assert sent["content-type"] == "application/json"
    assert {key: value for key, value in sent.items() if key.startswith("ce-")} == {
        "ce-specversion": "1.0", "ce-id": "a", "ce-source": "/s", "ce-type": "t", "ce-mine": "%C3%BC",
    }  # fmt: skip


def test_a_whole_event_is_passed_on(receiver: Receiver, make_task: Callable[..., HttpSinkTask]) -> None:
    event = b'{"specversion":"1.0","id":"1"}'
    headers = (Header("content-type", "application/cloudevents+json"),)
    make_task().put([record(0, event, headers=headers)])
    sent, body = receiver.taken[0]
    assert (body, sent["content-type"]) == (event, "application/cloudevents+json")
    assert "ce-id" not in sent


@pytest.mark.parametrize(
    ("value", "member"),
    [
        ({"a": [1]}, {"data": {"a": [1]}, "datacontenttype": "application/json"}),
        ("text", {"data": "text", "datacontenttype": "text/plain; charset=utf-8"}),
        (b"\xff", {"data_base64": "/w==", "datacontenttype": "application/octet-stream"}),
    ],
)
def test_everything_in_one_object(
    receiver: Receiver, make_task: Callable[..., HttpSinkTask], value: Any, member: dict[str, Any]
) -> None:
    task = make_task(http__content__mode="structured", http__ce__type="mine", http__ce__source="/here")
    task.put([record(0, value)])
    sent, body = receiver.taken[0]
    content = json.loads(body)
    assert sent["content-type"].startswith("application/cloudevents+json")
    assert {key: content[key] for key in member} == member
    assert (content["type"], content["source"]) == ("mine", "/here")


def test_a_tombstone_is_an_event_without_data(receiver: Receiver, make_task: Callable[..., HttpSinkTask]) -> None:
    make_task().put([SinkRecord("orders", None, kafka_offset=0, original_kafka_partition=0, original_kafka_offset=0)])
    sent, body = receiver.taken[0]
    assert body == b""
    assert "content-type" not in sent


def test_records_of_a_partition_wait_for_the_one_before(
    receiver: Receiver, make_task: Callable[..., HttpSinkTask]
) -> None:
    refused = {b"0:1": 2}

    def answers(body: bytes) -> int:
        if refused.get(body, 0):
            refused[body] -= 1
            return 503
        return 200

    receiver.answers = answers
    task = make_task(http__retry__backoff__ms="10")
    batch = [record(offset, partition=partition) for offset in range(3) for partition in range(2)]
    pauses = []
    for _ in range(2):
        with pytest.raises(RetriableError, match="answered record orders:0 at 1 with 503"):
            task.put(batch)
        pauses.append(task.context.take_retry_after_ms())
    task.put(batch)
    for partition in range(2):
        mine = [body for body in receiver.bodies if body.startswith(f"{partition}:")]
        assert mine == [f"{partition}:{offset}" for offset in range(3)]
    assert len(receiver.tried) == 6 + 2
    assert 8 <= (pauses[0] or 0) <= 10 < (pauses[1] or 0) <= 20
    task.put([record(offset) for offset in range(2)])
    assert receiver.bodies[-2:] == ["0:0", "0:1"], "what is read again is sent again"


def test_retry_after_counts(receiver: Receiver, make_task: Callable[..., HttpSinkTask]) -> None:
    receiver.answers = lambda body: (429, {"Retry-After": "7"})
    task = make_task()
    with pytest.raises(RetriableError):
        task.put([record(0)])
    assert task.context.take_retry_after_ms() == 7000


def test_nobody_who_listens_is_waited_for(receiver: Receiver, make_task: Callable[..., HttpSinkTask]) -> None:
    task = make_task(http__retries="1")
    receiver.close()
    with pytest.raises(RetriableError):
        task.put([record(0)])
    with pytest.raises(DeliveryError):
        task.put([record(0)])


def test_what_is_refused_becomes_a_dead_letter_in_its_turn(
    receiver: Receiver, make_task: Callable[..., HttpSinkTask]
) -> None:
    receiver.answers = lambda body: 400 if body == b"0:1" else 200
    reporter = Reporter()
    make_task(reporter).put([record(offset) for offset in range(4)])
    assert receiver.bodies == ["0:0", "0:2", "0:3"]
    assert [(each.kafka_offset, type(error)) for each, error in reporter.reported] == [(1, DeliveryError)]


def test_without_tolerance_nothing_overtakes_what_is_refused(
    receiver: Receiver, make_task: Callable[..., HttpSinkTask]
) -> None:
    receiver.answers = lambda body: 400 if body == b"0:1" else 200
    with pytest.raises(DeliveryError, match="orders:0 at 1 with 400"):
        make_task().put([record(offset) for offset in range(4)])
    assert receiver.bodies == ["0:0"]


def test_too_many_attempts_are_a_failure(receiver: Receiver, make_task: Callable[..., HttpSinkTask]) -> None:
    receiver.answers = lambda body: 500
    reporter = Reporter()
    task = make_task(reporter, http__retries="2")
    for _ in range(2):
        with pytest.raises(RetriableError):
            task.put([record(0)])
    task.put([record(0)])
    assert len(receiver.tried) == 3
    assert len(reporter.reported) == 1


@pytest.mark.parametrize("url", ["", "ftp://x", "nothing", "http://"])
def test_only_urls_of_http_are_accepted(url: str) -> None:
    with pytest.raises(ConfigError):
        HttpSinkConnector.config_def().parse({"http.url": url})
