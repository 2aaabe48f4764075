"""A database as the driver reaches it: over the JDBC drivers of Spark's JVM, for single statements.

Spark's own connection factory opens connections, so what Spark can read or write this can ask and change, with the same
settings, also if the driver's jar came to a cluster with ``spark.jars``. Rows in bulk are Spark's to move.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from seamark.errors import ConfigError, ConnectError, RetriableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Classes of SQL states that pass: lost connections, too few resources, a server that starts or stops, deadlocks.
_PASSING_STATES: Final = re.compile(r"08|53|57P|40|HYT")
_PASSING_ERRORS: Final = re.compile(
    r"SQLTransient|SQLRecoverable|SQLNonTransientConnection|java\.net\.(Connect|Socket|NoRouteToHost|UnknownHost)"
)
_NO_DRIVER: Final = "No suitable driver"


class Database:
    """Where to connect to, and as whom.

    Args:
        spark: whose JVM connects.
        url: as JDBC writes it.
        properties: the login, and what else Spark's JDBC source or the driver understands.
    """

    def __init__(self, spark: SparkSession, url: str, properties: Mapping[str, str]) -> None:
        context: Any = spark.sparkContext
        self.jvm: Any = context._jvm  # noqa: SLF001 - no public way
        self._url, self._properties = url, {**self._driver(url), **properties}
        self.shown_url = url.partition("?")[0]  # the rest may hold a password

    def _driver(self, url: str) -> dict[str, str]:
        """The driver's class, which Java finds by itself only on its own class path, not in ``spark.jars``."""
        java = self.jvm.java
        loader = java.lang.Thread.currentThread().getContextClassLoader()
        found = java.util.ServiceLoader.load(java.lang.Class.forName("java.sql.Driver"), loader).iterator()
        while found.hasNext():
            driver = found.next()
            if driver.acceptsURL(url):
                return {"driver": str(driver.getClass().getName())}
        return {}

    @property
    def options(self) -> dict[str, str]:
        """For Spark's own reader and writer."""
        return {"url": self._url, **self._properties}

    @property
    def dialect(self) -> Any:
        """What Spark knows of this kind of database."""
        return self.jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(self._url)

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A ``java.sql.Connection``.

        Raises:
            RetriableError: the database cannot be reached now.
            ConnectError: it refuses.
        """
        jdbc = self.jvm.org.apache.spark.sql.execution.datasources.jdbc
        with self.errors("connect"):
            settings = self.jvm.java.util.HashMap()
            for key, value in {"dbtable": "-", **self.options}.items():
                settings.put(key, value)
            options = jdbc.JDBCOptions(self.jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(settings))
            opened = self.dialect.createConnectionFactory(options).apply(-1)  # -1: for the driver, not for a partition
        try:
            yield opened
        finally:
            with self.errors("disconnect"):
                opened.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Commit what is done inside, or nothing of it.

        Raises:
            RetriableError: the database is away, or others were in the way.
            ConnectError: it refuses.
        """
        with self.connection() as opened, self.errors("change tables"):
            opened.setAutoCommit(False)
            try:
                yield Transaction(opened)
            except BaseException:
                opened.rollback()
                raise
            opened.commit()

    @contextmanager
    def errors(self, what: str) -> Iterator[None]:
        """Say what was tried when the database refuses."""
        from py4j.protocol import Py4JJavaError

        try:
            yield
        except Py4JJavaError as error:
            cause = error.java_exception
            told = f"{cause.getClass().getSimpleName()}: {str(cause.getMessage()).strip()}"
            if _NO_DRIVER in told:
                raise ConfigError(
                    f"Spark has no JDBC driver for {self.shown_url}. Have the worker's properties bring one, as in "
                    "spark.jars.packages=com.mysql:mysql-connector-j:9.4.0.",
                    key="connection.url",
                ) from error
            if _is_passing(cause):
                raise RetriableError(f"The database {self.shown_url} cannot be reached ({what}): {told}") from error
            raise ConnectError(f"The database {self.shown_url} refused to {what}: {told}") from error


class Transaction:
    """Statements that take effect together."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str, *values: str | int) -> int:
        """Run a statement; how many rows it has changed."""
        statement = self._prepared(sql, values)
        try:
            return int(statement.executeUpdate())
        finally:
            statement.close()

    def query(self, sql: str, *values: str | int) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        statement = self._prepared(sql, values)
        try:
            found = statement.executeQuery()
            width = found.getMetaData().getColumnCount()
            rows = []
            while found.next():
                rows.append(tuple(found.getObject(number) for number in range(1, width + 1)))
            return rows
        finally:
            statement.close()

    def _prepared(self, sql: str, values: tuple[str | int, ...]) -> Any:
        statement = self._connection.prepareStatement(sql)
        for number, value in enumerate(values, 1):
            if isinstance(value, int):
                statement.setLong(number, value)
            else:
                statement.setString(number, value)
        return statement


def _is_passing(cause: Any) -> bool:
    """Whether the same may succeed later: the database is away, busy, or on its way."""
    from py4j.protocol import Py4JError

    while cause is not None:
        if _PASSING_ERRORS.search(str(cause.getClass().getName())):
            return True
        try:
            if _PASSING_STATES.match(str(cause.getSQLState())):
                return True
        except Py4JError:  # no SQLException
            pass
        cause = cause.getCause()
    return False
