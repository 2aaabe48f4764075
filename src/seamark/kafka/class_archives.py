"""Classes of a Java program, archived so that its JVM starts with them instead of loading them one by one.

Class data sharing halves the processor time of a start. An archive belongs to one Java and one class path, and is made
by a run of the program that archives what it has loaded when it ends. It only ever saves time: Java ignores an archive
that does not fit, and without one the program starts as well.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seamark.errors import ConnectError
from seamark.kafka.java import find_java


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive of one program.

    Attributes:
        folder: where it is.
        program: what it is of; its name begins with that.
        identity: changes when the class path does, if the folder does not tell that.
    """

    folder: Path
    program: str
    identity: str = ""

    @property
    def path(self) -> Path:
        """Of the archive for the Java that is used now."""
        java = Path(find_java(ConnectError)).resolve()
        runtime = java.parent.parent / "lib" / "modules"
        stat = (runtime if runtime.exists() else java).stat()
        identity = f"{java}:{stat.st_size}:{stat.st_mtime_ns}{self.identity}"
        return self.folder / f"{self.program}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.jsa"

    def is_made(self) -> bool:
        """Whether making it was tried: one that could not be made is an empty file, lest every start tries again."""
        return self.path.exists()

    def jvm_options(self) -> list[str]:
        """What makes the JVM use the archive; nothing when there is none."""
        archive = self.path
        if not archive.exists() or archive.stat().st_size == 0:
            return []
        return [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable", "-Xlog:all=error:stderr"]

    def can_be_made(self) -> bool:
        """Whether it is not there, and this process may write it."""
        return not self.is_made() and os.access(self.folder, os.W_OK)

    def make(self, train: Callable[[Sequence[str]], None]) -> None:
        """Make it.

        Args:
            train: runs the program with these options of its JVM, to its end; an archive is not made if that fails.
        """
        made = self.folder / f".{self.program}-{os.getpid()}.jsa"
        try:
            train(["-XX:+IgnoreUnrecognizedVMOptions", f"-XX:ArchiveClassesAtExit={made}", "-Xlog:disable"])
            made.touch()
            made.replace(self.path)
        finally:
            made.unlink(missing_ok=True)
