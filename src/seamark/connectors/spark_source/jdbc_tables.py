"""What the source asks a database before Spark reads: its tables, their columns, and single rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from seamark.connectors.jdbc import Database
from seamark.errors import ConnectError

_TABLE_KINDS: Final = frozenset(
    {"TABLE", "BASE TABLE", "PARTITIONED TABLE", "FOREIGN TABLE", "VIEW", "MATERIALIZED VIEW", "SYNONYM", "ALIAS"}
)
_SHOWN: Final = 20
_PER_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or query, as JDBC describes it."""

    name: str
    kind: int
    """One of ``java.sql.Types``."""
    kind_name: str
    scale: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view."""

    catalog: str | None
    schema: str | None
    name: str

    @property
    def full_name(self) -> str:
        """With its schema; databases that have none (MySQL) put the catalog there."""
        return ".".join(filter(None, [self.schema or self.catalog, self.name]))

    def is_called(self, parts: Sequence[str]) -> bool:
        """Whether these are the last parts of its name."""
        return [part for part in (self.catalog, self.schema, self.name) if part][-len(parts) :] == list(parts)


@contextmanager
def connect(database: Database) -> Iterator[Connection]:
    """A connection, for a few questions.

    Raises:
        RetriableError: the database cannot be reached now.
        ConnectError: it refuses.
    """
    with database.connection() as opened:
        yield Connection(database, opened)


class Connection:
    """An open connection."""

    def __init__(self, database: Database, opened: Any) -> None:
        self._database, self._jvm, self._opened, self._dialect = database, database.jvm, opened, database.dialect

    @property
    def options(self) -> dict[str, str]:
        """With which Spark itself connects."""
        return self._database.options

    def quoted(self, name: str) -> str:
        """A name as SQL takes it, whatever is in it."""
        return str(self._dialect.quoteIdentifier(name))

    def table_sql(self, table: Table) -> str:
        """A table's name as SQL takes it."""
        return ".".join(self.quoted(part) for part in (table.schema or table.catalog, table.name) if part)

    def row(self, sql: str, *, times: Sequence[bool], zone: str = "UTC") -> tuple[int | None, ...] | None:
        """The first row of a query, as whole numbers; None if there is none.

        Args:
            sql: the query.
            times: per column, whether it is a time, which comes as nanoseconds since 1970.
            zone: the time zone of times that name none.
        """
        with self._database.errors(f"answer {sql!r}"):
            statement = self._opened.createStatement()
            try:
                found = statement.executeQuery(sql)
                if not found.next():
                    return None
                calendar = self._jvm.java.util.GregorianCalendar(self._jvm.java.util.TimeZone.getTimeZone(zone))
                return tuple(
                    _nanoseconds(found.getTimestamp(at, calendar)) if is_time else _whole(found.getBigDecimal(at))
                    for at, is_time in enumerate(times, 1)
                )
            finally:
                statement.close()

    def columns(self, rows: str) -> list[Column]:
        """The columns of a table or of a query in parentheses."""
        sql = f"SELECT * FROM {rows} WHERE 1 = 0"  # noqa: S608 - names are quoted, and a query is the user's own
        with self._database.errors(f"answer {sql!r}"):
            statement = self._opened.createStatement()
            try:
                about = statement.executeQuery(sql).getMetaData()
                return [
                    Column(
                        str(about.getColumnLabel(at)),
                        int(about.getColumnType(at)),
                        str(about.getColumnTypeName(at)),
                        int(about.getScale(at)),
                    )
                    for at in range(1, int(about.getColumnCount()) + 1)
                ]
            finally:
                statement.close()

    def table(self, name: str) -> Table:
        """The table of that name, which may have its schema or catalog in front.

        Raises:
            ConnectError: there is none, or there are several.
        """
        parts = name.split(".")
        found = [table for table in self._tables(parts[-1]) if table.is_called(parts)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(sorted(table.full_name for table in found))
            raise ConnectError(f"There are several tables {name!r} in {self._database.shown_url}: {names}. Name one.")
        known = sorted(table.full_name for table in self._tables(None))
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        raise ConnectError(
            f"There is no table {name!r} in {self._database.shown_url}, or this user may not see it; there are: "
            f"{', '.join(known[:_SHOWN]) or 'none'}{more}."
        )

    def _tables(self, name: str | None) -> list[Table]:
        with self._database.errors("list its tables"):
            about = self._opened.getMetaData()
            escape = str(about.getSearchStringEscape())
            pattern = "%" if name is None else re.sub(r"([_%])", lambda match: escape + match[1], name)
            found = about.getTables(self._opened.getCatalog(), None, pattern, None)
            tables = []
            while found.next():
                if str(found.getString("TABLE_TYPE")).upper() in _TABLE_KINDS:
                    where = [found.getString(part) for part in ("TABLE_CAT", "TABLE_SCHEM")]
                    tables.append(Table(where[0] or None, where[1] or None, found.getString("TABLE_NAME")))
            return tables


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _nanoseconds(timestamp: Any) -> int | None:
    if timestamp is None:
        return None
    return int(timestamp.getTime()) // 1000 * _PER_SECOND + int(timestamp.getNanos())
