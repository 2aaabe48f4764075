"""The version that the mirror connectors report."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("seamark")
except PackageNotFoundError:  # run from a source tree that was put on the path by hand
    VERSION = "unknown"
