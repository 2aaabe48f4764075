"""The files of a batch, each record once: claimed as a whole, then moved into place.

A batch becomes visible file by file, under names that say which batch they belong to, and is complete when its
manifest is there::

    <path>/[date=2026-01-31/|topic=orders/]batch-<id>-part-<n>.parquet
    <path>/_seamark/commits/<id>.json         the range and the files of a complete batch, written last
    <path>/_seamark/claims/<id>.json          the same, written before the files are moved, removed after
    <path>/_seamark/staging/<id>-<attempt>/   what Spark is writing; never read

The claim is the decision: it is created only if there is none, so of two drivers that write the same batch one wins,
and the files of the other stay in its temporary folder and are deleted. After a crash, a batch with a claim is
finished by moving the rest of its files; one without is written anew. Names that begin with an underscore are skipped
by Spark and most other readers.

Everything goes through Hadoop's file systems, so `path` may be a local path or a URI of any that Spark knows (file,
hdfs, s3a, ...). Where renaming is a copy, as in object stores, a batch takes longer to appear; the promise is the
same if creating a file that exists fails.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from seamark.connector.frame import SinkBatch
from seamark.connectors.hadoop_folder import HadoopFolder
from seamark.errors import ConnectError
from seamark.formats import VERSION, check_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OWN_FOLDER: Final = "_seamark"
CLAIM_VERSION: Final = 1
"""Of claims and manifests."""
# Readers tell how a file is compressed by the end of its name, except where the format itself says so.
_DATA_FILE: Final = re.compile(r"\.(parquet|orc|(?:json|csv)(?:\.[a-z0-9]+)?)$")


def write_files(frame: DataFrame, path: str, batch: SinkBatch, save: Callable[[DataFrame, str], None]) -> None:
    """Write a batch, unless it was written before.

    Args:
        frame: the rows.
        path: the folder of all batches.
        batch: which one it is.
        save: writes the rows to a folder of its own.

    Raises:
        ConnectError: the folder holds another batch of this id, or its files were tampered with.
    """
    files = BatchFiles(frame.sparkSession, path, batch)
    if files.is_complete() or files.finish():
        return
    staging = files.new_staging()
    save(frame, staging)
    files.claim(staging)
    files.finish()


class BatchFiles:
    """The files of one batch, through the file systems of Spark's JVM."""

    def __init__(self, spark: SparkSession, path: str, batch: SinkBatch) -> None:
        self._batch = batch
        self._folder = HadoopFolder(spark, path)
        own = f"{self._folder.root}/{OWN_FOLDER}"
        self._staging = f"{own}/staging"
        self._manifest = f"{own}/commits/{batch.id}.json"
        self._claim = f"{own}/claims/{batch.id}.json"

    def is_complete(self) -> bool:
        """Whether the batch was written before.

        Raises:
            ConnectError: the folder holds another batch of this id.
        """
        return self._checked(self._manifest) is not None

    def new_staging(self) -> str:
        """A folder for this attempt alone: an earlier one may still be alive."""
        return f"{self._staging}/{self._batch.id}-{uuid.uuid4().hex}"

    def claim(self, staging: str) -> None:
        """Decide that the batch consists of the files in this folder, unless another attempt has decided before."""
        moves: list[list[str]] = []
        counts: dict[str, int] = {}
        prefix = len(self._folder.qualified(staging)) + 1
        for source in sorted(self._data_files(staging)):
            folder = source[prefix:].rpartition("/")[0]
            number = counts[folder] = counts.get(folder, -1) + 1
            name = f"batch-{self._batch.id}-part-{number:05d}.{_ending(source)}"
            moves.append([source, f"{folder}/{name}" if folder else name])
        claim = {
            VERSION: CLAIM_VERSION,
            "connector": self._batch.connector,
            "batch": self._batch.id,
            **range_of(self._batch),
            "moves": moves,
        }
        if not self._folder.create(self._claim, claim):
            self._folder.delete(staging)

    def finish(self) -> bool:
        """Move the files of a claimed batch and write its manifest; False if there is no claim. May be repeated."""
        claim = self._checked(self._claim)
        if claim is None:
            return False
        for source, name in claim["moves"]:
            target = f"{self._folder.root}/{name}"
            if not self._folder.move(source, target):
                raise ConnectError(
                    f"Batch {self._batch.id} of connector {self._batch.connector!r} was written, but {target} is gone: "
                    "files of an unfinished batch were deleted."
                )
        manifest = {key: value for key, value in claim.items() if key != "moves"}
        self._folder.create(self._manifest, {**manifest, "files": [name for _, name in claim["moves"]]})
        self._sweep()
        self._folder.delete(self._claim)
        return True

    def _sweep(self) -> None:
        """Delete what attempts at this batch and earlier ones have left; it is decided that they count for nothing."""
        for attempt, _ in self._folder.listed(self._staging):
            if int(attempt.rpartition("/")[2].partition("-")[0]) <= self._batch.id:
                self._folder.delete(attempt)

    def _checked(self, path: str) -> dict[str, Any] | None:
        found = self._folder.read(path)
        if found is not None:
            check_version(found, CLAIM_VERSION, f"The batch in {path}")
        if found is not None and any(found[bound] != positions for bound, positions in range_of(self._batch).items()):
            raise ConnectError(
                f"{self._folder.root} holds a batch {self._batch.id} of connector {found['connector']!r} with another "
                "range: give every connector a path of its own."
            )
        return found

    def _data_files(self, folder: str) -> list[str]:
        found = []
        for path, is_folder in self._folder.listed(folder):
            if is_folder:
                found += self._data_files(path)
            elif _ending(path):
                found.append(path)
        return found


def range_of(batch: SinkBatch) -> dict[str, dict[str, int]]:
    """The positions of a batch as they are kept beside what was written of it."""
    return {"start": _positions(batch.start), "end": _positions(batch.end)}


def _positions(positions: Mapping[Any, int]) -> dict[str, int]:
    return {f"{partition.topic}-{partition.partition}": offset for partition, offset in sorted(positions.items())}


def _ending(name: str) -> str:
    """How the name of a data file ends; empty for any other file."""
    found = _DATA_FILE.search(name)
    return found[1] if found else ""
