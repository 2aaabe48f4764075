"""Dates, times and timestamps in the texts of headers, read as leniently as Java's `SimpleDateFormat` does.

A field may have any number of digits and any value: the 32nd of January is the first of February. What follows the
last field is ignored. Days before 15 October 1582 are those of the Julian calendar. All in UTC.
"""

from __future__ import annotations

import re

from seamark.connector import logical
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import Schema
from seamark.engine.transforms.java_calendar import DAY_MS, day_of

_DATE = r"[ \t]*(\d+)-[ \t]*(\d+)-[ \t]*(\d+)"
_TIME = r"[ \t]*(\d+):[ \t]*(\d+):[ \t]*(\d+)\.[ \t]*(\d+)Z"
_FORMATS = {
    10: (re.compile(_DATE), logical.Date.SCHEMA),
    13: (re.compile(_TIME), logical.Time.SCHEMA),
    24: (re.compile(f"{_DATE}T{_TIME}"), logical.Timestamp.SCHEMA),
}


def parse_temporal(text: str) -> SchemaAndValue | None:
    """The date, time or timestamp of a text of the right length; None if it is none."""
    text = text.replace("\\:", ":")
    if len(text) not in _FORMATS:
        return None
    pattern, schema = _FORMATS[len(text)]
    match = pattern.match(text)
    if match is None:
        return None
    fields = [int(field) for field in match.groups()]
    days = day_of(*fields[:3]) if len(fields) != 4 else 0
    hours, minutes, seconds, millis = fields[-4:] if len(fields) != 3 else (0, 0, 0, 0)
    total = days * DAY_MS + ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis
    return SchemaAndValue(schema, _value(schema, total))


def _value(schema: Schema, millis: int) -> object:
    if schema is logical.Date.SCHEMA:
        return logical.Date.to_logical(schema, millis // DAY_MS)
    if schema is logical.Time.SCHEMA and millis < DAY_MS:
        return logical.Time.to_logical(schema, millis)
    return logical.Timestamp.to_logical(schema, millis)
