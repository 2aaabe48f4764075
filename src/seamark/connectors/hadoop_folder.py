"""A folder on any file system that Spark knows, through its JVM: small JSON files, moves, lists."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seamark.errors import ConnectError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HadoopFolder:
    """A folder. Paths are absolute texts, as `listed` gives them."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Hadoop has no other way from Python
        self._hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
        root = self._path(path.rstrip("/") or "/")
        self._fs = root.getFileSystem(self._hadoop)
        self.root = self.qualified(str(root))

    def qualified(self, path: str) -> str:
        """The path with its file system."""
        return str(self._fs.makeQualified(self._path(path)))

    def read(self, path: str) -> dict[str, Any] | None:
        """The content of a JSON file; None if there is none."""
        where = self._path(path)
        if not self._fs.exists(where):
            return None
        stream = self._fs.open(where)
        try:
            found: dict[str, Any] = json.loads(bytes(stream.readAllBytes()))
        finally:
            stream.close()
        return found

    def create(self, path: str, content: Mapping[str, Any]) -> bool:
        """Create a JSON file whole or not at all; False if it exists."""
        where = self._path(path)
        self._fs.mkdirs(where.getParent())
        draft = self._path(f"{where.getParent()}/.{where.getName()}-{uuid.uuid4().hex}")
        try:
            stream = self._fs.create(draft, False)
            try:
                stream.write(bytearray(json.dumps(content).encode()))
            finally:
                stream.close()
            context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(
                self._path(self.root).toUri(), self._hadoop
            )
            options = self._jvm.java.lang.reflect.Array.newInstance(
                self._jvm.java.lang.Class.forName("org.apache.hadoop.fs.Options$Rename"), 0
            )
            context.rename(draft, where, options)
        except Exception as error:
            self._fs.delete(draft, False)
            if "FileAlreadyExists" not in str(error):
                raise
            return False
        return True

    def move(self, source: str, target: str) -> bool:
        """Rename a file, unless that was done before; False if there is neither.

        Raises:
            ConnectError: the file system refuses.
        """
        origin, goal = self._path(source), self._path(target)
        if not self._fs.exists(origin):
            return bool(self._fs.exists(goal))
        self._fs.mkdirs(goal.getParent())
        if not self._fs.rename(origin, goal) and not self._fs.exists(goal):
            raise ConnectError(f"{source} could not be renamed to {target}.")
        return True

    def listed(self, folder: str) -> list[tuple[str, bool]]:
        """What is in a folder, each with whether it is one; nothing if the folder does not exist."""
        path = self._path(folder)
        found = self._fs.listStatus(path) if self._fs.exists(path) else []
        return [(str(status.getPath()), bool(status.isDirectory())) for status in found]

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all that it holds."""
        self._fs.delete(self._path(path), True)

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)
