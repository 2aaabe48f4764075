"""What an outside system must offer to be a format of SparkSource."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seamark.config.configdef import ConfigDef
from seamark.connector.frame import ReadLimit
from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Settings = Mapping[str, Any]
"""The parsed config."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What a range holds, and the topic that it goes to."""

    frame: DataFrame
    topic: str
    is_whole: bool = False
    """True if the frame's only column, `value`, is the value of records; otherwise its columns are the fields."""


class Reader(ABC):
    """Reads one outside system. Made from settings without touching it; lives in the driver.

    `latest` and `read` are those of `FrameSource`, with a session.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @classmethod
    @abstractmethod
    def config_def(cls) -> ConfigDef:
        """The keys of this format; none may be required, since other formats do without."""

    @classmethod
    @abstractmethod
    def problems(cls, settings: Settings) -> dict[str, str]:
        """What is wrong with the settings, by key."""

    @classmethod
    def is_replayable(cls, config: Mapping[str, str]) -> bool:
        """Whether the same range always has the same rows, so that each can be written once."""
        return True

    @abstractmethod
    def latest(self, spark: SparkSession, start: Offsets, limit: ReadLimit) -> Offsets:
        """How far a batch may reach; equal to `start`, or empty, if there is nothing new."""

    @abstractmethod
    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> Rows:
        """The rows between two positions."""

    @abstractmethod
    def check(self, spark: SparkSession, partition: SourcePartition, offset: SourceOffset) -> None:
        """Make sure that reading can go on from an offset which someone wants to set.

        Raises:
            ConnectError: it cannot, with what would do.
        """


def moved(start: Offsets, end: Offsets) -> list[SourcePartition]:
    """The partitions that a range moves."""
    return [partition for partition, offset in end.items() if start.get(partition) != offset]


def spark_column(name: str) -> Column:
    """A column by its name, which may have dots."""
    from pyspark.sql import functions as F

    return F.col(f"`{name.replace('`', '``')}`")


def whole_number(offset: SourceOffset, name: str, *, least: int = 0) -> int:
    """A field of an offset.

    Raises:
        DataError: it is missing, no whole number, or too small.
    """
    value = offset.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DataError(
            f"The offset {dict(offset)} needs a whole number, {least} or more, as {name!r}, for example "
            f"{{{name!r}: {max(least, 42)}}}."
        )
    return value


def only_fields(offset: SourceOffset, *names: str) -> None:
    """Refuse fields that nothing would look at: whoever sends them expects something else.

    Raises:
        DataError: there is one.
    """
    unknown = [name for name in offset if name not in names]
    if unknown:
        raise DataError(
            f"The offset {dict(offset)} has {', '.join(map(repr, unknown))}, which means nothing here; it may have "
            f"{', '.join(map(repr, names))}."
        )
