"""Logical types: Python values for Connect's Decimal, Date, Time and Timestamp.

In a record they are `decimal.Decimal`, `datetime.date`, `datetime.time` and `datetime.datetime` (in UTC); in the
encoded form they are the unscaled number as big-endian bytes, the days since 1970, the milliseconds since midnight
and since 1970. Values that are in the encoded form already are accepted too.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from seamark.connector.schema import Schema
from seamark.errors import DataError

DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"
LOGICAL_NAMES = frozenset({DECIMAL, DATE, TIME, TIMESTAMP})

_EPOCH_DATE, _EPOCH = date(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS = 24 * 60 * 60 * 1000


def decimal_scale(schema: Schema) -> int:
    """The scale that a Decimal schema fixes."""
    text = (schema.parameters or {}).get("scale")
    if text is None:
        raise DataError("Invalid Decimal schema: scale parameter not found.")
    try:
        return int(text)
    except ValueError as error:
        raise DataError(f"Invalid scale parameter found in Decimal schema: {text}") from error


def decimal_to_bytes(schema: Schema, value: Any) -> bytes:
    """The unscaled number, as short as two's complement allows."""
    if isinstance(value, bytes):
        return value
    if not isinstance(value, Decimal):
        raise DataError(f"Invalid type for Decimal, expected BigDecimal but was {type(value).__name__}")
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or -exponent != decimal_scale(schema):
        raise DataError("Decimal value has mismatching scale for given Decimal schema")
    number = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    bits = number.bit_length() if number >= 0 else (-number - 1).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def decimal_from_bytes(schema: Schema, data: bytes) -> Decimal:
    """The number that `decimal_to_bytes` wrote."""
    number = int.from_bytes(data, "big", signed=True)
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -decimal_scale(schema)))


def to_number(schema: Schema, value: Any) -> int:
    """The encoded form of a Date, Time or Timestamp."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if schema.name == DATE and isinstance(value, date) and not isinstance(value, datetime):
        return (value - _EPOCH_DATE).days
    if schema.name == TIME and isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    if schema.name == TIMESTAMP and isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(milliseconds=1)
    kind = (schema.name or "").rpartition(".")[2]
    raise DataError(f"Invalid type for {kind}, expected Date but was {type(value).__name__}")


def from_number(schema: Schema, number: int) -> date | time | datetime:
    """The value that the encoded form of a Date, Time or Timestamp stands for.

    Raises:
        DataError: out of the range of the type.
    """
    try:
        if schema.name == DATE:
            return _EPOCH_DATE + timedelta(days=number)
        if schema.name == TIME:
            if not 0 <= number <= _DAY_MS:
                raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
            return (_EPOCH + timedelta(milliseconds=number)).time()
        return _EPOCH + timedelta(milliseconds=number)
    except OverflowError as error:
        raise DataError(f"{number} is out of range for {schema.name}") from error
