"""Converters: between a record's data and the bytes on a topic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from seamark.config.configdef import ConfigDef
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import Schema


class Converter(ABC):
    """Turns keys or values into bytes and back; must be usable from one thread at a time."""

    passes: ClassVar[tuple[type, ...]] = ()
    """Python types whose schemaless or primitive values this converter writes as they are (str as UTF-8). Lets the
    engine skip the conversion of whole batches."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The keys this converter understands, without the `key.converter.` or `value.converter.` prefix."""
        return ConfigDef()

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:  # noqa: B027 - optional
        """Called once before use, with the converter's own settings."""

    @abstractmethod
    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """Data to bytes. Raises DataError."""

    @abstractmethod
    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """Bytes to data. Raises DataError."""


class HeaderConverter(ABC):
    """Turns header values into bytes and back."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The keys this converter understands."""
        return ConfigDef()

    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional
        """Called once before use."""

    @abstractmethod
    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """Data to bytes."""

    @abstractmethod
    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        """Bytes to data."""
