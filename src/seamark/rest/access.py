"""The one place that decides whether a request is carried out: who asks, and is that user's role enough?

`seamark.rest.app` asks it about every request before an endpoint sees it. While the worker is configured to ask nobody
who they are (the default), everybody is an editor and no request is treated in any other way than without this module.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from seamark.config.worker import WorkerConfig
from seamark.rest.answers import Answer, error_answer
from seamark.rest.basic_auth import BasicAuth, credentials_of
from seamark.rest.endpoints import Endpoint
from seamark.rest.failures import Failures
from seamark.rest.identity import NOBODY, READING, UNKNOWN, Identity, Role
from seamark.rest.oidc import KeysError, OidcAuth, OidcSettings, TokenError
from seamark.rest.origins import Origins
from seamark.rest.pool import DaemonPool
from seamark.rest.sessions import TOKEN_PREFIX, Sessions
from seamark.rest.signed_identity import HEADER, NotSignedError, SentOn, SignedIdentities
from seamark.runtime.herder import Herder

log = logging.getLogger(__name__)

JAVA_REFUSAL: Final = "User cannot access the resource."
MAX_THREADS: Final = 2
MOST_WAITING: Final = 32
"""Logins that may wait at a time for an address that has failed before; more are refused at once."""
SESSION_PATH: Final = "/ui/session"
_ID: Final = re.compile(r"[\w.:-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that is let in.

    Attributes:
        identity: of the user.
        client: the address that it came from, at first.
        request_id: names it in logs.
        sent_on: what the worker that has sent it on says of it; None if it comes from a client.
    """

    identity: Identity
    client: str
    request_id: str
    sent_on: SentOn | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that is not let in, and whose it is as far as that is known."""

    answer: Answer
    client: str
    request_id: str
    identity: Identity = UNKNOWN


class Access:
    """Lets requests in, or not.

    Raises:
        ConfigError: the settings do not go together, or a file cannot be read.
    """

    def __init__(self, config: WorkerConfig, herder: Herder) -> None:
        self._basic = BasicAuth.of(config)
        is_oidc = "oidc" in config["seamark.auth.type"]
        self._oidc = OidcAuth(OidcSettings.of(config)) if is_oidc else None
        self._is_java_like = bool(config["rest.extension.classes"]) and config["seamark.auth.type"] == ["none"]
        self._origins = Origins(config["access.control.allow.origin"] or "")
        self._is_metrics_open = config["seamark.auth.metrics"] == "open"
        self.sessions = Sessions(config["seamark.auth.session.ms"] / 1000)
        self.signed = SignedIdentities(herder)
        self._failures = Failures()
        self._waiting: Counter[str] = Counter()
        # Each kind on its own: one that waits for Kafka or an issuer must not hold up the others.
        self._passwords = DaemonPool("rest-passwords", MAX_THREADS)
        self._tokens = DaemonPool("rest-tokens", MAX_THREADS)
        self._workers = DaemonPool("rest-identities", MAX_THREADS)

    @property
    def is_on(self) -> bool:
        """Whether users are asked who they are."""
        return self._basic is not None or self._oidc is not None

    @property
    def has_passwords(self) -> bool:
        """Whether users may have a name and a password."""
        return self._basic is not None

    @property
    def lets_all_in(self) -> bool:
        """Whether nobody is asked although users could be: Kafka Connect's way with an empty file."""
        return self._basic is not None and self._basic.lets_all_in and self._oidc is None

    def role_for(self, endpoint: Endpoint) -> Role:
        """What a user needs to be before an endpoint is asked."""
        if endpoint.path == "/metrics" and self._is_metrics_open:
            return Role.ANYONE
        return endpoint.needs

    async def admit(
        self, needs: Role, method: str, target: str, headers: Mapping[str, str], client: str
    ) -> Admitted | Refused:
        """Whether a request is let in.

        Args:
            needs: what the user has to be.
            method: of the request.
            target: path and query, as they came.
            headers: lower-case names.
            client: the address that it comes from.
        """
        request_id = _request_id(headers)
        if not self.is_on:
            return Admitted(NOBODY, client, request_id)
        if method not in READING and not self._origins.allows(headers):
            log.warning("%s %s refused: a page of %.100r asks", method, target, headers.get("origin"))
            foreign = error_answer(403, "Requests from pages of this origin are not allowed")
            return Refused(foreign, client, request_id)
        if needs is Role.ANYONE:
            return Admitted(UNKNOWN, client, request_id)
        found = await self._identify(method, target, headers, client)
        if isinstance(found, Answer):
            return Refused(found, client, request_id)
        identity = found.identity if isinstance(found, SentOn) else found
        refusal = refusal_for(identity, needs, method, target)
        if refusal is not None:
            return Refused(refusal, client, request_id, identity)
        if isinstance(found, SentOn):
            return Admitted(identity, found.client, found.request_id, found)
        return Admitted(identity, client, request_id)

    def current(self, identity: Identity) -> Identity | None:
        """The user of a session as it is now; None if it has to log in again."""
        if identity.auth == "basic":
            return None if self._basic is None else self._basic.current(identity)
        return identity if self._oidc is not None else None

    def role_now(self, user: str, role: Role) -> Role | None:
        """What a user who has logged in with a role may do now, never more than then; None for nothing."""
        known = None if self._basic is None else self._basic.role_of(user)
        if known is None:
            return role if self._oidc is not None else None
        return known if role.allows(known) else role

    async def _identify(
        self, method: str, target: str, headers: Mapping[str, str], client: str
    ) -> Identity | SentOn | Answer:
        if HEADER in headers:
            try:
                return await self._workers.run(lambda: self.signed.read(headers[HEADER], method, target))
            except NotSignedError as error:
                log.warning("%s %s from %s refused: its %s does not count, %s", method, target, client, HEADER, error)
                return error_answer(403, f"The request's {HEADER} does not count: {error}")
        if self.lets_all_in:
            return NOBODY
        authorization = headers.get("authorization", "")
        kind, _, credentials = authorization.partition(" ")
        if kind.lower() == "bearer":
            return await self._bearer(target, credentials.strip(), client)
        pair = credentials_of(authorization)
        if pair is None or self._basic is None:
            return self._unauthorized(target, "Log in to use this worker")
        return self._basic.remembered(*pair) or await self._password(self._basic, target, *pair, client)

    async def _password(
        self, basic: BasicAuth, target: str, user: str, password: str, client: str
    ) -> Identity | Answer:
        if not await self._may_try(client):
            return _too_many()
        identity = await self._passwords.run(lambda: basic.check(user, password))
        if identity is None:
            self._failures.failed(client, user, "wrong name or password")
            return self._unauthorized(target, "Wrong name or password")
        self._failures.succeeded(client)
        return identity

    async def _bearer(self, target: str, token: str, client: str) -> Identity | Answer:
        if token.startswith(TOKEN_PREFIX):
            found = self.sessions.identity_of(token)
            return found or self._unauthorized(target, "The token is not valid any more", is_token_bad=True)
        oidc = self._oidc
        if oidc is None:
            return self._unauthorized(target, "This worker accepts no bearer tokens")
        remembered = oidc.remembered(token)
        if remembered is not None:
            return remembered
        if not await self._may_try(client):
            return _too_many()
        try:
            return await self._tokens.run(lambda: oidc.check(token))
        except TokenError as error:
            self._failures.failed(client, None, f"the token is not accepted, {error}")
            return self._unauthorized(target, "The token is not accepted", is_token_bad=True)
        except KeysError as error:
            log.error("A token could not be checked: %s", error)
            return error_answer(503, "The token cannot be checked now: its issuer does not answer")

    async def _may_try(self, client: str) -> bool:
        """Wait as long as earlier failures from there ask for; False if too many do."""
        delay_s = self._failures.delay_s(client)
        if not delay_s:
            return True
        if self._waiting[client] >= MOST_WAITING:
            return False
        self._waiting[client] += 1
        try:
            await asyncio.sleep(delay_s)
        finally:
            self._waiting[client] -= 1
            self._waiting += Counter()  # forgets those at zero
        return True

    def _unauthorized(self, target: str, message: str, *, is_token_bad: bool = False) -> Answer:
        if self._is_java_like:
            return Answer(401, JAVA_REFUSAL.encode())
        found = error_answer(401, message)
        # A browser would ask with a dialogue of its own, over the page that has asked already.
        if target.partition("?")[0] == SESSION_PATH:
            return found
        schemes = ['Basic realm="seamark", charset="UTF-8"'] if self._basic is not None else []
        if self._oidc is not None:
            schemes.append('Bearer realm="seamark"' + (', error="invalid_token"' if is_token_bad else ""))
        return Answer(found.status, found.content, headers={"WWW-Authenticate": ", ".join(schemes)})


def refusal_for(identity: Identity, needs: Role, method: str, target: str) -> Answer | None:
    """The answer to a user whose role is not enough; None if it is."""
    if identity.role.allows(needs):
        return None
    path = target.partition("?")[0]
    has = f"is {identity.role.value}" if identity.role is not Role.ANYONE else "has none"
    return error_answer(403, f"{method} {path} needs role {needs.value}; {identity.user} {has}")


def _too_many() -> Answer:
    found = error_answer(429, "Too many failed logins from this address: try again later")
    return Answer(found.status, found.content, headers={"Retry-After": "10"})


def _request_id(headers: Mapping[str, str]) -> str:
    given = headers.get("x-request-id", "")
    return given if _ID.fullmatch(given) else secrets.token_hex(8)
