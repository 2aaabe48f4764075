"""Where a connector is in its logs, seen: per partition, over time, and by records. Changes nothing.

Any worker can tell, wherever the connector runs. A Kafka that does not answer takes `ASK_S` for a question and ends it;
what is read from logs is bounded by `TIMES_S` and `PEEK_S`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from seamark.config.position_plans import LogRange, Partition, listed, ranges
from seamark.connector.log_views import LogViews
from seamark.connector.positions import PositionLogs
from seamark.connector.sink import SinkConnector
from seamark.errors import BadRequestError, ConnectError, KafkaError, NotFoundError
from seamark.mirror.source import MirrorSourceConnector
from seamark.runtime.herder import RestError
from seamark.runtime.offset_changes import OffsetChanges
from seamark.runtime.offset_plans import OffsetPlans
from seamark.runtime.offset_requests import Row
from seamark.runtime.offset_tables import TableRow, plain_rows, table_rows
from seamark.runtime.record_views import shown_record
from seamark.runtime.topic_timelines import MOST_LOOKUPS, buckets_of, edges_of, sample_of, span_of
from seamark.runtime.worker import Worker

log = logging.getLogger(__name__)

ASK_S: Final = 5.0
TIMES_S: Final = 1.2
PEEK_S: Final = 3.0
_UNAVAILABLE: Final = 503
_FORBIDDEN: Final = 403
_NO_LOGS: Final = (
    "It does not say where what it reads begins and ends. It can be moved by its own partitions and offsets alone."
)
_NO_RECORDS: Final = "The records that it reads cannot be shown."

Config = Mapping[str, str | None]


class OffsetViews:
    """Views of the connectors of a worker's cluster."""

    def __init__(
        self, worker: Worker, plans: OffsetPlans, changes: OffsetChanges, config_of: Callable[[str], Config]
    ) -> None:
        """`config_of` has the config of a connector, and raises NotFoundError."""
        self._worker, self._plans, self._changes, self._config_of = worker, plans, changes, config_of
        self._may_peek = bool(worker.config["seamark.rest.peek"])

    def table(self, name: str, *, with_times: bool, topic: str | None, first: int, limit: int | None) -> dict[str, Any]:
        """A row for each partition: `GET /connectors/{connector}/offsets/table`.

        What could not be learnt is the `error` of the table, beside what could.

        Args:
            name: the connector.
            with_times: also read the record at each position of the page, for its time.
            topic: show the partitions of this one only.
            first: begin the page at this row.
            limit: rows of the page.

        Raises:
            NotFoundError: there is no such connector, or no such topic.
        """
        config = self._config_of(name)
        rows: list[TableRow] = []
        page: list[TableRow] = []
        topics: list[str] = []
        can_move = can_peek = False
        errors: list[str] = []
        try:
            current = self._changes.read(name, config, ASK_S)
            with self._plans.logs(name, config, current, ASK_S) as logs:
                views = None if logs is None else logs.views()
                can_move, can_peek = logs is not None, views is not None and self._may_peek
                rows = plain_rows(current) if logs is None else self._rows(current, logs, errors)
                topics = sorted({row.topic for row in rows if row.topic is not None})
                if topic is not None:
                    if topic not in topics and not errors:
                        raise unknown_topic(topic, topics)
                    rows = [row for row in rows if row.topic == topic]
                page = rows[first:] if limit is None else rows[first : first + limit]
                if with_times and views is not None and not errors:
                    page = _with_times(page, views, errors)
        except NotFoundError:
            raise
        except ConnectError as error:
            errors.append(_reason(error))
        lags = [row.lag for row in rows if row.lag is not None]
        return {
            "kind": self._kind(config),
            "can_move": can_move,
            "why_not": None if can_move else (errors[0] if errors else _NO_LOGS),
            "can_peek": can_peek,
            "topics": topics,
            "partitions": [row.as_json() for row in page],
            "total": {"partitions": len(rows), "lag": sum(lags) if lags else None},
            "error": " ".join(errors) or None,
        }

    def timeline(self, name: str, topic: str | None, points: int) -> dict[str, Any]:
        """The records of a topic over time: `GET /connectors/{connector}/offsets/timeline`.

        Raises:
            NotFoundError: there is no such connector, or no such topic.
            BadRequestError: it reads no logs, or several topics and none is named.
            RestError: Kafka did not answer.
        """
        with self._looking(name) as (current, logs, views):
            found = logs.ranges()
            topic = _only_topic(name, topic, found)
            of_topic = {where: each for where, each in found.items() if where[0] == topic}
            span = span_of(of_topic, views, time.time_ns() // 1_000_000)
            edges = [] if span is None else edges_of(span, points)
            sample = sample_of(of_topic, MOST_LOOKUPS // max(1, len(edges)))
            buckets = buckets_of(sample, views, edges)
            rows = [row for row in table_rows(current, logs, found) if row.topic == topic and row.log is not None]
            positions = _with_times(rows, views, [])
        return {
            "topic": topic,
            "from": None if span is None else span[0],
            "to": None if span is None else span[1],
            "buckets": buckets,
            "is_estimate": any(each.weight != 1 for each in sample.values()),
            "partitions": len(of_topic),
            "positions": [{"partition": row.number, "position": row.position, "time": row.time} for row in positions],
        }

    def records(
        self, name: str, where: Partition, offset: int, *, before: int, after: int, max_bytes: int
    ) -> dict[str, Any]:
        """Records around an offset: `GET /connectors/{connector}/offsets/records`.

        Raises:
            NotFoundError: there is no such connector, topic or partition.
            BadRequestError: there is no such offset, or it reads no logs.
            RestError: records must not be shown here, or Kafka did not answer.
        """
        if not self._may_peek:
            self._config_of(name)
            raise RestError(_FORBIDDEN, "Records are not shown: the worker's seamark.rest.peek is false.")
        with self._looking(name) as (_, logs, views):
            found = logs.ranges()
            _require_partition(where, found)
            place = found[where]
            if not place.start <= offset <= place.end:
                raise BadRequestError(
                    f"Offset {offset} is not in {where[0]}:{where[1]}. Valid: {place.start} to {place.end}."
                )
            records, is_complete = views.around(where, place.start, offset, place.end, before, after, PEEK_S)
        return {
            "topic": where[0],
            "partition": where[1],
            "records": [shown_record(record, max_bytes) for record in records],
            "start": place.start,
            "end": place.end,
            "is_complete": is_complete,
        }

    def _rows(self, current: list[Row], logs: PositionLogs, errors: list[str]) -> list[TableRow]:
        try:
            found: Mapping[Partition, LogRange] | None = logs.ranges()
        except ConnectError as error:
            errors.append(_reason(error))
            found = None
        return table_rows(current, logs, found)

    @contextmanager
    def _looking(self, name: str) -> Iterator[tuple[list[Row], PositionLogs, LogViews]]:
        config = self._config_of(name)
        try:
            current = self._changes.read(name, config, ASK_S)
            with self._plans.logs(name, config, current, ASK_S) as logs:
                if logs is None:
                    raise BadRequestError(f"Connector {name}: {_NO_LOGS}")
                views = logs.views()
                if views is None:
                    raise BadRequestError(f"Connector {name}: {_NO_RECORDS}")
                yield current, logs, views
        except (KafkaError, RestError) as error:
            log.debug("[%s] its logs cannot be looked at: %s", name, error)
            raise RestError(_UNAVAILABLE, _reason(error)) from error

    def _kind(self, config: Config) -> str:
        try:
            found = self._worker.class_of(config)
        except ConnectError:
            return "source"
        if issubclass(found, SinkConnector):
            return "sink"
        return "mirror" if issubclass(found, MirrorSourceConnector) else "source"


def unknown_topic(topic: str, topics: list[str]) -> NotFoundError:
    """The error for a topic that the connector does not read."""
    return NotFoundError(f"The connector reads no topic {topic!r}. Valid: {listed(topics)}.")


def _only_topic(name: str, topic: str | None, found: Mapping[Partition, LogRange]) -> str:
    topics = sorted({each for each, _ in found})
    if topic is None and len(topics) == 1:
        return topics[0]
    if topic is None:
        raise BadRequestError(f"Connector {name} reads {len(topics)} topics: say which one. Valid: {listed(topics)}.")
    if topic not in topics:
        raise unknown_topic(topic, topics)
    return topic


def _require_partition(where: Partition, found: Mapping[Partition, LogRange]) -> None:
    if where in found:
        return
    numbers = [number for topic, number in found if topic == where[0]]
    if not numbers:
        raise unknown_topic(where[0], sorted({topic for topic, _ in found}))
    raise NotFoundError(f"Topic {where[0]!r} has no partition {where[1]}. Valid: {ranges(numbers)}.")


def _with_times(rows: list[TableRow], views: LogViews, errors: list[str]) -> list[TableRow]:
    wanted = dict(each for row in rows if (each := row.timed) is not None)
    if not wanted:
        return rows
    try:
        times = views.times_at(wanted, TIMES_S)
    except ConnectError as error:
        errors.append(f"The times of positions: {_reason(error)}")
        return rows
    return [row.at(times.get(row.timed[0])) if row.timed is not None else row for row in rows]


def _reason(error: ConnectError) -> str:
    """What the cause says, too: the message alone may be one that clients of Kafka Connect know by heart."""
    cause = error.__cause__
    return f"{error.message}: {cause.message}" if isinstance(cause, ConnectError) else error.message
