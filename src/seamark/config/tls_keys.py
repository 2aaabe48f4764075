"""The worker's keys for TLS of its REST API. `seamark.config.tls` reads what they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seamark.config.configdef import ConfigDef, Importance, Type, ValidString

LISTENERS_PREFIX: Final = "listeners.https."
ADMIN_PREFIX: Final = "admin.listeners.https."


def as_prefixed(properties: Mapping[str, str]) -> dict[str, str]:
    """The settings of the listeners in a form in which no ``ssl.*`` of Kafka's clients can be taken for theirs."""
    names = ("listeners", "rest.advertised.")
    rest = {key: value for key, value in properties.items() if key.startswith(names)}
    if not any(key.startswith(LISTENERS_PREFIX) for key in rest):
        own = {key: value for key, value in properties.items() if key.startswith("ssl.")}
        rest |= {LISTENERS_PREFIX + key: value for key, value in own.items()}
    return rest


def define_tls(definition: ConfigDef) -> None:
    """The keys, for the worker's configuration and its reference page."""
    low, group = Importance.LOW, "TLS of REST"
    texts = {
        "ssl.keystore.location": "A PEM or PKCS12 file with the private key and the certificate chain of listeners "
        "with https; workers show it to each other, too.",
        "ssl.keystore.type": "`PEM` or `PKCS12`. Default: what the file looks like. A JKS file has to be converted.",
        "ssl.truststore.location": "A PEM or PKCS12 file with certificates to trust, of clients and of other workers. "
        "Default for other workers: those that the system trusts.",
        "ssl.truststore.type": "`PEM` or `PKCS12`. Default: what the file looks like.",
        "ssl.keystore.certificate.chain": "The certificate chain as PEM, instead of `ssl.keystore.location`.",
        "ssl.truststore.certificates": "Certificates to trust as PEM, instead of `ssl.truststore.location`.",
        "ssl.enabled.protocols": "`TLSv1.2` and `TLSv1.3`, or one of them. Default: both.",
        "ssl.cipher.suites": "Cipher suites of TLS 1.2, by Java's or OpenSSL's names. Default: OpenSSL's choice. Those "
        "of TLS 1.3 are always all allowed.",
        "ssl.endpoint.identification.algorithm": "Empty: the names of other workers are not compared with those in "
        "their certificates.",
    }
    secret = {
        "ssl.keystore.password": "Of a PKCS12 key store.",
        "ssl.key.password": "Of an encrypted private key in PEM.",
        "ssl.keystore.key": "The private key as PEM, with `ssl.keystore.certificate.chain`.",
        "ssl.truststore.password": "Of a PKCS12 trust store.",
    }
    for name, doc in texts.items():
        default = "https" if name == "ssl.endpoint.identification.algorithm" else None
        definition.define(name, Type.STRING, default, importance=low, group=group, doc=doc)
    for name, doc in secret.items():
        definition.define(name, Type.PASSWORD, None, importance=low, group=group, doc=doc)
    definition.define(
        "ssl.client.auth",
        Type.STRING,
        "none",
        validator=ValidString.of("none", "requested", "required"),
        importance=low,
        group=group,
        doc="Whether clients have to show a certificate that the trust store vouches for: `none`, `requested` (they "
        "may) or `required`. With `listeners.https.` in front, these keys are for `listeners` alone, and the ones "
        "without it for Kafka's clients alone; with `admin.listeners.https.`, for `admin.listeners`.",
    )
