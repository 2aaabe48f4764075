"""Connectors that come with Seamark."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("seamark")
except PackageNotFoundError:  # run from a source tree that was put on the path by hand
    VERSION = "unknown"
