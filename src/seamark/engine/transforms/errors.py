"""Failures of transforms that are not `DataError` in Kafka Connect either.

`java_name` is what Connect shows as the class of the failure, for instance in the headers of dead letters.
"""

from __future__ import annotations

from typing import ClassVar

from seamark.errors import ConnectError, DataError


class SchemaBuilderError(DataError):
    """A transform would have to make a schema that cannot exist."""

    java_name: ClassVar[str] = "org.apache.kafka.connect.errors.SchemaBuilderException"


class IllegalArgumentError(ConnectError):
    """A setting does not fit the record that it is applied to."""

    java_name: ClassVar[str] = "java.lang.IllegalArgumentException"


class NoSuchGroupError(ConnectError):
    """A replacement refers to a group that the regular expression does not have."""

    java_name: ClassVar[str] = "java.lang.IndexOutOfBoundsException"


class NullPointerError(ConnectError):
    """Something is missing that must be there, and Connect does not look before it uses it."""

    java_name: ClassVar[str] = "java.lang.NullPointerException"
