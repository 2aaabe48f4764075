"""Who the worker takes the caller for; only Seamark has this."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.client.operations import Operation, model_reader


@dataclass(frozen=True, slots=True)
class WhoAmI:
    """A user of the API, and what it may do."""

    user: str | None
    """None if the worker asks nobody who they are."""
    role: str
    """``viewer`` (reads), ``operator`` (also states of connectors) or ``editor`` (all)."""
    auth: str
    """How that is known: ``none``, ``basic`` or ``oidc``."""

    def may(self, role: str) -> bool:
        """Whether the user may do what takes this role."""
        return ROLES.index(self.role) >= ROLES.index(role)


ROLES = ("viewer", "operator", "editor")
"""Each may do what the ones before it may."""


def whoami() -> Operation[WhoAmI]:
    """`GET /whoami`."""
    return Operation("GET", "/whoami", model_reader(WhoAmI), is_addition=True)
