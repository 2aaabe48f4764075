"""What this process signs for itself: cookies of the web page, and short-lived tokens with which the page asks REST.

A browser that has logged in (`POST /ui/session`) holds a cookie. It counts below ``/ui`` alone, REST never looks at it:
so a page of another site cannot make a browser change anything. The web page, which runs in the worker's process, asks
REST in the name of that user, with a token that it gets from `Sessions.token_for`::

    token = sessions.token_for(user, role)                # Authorization: Bearer <token>
    client = AsyncConnectClient(Settings(url, token=token))

Both are signed with a key that is made when the process starts and never leaves it: no other worker accepts them, and
they end with the process.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from seamark.rest.identity import Identity, Role

COOKIE: Final = "seamark_session"
COOKIE_PATH: Final = "/ui"
TOKEN_PREFIX: Final = "seamark."  # noqa: S105  # marks our own tokens, of which none is written here
TOKEN_LIFETIME_S: Final = 120.0
SESSION_LIFETIME_S: Final = 8 * 3600.0


class Sessions:
    """Signs and checks cookies and tokens. Thread-safe.

    Args:
        lifetime_s: of a cookie.
        clock: seconds since 1970.
    """

    def __init__(self, lifetime_s: float = SESSION_LIFETIME_S, *, clock: Callable[[], float] = time.time) -> None:
        self._key = secrets.token_bytes(32)
        self._lifetime_s, self._clock = lifetime_s, clock
        self._lock = threading.Lock()
        self._closed: dict[str, float] = {}
        self._open: dict[str, tuple[str | None, float]] = {}

    def token_for(self, user: str | None, role: str, *, auth: str = "basic", lifetime_s: float | None = None) -> str:
        """A token for REST requests in a user's name, which this process alone accepts, for two minutes."""
        expires_at = self._clock() + (TOKEN_LIFETIME_S if lifetime_s is None else lifetime_s)
        return TOKEN_PREFIX + self._sign("token", Identity(user, Role(role), auth, expires_at=expires_at))

    def identity_of(self, token: str) -> Identity | None:
        """Whose token it is; None if it is not one of ours, or is too old."""
        if not token.startswith(TOKEN_PREFIX):
            return None
        return self._read("token", token.removeprefix(TOKEN_PREFIX))

    def open(self, identity: Identity) -> str:
        """The value of a new session's cookie; it ends no later than the proof that the user has given."""
        expires_at = self._clock() + self._lifetime_s
        if identity.expires_at is not None:
            expires_at = min(expires_at, identity.expires_at)
        user = Identity(identity.user, identity.role, identity.auth, identity.stamp, expires_at)
        cookie, now = self._sign("session", user), self._clock()
        with self._lock:
            self._open = {mark: found for mark, found in self._open.items() if found[1] > now}
            self._open[_mark(cookie)] = identity.user, expires_at
        return cookie

    def is_in(self, user: str | None) -> bool:
        """Whether a user has a session that goes on."""
        now = self._clock()
        with self._lock:
            return any(name == user and until > now for name, until in self._open.values())

    def read(self, cookie: str) -> Identity | None:
        """Whose session it is; None if it is not one of ours, was closed, or is too old."""
        found = self._read("session", cookie)
        with self._lock:
            return None if found is None or _mark(cookie) in self._closed else found

    def close(self, cookie: str) -> None:
        """End a session: its cookie counts no more, wherever it was copied to."""
        found = self._read("session", cookie)
        if found is None or found.expires_at is None:
            return
        now = self._clock()
        with self._lock:
            self._closed = {mark: until for mark, until in self._closed.items() if until > now}
            self._closed[_mark(cookie)] = found.expires_at
            self._open.pop(_mark(cookie), None)

    def remaining_s(self, identity: Identity) -> int:
        """For how long a session goes on."""
        return max(0, int((identity.expires_at or 0) - self._clock()))

    def _sign(self, purpose: str, identity: Identity) -> str:
        content = {
            "user": identity.user,
            "role": identity.role.value,
            "auth": identity.auth,
            "stamp": identity.stamp,
            "until": identity.expires_at,
            "id": secrets.token_hex(8),
        }
        payload = _encoded(json.dumps(content, separators=(",", ":")).encode())
        return f"{payload}.{_encoded(self._mac(purpose, payload))}"

    def _read(self, purpose: str, text: str) -> Identity | None:
        payload, _, signature = text.partition(".")
        given = _decoded(signature)
        if given is None or not hmac.compare_digest(self._mac(purpose, payload), given):
            return None
        content: dict[str, Any] = json.loads(_decoded(payload) or b"{}")
        if content["until"] <= self._clock():
            return None
        return Identity(content["user"], Role(content["role"]), content["auth"], content["stamp"], content["until"])

    def _mac(self, purpose: str, payload: str) -> bytes:
        return hmac.digest(self._key, f"{purpose}\0{payload}".encode("utf-8", "surrogateescape"), "sha256")


def _mark(cookie: str) -> str:
    # What is signed: of the signature there are several texts that mean the same.
    return cookie.partition(".")[0]


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes | None:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
