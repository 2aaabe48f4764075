"""Requests from worker to worker: signed with the cluster's session key, and checked.

The leader makes a session key, writes it to the config topic and replaces it from time to time. A worker signs the body
of an internal request with the key that it has read, and the worker that is asked checks the signature with the key
that it has read. Signature and algorithm travel in two headers, the same that Java workers send and understand.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError
from seamark.runtime.herder import InternalRequest, RestError
from seamark.storage.config_records import SessionKey

SIGNATURE_HEADER: Final = "X-Connect-Authorization"
SIGNATURE_ALGORITHM_HEADER: Final = "X-Connect-Request-Signature-Algorithm"

MISSING_SIGNATURE: Final = "Internal request missing required signature"
INVALID_SIGNATURE: Final = "Internal request contained invalid signature."
NO_SESSION_KEY: Final = (
    "This worker is still starting up and has not been able to read a session key from the config topic yet"
)

_BAD_REQUEST: Final = 400
_FORBIDDEN: Final = 403
_UNAVAILABLE: Final = 503

# Java's name, in upper case -> (Python's hash, bits of a key that is generated without a size).
_ALGORITHMS: Final[dict[str, tuple[str, int]]] = {
    "HMACMD5": ("md5", 512),
    "HMACSHA1": ("sha1", 512),
    "HMACSHA224": ("sha224", 224),
    "HMACSHA256": ("sha256", 256),
    "HMACSHA384": ("sha384", 384),
    "HMACSHA512": ("sha512", 512),
    "HMACSHA512/224": ("sha512_224", 224),
    "HMACSHA512/256": ("sha512_256", 256),
    "HMACSHA3-224": ("sha3_224", 224),
    "HMACSHA3-256": ("sha3_256", 256),
    "HMACSHA3-384": ("sha3_384", 384),
    "HMACSHA3-512": ("sha3_512", 512),
}
_LEAST_KEY_BITS: Final = 40  # Java's generators refuse less
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


@dataclass(frozen=True, slots=True)
class InternalRequests:
    """How this worker signs internal requests and which signatures it accepts.

    Raises:
        ConfigError: an algorithm is not known, the key is too small, or this worker would not accept its own signature.
    """

    key_algorithm: str = "HmacSHA256"
    key_size: int | None = None
    """In bits; None takes what is usual for the algorithm."""
    key_ttl_ms: int = 3_600_000
    """After this time the leader makes a new key; 0 stands for never."""
    signature_algorithm: str = "HmacSHA256"
    verification_algorithms: Sequence[str] = ("HmacSHA256",)

    def __post_init__(self) -> None:
        _check_algorithm("inter.worker.key.generation.algorithm", self.key_algorithm)
        _check_algorithm("inter.worker.signature.algorithm", self.signature_algorithm)
        for algorithm in self.verification_algorithms:
            _check_algorithm("inter.worker.verification.algorithms", algorithm)
        if self.signature_algorithm not in self.verification_algorithms:
            raise ConfigError(
                f"Invalid value {self.signature_algorithm} for configuration inter.worker.signature.algorithm: "
                "Signature algorithm must be present in inter.worker.verification.algorithms list",
                key="inter.worker.signature.algorithm",
                value=self.signature_algorithm,
            )
        if self.key_size is not None and self.key_size < _LEAST_KEY_BITS:
            raise ConfigError(
                f"Unable to create key generator with algorithm {self.key_algorithm} and key size {self.key_size}: "
                f"Key length must be at least {_LEAST_KEY_BITS} bits",
                key="inter.worker.key.size",
                value=self.key_size,
            )

    @classmethod
    def of(cls, config: WorkerConfig) -> InternalRequests:
        """As the worker's ``inter.worker.*`` settings say."""
        return cls(
            key_algorithm=config["inter.worker.key.generation.algorithm"],
            key_size=config["inter.worker.key.size"],
            key_ttl_ms=config["inter.worker.key.ttl.ms"],
            signature_algorithm=config["inter.worker.signature.algorithm"],
            verification_algorithms=tuple(config["inter.worker.verification.algorithms"]),
        )

    def new_key(self, now_ms: int) -> SessionKey:
        """A new session key, for the leader to write to the config topic."""
        return SessionKey(secrets.token_bytes(self._key_bytes), self.key_algorithm, now_ms)

    def must_replace(self, key: SessionKey | None, now_ms: int) -> bool:
        """Whether the leader has to make a new key: there is none, it is too old, or the settings ask for another."""
        if key is None:
            return True
        is_expired = self.key_ttl_ms > 0 and key.creation_timestamp + self.key_ttl_ms <= now_ms
        return is_expired or key.algorithm != self.key_algorithm or len(key.key) != self._key_bytes

    def sign(self, body: bytes | None, key: SessionKey) -> dict[str, str]:
        """The headers that make a request with this body an internal one."""
        return {
            SIGNATURE_HEADER: base64.b64encode(_mac(self.signature_algorithm, key.key, body or b"")).decode(),
            SIGNATURE_ALGORITHM_HEADER: self.signature_algorithm,
        }

    def verify(self, request: InternalRequest, key: SessionKey | None) -> None:
        """Returns if another worker of this cluster has sent the request.

        Raises:
            RestError: 400 if it is not signed in a way that this worker knows, 403 if the signature is wrong, 503 if
                this worker has no key yet.
        """
        algorithm, signature = request.algorithm, request.signature
        if algorithm is None or signature is None:
            raise RestError(_BAD_REQUEST, MISSING_SIGNATURE)
        if algorithm.upper() not in _ALGORITHMS:
            raise RestError(_BAD_REQUEST, f"Algorithm {algorithm} not available")
        decoded = _base64_decoded(signature)
        if algorithm not in self.verification_algorithms:
            raise RestError(
                _BAD_REQUEST,
                f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. "
                f"This worker is currently configured to use: [{', '.join(self.verification_algorithms)}]. "
                "Check that all workers' configuration files permit the same set of signature algorithms, "
                "and correct any misconfigured worker and restart it.",
            )
        if key is None:
            raise RestError(_UNAVAILABLE, NO_SESSION_KEY)
        if not hmac.compare_digest(_mac(algorithm, key.key, request.body), decoded):
            raise RestError(_FORBIDDEN, INVALID_SIGNATURE)

    @property
    def _key_bytes(self) -> int:
        bits = self.key_size or _ALGORITHMS[self.key_algorithm.upper()][1]
        return (bits + 7) // 8


def _check_algorithm(setting: str, algorithm: str) -> None:
    if algorithm.upper() not in _ALGORITHMS:
        raise ConfigError(
            f"Invalid value {algorithm} for configuration {setting}: the algorithm is not supported by this worker; "
            f"the supported algorithms are: [{', '.join(_ALGORITHMS)}] (in any case)",
            key=setting,
            value=algorithm,
        )


def _mac(algorithm: str, key: bytes, body: bytes) -> bytes:
    return hmac.digest(key, body, _ALGORITHMS[algorithm.upper()][0])


def _base64_decoded(text: str) -> bytes:
    """What Java's strict decoder makes of it, with its errors: padding may be missing, nothing may follow it."""
    data = text.encode("latin-1", "replace")
    if len(data) == 1:
        raise RestError(_BAD_REQUEST, "Input byte[] should at least have 2 bytes for base64 bytes")
    length = next((at for at, byte in enumerate(data) if byte not in _BASE64), len(data))
    pending, end = length % 4, length
    if length < len(data):
        if data[length] != ord("="):
            signed = data[length] - 256 if data[length] > 127 else data[length]
            raise RestError(_BAD_REQUEST, f"Illegal base64 character {signed:x}")
        is_short = pending == 2 and data[length + 1 : length + 2] != b"="
        if pending == 0 or is_short:
            raise RestError(_BAD_REQUEST, "Input byte array has wrong 4-byte ending unit")
        end = length + (2 if pending == 2 else 1)
    if pending == 1:
        raise RestError(_BAD_REQUEST, "Last unit does not have enough valid bits")
    if end < len(data):
        raise RestError(_BAD_REQUEST, f"Input byte array has incorrect ending byte at {end}")
    return base64.b64decode(data[:length] + b"=" * (-length % 4))
