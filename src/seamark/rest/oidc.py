"""Bearer tokens of an OpenID Connect provider: JWTs, checked with the keys that the provider publishes.

Only signatures with asymmetric keys count: ``none`` and HMAC are refused whatever a token's header says, and a key is
used with algorithms of its own kind alone. Keys are fetched when a token names one that is not known, not more often
than every few seconds, so a provider may replace its keys at any time.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError, ConnectError
from seamark.rest.identity import Identity, Role

log = logging.getLogger(__name__)

ALGORITHMS: Final[Mapping[str, tuple[str, ...]]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
FETCH_S: Final = 5.0
"""How long the provider may take to answer."""
REFETCH_S: Final = 5.0
"""Keys are not fetched more often, whatever tokens name."""
KEYS_S: Final = 600.0
"""After so long they are fetched again: a key that the provider has taken back is then not believed any more."""
REMEMBERED_S: Final = 60.0
MOST_REMEMBERED: Final = 10_000
MOST_BYTES: Final = 1024 * 1024
MOST_TOKEN: Final = 16 * 1024


class TokenError(ConnectError):
    """A token is not accepted."""


class KeysError(ConnectError):
    """The provider's keys are not to be had."""


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """What tokens have to say.

    Attributes:
        issuer: their `iss`.
        audience: their `aud` has one of these.
        jwks_url: where the keys are; None to look it up.
        user_claim: names the user; else `sub` does.
        roles_claim: has the user's roles; dots lead into objects.
        roles: which values stand for which role.
        skew_s: how far clocks may be apart.
    """

    issuer: str
    audience: Sequence[str]
    jwks_url: str | None
    user_claim: str
    roles_claim: str
    roles: Mapping[Role, frozenset[str]]
    skew_s: float

    @classmethod
    def of(cls, config: WorkerConfig) -> OidcSettings:
        """As the worker's settings say.

        Raises:
            ConfigError: one is missing.
        """
        for key in ("seamark.auth.oidc.issuer", "seamark.auth.oidc.audience"):
            if not config[key]:
                raise ConfigError(f"seamark.auth.type has oidc, so {key} must be set", key=key)
        for key in ("seamark.auth.oidc.issuer", "seamark.auth.oidc.jwks.url"):
            if config[key] and urlsplit(config[key]).scheme not in ("http", "https"):
                raise ConfigError(f"Invalid value {config[key]} for configuration {key}: should be a URL", key=key)
        roles = {
            role: frozenset(config[f"seamark.auth.oidc.roles.{role.value}"])
            for role in (Role.EDITOR, Role.OPERATOR, Role.VIEWER)
        }
        return cls(
            config["seamark.auth.oidc.issuer"],
            tuple(config["seamark.auth.oidc.audience"]),
            config["seamark.auth.oidc.jwks.url"],
            config["seamark.auth.oidc.user.claim"],
            config["seamark.auth.oidc.roles.claim"],
            roles,
            config["seamark.auth.oidc.clock.skew.ms"] / 1000,
        )


class OidcAuth:
    """Checks tokens. Thread-safe."""

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._keys = ProviderKeys(settings.issuer, settings.jwks_url, clock)
        self._lock = threading.Lock()
        self._found: OrderedDict[bytes, tuple[float, Identity]] = OrderedDict()

    def remembered(self, token: str) -> Identity | None:
        """The user of a token that was checked a moment ago."""
        with self._lock:
            until, identity = self._found.get(_mark(token), (0.0, None))
        if identity is None or self._clock() >= until:
            return None
        return identity if time.time() < (identity.expires_at or 0) + self._settings.skew_s else None

    def check(self, token: str) -> Identity:
        """The user of a token; may ask the provider for its keys. A user without a role has `Role.ANYONE`.

        Raises:
            TokenError: it is not accepted, and why.
            KeysError: nobody can tell, since the provider does not answer.
        """
        if len(token) > MOST_TOKEN:
            raise TokenError("it is too long")
        claims = self._claims(token)
        user = claims.get(self._settings.user_claim)
        if not isinstance(user, str) or not user:
            user = claims["sub"]
        identity = Identity(user, self._role(claims), "oidc", expires_at=float(claims["exp"]))
        with self._lock:
            self._found[_mark(token)] = (self._clock() + REMEMBERED_S, identity)
            while len(self._found) > MOST_REMEMBERED:
                self._found.popitem(last=False)
        return identity

    def _claims(self, token: str) -> dict[str, Any]:
        import jwt  # brings cryptography, 0.2 s that only workers with bearer tokens should spend

        settings = self._settings
        try:
            header = jwt.get_unverified_header(token)
            algorithm = header.get("alg")
            if not any(algorithm in names for names in ALGORITHMS.values()):
                raise TokenError(f"it is signed with {str(algorithm)[:20]!r}, which is not accepted")
            key = self._keys.get(header.get("kid"), str(algorithm))
            return jwt.decode(
                token,
                key,
                algorithms=[str(algorithm)],
                audience=list(settings.audience),
                issuer=settings.issuer,
                leeway=settings.skew_s,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise TokenError(str(error) or type(error).__name__) from error

    def _role(self, claims: Mapping[str, Any]) -> Role:
        found: Any = claims.get(self._settings.roles_claim)
        if found is None:
            found = claims
            for name in self._settings.roles_claim.split("."):
                found = found.get(name) if isinstance(found, Mapping) else None
        values = set(found.split()) | {found} if isinstance(found, str) else set()
        if isinstance(found, list):
            values = {each for each in found if isinstance(each, str)}
        return next((role for role, names in self._settings.roles.items() if values & names), Role.ANYONE)


class ProviderKeys:
    """The provider's keys, fetched when they are needed."""

    def __init__(self, issuer: str, jwks_url: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer, self._jwks_url, self._clock = issuer, jwks_url, clock
        self._lock = threading.Lock()
        self._keys: list[dict[str, Any]] = []
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._problem = ""

    def get(self, kid: Any, algorithm: str) -> Any:
        """The key that a token names, for one algorithm.

        Raises:
            TokenError: the provider has no such key.
            KeysError: the provider does not answer.
        """
        import jwt

        with self._lock:
            age = None if self._fetched_at is None else self._clock() - self._fetched_at
            if age is None or age > KEYS_S:
                self._fetch()
            found = self._matching(kid, algorithm)
            if len(found) != 1:
                self._fetch()
                found = self._matching(kid, algorithm)
            if not self._keys:
                raise KeysError(f"The keys of {self._issuer} cannot be had: {self._problem}")
        if len(found) != 1:
            raise TokenError("the issuer has no such key" if not found else "it does not say with which key")
        try:
            return jwt.PyJWK(found[0], algorithm=algorithm).key
        except jwt.PyJWTError as error:
            raise TokenError(f"the issuer's key is of no use: {error}") from error

    def _matching(self, kid: Any, algorithm: str) -> list[dict[str, Any]]:
        return [
            key
            for key in self._keys
            if (kid is None or key.get("kid") == kid)
            and algorithm in ALGORITHMS.get(str(key.get("kty")), ())
            and key.get("use", "sig") == "sig"
            and key.get("alg", algorithm) == algorithm
        ]

    def _fetch(self) -> None:
        now = self._clock()
        if self._tried_at is not None and now - self._tried_at < REFETCH_S:
            return
        self._tried_at = now
        try:
            keys = self._read(self._url())["keys"]
            # What is no asymmetric key is none that may ever check a signature here.
            self._keys = [key for key in keys if isinstance(key, dict) and key.get("kty") in ALGORITHMS]
            self._fetched_at = now
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
            self._problem = f"{type(error).__name__}: {error}"
            log.error("The keys of %s could not be fetched: %s", self._issuer, self._problem)

    def _url(self) -> str:
        if self._jwks_url is not None:
            return self._jwks_url
        document = self._read(self._issuer.rstrip("/") + "/.well-known/openid-configuration")
        if document.get("issuer") != self._issuer:
            raise ValueError(f"the discovery document is of the issuer {document.get('issuer')!r}")
        url = str(document["jwks_uri"])
        scheme, own = urlsplit(url).scheme, urlsplit(self._issuer).scheme
        if scheme != "https" and scheme != own:
            raise ValueError(f"the discovery document leads to {url!r}")
        return url

    def _read(self, url: str) -> dict[str, Any]:
        # Without TLS there is nothing to check, and reading all certificates takes longer than the request.
        http = httpx.Client(timeout=FETCH_S, follow_redirects=False, verify=not url.startswith("http://"))
        with http as client, client.stream("GET", url) as answer:
            answer.raise_for_status()
            content = bytearray()
            for chunk in answer.iter_bytes():
                content += chunk
                if len(content) > MOST_BYTES:
                    raise ValueError(f"the answer of {url} is too long")
            found = httpx.Response(200, content=bytes(content)).json()
        if not isinstance(found, dict):
            raise ValueError(f"the answer of {url} is no object")
        return found


def _mark(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
