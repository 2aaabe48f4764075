"""The broker's classes, archived so that the JVM starts with them instead of loading them one by one.

Class data sharing takes a third off the broker's start. The archive belongs to one Java and one set of jars, lies
beside the jars, and is made once, by a broker that is started and stopped on a scratch directory. It only ever saves
time: Java ignores an archive that does not fit, and without one the broker starts as well.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

from seamark.errors import BrokerError
from seamark.kafka import jars
from seamark.kafka.java import find_java


def jvm_options() -> list[str]:
    """What makes the JVM use the archive; nothing when there is none."""
    archive = _path()
    # One that could not be made is an empty file, lest every start tries again.
    if not archive.exists() or archive.stat().st_size == 0:
        return []
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable", "-Xlog:all=error:stderr"]


def ensure() -> None:
    """Make the archive if this Java and these jars have none yet; takes a few seconds, once."""
    from seamark.kafka.broker import EmbeddedBroker

    archive = _path()
    folder = archive.parent
    if archive.exists() or not os.access(folder, os.W_OK):
        return
    with jars.exclusive(folder.parent):
        if archive.exists():
            return
        print("Preparing the broker for fast starts (once) ...", file=sys.stderr, flush=True)
        made = folder / ".classes.jsa"
        with tempfile.TemporaryDirectory(prefix="seamark-archive-") as scratch:
            options = ["-XX:+IgnoreUnrecognizedVMOptions", f"-XX:ArchiveClassesAtExit={made}", "-Xlog:disable"]
            trainee = EmbeddedBroker(Path(scratch), jvm_options=options, stop_timeout_s=60)
            try:
                trainee.start()
            except BrokerError:
                made.touch()  # the broker that is wanted will fail too, or not; either way it is the one to say so
            else:
                trainee.stop()
                made.touch()
        made.replace(archive)


def _path() -> Path:
    java = Path(find_java(BrokerError)).resolve()
    runtime = java.parent.parent / "lib" / "modules"
    stat = (runtime if runtime.exists() else java).stat()
    identity = hashlib.sha256(f"{java}:{stat.st_size}:{stat.st_mtime_ns}".encode()).hexdigest()[:12]
    return jars.BROKER.folder() / f"classes-{identity}.jsa"
