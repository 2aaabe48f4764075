"""Where log lines go when Seamark is run from the command line."""

from __future__ import annotations

import logging
import sys

from seamark.runtime.log_context import formatter


def configure(level: int = logging.WARNING, style: str = "text") -> None:
    """Log to stderr; may be called again, with the `seamark.log.format` of a worker's file.

    What librdkafka says of lost connections is left to the errors that follow from it.
    """
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.StreamHandler(sys.stderr))
        root.setLevel(level)
        logging.getLogger("seamark.kafka.librdkafka").setLevel(logging.CRITICAL)
        for name in ("py4j", "httpx", "uvicorn"):
            logging.getLogger(name).setLevel(logging.WARNING)
    for handler in root.handlers:
        if type(handler) is logging.StreamHandler:
            handler.setFormatter(formatter(style))
