"""How states are shown."""

from __future__ import annotations

from typing import Final

STATES: Final = {
    "RUNNING": "ok",
    "FAILED": "bad",
    "PAUSED": "warn",
    "STOPPED": "off",
    "UNASSIGNED": "wait",
    "RESTARTING": "wait",
    "DESTROYED": "off",
}
SHAPES: Final = {"ok": "●", "bad": "▲", "warn": "‖", "off": "■", "wait": "◌"}
"""States are told apart by shape and word, too, not by colour alone."""
