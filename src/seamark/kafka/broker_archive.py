"""The broker's classes, archived: a third off its start. Made once, on a scratch directory, and kept by the jars."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from seamark.errors import BrokerError
from seamark.kafka import jars
from seamark.kafka.class_archives import ClassArchive


def jvm_options() -> list[str]:
    """What makes the JVM use the archive; nothing when there is none."""
    return _archive().jvm_options()


def ensure() -> None:
    """Make the archive if this Java and these jars have none yet; takes a few seconds, once."""
    archive = _archive()
    if not archive.can_be_made():
        return
    with jars.exclusive(archive.folder.parent):
        if not archive.is_made():
            print("Preparing the broker for fast starts (once) ...", file=sys.stderr, flush=True)
            archive.make(_train)


def _train(options: Sequence[str]) -> None:
    from seamark.kafka.broker import EmbeddedBroker

    with tempfile.TemporaryDirectory(prefix="seamark-archive-") as scratch:
        trainee = EmbeddedBroker(Path(scratch), jvm_options=options, stop_timeout_s=60)
        # If it fails, the broker that is wanted will fail too, or not; either way it is the one to say so.
        with suppress(BrokerError):
            trainee.start()
            trainee.stop()


def _archive() -> ClassArchive:
    return ClassArchive(jars.BROKER.folder(), "classes")
