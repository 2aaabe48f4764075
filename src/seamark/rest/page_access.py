"""Logging in to the web page: `POST /ui/session` and `DELETE /ui/session`, and who a session's cookie belongs to.

The login page sends name and password as REST wants them, in ``Authorization: Basic`` (or a token in ``Bearer``), and
gets a cookie in return::

    const credentials = btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:${password}`)))
    await fetch("/ui/session", {method: "POST", headers: {Authorization: `Basic ${credentials}`}})

Wrong ones are answered with 401, without the header that would make a browser ask with a dialogue of its own. The
cookie is kept from scripts (`HttpOnly`) and from requests of other sites (`SameSite=Strict`).
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from seamark.rest.access import SESSION_PATH, Access
from seamark.rest.answers import Answer, Call, empty_answer, json_answer
from seamark.rest.endpoints import Endpoint
from seamark.rest.identity import Identity, Role
from seamark.rest.sessions import COOKIE, COOKIE_PATH


class SessionAnswer(BaseModel):
    """A login to the web page."""

    user: str | None
    role: str = Field(description="`viewer`, `operator` or `editor`")
    expires_in: int = Field(description="Seconds until one has to log in again")


class PageSessions:
    """What the web page asks about its users."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def user_of(self, cookies: str) -> tuple[str, str] | None:
        """Name and role, as they are now, of the user whose session a Cookie header names; None if there is none."""
        if self._access.lets_all_in:
            return "", Role.EDITOR.value
        found = session_of(self._access, cookies)
        return None if found is None else (found.user or "", found.role.value)

    def token_for(self, user: str, role: str) -> str:
        """A bearer token with which the page asks REST for a user, for a short time and in this process only.

        A page that stays open after its user has logged out, was removed or has lost a role gets no more than that
        user may do now: nothing, with a token that is refused.
        """
        sessions, auth = self._access.sessions, "basic" if self._access.has_passwords else "oidc"
        now = self._access.role_now(user, Role(role)) if sessions.is_in(user or None) else None
        if now is None:
            return sessions.token_for(user or None, Role.VIEWER, auth=auth, lifetime_s=0.0)
        return sessions.token_for(user or None, now, auth=auth)


def session_of(access: Access, cookies: str) -> Identity | None:
    """The user of a session, as it is now."""
    value = _cookie(cookies)
    found = None if value is None else access.sessions.read(value)
    return None if found is None else access.current(found)


def endpoints(access: Access) -> list[Endpoint]:
    """All endpoints of this module."""

    def log_in(call: Call) -> Answer:
        sessions = access.sessions
        value = sessions.open(call.identity)
        session = sessions.read(value) or call.identity
        shown = {
            "user": session.user,
            "role": session.role.value,
            "expires_in": sessions.remaining_s(session),
        }
        cookie = _set_cookie(call, value, sessions.remaining_s(session))
        return json_answer(shown, headers={"Set-Cookie": cookie, "Cache-Control": "no-store"})

    def log_out(call: Call) -> Answer:
        value = _cookie(call.headers.get("cookie", ""))
        if value is not None:
            access.sessions.close(value)
        found = empty_answer(204)
        return Answer(found.status, media_type=None, headers={"Set-Cookie": _set_cookie(call, "", 0)})

    return [
        Endpoint(
            "POST",
            SESSION_PATH,
            log_in,
            "Log in to the web page: its cookie, for credentials as REST wants them",
            {200: SessionAnswer},
            checks_content_type=False,
            tag="page",
            role=Role.VIEWER,
        ),
        Endpoint(
            "DELETE",
            SESSION_PATH,
            log_out,
            "Log out of the web page",
            {204: None},
            checks_content_type=False,
            tag="page",
            role=Role.ANYONE,
        ),
    ]


def _set_cookie(call: Call, value: str, lifetime_s: int) -> str:
    prefix = urlsplit(call.herder.rest_url or "").path.rstrip("/")
    parts = [f"{COOKIE}={value}", f"Path={prefix}{COOKIE_PATH}", f"Max-Age={lifetime_s}", "HttpOnly", "SameSite=Strict"]
    # What ends TLS in front of the worker says so. A stranger who says it makes only his own cookie safer.
    is_secure = call.base_url.startswith("https://") or call.headers.get("x-forwarded-proto", "").lower() == "https"
    return "; ".join([*parts, "Secure"] if is_secure else parts)


def _cookie(header: str) -> str | None:
    # Cookies of others at this host must not make ours unreadable, so one is looked at at a time.
    for part in header.split(";"):
        if part.strip().startswith(f"{COOKIE}="):
            try:
                found = SimpleCookie(part.strip()).get(COOKIE)
            except CookieError:
                continue
            if found is not None and found.value:
                return found.value
    return None
