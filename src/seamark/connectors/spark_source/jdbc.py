"""`format=jdbc`: tables, views and queries of a database, with the modes and offsets of Confluent's JDBC connector.

Source partition ``{"protocol": "1", "table": "<schema>.<table>"}`` or ``{"query": "query"}``; source offset the last
row that was read (see `jdbc_positions`), with `mode=bulk` ``{"loaded_ms": <when the table was last loaded>}``.

A batch is of one table, so that all its rows have the same columns; tables take turns. Planning fixes both ends: the
last row of the batch is looked up, and with times it is older than `timestamp.delay.interval.ms`. Reading asks for what
lies between, in slices that Spark reads in parallel, so a replay finds the rows again.
"""

from __future__ import annotations

import datetime
import time
import zoneinfo
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from seamark.config.configdef import ConfigDef
from seamark.connector.frame import ReadLimit
from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.connectors.jdbc import Database
from seamark.connectors.spark_source import jdbc_config
from seamark.connectors.spark_source.jdbc_config import BULK, BY_BOTH, BY_NUMBER, BY_TIME
from seamark.connectors.spark_source.jdbc_positions import Order, Position, check_offset, text_of_instant
from seamark.connectors.spark_source.jdbc_tables import Column, Connection, connect
from seamark.connectors.spark_source.reader import (
    Reader,
    Rows,
    Settings,
    moved,
    only_fields,
    spark_column,
    whole_number,
)
from seamark.engine.spark_packages import require_package
from seamark.errors import ConnectError, DataError

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

QUERY: Final = SourcePartition(query="query")
LOADED: Final = "loaded_ms"
ROWS_PER_SLICE: Final = 5000  # fewer are not worth another connection
_FETCH_SIZE: Final = "10000"  # rows per answer: without it some drivers bring everything into memory first
_ALIAS: Final = "seamark_rows"
_BITS: Final = {-6: 8, 5: 16, 4: 32, -5: 64}  # java.sql.Types of whole numbers
_DECIMALS: Final = (2, 3)
_TIMES: Final = (93, 2014)
_ZONED: Final = 2014
_PER_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Source:
    """A table or query, and the order of its rows."""

    name: str
    partition: SourcePartition
    rows: str
    """As SQL takes it behind FROM."""
    topic: str
    order: Order
    number: Column | None
    times: tuple[str, ...]


class JdbcReader(Reader):
    """Reads tables of a database."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._url: str = settings["connection.url"]
        self._mode: str = settings["mode"]
        self._zone = zoneinfo.ZoneInfo(settings["db.timezone"])
        self._known: list[_Source] | None = None
        self._turn = 0

    @classmethod
    def config_def(cls) -> ConfigDef:
        return jdbc_config.config_def()

    @classmethod
    def problems(cls, settings: Settings) -> dict[str, str]:
        return jdbc_config.problems(settings)

    @classmethod
    def is_replayable(cls, config: Mapping[str, str]) -> bool:
        return config.get("mode") != BULK  # a table that is loaded again has changed

    def latest(self, spark: SparkSession, start: Offsets, limit: ReadLimit) -> Offsets:
        with self._connect(spark) as connection:
            sources = self._sources(connection)
            for turn in range(self._turn, self._turn + len(sources)):
                source = sources[turn % len(sources)]
                end = self._end(connection, source, start.get(source.partition), limit)
                if end is not None:
                    self._turn = turn % len(sources) + 1
                    return Offsets([(source.partition, end)])
        return start

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> Rows:
        with self._connect(spark) as connection:
            (partition,) = moved(start, end)
            source = self._source(connection, partition)
            slices = self._slices(connection, source, start.get(partition), end[partition] or {})
            properties = {"fetchsize": _FETCH_SIZE, **connection.options, "preferTimestampNTZ": "true"}
        frame = spark.read.jdbc(self._url, source.rows, predicates=slices, properties=properties)
        return Rows(self._in_utc(self._ordered(frame, source)), source.topic)

    def check(self, spark: SparkSession, partition: SourcePartition, offset: SourceOffset) -> None:
        with self._connect(spark) as connection:
            source = self._source(connection, partition)
            if self._mode == BULK:
                only_fields(offset, LOADED)
                whole_number(offset, LOADED)
                return
            position = check_offset(offset, source.order)
            _check_number(source, position)
            if position.timestamp_ns is not None and position.timestamp_ns > (now := self._now(connection)):
                raise DataError(
                    f"The offset {dict(offset)} of {source.name} lies in the future: the database's time is "
                    f"{now // _PER_MS}. Rows until then would be skipped."
                )

    @property
    def _login(self) -> dict[str, str]:
        password = self.settings["connection.password"]
        given = {
            "user": self.settings["connection.user"],
            "password": None if password is None else password.value,
        }
        return {key: value for key, value in given.items() if value is not None}

    @contextmanager
    def _connect(self, spark: SparkSession) -> Iterator[Connection]:
        if self._url.startswith("jdbc:postgresql:"):
            require_package(spark, "postgresql", "connection.url=jdbc:postgresql:...")
        try:
            with connect(Database(spark, self._url, {**self.settings["options"], **self._login})) as connection:
                yield connection
        except ConnectError:
            self._known = None  # tables may be others when it works again
            raise

    # what is read

    def _sources(self, connection: Connection) -> list[_Source]:
        if self._known is None:
            self._known = [self._table(connection, name) for name in self.settings["table.whitelist"]] or [
                self._query(connection)
            ]
        return self._known

    def _source(self, connection: Connection, partition: SourcePartition) -> _Source:
        sources = self._sources(connection)
        for source in sources:
            if source.partition == partition:
                return source
        known = ", ".join(str(dict(source.partition)) for source in sources)
        raise DataError(f"The source partition {dict(partition)} is none that this connector reads: {known}.")

    def _table(self, connection: Connection, name: str) -> _Source:
        table = connection.table(name)
        partition = SourcePartition(protocol="1", table=table.full_name)
        topic = self.settings["topic.prefix"] + table.name
        return self._described(connection, f"Table {table.full_name}", partition, connection.table_sql(table), topic)

    def _query(self, connection: Connection) -> _Source:
        text = self.settings["query"].strip().rstrip(";")
        return self._described(connection, "The query", QUERY, f"({text}) {_ALIAS}", self.settings["topic.prefix"])

    def _described(
        self, connection: Connection, name: str, partition: SourcePartition, rows: str, topic: str
    ) -> _Source:
        columns = {column.name: column for column in connection.columns(rows)}
        number, times = None, []
        by_number: str | None = self.settings["incrementing.column.name"]
        if by_number and self._mode in (BY_NUMBER, BY_BOTH, BULK):
            number = _column(columns, name, "incrementing.column.name", by_number)
            if number.kind not in _BITS and not (number.kind in _DECIMALS and number.scale == 0):
                raise _wrong_type(name, "incrementing.column.name", number, "whole numbers")
        if self._mode in (BY_TIME, BY_BOTH):
            times = [
                _column(columns, name, "timestamp.column.name", each) for each in self.settings["timestamp.column.name"]
            ]
            for column in times:
                if column.kind not in _TIMES:
                    raise _wrong_type(name, "timestamp.column.name", column, "timestamps")
        quoted = [connection.quoted(column.name) for column in times]
        order = Order(
            None if number is None else connection.quoted(number.name),
            (f"COALESCE({', '.join(quoted)})" if len(quoted) > 1 else quoted[0]) if quoted else None,
            self._instant_zoned if any(map(_is_zoned, times)) else self._instant,
        )
        return _Source(name, partition, rows, topic, order, number, tuple(column.name for column in times))

    # how far, and how

    def _end(
        self, connection: Connection, source: _Source, offset: SourceOffset | None, limit: ReadLimit
    ) -> dict[str, int] | None:
        if self._mode == BULK:
            now_ms = time.time_ns() // _PER_MS
            loaded_ms = (offset or {}).get(LOADED, 0)  # an offset of another mode says nothing about it
            is_due = now_ms - loaded_ms >= self.settings["poll.interval.ms"]
            return {LOADED: now_ms} if is_due else None
        order, start = source.order, Position.of(offset)
        conditions = [order.after(start)]
        if order.timestamp is not None:
            horizon = self._now(connection) - self.settings["timestamp.delay.interval.ms"] * _PER_MS
            conditions.append(f"{order.timestamp} < {order.instant(horizon)}")
        chosen = f"SELECT {', '.join(order.columns)} FROM {source.rows} WHERE {' AND '.join(conditions)}"  # noqa: S608 - names are quoted
        last = self._position(connection, order, f"{chosen} ORDER BY {order.by('DESC')} {self._nth(0)}")
        if last is None:
            return None
        if limit.records is not None and not _are_fewer(order, start, last, limit.records):
            cut = f"{chosen} ORDER BY {order.by('ASC')} {self._nth(limit.records - 1)}"
            last = self._position(connection, order, cut) or last
        return last.offset()

    def _slices(
        self, connection: Connection, source: _Source, start: SourceOffset | None, end: SourceOffset
    ) -> list[str]:
        """Conditions that together cover the range, each for one connection."""
        order, last = source.order, Position.of(end)
        covered = "1 = 1"
        if last is not None:
            covered = f"{order.after(Position.of(start))} AND {order.until(last)}"
        if not order.columns:
            return [covered]
        lead, is_time = order.columns[0], order.timestamp is not None
        sql = f"SELECT COUNT(*), MIN({lead}), MAX({lead}) FROM {source.rows} WHERE {covered}"  # noqa: S608 - the same
        rows, low, high = connection.row(sql, times=[False, is_time, is_time], zone=self._zone.key) or (0, None, None)
        parts = min(self.settings["tasks.max"], (rows or 0) // ROWS_PER_SLICE)
        if low is None or high is None or parts < 2:
            return [covered]
        if is_time:
            low = max(low, 0)  # it may be minus infinity; where slices begin is of no importance
        return [f"{covered} AND {part}" for part in order.slices(low, high, parts)]

    def _position(self, connection: Connection, order: Order, sql: str) -> Position | None:
        is_time = [column == order.timestamp for column in order.columns]
        row = connection.row(sql, times=is_time, zone=self._zone.key)
        if row is None:
            return None
        found = dict(zip(order.columns, row, strict=True))
        return Position(found.get(order.incrementing or ""), found.get(order.timestamp or ""))

    def _now(self, connection: Connection) -> int:
        suffix = " FROM DUAL" if self._url.startswith("jdbc:oracle:") else ""
        row = connection.row(f"SELECT CURRENT_TIMESTAMP{suffix}", times=[True])
        assert row is not None and row[0] is not None  # noqa: S101 - for the type checker
        return row[0]

    def _nth(self, number: int) -> str:
        """The row of that number, from 0."""
        has_standard = self._url.startswith(("jdbc:oracle:", "jdbc:sqlserver:", "jdbc:db2:", "jdbc:derby:"))
        return f"OFFSET {number} ROWS FETCH NEXT 1 ROWS ONLY" if has_standard else f"LIMIT 1 OFFSET {number}"

    def _instant(self, nanoseconds: int) -> str:
        return f"{{ts '{text_of_instant(nanoseconds, self._zone)}'}}"  # JDBC's own form, which drivers translate

    def _instant_zoned(self, nanoseconds: int) -> str:
        return f"TIMESTAMP WITH TIME ZONE '{text_of_instant(nanoseconds, datetime.UTC)}+00:00'"

    # rows

    @staticmethod
    def _ordered(frame: DataFrame, source: _Source) -> DataFrame:
        from pyspark.sql import functions as F

        by: list[SparkColumn] = [F.coalesce(*map(spark_column, source.times))] if source.times else []
        by += [spark_column(source.number.name)] if source.number is not None else []
        return frame.sortWithinPartitions(*by) if by else frame

    def _in_utc(self, frame: DataFrame) -> DataFrame:
        """Times without a zone as what they mean: what becomes of them takes them for UTC."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import TimestampNTZType

        if self._zone.key == "UTC":
            return frame
        local = [each.name for each in frame.schema.fields if isinstance(each.dataType, TimestampNTZType)]
        moments = {
            name: F.to_utc_timestamp(spark_column(name).cast("timestamp"), self._zone.key).alias(name) for name in local
        }
        return frame.select(*[moments.get(name, spark_column(name)) for name in frame.columns])


def _column(columns: dict[str, Column], name: str, key: str, wanted: str) -> Column:
    found = [column for column in columns.values() if column.name.lower() == wanted.lower()]
    if wanted in columns or len(found) == 1:
        return columns.get(wanted) or found[0]
    raise ConnectError(f"{name} has no column {wanted!r}, which {key} names; it has {', '.join(columns)}.")


def _wrong_type(name: str, key: str, column: Column, needed: str) -> ConnectError:
    return ConnectError(
        f"Column {column.name!r} of {name[0].lower()}{name[1:]} is of type {column.kind_name}; {key} needs one with "
        f"{needed}."
    )


def _is_zoned(column: Column) -> bool:
    return column.kind == _ZONED or column.kind_name.lower() == "timestamptz"  # PostgreSQL's driver calls both 93


def _are_fewer(order: Order, start: Position | None, last: Position, records: int) -> bool:
    """Whether the numbers alone tell that there are no more rows than that."""
    if order.timestamp is not None or start is None or start.incrementing is None or last.incrementing is None:
        return False
    return last.incrementing - start.incrementing <= records


def _check_number(source: _Source, position: Position) -> None:
    if source.number is None or position.incrementing is None:
        return
    bits = _BITS.get(source.number.kind)
    if bits is not None and not -(2 ** (bits - 1)) <= position.incrementing < 2 ** (bits - 1):
        raise DataError(
            f"Column {source.number.name!r} of {source.name} is of type {source.number.kind_name} and never holds "
            f"{position.incrementing}; an offset must be one of its values."
        )
