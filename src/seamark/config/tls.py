"""TLS of the REST API: what a worker shows those who connect, and whom it believes.

As in Kafka Connect, a setting that begins with ``listeners.https.`` makes all unprefixed ``ssl.*`` settings not count
for ``listeners``, and so does ``admin.listeners.https.`` for ``admin.listeners``; unprefixed ones may then be those of
Kafka's clients alone. A worker that asks another one uses the same settings as its listeners.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Final

from seamark.config.key_stores import KeyPair, pem_of, read_key_store, read_trust_store
from seamark.config.pinning import pinned_context
from seamark.config.providers import Providers
from seamark.config.tls_keys import ADMIN_PREFIX, LISTENERS_PREFIX
from seamark.errors import ConfigError

CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
__all__ = ["ADMIN_PREFIX", "LISTENERS_PREFIX", "Tls"]
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_SUITE: Final = re.compile(r"TLS_(?P<exchange>[A-Z_]+)_WITH_(?P<cipher>[A-Z0-9_]+)")


class Tls:
    """The settings, read once: files that change later do not count.

    Raises:
        ConfigError: a store cannot be read, or a setting is not acceptable.
    """

    def __init__(self, properties: Mapping[str, str], prefix: str = LISTENERS_PREFIX) -> None:
        self._settings, self._where = _settings(properties, prefix)
        self._pair = read_key_store(self._settings, self._where)
        self._trusted = read_trust_store(self._settings, self._where)

    @property
    def pair(self) -> KeyPair | None:
        """What this worker shows."""
        return self._pair

    def server_context(self) -> ssl.SSLContext:
        """For a listener.

        Raises:
            ConfigError: there is no key store, or clients are asked for certificates that nothing could be held
                against.
        """
        if self._pair is None:
            raise ConfigError(
                f"A listener with https needs a key store: set {self._where}ssl.keystore.location, or "
                f"{self._where}ssl.keystore.key with {self._where}ssl.keystore.certificate.chain",
                key=f"{self._where}ssl.keystore.location",
            )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._limit(context)
        self._pair.load_into(context)
        wanted = (self._settings.get("ssl.client.auth") or "none").strip().lower()
        if wanted not in CLIENT_AUTH:
            raise ConfigError(
                f"Invalid value {wanted} for configuration {self._where}ssl.client.auth: use none, requested or "
                "required",
                key=f"{self._where}ssl.client.auth",
                value=wanted,
            )
        if wanted != "none":
            if not self._trusted:
                raise ConfigError(
                    f"{self._where}ssl.client.auth={wanted} needs a trust store with those who vouch for clients: set "
                    f"{self._where}ssl.truststore.location or {self._where}ssl.truststore.certificates",
                    key=f"{self._where}ssl.truststore.location",
                )
            context.load_verify_locations(cadata=pem_of(self._trusted))
        context.verify_mode = CLIENT_AUTH[wanted]
        return context

    def client_context(self) -> ssl.SSLContext:
        """For requests to other workers: without a trust store the system's certificates count."""
        context = ssl.create_default_context(cadata=pem_of(self._trusted) if self._trusted else None)
        if not self._settings.get("ssl.endpoint.identification.algorithm", "https").strip():
            context.check_hostname = False
        return self._with_identity(context)

    def own_context(self) -> ssl.SSLContext:
        """For requests of this process to its own listener, under whatever name: its own certificate alone counts."""
        if self._pair is None:
            raise ConfigError("There is no key store", key=f"{self._where}ssl.keystore.location")
        return self._with_identity(pinned_context(self._pair.certificate_pem))

    def _with_identity(self, context: ssl.SSLContext) -> ssl.SSLContext:
        self._limit(context)
        if self._pair is not None:
            self._pair.load_into(context)
        return context

    def _limit(self, context: ssl.SSLContext) -> None:
        names = [each.strip() for each in (self._settings.get("ssl.enabled.protocols") or "").split(",")]
        wanted = [name for name in names if name] or list(_VERSIONS)
        unknown = [name for name in wanted if name not in _VERSIONS]
        if unknown:
            key = f"{self._where}ssl.enabled.protocols"
            raise ConfigError(
                f"Invalid value {', '.join(unknown)} for configuration {key}: use {', '.join(_VERSIONS)}",
                key=key,
                value=", ".join(unknown),
            )
        versions = sorted(_VERSIONS[name] for name in wanted)
        context.minimum_version, context.maximum_version = versions[0], versions[-1]
        suites = [each.strip() for each in (self._settings.get("ssl.cipher.suites") or "").split(",") if each.strip()]
        old = [_openssl_name(each) for each in suites if "_WITH_" in each or not each.startswith("TLS_")]
        if old:
            try:
                context.set_ciphers(":".join(old))
            except ssl.SSLError as error:
                key = f"{self._where}ssl.cipher.suites"
                raise ConfigError(
                    f"Invalid value for configuration {key}: none of {', '.join(suites)} is known", key=key
                ) from error


def _settings(properties: Mapping[str, str], prefix: str) -> tuple[dict[str, str], str]:
    """By names without the prefix, and the prefix that they had."""
    own = {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
    found = own or {key: value for key, value in properties.items() if key.startswith("ssl.")}
    providers = Providers.of(properties)
    try:
        resolved = providers.resolve(found)
    finally:
        providers.close()
    return {key: value for key, value in resolved.items() if value is not None}, prefix if own else ""


def _openssl_name(suite: str) -> str:
    """OpenSSL's name of a cipher suite of TLS 1.2, from Java's: TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 and so on."""
    match = _SUITE.fullmatch(suite)
    if match is None:
        return suite
    cipher = re.sub(r"(AES|CAMELLIA|ARIA)_(\d+)", r"\1\2", match["cipher"]).replace("AES256_CBC", "AES256")
    cipher = cipher.replace("AES128_CBC", "AES128").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    exchange = "" if match["exchange"] == "RSA" else match["exchange"] + "_"
    return (exchange + cipher).replace("_", "-")
