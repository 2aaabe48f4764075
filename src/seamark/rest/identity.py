"""Who asks, and what that user may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a user may do; each role may do all that the ones before it may."""

    ANYONE = "anyone"
    """Nobody is asked who they are."""
    VIEWER = "viewer"
    """Reads, and validates configurations."""
    OPERATOR = "operator"
    """Also changes states: pause, resume, stop, restart."""
    EDITOR = "editor"
    """All."""

    def allows(self, needed: Role) -> bool:
        """Whether this role is enough."""
        return _ORDER.index(self) >= _ORDER.index(needed)


_ORDER: Final = tuple(Role)
READING: Final = frozenset(("GET", "HEAD", "OPTIONS"))


def role_by_method(method: str) -> Role:
    """What a request needs if nothing else is said: what may change something, needs the highest role."""
    return Role.VIEWER if method in READING else Role.EDITOR


@dataclass(frozen=True, slots=True)
class Identity:
    """A user.

    Attributes:
        user: its name; None if nobody was asked.
        role: what it may do.
        auth: how it is known: ``none``, ``basic`` or ``oidc``.
        stamp: changes with the user's password, so that what was derived from an older one is refused.
        expires_at: seconds since 1970, when the proof runs out; None for never.
    """

    user: str | None
    role: Role
    auth: str
    stamp: str = ""
    expires_at: float | None = None


NOBODY: Final = Identity(None, Role.EDITOR, "none")
"""Of every request while the worker asks nobody who they are."""
UNKNOWN: Final = Identity(None, Role.ANYONE, "none")
"""Of a request to something that is open to all, while others are asked."""
