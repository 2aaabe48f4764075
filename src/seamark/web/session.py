"""What a page does for the user who opened it: asks the worker in his name, watches, acts, and says what came of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Generator, Hashable
from http import HTTPStatus
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

import httpx
from nicegui import Client, context, ui

from seamark.client import AsyncConnectClient, ClientError, Settings
from seamark.web.live import Feed, Live
from seamark.web.site import SCOPE_KEY, USER_KEY, Sessions, Site, User

log = logging.getLogger(__name__)

T = TypeVar("T")
ROLES: Final = ("viewer", "operator", "editor")
INTERVAL_S: Final = 2.0
FIRST_S: Final = 1.0
"""How long a page waits for its data before it is sent without: it fills itself then."""
_ATTRIBUTE: Final = "seamark_session"


class Session:
    """A page that is open in a browser.

    ::

        session = current()
        await session.watch("overview", session.client.overview, show)
        if await session.act(session.client.pause(name), f"{name} is being paused"):
            ...

    Attributes:
        site: of the worker.
        user: who looks.
        client: asks the worker, with the rights of the user.
    """

    def __init__(self, site: Site, user: User, page: Client) -> None:
        self.site, self.user, self._page = site, user, page
        auth = None if site.sessions is None else _Token(site.sessions, page.request.headers.get("cookie", ""))
        self.client = AsyncConnectClient(Settings(site.url, auth=auth, verify=site.verify, uses_environment=False))
        self._troubles: dict[Hashable, tuple[ClientError, float]] = {}
        self._tell: Callable[[ClientError | None, float], None] | None = None
        self._undo: list[Callable[[], None]] = []
        page.on_delete(self._end)

    # who may do what

    def may(self, role: str) -> bool:
        """Whether the user has the rights of a role."""
        return ROLES.index(self.user.role) >= ROLES.index(role) if self.user.role in ROLES else False

    def why_not(self, role: str) -> str | None:
        """Why the user may not do what takes a role; None if he may."""
        if self.may(role):
            return None
        return f"This needs the role {role}; {self.user.name or 'you'} has the role {self.user.role}."

    # addresses

    def href(self, *parts: str, **query: str) -> str:
        """The address of a page, as in ``href("connectors", name, "offsets")``; parts may hold any character."""
        path = "/".join(quote(part, safe="") for part in parts)
        text = "&".join(f"{key}={quote(value, safe='')}" for key, value in query.items() if value)
        return f"{self.site.root}/{path}" + (f"?{text}" if text else "")

    # looking

    async def watch(
        self,
        key: Hashable,
        fetch: Callable[[], Awaitable[T]],
        show: Callable[[T], None],
        *,
        interval_s: float = INTERVAL_S,
        on_error: Callable[[ClientError], bool] | None = None,
        is_always_shown: bool = False,
    ) -> Feed[T]:
        """Show something now and whenever it changes, for as long as the page is open.

        Args:
            key: of what is asked for: all pages of one login that watch the same key share the answers.
            fetch: asks.
            show: called in the page's context with each answer that differs from the one before.
            interval_s: between two questions.
            on_error: told of refusals; says whether it has shown them. Others are shown at the top of the page.
            is_always_shown: show an answer that is the same as the one before, too.
        """
        live = self.site.live = self.site.live or Live()
        feed: Feed[T] = live.feed((self.user, key), interval_s)
        shown: list[T] = []

        def look(feed: Feed[T]) -> None:
            if self._page.is_deleted:
                feed.unwatch(look)
                return
            with self._page:
                self._note(key, feed, on_error)
                value = feed.value
                is_new = is_always_shown or not shown or shown[0] != value
                if value is not None and feed.error is None and is_new:
                    shown[:] = [value]
                    show(value)

        feed.watch(look, fetch)
        self._undo.append(lambda: feed.unwatch(look))
        await feed.first(FIRST_S)
        look(feed)
        return feed

    def on_trouble(self, tell: Callable[[ClientError | None, float], None]) -> None:
        """Tell what is wrong with the worker and since when, and None when all is well again."""
        self._tell = tell

    def _note(self, key: Hashable, feed: Feed[Any], on_error: Callable[[ClientError], bool] | None) -> None:
        error = feed.error
        if error is not None and error.status == HTTPStatus.UNAUTHORIZED:
            # The session has ended: what is asked for anew is the page on which one logs in.
            ui.run_javascript("location.reload()")
            return
        if error is not None and on_error is not None and on_error(error):
            error = None
        before = dict(self._troubles)
        if error is None:
            self._troubles.pop(key, None)
        else:
            self._troubles[key] = error, feed.at or time.time()
        if self._tell is not None and before != self._troubles:
            self._tell(*next(iter(self._troubles.values()), (None, 0.0)))

    # acting

    async def act(self, work: Awaitable[Any], done: str | None = None) -> bool:
        """Do something, and say what came of it; whether it went well."""
        try:
            await work
        except ClientError as error:
            self.say(str(error), is_bad=True)
            return False
        if done:
            self.say(done)
        return True

    def say(self, text: str, *, is_bad: bool = False) -> None:
        """A short message that goes away by itself; one about a failure stays until it is closed."""
        if self._page.is_deleted:
            return
        with self._page:
            ui.notify(
                text,
                position="bottom-right",
                classes="sm-toast-bad" if is_bad else "sm-toast",
                timeout=0 if is_bad else 4000,
                close_button="Close" if is_bad else False,
                multi_line=len(text) > 80,
            )

    def _end(self) -> None:
        for undo in self._undo:
            undo()
        self._undo.clear()


def current() -> Session:
    """The session of the page that is being built or has sent an event."""
    page = context.client
    found = getattr(page, _ATTRIBUTE, None)
    if found is None:
        scope = page.request.scope
        found = Session(scope[SCOPE_KEY], scope[USER_KEY], page)
        setattr(page, _ATTRIBUTE, found)
    return cast(Session, found)


class _Token(httpx.Auth):
    """Acts for a user as long as the session lasts that the page was opened in. Tokens are short-lived, so each request
    gets a new one, with the role that the user has now.
    """

    def __init__(self, sessions: Sessions, cookies: str) -> None:
        self._sessions, self._cookies = sessions, cookies

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        user = self._sessions.user_of(self._cookies)
        if user is not None:
            request.headers["Authorization"] = f"Bearer {self._sessions.token_for(*user)}"
        yield request
