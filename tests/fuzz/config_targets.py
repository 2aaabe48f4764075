"""Parsers of configurations: files, values, positions, patterns."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from typing import Any

from fuzz.target import Target, of_file, of_text, scratch, text_of
from seamark.config.connector_files import INITIAL_STATES, ConnectorFile, read_connector_file
from seamark.config.jaas import LoginModule, parse_jaas_file
from seamark.config.java_regex import PatternSyntaxError, Replacement, compile_pattern
from seamark.config.key_stores import pem_of, read_key_store, read_trust_store
from seamark.config.parsing import Type, parse_type, to_text
from seamark.config.passwords import ROLES, User, check_user_name, parse_users
from seamark.config.positions import PositionError, PositionRule, parse_rule
from seamark.config.properties import dump_properties, load_properties, read_properties
from seamark.config.providers import EnvVarConfigProvider, FileConfigProvider, Providers
from seamark.config.rest_keys import parse_header_rules
from seamark.config.timestamps import parse_timestamp_ms
from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError
from seamark.runtime.version_ranges import VersionRange

_RFC_3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?"
    r"([Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)


def _check_properties(data: bytes, found: dict[str, str]) -> None:
    assert load_properties(dump_properties(found)) == found, "it does not survive being written"
    assert all(isinstance(each, str) for pair in found.items() for each in pair)


def _check_connector(data: bytes, found: ConnectorFile) -> None:
    assert isinstance(found.name, str)
    assert found.config["name"] == found.name, "two names"
    assert all(isinstance(key, str) and isinstance(value, str | None) for key, value in found.config.items())
    assert found.initial_state is None or found.initial_state in INITIAL_STATES.values()


def _check_rule(data: bytes, found: PositionRule) -> None:
    assert parse_rule(str(found)) == found, f"it reads otherwise as it prints: {found}"


def _check_time(data: bytes, found: int) -> None:
    parts = _RFC_3339.fullmatch(text_of(data))
    assert parts is not None, "that is no RFC 3339 time"
    seconds = calendar.timegm(tuple(map(int, parts.group(1, 2, 3, 4, 5, 6))))
    if parts[9]:
        hours, minutes = int(parts[10]), int(parts[11])
        seconds -= (hours * 60 + minutes) * 60 * (-1 if parts[9] == "-" else 1)
    fraction = float(parts[7] or 0)
    assert abs(found - (seconds + fraction) * 1000) <= 1, "that is another time"


def _numbers_and_more(text: str) -> dict[Type, Any]:
    found = {}
    for kind in Type:
        try:
            found[kind] = parse_type("key", text, kind)
        except ConfigError as error:
            assert str(error)
    return found


def _check_values(data: bytes, found: dict[Type, Any]) -> None:
    for kind, value in found.items():
        if kind is not Type.LIST:  # whose members may have blanks inside
            assert value != value or parse_type("key", to_text(value), kind) == value, f"{kind} {value!r}"
    for kind, bits in ((Type.SHORT, 16), (Type.INT, 32), (Type.LONG, 64)):
        if kind in found:
            assert re.fullmatch(r"[+-]?[0-9]+", text_of(data).strip()), f"no {kind}"
            assert -(2 ** (bits - 1)) <= found[kind] < 2 ** (bits - 1)


def _check_pattern(data: bytes, found: re.Pattern[str]) -> None:
    re.compile(found.pattern, found.flags)
    plain = text_of(data)
    if re.fullmatch(r"[a-z0-9_]+", plain):
        assert found.fullmatch(plain), "a word does not match itself"


def _replacement(text: str) -> str:
    pattern, _, replacement = text.partition("\n")
    return Replacement(replacement).first(compile_pattern(pattern), "orders-2026.eu")


def _check_jaas(data: bytes, found: dict[str, list[LoginModule]]) -> None:
    for modules in found.values():
        assert all(module.flag in ("required", "requisite", "sufficient", "optional") for module in modules)


def _check_users(data: bytes, found: dict[str, User]) -> None:
    for user in found.values():
        check_user_name(user.name)
        assert user.role in ROLES


def _references(text: str) -> dict[str, str | None]:
    """References to a file and the environment, neither of which has what a made-up key asks for."""
    (scratch() / "secrets.properties").write_text("password=s3cret\n")
    file, environment = FileConfigProvider(), EnvVarConfigProvider({"HOME": "/home/kafka"})
    file.configure({"allowed.paths": str(scratch())})
    environment.configure({})
    providers = Providers({"file": file, "env": environment})
    return providers.resolve({"key": text.replace("SCRATCH", str(scratch()))})


def _check_version_range(data: bytes, found: VersionRange | None) -> None:
    if found is not None:
        assert isinstance(found.contains("4.2.0"), bool)


def _trust_store(text: str) -> list[Any]:
    return read_trust_store({"ssl.truststore.certificates": text, "ssl.truststore.type": "PEM"})


def _check_certificates(data: bytes, found: list[Any]) -> None:
    if found:
        assert read_trust_store({"ssl.truststore.certificates": pem_of(found), "ssl.truststore.type": "PEM"}) == found


def _key_store(kind: str) -> Callable[[bytes], Any]:
    def parse(data: bytes) -> Any:
        path = scratch() / "store"
        path.write_bytes(data)
        settings = {"ssl.keystore.location": str(path), "ssl.keystore.type": kind, "ssl.keystore.password": "secret"}
        return read_key_store(settings)

    return parse


TARGETS = (
    Target(
        "properties",
        of_file(read_properties),
        (ConfigError,),
        _check_properties,
        (b"\\u00e9", b"\\\n", b"\\\r\n", b"!", b"#", b"\f"),
    ),
    Target(
        "connector-file",
        of_file(read_connector_file),
        (ConfigError,),
        _check_connector,
        (b'"name"', b'"config"', b'"initial_state"', b'"STOPPED"', b"name=", b'{"name":"x"}'),
    ),
    Target(
        "position",
        of_text(parse_rule),
        (PositionError,),
        _check_rule,
        (b"earliest", b"latest", b"-2h", b"-1d12h", b"+100", b"orders:3=", b"*=", b"2026-05-01T12:00:00Z", b"w", b"s"),
    ),
    Target(
        "timestamp",
        of_text(parse_timestamp_ms),
        (ValueError,),
        _check_time,
        (b"2026-05-01T12:00:00Z", b"+23:59", b"-99:99", b".999999999", b"T24:00:00", b"0000", b":60", b"z"),
    ),
    Target(
        "config-value",
        of_text(_numbers_and_more),
        (),
        _check_values,
        (b"true", b"1.5f", b"0x1p3", b"1d", b"+", b" , ", b"NaNf", b"-Infinity"),
    ),
    Target(
        "java-regex",
        of_text(compile_pattern),
        (PatternSyntaxError,),
        _check_pattern,
        (
            b"(?<name>",
            b"(?i)",
            b"(?x-i:",
            b"\\Q",
            b"\\E",
            b"\\p{L}",
            b"\\P{Lu}",
            b"\\x{10ffff}",
            b"\\x{110000}",
            b"\\k<name>",
            b"\\1",
            b"[a-z&&[^b]]",
            b"[^",
            b"&&",
            b"{2,}",
            b"{5,2}",
            b"{99999999999}",
            b"\\R",
            b"\\cA",
            b"\\0377",
            b"(?<=",
            b"(?<!a*)",
            b"(?>",
            b"*+",
            b"??",
            b"\\z",
            b"\\u0041",
            b"\\N",
            b"|",
        ),
    ),
    Target(
        "java-replacement",
        of_text(_replacement),
        (PatternSyntaxError, ValueError, IndexError),
        None,
        (b"(\\w+)-(?<year>\\d+)", b"\n", b"$1", b"${year}", b"\\$", b"$", b"${", b"$99999999999"),
    ),
    Target(
        "jaas",
        of_text(lambda text: parse_jaas_file(text, "jaas.conf")),
        (ConfigError,),
        _check_jaas,
        (b"KafkaConnect {", b"required", b'file="x";', b"};", b"//", b"/*", b"*/", b"'", b'"\\""'),
    ),
    Target(
        "users",
        of_text(lambda text: parse_users(text, "users")),
        (ConfigError,),
        _check_users,
        (b"viewer", b"admin", b":", b"scrypt$16384$8$1$", b"$", b"#"),
    ),
    Target(
        "config-references",
        of_text(_references),
        (ConfigError,),
        None,
        (b"${file:SCRATCH/secrets.properties:password}", b"${env:HOME}", b"${", b"}", b"${env:", b"${file::x}", b"../"),
    ),
    Target(
        "worker-properties",
        of_text(lambda text: WorkerConfig(load_properties(text))),
        (ConfigError,),
        None,
        (b"offset.flush.interval.ms=", b"seamark.lease.ms=", b"listeners=", b"tasks=", b"true", b"config.providers="),
    ),
    Target("header-rules", of_text(parse_header_rules), (ConfigError,), None, (b"set", b"add", b"setDate", b"X-A: b")),
    Target(
        "trust-store-pem", of_text(_trust_store), (ConfigError,), _check_certificates, (b"-----BEGIN CERTIFICATE-----",)
    ),
    Target("key-store-pem", _key_store("PEM"), (ConfigError,), None, (b"-----BEGIN PRIVATE KEY-----",)),
    Target("key-store-pkcs12", _key_store("PKCS12"), (ConfigError,)),
    Target(
        "version-range", of_text(VersionRange.parse), (ConfigError,), _check_version_range, (b"latest", b"[4.0,5.0)")
    ),
)
