"""Tables that the query of `SparkSql` may join to: read anew for each batch, visible to that query alone.

``lookups=customers`` and ``lookup.customers.table`` or ``.format`` with ``.path`` and ``.option.*``, as Spark's reader
takes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from seamark.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PREFIX: Final = "lookup."
_OPTION: Final = "option."


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table by a name of its own."""

    name: str
    table: str | None = None
    format: str | None = None
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def frame(self, spark: SparkSession) -> DataFrame:
        """What the table holds now."""
        if self.table is not None:
            return spark.table(self.table)
        return spark.read.format(self.format or "parquet").options(**self.options).load(self.path)


def parse_lookups(names: Iterable[str], config: Mapping[str, Any]) -> tuple[Lookup, ...]:
    """The tables that a transform's settings describe.

    Raises:
        ConfigError: a table is not described, or more than one way.
    """
    return tuple(_lookup(name, config) for name in names)


def _lookup(name: str, config: Mapping[str, Any]) -> Lookup:
    prefix = f"{_PREFIX}{name}."
    given = {key.removeprefix(prefix): str(value) for key, value in config.items() if key.startswith(prefix)}
    options = {key.removeprefix(_OPTION): given.pop(key) for key in list(given) if key.startswith(_OPTION)}
    unknown = sorted(set(given) - {"table", "format", "path"})
    if unknown:
        raise ConfigError(
            f"{prefix}{unknown[0]} is not a setting of a lookup table; there are table, format, path and option.*",
            key=prefix + unknown[0],
        )
    if ("table" in given) == ("format" in given) or ("table" in given and (options or "path" in given)):
        raise ConfigError(
            f"The lookup table {name!r} needs either {prefix}table, a table of Spark's catalog, or {prefix}format with "
            f"{prefix}path and {prefix}option.*.",
            key=f"{prefix}table",
        )
    return Lookup(name, given.get("table"), given.get("format"), given.get("path"), options)
