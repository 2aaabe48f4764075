"""SparkSql: a query over the records of a batch, for connectors that work on DataFrames.

The query sees one row per record: the fields of its value as columns, or `_value` if the value has no fields, and
`_key`, `_topic`, `_partition`, `_timestamp`, `_headers`, for sinks also `_offset`. Each row of the result is a record:
columns of these names are what they say, all others are the fields of its value. What the query does not select the
record does not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from seamark.config.configdef import ConfigDef, Importance, Type, ValidString
from seamark.config.validators import Check, invalid
from seamark.connector.transform import Record, Transformation
from seamark.engine.transforms.lookups import parse_lookups
from seamark.errors import ConfigError, ConnectError

VIEW: Final = "records"
_COMMENTS: Final = re.compile(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_QUERY: Final = re.compile(r"(?:SELECT|WITH)\b", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def statement(sql: str) -> str:
    """The query without what surrounds it: leading comments, and a semicolon at its end."""
    return _COMMENTS.sub("", sql).rstrip().rstrip(";").rstrip()


def check_query(name: str, value: Any) -> None:
    """Refuse what is not one SELECT or WITH query. Spark's own parser has the last word where there is a session."""
    query = statement(str(value or ""))
    if not query:
        raise invalid(name, value, "a SELECT query is needed, for example SELECT * FROM records WHERE amount > 0")
    if _QUERY.match(query) is None:
        raise invalid(name, value, "only one query that begins with SELECT or WITH is allowed")
    session = _session()
    if session is None:
        return
    from pyspark.errors import ParseException

    parser = session._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - no public parser
    try:
        parser.parseQuery(query)
        # As it is run: parsers that Delta and others bring take any statement for a query.
        parser.parseQuery(f"SELECT * FROM (\n{query}\n)")  # noqa: S608 - parsed, not run
    except ParseException as error:
        raise invalid(name, value, f"Spark cannot parse it as one SELECT query: {first_line(error)}") from error


def check_schema(name: str, value: Any) -> None:
    """Refuse columns that Spark cannot read."""
    if value is None:
        return
    if _session() is None:
        return
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType, _parse_datatype_string

    try:
        found = _parse_datatype_string(value)
    except PySparkException as error:
        raise invalid(
            name, value, f"not columns in Spark's DDL such as 'id long, name string': {first_line(error)}"
        ) from error
    if not isinstance(found, StructType):
        raise invalid(name, value, "not columns in Spark's DDL such as 'id long, name string'")


def check_view(name: str, value: Any) -> None:
    """Refuse what cannot stand in a query without quotes."""
    if _NAME.fullmatch(str(value or "")) is None:
        raise invalid(name, value, "a name consists of letters, digits and underscores and begins with no digit")


def check_views(name: str, value: Any) -> None:
    """The same for each of several."""
    for member in value or ():
        check_view(name, member)


def first_line(error: Exception) -> str:
    """What Spark says is wrong, without the plan or the query that follow."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _session() -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession._instantiatedSession  # noqa: SLF001 - the public way would start one
    return None if session is None or session._sc._jsc is None else session  # noqa: SLF001 - None once it is stopped


class SparkSql(Transformation):
    """Runs on the DataFrame of a batch: the frame stage asks for its settings and never for `apply`."""

    version: ClassVar[str] = "0.1.0"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define(
                "sql",
                Type.STRING,
                validator=Check(check_query, "one SELECT or WITH query"),
                importance=Importance.HIGH,
                doc="The query, for example `SELECT *, amount * 2 AS twice FROM records WHERE amount > 0`.",
            )
            .define(
                "view",
                Type.STRING,
                VIEW,
                validator=Check(check_view, "a name"),
                importance=Importance.MEDIUM,
                doc="What the records are called in the query.",
            )
            .define(
                "schema",
                Type.STRING,
                None,
                validator=Check(check_schema, "columns in Spark's DDL"),
                importance=Importance.MEDIUM,
                doc="The columns of the value in Spark's DDL, for example `id long, name string`: fields that are not "
                "listed are left out, missing ones are null, and values that are text are read as JSON. Without it the "
                "columns are those that the records of a batch have.",
            )
            .define(
                "null.values",
                Type.STRING,
                "drop",
                validator=ValidString.of("drop", "query"),
                importance=Importance.MEDIUM,
                doc="What becomes of records without a value (tombstones): `drop` leaves them out; `query` gives them "
                "to the query as rows of nulls with `_tombstone` true, and a row of the result with `_tombstone` true "
                "is a record without a value.",
            )
            .define(
                "lookups",
                Type.LIST,
                [],
                validator=Check(check_views, "names"),
                importance=Importance.MEDIUM,
                doc="Tables that the query may join to, by names of their own. Each is described by "
                "`lookup.<name>.table` (of Spark's catalog), or by `lookup.<name>.format` with `.path` and `.option.*` "
                "as Spark's reader takes them, and is read anew for each batch.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        self.sql: str = statement(values["sql"])
        self.view: str = values["view"]
        self.schema: str | None = values["schema"]
        self.queries_nulls: bool = values["null.values"] == "query"
        self.lookups = parse_lookups(values["lookups"], config)
        if self.view in values["lookups"]:
            raise invalid("lookups", self.view, "the records have this name: choose another, or set view")

    def apply(self, record: Record) -> Record | None:
        raise ConnectError(
            "SparkSql works on the DataFrame of a batch, but this connector handles records one by one. Use it with a "
            "connector that works on DataFrames, or use transforms of single records instead."
        )


def refuse_in_direct_stage(alias: str, connector: str) -> ConfigError:
    """What to say where records are handled one by one."""
    return ConfigError(
        f"Transform '{alias}' is SparkSql, which queries a whole batch as a DataFrame, but {connector} handles records "
        "one by one and has none. Use SparkSql with a connector that works on DataFrames (such as ParquetSink, "
        "DataSourceSource or DataSourceSink), or use transforms of single records (such as Filter, Cast or "
        "ReplaceField) with this one.",
        key=f"transforms.{alias}.type",
        value="SparkSql",
    )
