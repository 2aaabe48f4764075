"""Where log lines go when Seamark is run from the command line."""

from __future__ import annotations

import logging
import sys


def configure(level: int = logging.WARNING) -> None:
    """Log to stderr; what librdkafka says of lost connections is left to the errors that follow from it."""
    logging.basicConfig(level=level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("seamark.kafka.librdkafka").setLevel(logging.CRITICAL)
    logging.getLogger("py4j").setLevel(logging.WARNING)
