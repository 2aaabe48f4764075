"""A small OpenID provider on a port of the OS: discovery, keys, and tokens of all kinds, good and bad."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

AUDIENCE = "seamark"


class Key:
    """A key of the issuer."""

    def __init__(self, kid: str | None, algorithm: str = "RS256") -> None:
        self.kid, self.algorithm = kid, algorithm
        self.private: Any
        if algorithm.startswith(("RS", "PS")):
            self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        elif algorithm == "EdDSA":
            self.private = ed25519.Ed25519PrivateKey.generate()
        else:
            curve = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1()}[algorithm]
            self.private = ec.generate_private_key(curve)

    @property
    def public_pem(self) -> bytes:
        found: bytes = self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return found

    def jwk(self) -> dict[str, Any]:
        made = jwt.get_algorithm_by_name(self.algorithm)
        found: dict[str, Any] = made.to_jwk(self.private.public_key(), as_dict=True)
        return {**found, "use": "sig", **({} if self.kid is None else {"kid": self.kid})}


class Issuer:
    """Serves its documents until it is stopped; `fetched` counts requests for keys."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = []
        self.fetched = 0
        self.document: dict[str, Any] = {}
        self.is_broken = False
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content: Any = {"/keys": {"keys": issuer.keys}, "/.well-known/openid-configuration": issuer.document}
                found = content.get(self.path)
                issuer.fetched += self.path == "/keys"
                body = json.dumps(found).encode()
                self.send_response(500 if issuer.is_broken else 404 if found is None else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.document = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Of a good token, with changes; None takes one out."""
        now = int(time.time())
        found = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "u-1",
            "preferred_username": "vera",
            "roles": ["viewer"],
            "iat": now,
            "exp": now + 300,
            **changed,
        }
        return {name: value for name, value in found.items() if value is not None}

    def token(self, key: Key, **changed: Any) -> str:
        headers = {} if key.kid is None else {"kid": key.kid}
        return jwt.encode(self.claims(**changed), key.private, key.algorithm, headers)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
