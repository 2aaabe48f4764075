"""How tables are partitioned: by a field, or by the time in one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from seamark.config.validators import invalid

if TYPE_CHECKING:
    from pyspark.sql import Column

_ENTRY: Final = re.compile(r"(?:(year|month|day|hour)\(\s*([A-Za-z_][\w$]*)\s*\)|([A-Za-z_][\w$]*))")
_PATTERNS: Final = {"year": "yyyy", "month": "yyyy-MM", "hour": "yyyy-MM-dd-HH"}
RECORD_FIELDS: Final = ("_timestamp", "_topic")


@dataclass(frozen=True, slots=True)
class Partition:
    """A field, or a unit of the time in it."""

    field: str
    unit: str | None = None

    @property
    def column(self) -> str:
        """The column that folders are named after: the field itself, or for a unit of time one beside it."""
        return self.field if self.unit is None else f"{self.field.removeprefix('_')}_{self.unit}"

    @property
    def iceberg(self) -> str:
        """As Iceberg's tables are told, which need no column of their own."""
        return f"`{self.field}`" if self.unit is None else f"{self.unit}s(`{self.field}`)"

    def value(self) -> Column:
        """The column's content: a date for a day, else text that sorts by time."""
        from pyspark.sql import functions as F

        field = F.col(f"`{self.field}`")
        if self.unit is None:
            return field
        if self.unit == "day":
            return F.to_date(field.cast("timestamp"))
        return F.date_format(field.cast("timestamp"), _PATTERNS[self.unit])


def parse_partition(name: str, text: Any) -> Partition:
    """Read one entry of `partition.by`.

    Raises:
        ConfigError: it is none.
    """
    found = _ENTRY.fullmatch(str(text).strip())
    if found is None:
        raise invalid(name, text, "write a field as in country, or the time in one as in day(created)")
    return Partition(found[3]) if found[3] else Partition(found[2], found[1])
