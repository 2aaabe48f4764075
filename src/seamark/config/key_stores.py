"""Key stores and trust stores: a certificate with its key, and certificates to trust, as Java workers name them.

PEM (in files, or written into the configuration) and PKCS12 are read. A file of type JKS is refused: it is a format of
Java's own. As in Java, a store that is said to be JKS, or of which nothing is said, may in fact be PKCS12.
"""

from __future__ import annotations

import re
import secrets
import ssl
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509.oid import NameOID

from seamark.errors import ConfigError

PEM: Final = "PEM"
PKCS12: Final = "PKCS12"
JKS: Final = "JKS"
TYPES: Final = (PEM, PKCS12, JKS)
_JAVA_MAGIC: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_CONVERT: Final = (
    "keytool -importkeystore -srckeystore {file} -destkeystore {file}.p12 -deststoretype PKCS12 converts it"
)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A private key and its certificate, with those that vouch for it behind it."""

    key: Any = field(repr=False)
    chain: Sequence[x509.Certificate]

    @property
    def certificate_pem(self) -> str:
        """The certificate alone."""
        return self.chain[0].public_bytes(Encoding.PEM).decode()

    def load_into(self, context: ssl.SSLContext) -> None:
        """Make it what the owner of the context shows."""
        # Python reads keys from files only. The directory is private and gone at once, and the key in it is encrypted
        # with a password that nobody has written down.
        password = secrets.token_hex(32)
        with tempfile.TemporaryDirectory(prefix="seamark-tls-") as folder:
            file = Path(folder, "identity.pem")
            encryption = BestAvailableEncryption(password.encode())
            content = [self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)]
            file.write_bytes(b"".join(content + [each.public_bytes(Encoding.PEM) for each in self.chain]))
            context.load_cert_chain(file, password=password)


def new_identity(name: str = "seamark") -> KeyPair:
    """A key with a certificate that nobody vouches for: for those who are told of it in another way."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # clocks differ
        .not_valid_after(now + timedelta(days=3650))  # longer than any process
        .sign(key, hashes.SHA256())
    )
    return KeyPair(key, (certificate,))


def read_key_store(settings: Mapping[str, str], where: str = "") -> KeyPair | None:
    """The key and certificate of ``ssl.keystore.*``; None if the settings name none.

    Args:
        settings: by names without a prefix.
        where: the prefix that the names have, for messages.

    Raises:
        ConfigError: they cannot be read, or do not belong together.
    """
    location, chain, key = (
        settings.get("ssl.keystore.location"),
        settings.get("ssl.keystore.certificate.chain"),
        settings.get("ssl.keystore.key"),
    )
    if chain or key:
        if location:
            raise _wrong(where, "ssl.keystore.location", f"give it or {where}ssl.keystore.key, not both")
        if not (chain and key):
            missing = "ssl.keystore.key" if chain else "ssl.keystore.certificate.chain"
            raise _wrong(where, missing, "a key needs its certificate chain, and a chain its key")
        _check_inline_type(settings, "keystore", where)
        return _pem_pair(settings, key, chain, where)
    if not location:
        return None
    kind, content = _read(settings, "keystore", location, where)
    if kind == PKCS12:
        return _pkcs12_pair(settings, content, location, where)
    text = _decoded(content, location, where)
    return _pem_pair(settings, text, text, where)


def read_trust_store(settings: Mapping[str, str], where: str = "") -> list[x509.Certificate]:
    """The certificates of ``ssl.truststore.*``; none if the settings name none.

    Raises:
        ConfigError: they cannot be read, or there are none in the store.
    """
    location, inline = settings.get("ssl.truststore.location"), settings.get("ssl.truststore.certificates")
    if inline:
        if location:
            raise _wrong(where, "ssl.truststore.location", f"give it or {where}ssl.truststore.certificates, not both")
        _check_inline_type(settings, "truststore", where)
        return _certificates(inline, f"{where}ssl.truststore.certificates")
    if not location:
        return []
    kind, content = _read(settings, "truststore", location, where)
    if kind == PEM:
        return _certificates(_decoded(content, location, where), f"{where}ssl.truststore.location", location)
    store = _pkcs12(content, settings.get("ssl.truststore.password"), "ssl.truststore.password", location, where)
    found = [each.certificate for each in store.additional_certs]
    if store.cert is not None:
        found.append(store.cert.certificate)
    if not found:
        raise _wrong(where, "ssl.truststore.location", f"there is no certificate in {location}")
    return found


def pem_of(certificates: Iterable[x509.Certificate]) -> str:
    """As one text."""
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)


def _check_inline_type(settings: Mapping[str, str], store: str, where: str) -> None:
    key = f"ssl.{store}.type"
    if settings.get(key) and settings[key].strip().upper() != PEM:
        raise _wrong(where, key, f"what is written into the configuration is PEM, not {settings[key]}")


def _read(settings: Mapping[str, str], store: str, location: str, where: str) -> tuple[str, bytes]:
    """The true type of a file, and its content."""
    key = f"ssl.{store}.location"
    try:
        content = Path(location).read_bytes()
    except OSError as error:
        raise _wrong(where, key, f"{location} cannot be read: {error.strerror or error}") from error
    given = (settings.get(f"ssl.{store}.type") or "").strip().upper()
    if given and given not in TYPES:
        raise _wrong(where, f"ssl.{store}.type", f"{given} is not known; use PEM or PKCS12")
    if content.startswith(_JAVA_MAGIC):
        how = _CONVERT.format(file=location)
        raise _wrong(where, key, f"{location} is a JKS store, which only Java reads; {how}")
    found = PEM if b"-----BEGIN " in content else PKCS12
    if given and found != (PKCS12 if given == JKS else given):
        raise _wrong(where, f"ssl.{store}.type", f"{location} is not {given}, it looks like {found}")
    return found, content


def _pem_pair(settings: Mapping[str, str], key_text: str, chain_text: str, where: str) -> KeyPair:
    keys = [block for kind, block in _blocks(key_text) if kind.endswith("PRIVATE KEY")]
    if not keys:
        raise _wrong(where, "ssl.keystore.key", "there is no private key in the PEM key store")
    password = settings.get("ssl.key.password") or None
    try:
        key = load_pem_private_key(keys[0].encode(), None if password is None else password.encode())
    except TypeError as error:
        reason = "it must be given, the key is encrypted" if password is None else "the key is not encrypted"
        raise _wrong(where, "ssl.key.password", reason) from error
    except ValueError as error:
        raise _wrong(where, "ssl.key.password", "the private key cannot be read, or the password is wrong") from error
    return _checked(key, _certificates(chain_text, f"{where}ssl.keystore.certificate.chain"), where)


def _pkcs12_pair(settings: Mapping[str, str], content: bytes, location: str, where: str) -> KeyPair:
    store = _pkcs12(content, settings.get("ssl.keystore.password"), "ssl.keystore.password", location, where)
    if store.key is None or store.cert is None:
        raise _wrong(where, "ssl.keystore.location", f"there is no private key with its certificate in {location}")
    others = [each.certificate for each in store.additional_certs]
    return _checked(store.key, _ordered(store.cert.certificate, others), where)


def _pkcs12(
    content: bytes, password: str | None, key: str, location: str, where: str
) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(content, password.encode() if password else None)
    except ValueError as error:
        raise _wrong(where, key, f"{location} is not PKCS12, or the password is wrong") from error


def _ordered(certificate: x509.Certificate, others: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    """Each followed by the one that vouches for it, whatever order the store has."""
    chain, left = [certificate], list(others)
    while issuer := next((each for each in left if each.subject == chain[-1].issuer), None):
        chain.append(issuer)
        left.remove(issuer)
    return chain


def _checked(key: Any, chain: Sequence[x509.Certificate], where: str) -> KeyPair:
    def public(of: Any) -> bytes:
        found: bytes = of.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return found

    if public(key) != public(chain[0]):
        raise _wrong(where, "ssl.keystore", "the first certificate is not that of the private key")
    return KeyPair(key, tuple(chain))


def _certificates(text: str, key: str, location: str = "") -> list[x509.Certificate]:
    shown = f" in {location}" if location else ""
    try:
        found = [
            x509.load_pem_x509_certificate(block.encode()) for kind, block in _blocks(text) if kind == "CERTIFICATE"
        ]
    except ValueError as error:
        raise ConfigError(
            f"Invalid value for configuration {key}: a certificate{shown} is damaged: {error}", key=key
        ) from error
    if not found:
        raise ConfigError(f"Invalid value for configuration {key}: there is no PEM certificate{shown}", key=key)
    return found


def _blocks(text: str) -> list[tuple[str, str]]:
    """The parts of a PEM text; one that was written in a single line, as properties files have it, is broken up."""
    found = []
    for kind, content in _BLOCK.findall(text):
        body = (
            content.strip() if "\n" in content.strip() else "\n".join(re.findall(".{1,64}", re.sub(r"\s", "", content)))
        )
        found.append((kind, f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n"))
    return found


def _decoded(content: bytes, location: str, where: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _wrong(where, "ssl.keystore.location", f"{location} is not a PEM file: {error}") from error


def _wrong(where: str, key: str, reason: str) -> ConfigError:
    return ConfigError(f"Invalid value for configuration {where}{key}: {reason}", key=where + key)
