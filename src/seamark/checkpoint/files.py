"""Files below a checkpoint, wherever it is. Paths are relative to it, with ``/``.

What a file system has to promise is what Spark needs of it, too: a rename that is seen as a whole.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from seamark.checkpoint.errors import CheckpointError

_URL: Final = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):(//[^/]*)?(?P<path>/.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file or directory."""

    name: str
    is_directory: bool
    size: int
    modified_ms: int


class Files(Protocol):
    """What is needed of a file system. Anything but the absence of a file is a CheckpointError."""

    root: str
    """As it was given."""

    def list(self, path: str) -> Sequence[FileInfo] | None:
        """What is in a directory, without checksum files; None if there is no such directory."""

    def read(self, path: str) -> str | None:
        """The text of a file; None if there is none."""

    def create(self, path: str, text: str) -> bool:
        """Make a file that appears with all of its text; False if there is one already."""

    def replace(self, path: str, text: str) -> None:
        """Put a text in the place of a file's, or make the file: the old or the new one is seen, nothing between."""

    def delete(self, path: str) -> None:
        """Remove a file if it is there."""


def local_path(location: str) -> Path | None:
    """The path on local disk; None if it is elsewhere (``hdfs://``, ``s3a://``).

    As Hadoop reads URLs, nothing in them is decoded: ``%20`` is three letters.
    """
    url = _URL.fullmatch(location)
    if url is None:
        return Path(location)
    return Path(url["path"]) if url["scheme"].lower() == "file" else None


class LocalFiles:
    """A directory on local disk.

    Hadoop keeps a checksum beside each file there (``.5.crc``), and refuses a file that does not fit it; one without is
    read unchecked. So the checksum goes before the file changes, and at no moment there is a wrong one.
    """

    def __init__(self, root: str, path: Path) -> None:
        self.root, self._path = root, path

    def list(self, path: str) -> list[FileInfo] | None:
        """See `Files`."""
        try:
            found = []
            with os.scandir(self._path / path) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):  # Spark renames and removes while we look
                        info = entry.stat()
                        found.append(FileInfo(entry.name, entry.is_dir(), info.st_size, info.st_mtime_ns // 1_000_000))
            return [each for each in found if not each.name.endswith(".crc")]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._failed("list", path, error) from error

    def read(self, path: str) -> str | None:
        """See `Files`."""
        try:
            return (self._path / path).read_bytes().decode()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise self._failed("read", path, error) from error

    def create(self, path: str, text: str) -> bool:
        """See `Files`."""
        target = self._path / path
        try:
            temporary = self._written(target, text, None)
            try:
                _link(temporary, target)
            except FileExistsError:
                return False
            finally:
                temporary.unlink(missing_ok=True)
            _sync_directory(target.parent)
            return True
        except OSError as error:
            raise self._failed("write", path, error) from error

    def replace(self, path: str, text: str) -> None:
        """See `Files`."""
        target = self._path / path
        try:
            before = target.stat() if target.exists() else None
            temporary = self._written(target, text, before)
            try:
                self._checksum(target).unlink(missing_ok=True)
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
            _sync_directory(target.parent)
        except OSError as error:
            raise self._failed("write", path, error) from error

    def delete(self, path: str) -> None:
        """See `Files`."""
        target = self._path / path
        try:
            target.unlink(missing_ok=True)
            self._checksum(target).unlink(missing_ok=True)
            _sync_directory(target.parent)
        except OSError as error:
            raise self._failed("delete", path, error) from error

    def _written(self, target: Path, text: str, like: os.stat_result | None) -> Path:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = like or self._path.stat()
        temporary = target.parent / f".{target.name}.{uuid.uuid4()}.tmp"
        with temporary.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        # The query may run as someone else, and has to be able to read, and later to remove, what we write.
        temporary.chmod(beside.st_mode & 0o666)
        with contextlib.suppress(OSError):
            os.chown(temporary, beside.st_uid, beside.st_gid)
        return temporary

    @staticmethod
    def _checksum(target: Path) -> Path:
        return target.parent / f".{target.name}.crc"

    def _failed(self, what: str, path: str, error: Exception) -> CheckpointError:
        reason = error.strerror if isinstance(error, OSError) else error
        return CheckpointError(f"Could not {what} {self._path / path}: {reason}")


def _link(temporary: Path, target: Path) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # no hard links there; who ends in the middle leaves a part, which Spark refuses just the same
        with target.open("xb") as file:
            file.write(temporary.read_bytes())


def _sync_directory(path: Path) -> None:
    """Make a rename last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
