"""A worker's page: where it is, whose it is, who may use it. Nothing here needs NiceGUI."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import ssl

    from seamark.web.live import Live

SCOPE_KEY: Final = "seamark.site"
USER_KEY: Final = "seamark.user"
ROOT: Final = "/ui"


@dataclass(frozen=True, slots=True)
class User:
    """Who looks at the page; without login everybody may do everything.

    Attributes:
        name: of the user.
        role: which decides what the user may do.
        session: tells the user's logins apart: one may end while others go on.
    """

    name: str | None = None
    role: str = "editor"
    session: str = ""


class Sessions(Protocol):
    """Knows who is logged in; see `seamark.rest`, which a page does not import."""

    def user_of(self, cookies: str) -> tuple[str, str] | None:
        """Name and role of the user whose session the Cookie header names; None if there is none."""

    def token_for(self, user: str, role: str) -> str:
        """A bearer token with which the page acts for a user, for a short time and in this process only."""


@dataclass(slots=True)
class Site:
    """What a worker's pages need to know of it.

    Attributes:
        url: of the worker's REST API, for a client on this machine.
        prefix: in front of ``/ui``, when several workers share an address.
        sessions: of users who are logged in; None if nobody has to be.
        others: names and addresses of the pages of all workers that share this address.
        verify: how the worker's certificate is checked, if `url` has https.
    """

    url: str
    prefix: str = ""
    sessions: Sessions | None = None
    others: dict[str, str] = field(default_factory=dict)
    live: Live | None = None
    verify: ssl.SSLContext | bool = True

    @property
    def root(self) -> str:
        """The address of the page's start, without a slash at its end."""
        return self.prefix + ROOT
