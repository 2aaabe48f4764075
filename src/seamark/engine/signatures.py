"""Signatures of the requests between a worker and its tasks on executors."""

from __future__ import annotations

import hashlib
import hmac

SIGNATURE_HEADER = "X-Seamark-Signature"


def sign(key: bytes, path: str, body: bytes) -> str:
    """The signature of a request."""
    return hmac.new(key, path.encode() + b"\n" + body, hashlib.sha256).hexdigest()


def is_genuine(key: bytes, path: str, body: bytes, signature: str | None) -> bool:
    """Whether whoever signed knew the key."""
    return signature is not None and hmac.compare_digest(sign(key, path, body), signature)
