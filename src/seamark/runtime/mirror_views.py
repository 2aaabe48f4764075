"""How far the mirrors of a worker are: `/mirrors`."""

from __future__ import annotations

from typing import Any

from seamark.runtime.herder import Herder


def mirrors(herder: Herder) -> list[dict[str, Any]]:
    """A line for each MirrorSourceConnector."""
    return [{"connector": name} for name in herder.connectors()]
