"""The worker's keys about who may use the REST API and the web page, and for what."""

from __future__ import annotations

from typing import Any, Final

from seamark.config.configdef import Check, ConfigDef, Importance, Range, Type, ValidString
from seamark.errors import ConfigError

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW

BASIC_AUTH_EXTENSION: Final = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
_EXTENSION_NAMES: Final = frozenset(
    (BASIC_AUTH_EXTENSION, "BasicAuthSecurityRestExtension", "BasicAuthSecurity")  # the class, and Connect's aliases
)
TYPES: Final = ("none", "basic", "oidc")


def check_types(name: str, value: Any) -> None:
    """Validator of `seamark.auth.type`."""
    unknown = [item for item in value or () if item not in TYPES]
    if unknown or ("none" in (value or ()) and len(value) > 1):
        raise ConfigError(
            f"Invalid value {','.join(value)} for configuration {name}: should be none, basic, oidc or basic,oidc",
            key=name,
            value=value,
        )


def check_extensions(name: str, value: Any) -> None:
    """Validator of `rest.extension.classes`: one that is not there may be what keeps strangers out."""
    for item in value or ():
        if item not in _EXTENSION_NAMES:
            raise ConfigError(
                f"Invalid value {item} for configuration {name}: REST extensions are Java classes, which Seamark "
                f"cannot run; it has its own form of {BASIC_AUTH_EXTENSION} alone",
                key=name,
                value=item,
            )


def define_access(definition: ConfigDef) -> None:
    """Add the keys."""
    group = "Access"
    definition.define(
        "seamark.auth.type",
        Type.LIST,
        ["none"],
        validator=Check(check_types, "none, basic, oidc, or basic,oidc"),
        importance=HIGH,
        group=group,
        doc="How users of the REST API and of the web page show who they are: `basic` (name and password), `oidc` "
        "(bearer tokens of an identity provider), or both. With `none` everybody may do everything.",
    ).define(
        "seamark.auth.basic.users.file",
        Type.STRING,
        None,
        importance=HIGH,
        group=group,
        doc="The users of `basic`: lines `user:role:hash`, which `seamark auth add-user` writes. Changes count "
        "within seconds.",
    ).define(
        "seamark.auth.oidc.issuer",
        Type.STRING,
        None,
        importance=HIGH,
        group=group,
        doc="The issuer of tokens, as their `iss` claim has it: a URL. Its keys are found by discovery "
        "(`/.well-known/openid-configuration`) unless `seamark.auth.oidc.jwks.url` is set.",
    ).define(
        "seamark.auth.oidc.audience",
        Type.LIST,
        [],
        importance=HIGH,
        group=group,
        doc="Tokens must be meant for one of these: their `aud` claim. Required.",
    ).define(
        "seamark.auth.oidc.jwks.url",
        Type.STRING,
        None,
        importance=LOW,
        group=group,
        doc="Where the issuer's keys are, if it has no discovery document.",
    ).define(
        "seamark.auth.oidc.user.claim",
        Type.STRING,
        "preferred_username",
        importance=LOW,
        group=group,
        doc="The claim that names the user; a token without it is named by its `sub`.",
    ).define(
        "seamark.auth.oidc.roles.claim",
        Type.STRING,
        "roles",
        importance=MEDIUM,
        group=group,
        doc="The claim with the user's roles or groups, a text or a list; dots lead into objects, as in "
        "`realm_access.roles`.",
    ).define(
        "seamark.auth.oidc.roles.viewer",
        Type.LIST,
        ["viewer"],
        importance=MEDIUM,
        group=group,
        doc="Values of that claim that make a user a viewer: may read.",
    ).define(
        "seamark.auth.oidc.roles.operator",
        Type.LIST,
        ["operator"],
        importance=MEDIUM,
        group=group,
        doc="Values that make a user an operator: may also pause, resume, stop and restart.",
    ).define(
        "seamark.auth.oidc.roles.editor",
        Type.LIST,
        ["editor"],
        importance=MEDIUM,
        group=group,
        doc="Values that make a user an editor: may do everything. A user with none of these values is refused.",
    ).define(
        "seamark.auth.oidc.clock.skew.ms",
        Type.LONG,
        30_000,
        validator=Range.between(0, 600_000),
        importance=LOW,
        group=group,
        doc="How far the issuer's clock and this machine's may be apart.",
    ).define(
        "seamark.auth.metrics",
        Type.STRING,
        "viewer",
        validator=ValidString.of("open", "viewer"),
        importance=LOW,
        group=group,
        doc="Who may read `/metrics` if users are asked who they are: everybody, or viewers.",
    ).define(
        "seamark.auth.session.ms",
        Type.LONG,
        8 * 3600 * 1000,
        validator=Range.at_least(1000),
        importance=LOW,
        group=group,
        doc="For how long a login to the web page is good.",
    ).define(
        "seamark.auth.jaas.file",
        Type.STRING,
        None,
        importance=LOW,
        group=group,
        doc="The JAAS file of `rest.extension.classes`, with an entry `KafkaConnect`. Default: what "
        "`-Djava.security.auth.login.config=` in the environment variable `KAFKA_OPTS` says, as for a Java worker.",
    ).define(
        "rest.extension.classes",
        Type.LIST,
        [],
        validator=Check(check_extensions, "empty, or Kafka Connect's BasicAuthSecurityRestExtension"),
        importance=LOW,
        group=group,
        doc="Kafka Connect's way to basic authentication: its `BasicAuthSecurityRestExtension`, with a "
        "`PropertyFileLoginModule` in a JAAS file. Its users are editors. No other extension is known.",
    )
