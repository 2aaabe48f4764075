"""What work costs, as `python -m bench capacity` has measured it on some machine.

A task does nothing but its records, one after the other, so its *time* per record bounds how many it moves; the
*processor time* per record, of the worker and its executors, bounds how many a machine moves, with however many tasks.
Both are a part per record and a part per byte. A frame connector pays a fixed time per batch besides, and a part for
each Spark task of it. What a partition and a connector cost that are merely there is counted by the second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Any, Final

from seamark.errors import BadRequestError, DataError
from seamark.formats import VERSION, check_version

MEASUREMENTS_VERSION: Final = 1
SHIPPED: Final = "measurements.json"


class Kind(StrEnum):
    """Kinds of connectors that cost alike."""

    SOURCE = "source"
    """A source that is polled, such as FileStreamSource."""
    SINK = "sink"
    """A sink task, such as FileStreamSink."""
    HTTP_SINK = "http-sink"
    """A sink task that waits for requests."""
    MIRROR = "mirror"
    """MirrorSourceConnector."""
    TABLE = "table"
    """SparkSink."""
    TABLE_SOURCE = "table-source"
    """SparkSource."""

    @property
    def is_frame(self) -> bool:
        """Whether it moves a batch per Spark job, in place of records one after the other."""
        return self in (Kind.TABLE, Kind.TABLE_SOURCE)

    @property
    def has_topics(self) -> bool:
        """Whether it reads topics, so that their partitions bound its tasks."""
        return self in (Kind.SINK, Kind.HTTP_SINK, Kind.MIRROR, Kind.TABLE)

    @property
    def has_exactly_once(self) -> bool:
        """Whether `exactly.once.source.support` changes what it does."""
        return self in (Kind.SOURCE, Kind.MIRROR, Kind.TABLE_SOURCE)


@dataclass(frozen=True, slots=True)
class Costs:
    """What the work of one kind of connector costs."""

    record_us: float
    """Time of a task per record."""
    byte_ns: float
    """The same per byte of it."""
    cpu_record_us: float
    """Processor time of all processes of the worker per record."""
    cpu_byte_ns: float
    broker_record_us: float = 0.0
    """Processor time of the broker per record, replication not counted."""
    broker_byte_ns: float = 0.0
    batch_ms: float = 0.0
    """Time that a batch of a frame connector takes, however small."""
    cpu_batch_ms: float = 0.0
    """Processor time of such a batch."""
    task_ms: float = 0.0
    """What each Spark task of a batch adds to it."""
    partition_ms: float = 0.0
    """Processor time per second of each partition that has records."""
    python_mb: float = 80.0
    """Memory of the Python process of a task."""

    def task_us(self, record_bytes: float) -> float:
        """Time of a task for a record of that size."""
        return self.record_us + self.byte_ns * record_bytes / 1000

    def cpu_us(self, record_bytes: float) -> float:
        """Processor time for a record of that size."""
        return self.cpu_record_us + self.cpu_byte_ns * record_bytes / 1000

    def broker_us(self, record_bytes: float) -> float:
        """Processor time of the broker for a record of that size."""
        return self.broker_record_us + self.broker_byte_ns * record_bytes / 1000

    def batch_s(self, records: float, record_bytes: float, tasks: int, cores: float) -> float:
        """How long a batch of a frame connector takes."""
        fixed = (self.batch_ms + self.task_ms * tasks) / 1000
        return fixed + records * self.task_us(record_bytes) / 1e6 / min(tasks, cores)


@dataclass(frozen=True, slots=True)
class Measurements:
    """All costs, and where they were measured."""

    machine: str
    versions: str
    measured: str
    load: str
    kinds: Mapping[str, Costs]
    """By kind; with exactly-once support under ``<kind>, exactly-once``."""
    worker_mb: float
    """Memory of a worker with its Spark, without tasks."""
    connector_mb: float
    """Memory of each connector that is there."""
    connector_ms: float
    """Processor time per second of each connector without records."""

    def costs(self, kind: Kind, *, exactly_once: bool) -> Costs:
        """Of a kind of connector.

        Raises:
            BadRequestError: it was not measured.
        """
        measured = Kind.SINK if kind is Kind.HTTP_SINK else kind
        name = key_of(measured, exactly_once=exactly_once)
        if name not in self.kinds:
            raise BadRequestError(
                f"The measurements know nothing of {name!r}; they have {', '.join(map(repr, sorted(self.kinds)))}. "
                "Measure it with `python -m bench capacity`."
            )
        return self.kinds[name]

    def to_json(self) -> dict[str, Any]:
        """As a file holds it."""
        return {VERSION: MEASUREMENTS_VERSION, **asdict(self)}

    @staticmethod
    def of(data: Any, where: str) -> Measurements:
        """From what a file holds.

        Raises:
            BadRequestError: it is something else, or of a later version.
        """
        try:
            check_version(data, MEASUREMENTS_VERSION, where)
            kinds = {
                str(name): Costs(**{field: float(value) for field, value in costs.items()})
                for name, costs in data["kinds"].items()
            }
            made = Measurements(**{**{name: data[name] for name in data if name != VERSION}, "kinds": kinds})
            numbers = [made.worker_mb, made.connector_mb, made.connector_ms]
            numbers += [number for costs in kinds.values() for number in asdict(costs).values()]
            if any(not isinstance(number, int | float) or not 0 <= number < float("inf") for number in numbers):
                raise ValueError("a cost is negative or no number")
            if any(costs.record_us <= 0 or costs.cpu_record_us <= 0 for costs in kinds.values()):
                raise ValueError("a record costs nothing")
        except DataError as error:
            raise BadRequestError(str(error)) from error
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise BadRequestError(
                f"{where} holds no measurements ({type(error).__name__}: {error}); "
                "`python -m bench capacity --measurements FILE` writes them."
            ) from error
        return made


def key_of(kind: Kind, *, exactly_once: bool) -> str:
    """The name under which costs are kept."""
    return f"{kind.value}, exactly-once" if exactly_once and kind.has_exactly_once else kind.value


def read_measurements(path: Path | None = None) -> Measurements:
    """Those of a file, or those that come with Seamark.

    Raises:
        BadRequestError: there is no such file, or it holds something else.
    """
    if path is None:
        shipped = resources.files(__package__).joinpath(SHIPPED)
        if not shipped.is_file():
            raise BadRequestError(
                "No measurements come with this build: take those of this machine with `python -m bench capacity "
                "--measurements FILE` and name the file with --measurements."
            )
        return Measurements.of(json.loads(shipped.read_text()), SHIPPED)
    try:
        return Measurements.of(json.loads(path.read_text()), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequestError(f"The measurements {path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"{path} is no JSON: {error}") from error
