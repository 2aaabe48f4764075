"""The version that Seamark's own plugins show."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("seamark")
except PackageNotFoundError:  # a source tree that was not installed
    VERSION = "unknown"
