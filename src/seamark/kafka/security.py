"""Java's SASL and TLS settings as librdkafka's, and as Python's for the few requests that librdkafka cannot make.

What cannot be carried over (a JKS store, an unknown login module) is refused with the way out. No secret appears in
an error.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from seamark.errors import ConfigError

_PASSED: Final = frozenset(
    {
        "sasl.kerberos.service.name",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.extensions",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
        "sasl.username",
        "sasl.password",
        "sasl.kerberos.principal",
        "sasl.kerberos.keytab",
        # librdkafka's own names, for those who write them
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.key.location",
        "ssl.key.pem",
        "ssl.key.password",
        "ssl.crl.location",
        "ssl.curves.list",
        "ssl.sigalgs.list",
        "ssl.providers",
        "ssl.engine.location",
        "enable.ssl.certificate.verification",
    }
)
_JAAS: Final = re.compile(
    r"^\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*?);?\s*$", re.DOTALL
)
_OPTION: Final = re.compile(r"([\w.]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\s;]+))", re.DOTALL)


def security_settings(java: Mapping[str, str]) -> dict[str, str]:
    """The security part of librdkafka's settings.

    Settings of a protocol that is not used are left out, as Java ignores them: a worker file may carry ``ssl.*`` for
    its REST port.
    """
    protocol = (java.get("security.protocol") or "PLAINTEXT").strip().upper()
    if protocol not in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
        raise ConfigError(
            f"Invalid value {protocol} for configuration security.protocol: "
            "use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
            key="security.protocol",
            value=protocol,
        )
    settings = {"security.protocol": protocol.lower()}
    if protocol.startswith("SASL"):
        settings.update(_sasl(java))
    if protocol.endswith("SSL"):
        settings.update(_tls(java))
    return settings


def _sasl(java: Mapping[str, str]) -> dict[str, str]:
    mechanism = (java.get("sasl.mechanism") or java.get("sasl.mechanisms") or "GSSAPI").strip()
    settings = {"sasl.mechanism": mechanism}
    settings.update({key: value for key, value in java.items() if key in _PASSED and key.startswith("sasl.")})
    jaas = java.get("sasl.jaas.config")
    if jaas:
        settings.update(_login(jaas, java))
    return settings


def _login(jaas: str, java: Mapping[str, str]) -> dict[str, str]:
    module, options = parse_jaas(jaas)
    kind = module.rsplit(".", 1)[-1]
    if kind in ("PlainLoginModule", "ScramLoginModule"):
        missing = [name for name in ("username", "password") if name not in options]
        if missing:
            raise ConfigError(
                f"sasl.jaas.config names {kind} without {' and '.join(missing)}; "
                'it needs username="..." password="...".',
                key="sasl.jaas.config",
            )
        return {"sasl.username": options["username"], "sasl.password": options["password"]}
    if kind == "OAuthBearerLoginModule":
        login = {"sasl.oauthbearer.method": "oidc"} if java.get("sasl.oauthbearer.token.endpoint.url") else {}
        names = {"clientId": "client.id", "clientSecret": "client.secret", "scope": "scope"}
        login.update(
            {f"sasl.oauthbearer.{ours}": options[theirs] for theirs, ours in names.items() if theirs in options}
        )
        return login
    if kind == "Krb5LoginModule":
        names = {
            "principal": "sasl.kerberos.principal",
            "keyTab": "sasl.kerberos.keytab",
            "serviceName": "sasl.kerberos.service.name",
        }
        return {ours: options[theirs] for theirs, ours in names.items() if theirs in options}
    raise ConfigError(
        f"sasl.jaas.config names the login module {module}, which has no equivalent here. Use PlainLoginModule, "
        "ScramLoginModule, OAuthBearerLoginModule or Krb5LoginModule.",
        key="sasl.jaas.config",
    )


def parse_jaas(jaas: str) -> tuple[str, dict[str, str]]:
    """The login module and its options in a JAAS line."""
    found = _JAAS.match(jaas)
    if found is None:
        raise ConfigError(
            "sasl.jaas.config cannot be read; it should be '<login module class> required <name>=\"<value>\" ...;'. "
            "Its value is not shown because it may hold a password.",
            key="sasl.jaas.config",
        )
    options = {}
    for name, double, single, bare in _OPTION.findall(found["options"]):
        options[name] = re.sub(r"\\(.)", r"\1", double or single) if (double or single) else bare
    return found["module"], options


def _tls(java: Mapping[str, str]) -> dict[str, str]:
    settings = {key: value for key, value in java.items() if key in _PASSED and not key.startswith("sasl.")}
    settings.update(_trust(java))
    settings.update(_identity(java))
    if "ssl.endpoint.identification.algorithm" in java:
        settings["ssl.endpoint.identification.algorithm"] = (
            java["ssl.endpoint.identification.algorithm"].strip().lower() or "none"
        )
    ciphers = java.get("ssl.cipher.suites", "")
    if ciphers and "TLS_" not in ciphers:  # Java's names of TLS 1.2 suites mean nothing to OpenSSL
        settings["ssl.cipher.suites"] = ciphers
    return settings


def _trust(java: Mapping[str, str]) -> dict[str, str]:
    kind = (java.get("ssl.truststore.type") or "JKS").strip().upper()
    inline, location = java.get("ssl.truststore.certificates"), java.get("ssl.truststore.location")
    if not inline and not location:
        return {}
    if kind != "PEM":
        raise ConfigError(
            f"A trust store of type {kind} cannot be read. Export its certificates to PEM "
            "(keytool -exportcert -rfc) and set ssl.truststore.type=PEM with ssl.truststore.location or "
            "ssl.truststore.certificates.",
            key="ssl.truststore.type",
            value=kind,
        )
    return {"ssl.ca.pem": inline} if inline else {"ssl.ca.location": str(location)}


def _identity(java: Mapping[str, str]) -> dict[str, str]:
    kind = (java.get("ssl.keystore.type") or "JKS").strip().upper()
    location, chain, key = (
        java.get("ssl.keystore.location"),
        java.get("ssl.keystore.certificate.chain"),
        java.get("ssl.keystore.key"),
    )
    if not location and not chain and not key:
        return {}
    password = {"ssl.key.password": java["ssl.key.password"]} if java.get("ssl.key.password") else {}
    if kind == "PEM":
        if chain and key:
            return {"ssl.certificate.pem": chain, "ssl.key.pem": key, **password}
        if location:  # Java keeps the key and its chain in one file
            return {"ssl.certificate.location": location, "ssl.key.location": location, **password}
        raise ConfigError(
            "A PEM key store needs either ssl.keystore.location or both ssl.keystore.key and "
            "ssl.keystore.certificate.chain.",
            key="ssl.keystore.type",
            value=kind,
        )
    if kind == "PKCS12" and location:
        stored = {"ssl.keystore.password": java["ssl.keystore.password"]} if java.get("ssl.keystore.password") else {}
        return {"ssl.keystore.location": location, **stored}
    raise ConfigError(
        f"A key store of type {kind} cannot be read. Convert it to PKCS12 (keytool -importkeystore "
        "-deststoretype PKCS12) or PEM and set ssl.keystore.type.",
        key="ssl.keystore.type",
        value=kind,
    )


def kafka_python_config(java: Mapping[str, str]) -> dict[str, Any]:
    """Settings for kafka-python's admin, which makes the requests that librdkafka's Python binding lacks."""
    settings = security_settings(java)
    config: dict[str, Any] = {
        "bootstrap_servers": [part.strip() for part in java.get("bootstrap.servers", "").split(",") if part.strip()],
        "security_protocol": settings["security.protocol"].upper(),
    }
    if java.get("client.id"):
        config["client_id"] = java["client.id"]
    if "sasl.mechanism" in settings:
        config["sasl_mechanism"] = settings["sasl.mechanism"]
    for ours, theirs in (("sasl.username", "sasl_plain_username"), ("sasl.password", "sasl_plain_password")):
        if ours in settings:
            config[theirs] = settings[ours]
    if config["security_protocol"].endswith("SSL"):
        config["ssl_context"] = _ssl_context(settings)
        config["ssl_check_hostname"] = config["ssl_context"].check_hostname
    return config


def _ssl_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    if "ssl.keystore.location" in settings:
        raise ConfigError(
            "Deleting a consumer group's offsets cannot use a PKCS12 key store; give the key and certificate as PEM.",
            key="ssl.keystore.type",
            value="PKCS12",
        )
    context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
    if settings.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    if settings.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    password = settings.get("ssl.key.password")
    if "ssl.certificate.location" in settings:
        context.load_cert_chain(settings["ssl.certificate.location"], settings.get("ssl.key.location"), password)
    elif "ssl.certificate.pem" in settings:
        with (
            TemporaryDirectory() as folder
        ):  # Python reads keys from files only; the directory is private and gone at once
            certificate, key = Path(folder, "certificate.pem"), Path(folder, "key.pem")
            certificate.write_text(settings["ssl.certificate.pem"], encoding="utf-8")
            key.write_text(settings["ssl.key.pem"], encoding="utf-8")
            context.load_cert_chain(certificate, key, password)
    return context
