"""Checkpoints on any file system that Spark can reach: HDFS, object stores, through Hadoop in Spark's JVM.

It implements `seamark.checkpoint.files.Files`. As Spark does, it writes a file beside and renames it, with Hadoop's
newer interface where a file system has it, because only that can replace a file by a rename.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from seamark.checkpoint.errors import CheckpointError
from seamark.checkpoint.files import FileInfo
from seamark.engine.session import end_jvm, launch_jvm, quiet_java_options

_T = TypeVar("_T")
_HADOOP: Final = "spark.hadoop."
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_MISSING: Final = ("java.io.FileNotFoundException",)
_EXISTS: Final = ("org.apache.hadoop.fs.FileAlreadyExistsException", "java.nio.file.FileAlreadyExistsException")


@contextlib.contextmanager
def hadoop_files(root: str, spark_properties: Mapping[str, str]) -> Iterator[HadoopFiles]:
    """Files below a location with a scheme; Spark's JVM is started for it unless this process has one.

    Args:
        root: as in ``hdfs://namenode/checkpoints/orders``.
        spark_properties: ``spark.hadoop.*`` and ``spark.jars.*``, beside those of Spark's and Hadoop's own files.

    Raises:
        CheckpointError: it cannot be reached.
    """
    properties = {"spark.driver.memory": "512m", **spark_properties}
    properties[_JAVA_OPTIONS] = quiet_java_options(properties.get(_JAVA_OPTIONS, ""))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # otherwise the JVM looks its host name up, and warns
    try:
        launch_jvm(properties)
    except Exception as error:  # whatever keeps a JVM from starting: no Java, a jar that cannot be had
        raise CheckpointError(f"{root} is reached through Spark's JVM, which could not be started: {error}") from error
    try:
        yield HadoopFiles(root, spark_properties)
    finally:
        end_jvm()


class HadoopFiles:
    """A directory on a file system of Hadoop's."""

    def __init__(self, root: str, spark_properties: Mapping[str, str]) -> None:
        from pyspark import SparkContext

        self.root = root
        self._gateway: Any = SparkContext._gateway  # noqa: SLF001 - no public way to ask
        self._jvm: Any = self._gateway.jvm
        hadoop = self._jvm.org.apache.hadoop.fs
        conf = self._jvm.org.apache.spark.deploy.SparkHadoopUtil.get().newConfiguration(
            self._jvm.org.apache.spark.SparkConf()
        )
        for key, value in spark_properties.items():
            if key.startswith(_HADOOP):
                conf.set(key.removeprefix(_HADOOP), value)
        self._root: Any = self._do("open", root, lambda: hadoop.Path(root.rstrip("/")))
        self._files: Any = self._do("open", root, lambda: self._root.getFileSystem(conf))
        self._context: Any = None
        with contextlib.suppress(CheckpointError):  # not all file systems have the newer interface
            self._context = self._do("open", root, lambda: hadoop.FileContext.getFileContext(self._root.toUri(), conf))

    def list(self, path: str) -> list[FileInfo] | None:
        """See `Files`."""

        def look() -> list[FileInfo] | None:
            where = self._path(path)
            if not self._files.getFileStatus(where).isDirectory():
                return None
            return [
                FileInfo(each.getPath().getName(), each.isDirectory(), each.getLen(), each.getModificationTime())
                for each in self._files.listStatus(where)
                if not each.getPath().getName().endswith(".crc")
            ]

        return self._do("list", path, look, {each: None for each in _MISSING})

    def read(self, path: str) -> str | None:
        """See `Files`."""

        def read() -> str | None:
            stream = self._files.open(self._path(path))
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
            except UnicodeDecodeError as error:
                raise CheckpointError(f"Could not read {self.root}/{path}: {error}") from error
            finally:
                stream.close()

        return self._do("read", path, read, {each: None for each in _MISSING})

    def create(self, path: str, text: str) -> bool:
        """See `Files`."""

        def create() -> bool:
            if self._files.exists(self._path(path)):
                return False
            self._put(path, text, is_replaced=False)
            return True

        return self._do("write", path, create, {each: False for each in _EXISTS})

    def replace(self, path: str, text: str) -> None:
        """See `Files`."""
        self._do("write", path, lambda: self._put(path, text, is_replaced=True))

    def delete(self, path: str) -> None:
        """See `Files`."""
        self._do("delete", path, lambda: self._files.delete(self._path(path), False), {each: None for each in _MISSING})

    def _put(self, path: str, text: str, *, is_replaced: bool) -> None:
        target = self._path(path)
        parent, name = target.getParent(), target.getName()
        temporary = self._jvm.org.apache.hadoop.fs.Path(parent, f".{name}.{uuid.uuid4()}.tmp")
        is_there = self._files.exists(target)
        try:
            stream = self._files.create(temporary, True)
            stream.write(bytearray(text.encode()))
            stream.close()
            if is_there:
                self._files.setPermission(temporary, self._files.getFileStatus(target).getPermission())
            self._rename(temporary, target, is_replaced=is_replaced)
        finally:
            self._files.delete(temporary, False)

    def _rename(self, temporary: Any, target: Any, *, is_replaced: bool) -> None:
        if self._context is not None:
            kinds = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
            how = self._gateway.new_array(kinds, 1)
            how[0] = kinds.OVERWRITE if is_replaced else kinds.NONE
            self._context.rename(temporary, target, how)
            return
        if is_replaced:  # for a moment there is neither: the guard keeps Spark from seeing that
            self._files.delete(target, False)
        if not self._files.rename(temporary, target):
            raise CheckpointError(f"Could not rename {temporary.toString()} to {target.toString()}")

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, path) if path else self._root

    def _do(self, what: str, path: str, call: Callable[[], _T], answers: Mapping[str, _T] | None = None) -> _T:
        """Call into the JVM; `answers` are for exceptions that mean something."""
        from py4j.protocol import Py4JError, Py4JJavaError

        where = path if path == self.root else f"{self.root.rstrip('/')}/{path}".rstrip("/")
        try:
            return call()
        except Py4JJavaError as error:
            cause = error.java_exception
            kind = cause.getClass().getName()
            if answers is not None and kind in answers:
                return answers[kind]
            raise CheckpointError(f"Could not {what} {where}: {kind}: {cause.getMessage()}") from error
        except Py4JError as error:
            raise CheckpointError(f"Could not {what} {where}: {error}") from error
