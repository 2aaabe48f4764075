"""TLS and SASL of a Kafka cluster, as a resource says it.

A worker's pod has the Secrets as files; connectors and workers refer to what is in them, so no password is in a
ConfigMap, in the config topic or in an answer of the REST API. The operator itself reads them where it has to look into
a secured Kafka (`with_secrets`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

DIRECTORY: Final = "/etc/seamark/secrets"
"""Where a worker's pod has Secrets, each in a folder of its name."""
_SECRETS: Final = {
    "config.providers.secrets.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
    "config.providers.secrets.param.allowed.paths": DIRECTORY,
}
_POD: Final = {
    "config.providers.pod.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.pod.param.allowlist.pattern": "POD_IP|POD_NAME",
}
_REFERENCE: Final = re.compile(rf"\$\{{secrets:{re.escape(DIRECTORY)}/([^:}}]+):([^}}]+)\}}")
_MECHANISMS: Final = {"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512"}
_MODULES: Final = {
    "plain": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def provider_config(others: str = "", *, has_secrets: bool) -> dict[str, str]:
    """A worker's settings for what its pod has.

    Args:
        others: config providers of its user, separated by commas.
        has_secrets: whether there are Secrets; without them the folder of the provider does not exist.
    """
    names = [*(["secrets"] if has_secrets else []), "pod", *([others] if others else [])]
    return {"config.providers": ",".join(names), **(_SECRETS if has_secrets else {}), **_POD}


def client_config(section: Mapping[str, Any]) -> dict[str, str]:
    """Kafka's client settings for `tls` and `authentication`; secrets are referred to."""
    tls, login = section.get("tls"), section.get("authentication") or {}
    kind = str(login.get("type", ""))
    settings: dict[str, str] = {}
    is_sasl = kind in _MECHANISMS
    if tls is not None or is_sasl:
        settings["security.protocol"] = ("SASL_" if is_sasl else "") + ("SSL" if tls is not None else "PLAINTEXT")
    certificates = [
        _reference(each["secretName"], each.get("certificate") or "ca.crt")
        for each in (tls or {}).get("trustedCertificates") or []
    ]
    if certificates:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "\n".join(certificates)}
    pair = login.get("certificateAndKey")
    if kind == "tls" and pair:
        settings |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _reference(pair["secretName"], pair["certificate"]),
            "ssl.keystore.key": _reference(pair["secretName"], pair["key"]),
        }
    if is_sasl:
        secret, user = login.get("passwordSecret") or {}, login.get("username", "")
        password = _reference(secret.get("secretName", ""), secret.get("password", "password"))
        settings |= {
            "sasl.mechanism": _MECHANISMS[kind],
            "sasl.jaas.config": f'{_MODULES[kind]} required username="{user}" password="{password}";',
        }
    return settings


def secrets_of(section: Mapping[str, Any]) -> list[str]:
    """The Secrets that a cluster needs, for the volumes of a pod."""
    found = [name for value in client_config(section).values() for name, _ in _references(value)]
    return list(dict.fromkeys(found))


def needed_secrets(settings: Mapping[str, str]) -> set[str]:
    """The Secrets that settings refer to."""
    return {name for value in settings.values() for name, _ in _references(value)}


def with_secrets(settings: Mapping[str, str], read: Callable[[str, str], str]) -> dict[str, str]:
    """The settings with what they refer to; `read` gives a value of a Secret."""
    return {key: _REFERENCE.sub(lambda match: read(match[1], match[2]), value) for key, value in settings.items()}


def _reference(secret: str, key: str) -> str:
    return f"${{secrets:{DIRECTORY}/{secret}:{key}}}"


def _references(value: str) -> Iterator[tuple[str, str]]:
    for match in _REFERENCE.finditer(value):
        yield match[1], match[2]
