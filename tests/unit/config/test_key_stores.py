"""Stores as workers' files name them, read from real files."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from fixtures.authority import PASSWORD, Authority, Issued
from seamark.config.key_stores import read_key_store, read_trust_store
from seamark.config.tls import ADMIN_PREFIX, Tls
from seamark.errors import ConfigError


def stores(issued: Issued) -> dict[str, dict[str, str]]:
    one_line = issued.chain_pem.replace("\n", " ")
    return {
        "PEM": {"ssl.keystore.location": str(issued.pem), "ssl.keystore.type": "PEM"},
        "PEM, type not given": {"ssl.keystore.location": str(issued.pem)},
        "encrypted PEM": {"ssl.keystore.location": str(issued.encrypted_pem), "ssl.key.password": PASSWORD},
        "inline": {"ssl.keystore.key": issued.key_pem, "ssl.keystore.certificate.chain": issued.chain_pem},
        "in one line": {"ssl.keystore.key": issued.key_pem, "ssl.keystore.certificate.chain": one_line},
        "PKCS12": {
            "ssl.keystore.location": str(issued.p12),
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.password": PASSWORD,
        },
        "PKCS12 that is called JKS": {
            "ssl.keystore.location": str(issued.p12),
            "ssl.keystore.type": "JKS",
            "ssl.keystore.password": PASSWORD,
        },
    }


def test_every_kind_of_key_store_gives_the_same_key(worker_identity: Issued) -> None:
    for kind, settings in stores(worker_identity).items():
        pair = read_key_store(settings)
        assert pair is not None, kind
        assert pair.chain[0] == worker_identity.certificate, kind
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pair.load_into(context)
    assert read_key_store({}) is None


def test_what_is_wrong_with_a_store_is_said(worker_identity: Issued, authority: Authority, tmp_path: Path) -> None:
    jks, empty = tmp_path / "store.jks", tmp_path / "empty.pem"
    jks.write_bytes(b"\xfe\xed\xfe\xed" + bytes(64))
    empty.write_text("")
    other = authority.issue("other")
    p12, pem = str(worker_identity.p12), str(worker_identity.pem)
    cases: list[tuple[dict[str, str], str]] = [
        ({"ssl.keystore.location": str(jks)}, "deststoretype PKCS12"),
        ({"ssl.keystore.location": str(tmp_path / "none")}, "No such file"),
        ({"ssl.keystore.location": str(empty)}, "PKCS12"),
        ({"ssl.keystore.location": pem, "ssl.keystore.type": "PKCS12"}, "looks like PEM"),
        ({"ssl.keystore.location": pem, "ssl.keystore.type": "BKS"}, "use PEM or PKCS12"),
        ({"ssl.keystore.location": p12, "ssl.keystore.password": "wrong"}, "password is wrong"),
        ({"ssl.keystore.location": str(worker_identity.encrypted_pem)}, "the key is encrypted"),
        ({"ssl.keystore.location": str(authority.file)}, "no private key"),
        ({"ssl.keystore.key": other.key_pem}, "certificate chain"),
        (
            {"ssl.keystore.key": other.key_pem, "ssl.keystore.certificate.chain": worker_identity.chain_pem},
            "not that of the private key",
        ),
    ]
    for settings, said in cases:
        with pytest.raises(ConfigError, match=said) as caught:
            read_key_store(settings, "listeners.https.")
        assert (caught.value.key or "").startswith("listeners.https.ssl.key"), settings
        assert PASSWORD not in str(caught.value)
        assert "PRIVATE" not in str(caught.value)


def test_trust_stores(worker_identity: Issued, authority: Authority) -> None:
    inline, file = {"ssl.truststore.certificates": authority.pem}, {"ssl.truststore.location": str(authority.file)}
    assert read_trust_store(inline) == read_trust_store(file) == [authority.certificate]
    assert read_trust_store({}) == []
    with pytest.raises(ConfigError, match="no PEM certificate"):
        read_trust_store({"ssl.truststore.certificates": "none"})


def test_stores_that_java_has_made(authority: Authority, tmp_path: Path) -> None:
    keytool = shutil.which("keytool")
    if keytool is None:
        pytest.skip("there is no keytool")
    trust, old = tmp_path / "trust.p12", tmp_path / "trust.jks"
    for store, kind in ((trust, "PKCS12"), (old, "JKS")):
        subprocess.run(
            [keytool, "-importcert", "-noprompt", "-alias", "ca", "-file", str(authority.file), "-keystore", str(store),
             "-storetype", kind, "-storepass", PASSWORD],
            check=True, capture_output=True,
        )  # fmt: skip
    settings = {"ssl.truststore.location": str(trust), "ssl.truststore.password": PASSWORD}
    assert read_trust_store(settings) == [authority.certificate]
    with pytest.raises(ConfigError, match="keytool -importkeystore"):
        read_trust_store({**settings, "ssl.truststore.location": str(old), "ssl.truststore.type": "JKS"})


def test_prefixed_settings_replace_all_others(worker_identity: Issued, authority: Authority, tmp_path: Path) -> None:
    other = authority.issue("other")
    plain = {"ssl.keystore.location": str(worker_identity.pem), "ssl.truststore.certificates": authority.pem}
    prefixed = {"listeners.https.ssl.keystore.location": str(other.pem)}
    assert Tls(plain).pair is not None
    found = Tls({**plain, **prefixed})
    assert found.pair is not None
    assert found.pair.chain[0] == other.certificate
    admin = Tls({**plain, **prefixed}, ADMIN_PREFIX).pair
    assert admin is not None
    assert admin.chain[0] == worker_identity.certificate
    with pytest.raises(ConfigError, match=r"listeners.https.ssl.truststore.location"):
        Tls({**plain, **prefixed, "listeners.https.ssl.client.auth": "required"}).server_context()
    secret = tmp_path / "password.properties"
    secret.write_text(f"password={PASSWORD}\n")
    provided = {
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "ssl.keystore.location": str(worker_identity.p12),
        "ssl.keystore.password": f"${{file:{secret}:password}}",
    }
    assert Tls(provided).pair is not None


def test_protocols_and_cipher_suites(worker_identity: Issued) -> None:
    store = {"ssl.keystore.location": str(worker_identity.pem)}
    only = Tls({**store, "ssl.enabled.protocols": "TLSv1.2"}).server_context()
    assert (only.minimum_version, only.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
    suites = (
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,TLS_AES_128_GCM_SHA256"
    )
    chosen = Tls({**store, "ssl.cipher.suites": suites}).server_context().get_ciphers()
    old = {each["name"] for each in chosen if not each["name"].startswith("TLS_")}
    assert old == {"ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"}
    for wrong in ({"ssl.enabled.protocols": "TLSv1.1"}, {"ssl.cipher.suites": "NONE_OF_THESE"}):
        with pytest.raises(ConfigError):
            Tls({**store, **wrong}).server_context()
