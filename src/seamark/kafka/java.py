"""Finding the Java that runs the broker, Ivy and Spark."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from seamark.errors import ConnectError


def find_java(error: type[ConnectError]) -> str:
    """Path of the `java` command: that of ``JAVA_HOME`` if set, as Spark does, else the one on ``PATH``.

    Args:
        error: what to raise when there is none, so that the caller's own kind of error reaches the user.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if os.access(java, os.X_OK):
            return str(java)
        raise error(
            f"JAVA_HOME is {home!r}, but {str(java)!r} is not a program; set it to a Java 17 or later, or unset it"
        )
    found = shutil.which("java")
    if found is None:
        raise error("No java command was found; install Java 17 or later, or set JAVA_HOME")
    return found
