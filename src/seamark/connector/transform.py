"""Transformations of single records, and predicates that say which records they apply to.

A minimal transformation::

    from seamark.connector import Transformation

    class Upper(Transformation):
        def apply(self, record):
            return record.with_(value=record.value.upper())

Registered under the entry point group ``seamark.transforms``, or found on `plugin.path`, it is used as any of Connect's
own: ``transforms=shout``, ``transforms.shout.type=Upper``. Predicates have the group ``seamark.predicates``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from seamark.config.configdef import ConfigDef
from seamark.connector.records import SinkRecord, SourceRecord

Record = SourceRecord | SinkRecord


class _Configurable(ABC):  # noqa: B024 - the two below have the abstract methods
    """What transformations and predicates have in common. One object belongs to one task and one thread."""

    version: ClassVar[str] = "unknown"

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The keys it understands, without the prefix ``transforms.<alias>.`` or ``predicates.<alias>.``."""
        return ConfigDef()

    def configure(self, config: Mapping[str, Any]) -> None:  # noqa: B027 - optional
        """Called once before use, with its own settings. Raise `ConfigError` to refuse them."""

    def close(self) -> None:  # noqa: B027 - optional
        """Release what `configure` acquired; no other call follows."""


class Transformation(_Configurable):
    """Changes one record at a time."""

    @abstractmethod
    def apply(self, record: Record) -> Record | None:
        """The record that takes the place of this one; None drops it.

        Records, and the values in them, must not be modified: return a changed copy (`with_`). Raise `DataError` for a
        record that cannot be transformed: `errors.tolerance` says what happens then.
        """


class Predicate(_Configurable):
    """Decides which records a transformation applies to."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether the record matches."""
