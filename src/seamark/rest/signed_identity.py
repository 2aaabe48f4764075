"""The user of a request that one worker sends on to another.

A worker that has let a user in sends that user's name and role along, in a header that is signed with the key that the
workers of the cluster share. The receiver believes nothing else: the signature is over the whole request (method,
address, body) and the time, and counts once. So a client that has seen such a header can do nothing with it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import httpx

from seamark.rest.identity import Identity, Role
from seamark.runtime.herder import Herder

log = logging.getLogger(__name__)

HEADER: Final = "x-seamark-identity"
VALID_MS: Final = 120_000
"""How long a signature counts, and how far the clocks of workers may be apart."""
REFRESH_S: Final = 2.0
_FORMER_KEY_S: Final = 120.0
_PURPOSE: Final = b"seamark identity 1"


class NotSignedError(Exception):
    """The header is not one that a worker of this cluster has made for this request."""


@dataclass(frozen=True, slots=True)
class SentOn:
    """Who a request comes from that another worker has sent on."""

    identity: Identity
    client: str
    request_id: str
    body_digest: str

    def is_about(self, body: bytes) -> bool:
        """Whether it was signed with this body."""
        return hmac.compare_digest(self.body_digest, _digest(body))


class SignedIdentities:
    """Signs and checks. Thread-safe."""

    def __init__(self, herder: Herder, clock: Callable[[], float] = time.time) -> None:
        self._herder, self._clock = herder, clock
        self._lock = threading.Lock()
        self._seen: dict[str, int] = {}
        self._forgotten_at = 0
        self._key: bytes | None = None
        self._former: tuple[bytes, float] | None = None
        self._refreshed_at = 0.0

    def headers(
        self, identity: Identity, client: str, request_id: str, method: str, url: str, body: bytes
    ) -> dict[str, str]:
        """The headers that make a request to another worker one of this user's; none without a key to sign with."""
        key = self._herder.session_key()
        if key is None:
            return {}
        content = {
            "user": identity.user,
            "role": identity.role.value,
            "auth": identity.auth,
            "client": client,
            "id": request_id,
            "method": method,
            "url": _canonical(url),
            "body": _digest(body),
            "at": int(self._clock() * 1000),
            "once": secrets.token_hex(16),
        }
        payload = base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).decode()
        return {HEADER: f"{payload}.{_mac(key, payload)}"}

    def read(self, header: str, method: str, target: str) -> SentOn:
        """Who a request comes from; may block.

        Args:
            header: as it came.
            method: of the request.
            target: path and query, as they came.

        Raises:
            NotSignedError: no worker has made it for this request, or it has been used.
        """
        payload, _, signature = header.partition(".")
        if not self._is_signed(payload, signature):
            raise NotSignedError("its signature is wrong")
        content: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload))
        now = int(self._clock() * 1000)
        if abs(now - content["at"]) > VALID_MS:
            raise NotSignedError("it is too old, or the clocks of the workers differ")
        own = (self._herder.rest_url or "").rstrip("/")
        if content["method"] != method or content["url"] != own + target:
            raise NotSignedError("it is of another request")
        if not self._is_first(content["once"], now):
            raise NotSignedError("it was used before")
        identity = Identity(content["user"], Role(content["role"]), content["auth"])
        return SentOn(identity, content["client"], content["id"], content["body"])

    def _is_signed(self, payload: str, signature: str) -> bool:
        given = signature.encode("latin-1", "replace")
        return any(hmac.compare_digest(_mac(key, payload).encode(), given) for key in self._keys()) or any(
            hmac.compare_digest(_mac(key, payload).encode(), given) for key in self._fresh_keys()
        )

    def _keys(self) -> list[bytes]:
        """The key, and for a while after it was replaced the one before: the sender may not have read the new one."""
        key, now = self._herder.session_key(), time.monotonic()
        with self._lock:
            if key is not None and key != self._key:
                self._former = None if self._key is None else (self._key, now + _FORMER_KEY_S)
                self._key = key
            former = self._former[0] if self._former is not None and now < self._former[1] else None
        return [each for each in (key, former) if each is not None]

    def _fresh_keys(self) -> list[bytes]:
        """The key may have been replaced a moment ago; strangers cannot make us read it all the time."""
        with self._lock:
            now = time.monotonic()
            if self._key is None or now - self._refreshed_at < REFRESH_S:
                return []
            self._refreshed_at = now
        try:
            self._herder.session_key(is_fresh=True)
        except Exception as error:  # Kafka is away, for one: then the signature counts as wrong
            log.warning("The key of the workers could not be read again: %s", error)
            return []
        return self._keys()

    def _is_first(self, once: str, now: int) -> bool:
        with self._lock:
            if now - self._forgotten_at > VALID_MS:
                self._seen = {each: until for each, until in self._seen.items() if until > now}
                self._forgotten_at = now
            if once in self._seen:
                return False
            self._seen[once] = now + 2 * VALID_MS
            return True


def _canonical(url: str) -> str:
    """As it is sent, so as the receiver sees it."""
    parsed = httpx.URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode()}{parsed.raw_path.decode()}"


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _mac(key: bytes, payload: str) -> str:
    # A key of its own, so that no signature of one kind passes for one of another.
    own = hmac.digest(key, _PURPOSE, "sha256")
    data = payload.encode("utf-8", "surrogateescape")
    return base64.urlsafe_b64encode(hmac.digest(own, data, "sha256")).decode()
