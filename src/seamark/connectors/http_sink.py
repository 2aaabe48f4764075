"""HttpSink: a POST per record, as a CloudEvent; what a Knative Subscription needs of its data plane.

The records of a partition are sent one after the other, the next one only when the one before was taken (2xx);
partitions go in parallel. What may pass by itself (no answer, 408, 425, 429, 5xx) is tried again with growing pauses,
as often as `http.retries` says, or when `Retry-After` asks. What cannot be delivered is handed to the connector's error
handling: with ``errors.tolerance=all`` it becomes a dead letter and the partition goes on, otherwise the task fails.

Each record is delivered at least once. The pauses are the runtime's (`RetriableError`), so a stop never waits for them.
"""

from __future__ import annotations

import email.utils
import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import httpx

from seamark.config.configdef import ConfigDef, Importance, NonEmptyString, Range, Type, ValidString
from seamark.config.validators import Check, invalid
from seamark.connector.records import SinkRecord
from seamark.connector.sink import SinkConnector, SinkTask, TopicPartition
from seamark.connectors import VERSION, cloud_events
from seamark.engine.converters.json import JsonConverter
from seamark.errors import ConnectError, RetriableError

_PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_SERVER_ERROR: Final = 500
_SHOWN: Final = 300


class DeliveryError(ConnectError):
    """A record was refused, or not taken however often it was sent."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a record was not taken."""

    message: str
    may_pass: bool
    retry_after_s: float | None = None


@dataclass
class _Lane:
    """The records of one partition that are still to be sent.

    Attributes:
        records: the next one first.
        refusal: why the next one has to wait.
        lost: why the next one cannot be delivered.
    """

    records: deque[SinkRecord] = field(default_factory=deque)
    refusal: _Refusal | None = None
    lost: _Refusal | None = None


class HttpSinkTask(SinkTask):
    """Sends records."""

    def start(self, config: Mapping[str, str]) -> None:
        settings = HttpSinkConnector.config_def().parse(config)
        self._url: str = settings["http.url"]
        self._is_structured = settings["http.content.mode"] == cloud_events.STRUCTURED
        self._type, self._source = settings["http.ce.type"], settings["http.ce.source"]
        self._retries: int = settings["http.retries"]
        self._first_ms: int = settings["http.retry.backoff.ms"]
        self._longest_ms: int = settings["http.retry.backoff.max.ms"]
        lanes: int = settings["http.connections"]
        authorization = settings["http.authorization"]
        headers = {"Authorization": str(getattr(authorization, "value", authorization))} if authorization else {}
        self._http = httpx.Client(
            timeout=settings["http.timeout.ms"] / 1000,
            headers=headers,
            limits=httpx.Limits(max_connections=lanes, max_keepalive_connections=lanes),
        )
        self._pool = ThreadPoolExecutor(lanes, "http-sink")
        self._json = JsonConverter()
        self._json.configure({"schemas.enable": "false"}, is_key=False)
        self._sent: dict[TopicPartition, int] = {}
        """How far partitions are in a batch that has to come again."""
        self._attempts: dict[TopicPartition, tuple[int, int]] = {}
        """The record that a partition waits for, and how often it was sent."""

    def put(self, records: Sequence[SinkRecord]) -> None:
        lanes: dict[TopicPartition, _Lane] = {}
        for record in records:
            where = _where(record)
            if _offset(record) > self._sent.get(where, -1):
                lanes.setdefault(where, _Lane()).records.append(record)
        waits: list[tuple[int, _Refusal]] = []
        while lanes:
            list(self._pool.map(self._send_all, lanes.values()))
            for where, lane in list(lanes.items()):
                if lane.lost is not None:
                    # Raises if the connector may not go on without it; what comes after it has not been sent.
                    self._give_up(lane.records[0], lane.lost)
                    self._taken(lane)
                    lane.lost = None
                if lane.refusal is not None:
                    waits.append((self._pause_ms(where, lane.refusal), lane.refusal))
                if lane.refusal is not None or not lane.records:
                    del lanes[where]
        if waits:
            pause_ms, refusal = max(waits, key=lambda wait: wait[0])
            self.context.timeout_ms(pause_ms)
            raise RetriableError(refusal.message)
        self._sent.clear()
        self._attempts.clear()

    def stop(self) -> None:
        if hasattr(self, "_pool"):
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._http.close()

    # in a thread per partition

    def _send_all(self, lane: _Lane) -> None:
        while lane.records:
            record = lane.records[0]
            refusal = self._send(record)
            if refusal is not None:
                attempts = self._count(_where(record), _offset(record))
                if refusal.may_pass and attempts <= self._retries:
                    lane.refusal = refusal
                else:
                    lane.lost = refusal
                return
            self._taken(lane)

    def _taken(self, lane: _Lane) -> None:
        """The first record of a lane is done with."""
        record = lane.records.popleft()
        self._sent[_where(record)] = _offset(record)

    def _send(self, record: SinkRecord) -> _Refusal | None:
        post = self._post(record)
        try:
            answer = self._http.post(self._url, content=post.body, headers=post.headers)
        except httpx.HTTPError as error:
            return _Refusal(f"{self._url} did not take {_name(record)}: {error!r}", True)
        if answer.is_success:
            return None
        status = answer.status_code
        message = f"{self._url} answered {_name(record)} with {status}: {answer.text[:_SHOWN]}"
        may_pass = status in _PASSING or status >= _SERVER_ERROR
        return _Refusal(message, may_pass, _retry_after_s(answer.headers.get("Retry-After")) if may_pass else None)

    def _post(self, record: SinkRecord) -> cloud_events.Post:
        data, content_type = self._encoded(record)
        if cloud_events.is_structured(record):
            return cloud_events.passed_on(record, data)
        event = cloud_events.event_of(record, data, content_type, self._type, self._source)
        return cloud_events.structured(event) if self._is_structured else cloud_events.binary(event)

    def _encoded(self, record: SinkRecord) -> tuple[bytes | None, str | None]:
        value = record.value
        if value is None:
            return None, None
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value), "application/octet-stream"
        if isinstance(value, str):
            return value.encode("utf-8", "replace"), "text/plain; charset=utf-8"
        return self._json.from_connect_data(record.topic, record.value_schema, value), "application/json"

    # inside

    def _count(self, where: TopicPartition, offset: int) -> int:
        known, attempts = self._attempts.get(where, (-1, 0))
        attempts = attempts + 1 if known == offset else 1
        self._attempts[where] = (offset, attempts)
        return attempts

    def _give_up(self, record: SinkRecord, refusal: _Refusal) -> None:
        error = DeliveryError(refusal.message)
        reporter = self.context.errant_record_reporter
        if reporter is None:
            raise error
        reporter.report(record, error)

    def _pause_ms(self, where: TopicPartition, refusal: _Refusal) -> int:
        if refusal.retry_after_s is not None:
            return min(int(refusal.retry_after_s * 1000), self._longest_ms)
        attempts = self._attempts.get(where, (-1, 1))[1]
        pause = min(self._first_ms * 2 ** min(attempts - 1, 30), self._longest_ms)
        return int(pause * random.uniform(0.8, 1.0))  # noqa: S311 - so that not all tasks come at once


class HttpSinkConnector(SinkConnector):
    """Posts records to a URL as CloudEvents, in order within a partition."""

    version = VERSION
    task_class = HttpSinkTask

    def __init__(self) -> None:
        self._config: dict[str, str] = {}

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define(
                "http.url",
                Type.STRING,
                validator=Check(_check_url, "an http or https URL"),
                importance=Importance.HIGH,
                doc="Where records are posted to.",
            )
            .define(
                "http.content.mode",
                Type.STRING,
                cloud_events.BINARY,
                validator=ValidString.of(cloud_events.BINARY, cloud_events.STRUCTURED),
                doc="`binary`: attributes of the event in headers, the value as the body. `structured`: everything in "
                "one JSON object. Records whose value is a whole event already are passed on as they are.",
            )
            .define(
                "http.ce.type",
                Type.STRING,
                cloud_events.DEFAULT_TYPE,
                validator=NonEmptyString(),
                doc="The type of events made of records that are no CloudEvents (that have no `ce_*` headers).",
            )
            .define(
                "http.ce.source",
                Type.STRING,
                None,
                doc="The source of events made of records that are no CloudEvents; by default `/kafka/<topic>`.",
            )
            .define(
                "http.authorization",
                Type.PASSWORD,
                None,
                doc="Value of the header `Authorization`, for example `Bearer ${secrets:...}`.",
            )
            .define(
                "http.timeout.ms",
                Type.INT,
                30_000,
                validator=Range.at_least(1),
                doc="How long to wait for an answer.",
            )
            .define(
                "http.retries",
                Type.INT,
                10,
                validator=Range.at_least(0),
                doc="How often a record is sent again if there was no answer, or 408, 425, 429 or 5xx. Then it counts "
                "as failed, as with any other answer that is not 2xx at once: see `errors.tolerance`.",
            )
            .define(
                "http.retry.backoff.ms",
                Type.INT,
                200,
                validator=Range.at_least(1),
                doc="The first pause before a record is sent again; each one is twice the one before. `Retry-After` "
                "counts more.",
            )
            .define(
                "http.retry.backoff.max.ms",
                Type.INT,
                30_000,
                validator=Range.at_least(1),
                doc="The longest pause.",
            )
            .define(
                "http.connections",
                Type.INT,
                8,
                validator=Range.between(1, 256),
                doc="How many partitions of a task are sent at the same time.",
            )
        )

    def start(self, config: Mapping[str, str]) -> None:
        self.config_def().parse(config)
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self._config) for _ in range(max_tasks)]

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return True  # nothing is kept outside the consumer group


def _check_url(name: str, value: Any) -> None:
    try:
        url = httpx.URL(str(value))
    except httpx.InvalidURL as error:
        raise invalid(name, value, str(error)) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise invalid(name, value, "must be an http or https URL")


def _where(record: SinkRecord) -> TopicPartition:
    return TopicPartition(record.original_topic or record.topic, record.original_kafka_partition or 0)


def _offset(record: SinkRecord) -> int:
    return record.kafka_offset if record.original_kafka_offset is None else record.original_kafka_offset


def _name(record: SinkRecord) -> str:
    where = _where(record)
    return f"record {where.topic}:{where.partition} at {_offset(record)}"


def _retry_after_s(value: str | None) -> float | None:
    """Seconds, or a date."""
    if not value:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
