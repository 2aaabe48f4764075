"""Logical types: Python values for Connect's Decimal, Date, Time and Timestamp.

========= ========================= ============================== ===================================
Type      Python value              Base type                      Encoded form
========= ========================= ============================== ===================================
Decimal   ``decimal.Decimal``       BYTES, parameter ``scale``     unscaled number, big-endian
Date      ``datetime.date``         INT32                          days since 1970
Time      ``datetime.time``         INT32                          milliseconds since midnight
Timestamp ``datetime.datetime`` UTC INT64                          milliseconds since 1970
========= ========================= ============================== ===================================

Java has one class for the last three, so a date, time or datetime fits each of them as far as its fields allow: a
datetime at midnight is a Date. A value in the encoded form is accepted wherever a logical one is; it is also what an
encoded number becomes that Python's types cannot hold (years before 1 or after 9999, the 86,400,000th millisecond).
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Mapping
from typing import Any

from seamark.connector.java_names import java_class
from seamark.connector.schema import Schema, Type
from seamark.errors import DataError

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EPOCH_DAY = _EPOCH.toordinal()
_MS = datetime.timedelta(milliseconds=1)
_DAY_MS = 24 * 60 * 60 * 1000
_INT32 = 1 << 31


def to_millis(value: Any) -> int | None:
    """What Java's ``Date.getTime()`` gives for a date, time or datetime; None for anything else."""
    if isinstance(value, datetime.datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
        return (aware - _EPOCH) // _MS
    if isinstance(value, datetime.date):
        return (value.toordinal() - _EPOCH_DAY) * _DAY_MS
    if isinstance(value, datetime.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    return None


class Decimal:
    """A number with a scale that the schema fixes."""

    LOGICAL_NAME = "org.apache.kafka.connect.data.Decimal"
    SCALE_FIELD = "scale"

    @classmethod
    def schema(cls, scale: int, *, optional: bool = False, default: decimal.Decimal | None = None) -> Schema:
        """The schema of decimals with so many digits after the point."""
        parameters = {cls.SCALE_FIELD: str(scale)}
        return Schema(Type.BYTES, optional, default, cls.LOGICAL_NAME, 1, parameters=parameters)

    @classmethod
    def scale(cls, schema: Schema) -> int:
        """The scale that a Decimal schema fixes."""
        text = (schema.parameters or {}).get(cls.SCALE_FIELD)
        if text is None:
            raise DataError("Invalid Decimal schema: scale parameter not found.")
        if re.fullmatch("[+-]?[0-9]{1,100}", text) is None or not -_INT32 <= int(text) < _INT32:
            raise DataError(f"Invalid scale parameter found in Decimal schema: {text[:200]}")
        return int(text)

    @classmethod
    def from_logical(cls, schema: Schema, value: Any) -> bytes:
        """The unscaled number, as short as two's complement allows.

        Raises:
            DataError: not a decimal, or not of the schema's scale.
        """
        if isinstance(value, bytes):
            return value
        if not isinstance(value, decimal.Decimal) or not value.is_finite():
            raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {java_class(value)}")
        scale, schema_scale = -int(value.as_tuple().exponent), cls.scale(schema)
        if scale != schema_scale:
            raise DataError(
                "Decimal value has mismatching scale for given Decimal schema. "
                f"Schema has scale {schema_scale}, value has scale {scale}."
            )
        return unscaled_bytes(value)

    @classmethod
    def to_logical(cls, schema: Schema, data: bytes) -> decimal.Decimal:
        """The number that `from_logical` wrote. Raises DataError."""
        if not data:
            raise DataError("Zero length BigInteger")
        number = int.from_bytes(data, "big", signed=True)
        return decimal.Decimal((int(number < 0), decimal.Decimal(number).as_tuple().digits, -cls.scale(schema)))


def unscaled_bytes(value: decimal.Decimal) -> bytes:
    """The digits of a decimal, without its scale, as Java's ``BigInteger.toByteArray``."""
    sign, digits, _ = value.as_tuple()
    number = int(decimal.Decimal((sign, digits, 0)))  # a text of so many digits might be refused
    bits = number.bit_length() if number >= 0 else (-number - 1).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


class Date:
    """A day without a time."""

    LOGICAL_NAME = "org.apache.kafka.connect.data.Date"
    SCHEMA = Schema(Type.INT32, name=LOGICAL_NAME, version=1)

    @classmethod
    def schema(cls, *, optional: bool = False, default: datetime.date | None = None) -> Schema:
        """The schema of dates."""
        return Schema(Type.INT32, optional, default, cls.LOGICAL_NAME, 1)

    @classmethod
    def from_logical(cls, schema: Schema, value: Any) -> int:
        """Days since 1970. Raises DataError."""
        if type(value) is datetime.date:
            return value.toordinal() - _EPOCH_DAY
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        millis = to_millis(value)
        if millis is None:
            raise DataError(f"Invalid type for Date, expected Date but was class {java_class(value)}")
        if millis % _DAY_MS:
            raise DataError("Kafka Connect Date type should not have any time fields set to non-zero values.")
        return millis // _DAY_MS

    @classmethod
    def to_logical(cls, schema: Schema, number: int) -> datetime.date | int:
        """The day; the number itself if Python's calendar does not reach so far."""
        try:
            return datetime.date.fromordinal(number + _EPOCH_DAY)
        except (ValueError, OverflowError):
            return number


class Time:
    """A time of the day, without a date or zone."""

    LOGICAL_NAME = "org.apache.kafka.connect.data.Time"
    SCHEMA = Schema(Type.INT32, name=LOGICAL_NAME, version=1)

    @classmethod
    def schema(cls, *, optional: bool = False, default: datetime.time | None = None) -> Schema:
        """The schema of times."""
        return Schema(Type.INT32, optional, default, cls.LOGICAL_NAME, 1)

    @classmethod
    def from_logical(cls, schema: Schema, value: Any) -> int:
        """Milliseconds since midnight. Raises DataError."""
        millis = value if isinstance(value, int) and not isinstance(value, bool) else to_millis(value)
        if millis is None:
            raise DataError(f"Invalid type for Time, expected Date but was class {java_class(value)}")
        if not 0 <= millis <= _DAY_MS:
            raise DataError("Kafka Connect Time type should not have any date fields set to non-zero values.")
        return millis

    @classmethod
    def to_logical(cls, schema: Schema, number: int) -> datetime.time | int:
        """The time; the number itself if it is the end of the day.

        Raises:
            DataError: more than a day.
        """
        if not 0 <= number <= _DAY_MS:
            raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
        return number if number == _DAY_MS else (_EPOCH + number * _MS).time()


class Timestamp:
    """A point in time, to the millisecond."""

    LOGICAL_NAME = "org.apache.kafka.connect.data.Timestamp"
    SCHEMA = Schema(Type.INT64, name=LOGICAL_NAME, version=1)

    @classmethod
    def schema(cls, *, optional: bool = False, default: datetime.datetime | None = None) -> Schema:
        """The schema of timestamps."""
        return Schema(Type.INT64, optional, default, cls.LOGICAL_NAME, 1)

    @classmethod
    def from_logical(cls, schema: Schema, value: Any) -> int:
        """Milliseconds since 1970. Raises DataError."""
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        millis = to_millis(value)
        if millis is None:
            raise DataError(f"Invalid type for Timestamp, expected Date but was class {java_class(value)}")
        return millis

    @classmethod
    def to_logical(cls, schema: Schema, number: int) -> datetime.datetime | int:
        """The point in time, in UTC; the number itself if Python's calendar does not reach so far."""
        try:
            return _EPOCH + number * _MS
        except OverflowError:
            return number


LOGICAL_NAMES = frozenset(kind.LOGICAL_NAME for kind in (Decimal, Date, Time, Timestamp))

_FROM: Mapping[str, Callable[[Schema, Any], Any]] = {
    Decimal.LOGICAL_NAME: Decimal.from_logical,
    Date.LOGICAL_NAME: Date.from_logical,
    Time.LOGICAL_NAME: Time.from_logical,
    Timestamp.LOGICAL_NAME: Timestamp.from_logical,
}
_TO: Mapping[str, Callable[[Schema, Any], Any]] = {
    Decimal.LOGICAL_NAME: Decimal.to_logical,
    Date.LOGICAL_NAME: Date.to_logical,
    Time.LOGICAL_NAME: Time.to_logical,
    Timestamp.LOGICAL_NAME: Timestamp.to_logical,
}


def is_logical(schema: Schema | None) -> bool:
    """Whether a schema is that of one of Connect's logical types."""
    return schema is not None and schema.name in LOGICAL_NAMES


def from_logical(schema: Schema, value: Any) -> Any:
    """The encoded form of a value of a logical schema: bytes or a number. Raises DataError."""
    return _FROM[schema.name or ""](schema, value)


def to_logical(schema: Schema, encoded: Any) -> Any:
    """The value of an encoded form. Raises DataError."""
    return _TO[schema.name or ""](schema, encoded)
