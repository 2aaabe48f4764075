"""What a folder holds, on this machine or on any file system that Spark knows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seamark.errors import ConnectError, RetriableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file in a folder."""

    name: str
    length: int
    modified_ms: int


class Folder:
    """A folder, by its path or URI."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = local_path(path) or path.rstrip("/")
        self._spark = spark
        self._is_local = local_path(path) is not None

    def files(self) -> list[FoundFile]:
        """Its files, without those that Spark ignores, too: names that begin with a dot or an underscore.

        Raises:
            ConnectError: there is no such folder.
        """
        found = self._local() if self._is_local else self._remote()
        return [file for file in found if not file.name.startswith((".", "_"))]

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        if self._is_local:
            return os.path.exists(self.file(name))
        path = self._hadoop_path(self.file(name))
        return bool(path.getFileSystem(self._conf).exists(path))

    def file(self, name: str) -> str:
        """The path of a file."""
        return f"{self.path}/{name}"

    def _local(self) -> Iterator[FoundFile]:
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    if entry.is_file():
                        about = entry.stat()
                        yield FoundFile(entry.name, about.st_size, about.st_mtime_ns // 1_000_000)
        except OSError as error:
            raise ConnectError(f"The folder {self.path!r} cannot be listed: {error.strerror}.") from error

    def _remote(self) -> Iterator[FoundFile]:
        from py4j.protocol import Py4JJavaError

        path = self._hadoop_path(self.path)
        try:
            for each in path.getFileSystem(self._conf).listStatus(path):
                if each.isFile():
                    yield FoundFile(each.getPath().getName(), each.getLen(), each.getModificationTime())
        except Py4JJavaError as error:
            cause = error.java_exception
            told = f"The folder {self.path!r} cannot be listed: {cause.getClass().getName()}: {cause.getMessage()}"
            is_missing = cause.getClass().getName() == "java.io.FileNotFoundException"
            raise (ConnectError if is_missing else RetriableError)(told) from error

    def _hadoop_path(self, path: str) -> Any:
        return self._spark.sparkContext._jvm.org.apache.hadoop.fs.Path(path)  # noqa: SLF001 - no public way

    @property
    def _conf(self) -> Any:
        return self._spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - no public way


def local_path(path: str) -> str | None:
    """The path without a scheme; None if it is not on this machine."""
    scheme, separator, rest = path.partition(":")
    if not separator or "/" in scheme:
        return path.rstrip("/") or "/"
    return "/" + rest.strip("/") if scheme == "file" else None
