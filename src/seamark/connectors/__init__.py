"""The connectors that Seamark brings."""

from __future__ import annotations

from seamark.connector.versions import VERSION

__all__ = ["VERSION"]
