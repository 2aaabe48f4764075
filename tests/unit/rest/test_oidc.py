"""Bearer tokens of a real issuer: those that count, and all that must not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import jwt
import pytest

from seamark.rest import oidc
from unit.rest.issuer import AUDIENCE, Issuer, Key

RSA, EC, ED, PSS = Key("rsa"), Key("ec", "ES256"), Key("ed", "EdDSA"), Key("pss", "PS256")


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    issuer.keys = [key.jwk() for key in (RSA, EC, ED, PSS)]
    yield issuer
    issuer.stop()


def settings(issuer: Issuer, **more: str) -> dict[str, str]:
    return {
        "seamark.auth.type": "oidc",
        "seamark.auth.oidc.issuer": issuer.url,
        "seamark.auth.oidc.audience": f"other,{AUDIENCE}",
        **{f"seamark.auth.oidc.{name}": value for name, value in more.items()},
    }


@pytest.fixture
def client(serve: Any, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> httpx.Client:
    monkeypatch.setattr("seamark.rest.failures.FIRST_DELAY_S", 0.0)
    found: httpx.Client = serve(settings(issuer))
    return found


def ask(client: httpx.Client, token: str) -> httpx.Response:
    return client.get("/whoami", headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("key", [RSA, EC, ED, PSS], ids=lambda key: key.algorithm)
def test_good_tokens(client: httpx.Client, issuer: Issuer, key: Key) -> None:
    assert ask(client, issuer.token(key)).json() == {"user": "vera", "role": "viewer", "auth": "oidc"}


def encoded(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def hmac_token(issuer: Issuer, secret: bytes, kid: str) -> str:
    """The old trick: a public key is no secret, so anybody can sign with it as if it were an HMAC's."""
    signed = f"{encoded({'alg': 'HS256', 'typ': 'JWT', 'kid': kid})}.{encoded(issuer.claims(roles=['editor']))}"
    return f"{signed}.{encoded(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


def bad_tokens(issuer: Issuer) -> dict[str, str]:
    now = int(time.time())
    good = issuer.token(RSA)
    head, payload, signature = good.split(".")
    nothing = encoded({"alg": "none", "kid": "rsa"})
    return {
        "wrong audience": issuer.token(RSA, aud="somebody-else"),
        "no audience": issuer.token(RSA, aud=None),
        "wrong issuer": issuer.token(RSA, iss="https://evil.example"),
        "no issuer": issuer.token(RSA, iss=None),
        "expired": issuer.token(RSA, exp=now - 31),
        "no expiry": issuer.token(RSA, exp=None),
        "not yet": issuer.token(RSA, nbf=now + 100),
        "issued in the future": issuer.token(RSA, iat=now + 100),
        "no subject": issuer.token(RSA, sub=None),
        "none": f"{nothing}.{payload}.",
        "None": f"{encoded({'alg': 'None', 'kid': 'rsa'})}.{payload}.",
        "none with a signature": f"{nothing}.{payload}.{signature}",
        "hmac with the public key": hmac_token(issuer, RSA.public_pem, "rsa"),
        "hmac with the jwk": hmac_token(issuer, json.dumps(RSA.jwk()).encode(), "rsa"),
        "hmac with nothing": hmac_token(issuer, b"", "rsa"),
        "another key of that name": issuer.token(Key("rsa")),
        "a key that is not known": issuer.token(Key("unknown")),
        "a key that is not named": issuer.token(Key(None)),
        "another algorithm of the same key": jwt.encode(issuer.claims(), EC.private, "ES256", {"kid": "rsa"}),
        "changed claims": f"{head}.{encoded(issuer.claims(roles=['editor']))}.{signature}",
        "without a signature": f"{head}.{payload}.",
        "key in the header": jwt.encode(
            issuer.claims(), (own := Key("own")).private, "RS256", {"kid": "own", "jwk": own.jwk()}
        ),
        "critical header": jwt.encode(issuer.claims(), RSA.private, "RS256", {"kid": "rsa", "crit": ["x"], "x": 1}),
        "a kid that is no text": f"{encoded({'alg': 'RS256', 'kid': ['rsa']})}.{payload}.{signature}",
        "no JSON": f"{encoded(b'x')}.{payload}.{signature}",
        "no JWT": "abc",
        "too long": good + "A" * 20_000,
    }


def test_bad_tokens(client: httpx.Client, issuer: Issuer, caplog: pytest.LogCaptureFixture) -> None:
    for what, token in bad_tokens(issuer).items():
        answer = ask(client, token)
        assert answer.status_code == 401, what
        assert answer.headers["www-authenticate"] == 'Bearer realm="seamark", error="invalid_token"', what
        assert answer.json() == {"error_code": 401, "message": "The token is not accepted"}
    assert "Login failed from 127.0.0.1" in caplog.text
    assert issuer.token(RSA)[:40] not in caplog.text, "no token in the log"
    assert ask(client, issuer.token(RSA)).status_code == 200


def test_a_symmetric_key_among_the_issuers_is_never_used(client: httpx.Client, issuer: Issuer) -> None:
    secret = b"s" * 32
    issuer.keys = [{"kty": "oct", "kid": "oct", "alg": "HS256", "k": encoded(secret)}, RSA.jwk()]
    assert ask(client, hmac_token(issuer, secret, "oct")).status_code == 401


def test_keys_for_encryption_are_not_for_signatures(client: httpx.Client, issuer: Issuer) -> None:
    issuer.keys = [{**RSA.jwk(), "use": "enc"}]
    assert ask(client, issuer.token(RSA)).status_code == 401


def test_clocks_may_differ_a_little(client: httpx.Client, issuer: Issuer) -> None:
    assert ask(client, issuer.token(RSA, exp=int(time.time()) - 10)).status_code == 200


def test_keys_are_replaced(client: httpx.Client, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(client, issuer.token(RSA)).status_code == 200
    fetched, new = issuer.fetched, Key("new")
    issuer.keys = [new.jwk()]
    # Not at once: a stranger must not be able to send us to the issuer with every token.
    assert [ask(client, issuer.token(Key("x"))).status_code for _ in range(3)] == [401] * 3
    assert issuer.fetched == fetched
    monkeypatch.setattr(oidc, "REFETCH_S", 0.0)
    assert ask(client, issuer.token(new)).status_code == 200
    assert ask(client, issuer.token(RSA, sub="fresh")).status_code == 401, "its key is gone"


def test_a_token_without_a_key_name_when_there_is_one_key(client: httpx.Client, issuer: Issuer) -> None:
    key = Key(None)
    issuer.keys = [key.jwk()]
    assert ask(client, issuer.token(key)).status_code == 200


def test_a_token_is_checked_once_and_ends_in_time(client: httpx.Client, issuer: Issuer) -> None:
    token = issuer.token(RSA)
    assert ask(client, token).status_code == 200
    issuer.stop()
    assert ask(client, token).status_code == 200
    assert ask(client, issuer.token(EC)).status_code == 200, "keys are kept"


def test_the_issuer_is_away(client: httpx.Client, issuer: Issuer) -> None:
    issuer.is_broken = True
    answer = ask(client, issuer.token(RSA))
    assert answer.status_code == 503
    assert issuer.url not in answer.text


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
    ],
)
def test_a_discovery_document_of_no_use(client: httpx.Client, issuer: Issuer, document: dict[str, Any]) -> None:
    issuer.document.update(document)
    assert ask(client, issuer.token(RSA)).status_code == 503


def test_keys_without_discovery(serve: Any, issuer: Issuer) -> None:
    client = serve(settings(issuer, **{"jwks.url": f"{issuer.url}/keys"}))
    issuer.document.clear()
    assert ask(client, issuer.token(RSA)).status_code == 200


# roles


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (["viewer"], "viewer"),
        (["x", "ops"], "operator"),
        (["viewer", "admin", "ops"], "editor"),
        ("admin", "editor"),
        ("openid ops", "operator"),
        (["vie", "viewers", 1, None], None),
        ([], None),
        (None, None),
        ({"viewer": True}, None),
    ],
)
def test_roles_by_claim(serve: Any, issuer: Issuer, roles: Any, expected: str | None) -> None:
    names = {"roles.claim": "realm.roles", "roles.operator": "ops", "roles.editor": "admin,root"}
    client = serve(settings(issuer, **names))
    answer = ask(client, issuer.token(RSA, roles=None, realm={"roles": roles}))
    if expected is None:
        assert answer.json() == {"error_code": 403, "message": "GET /whoami needs role viewer; vera has none"}
    else:
        assert answer.json()["role"] == expected


def test_claims_with_dots_in_their_names(serve: Any, issuer: Issuer) -> None:
    client = serve(settings(issuer, **{"roles.claim": "https://a.b/roles", "user.claim": "email"}))
    answer = ask(client, issuer.token(RSA, roles=None, **{"https://a.b/roles": ["editor"]}))
    assert answer.json() == {"user": "u-1", "role": "editor", "auth": "oidc"}


def test_a_session_of_the_page(serve: Any, issuer: Issuer) -> None:
    client = serve(settings(issuer))
    token = issuer.token(RSA, exp=int(time.time()) + 100)
    answer = client.post("/ui/session", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.json()["user"]) == (200, "vera")
    assert answer.json()["expires_in"] <= 100
