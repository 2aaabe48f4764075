"""Names of the policies that say which client settings connectors may override."""

from __future__ import annotations

from typing import Final

from seamark.errors import ConfigError

POLICY_KEY: Final = "connector.client.config.override.policy"
ALLOWLIST_KEY: Final = "connector.client.config.override.allowlist"
POLICIES: Final = ("All", "None", "Principal", "Allowlist")
_CLASS: Final = "ConnectorClientConfigOverridePolicy"


def policy_name(text: str, key: str = POLICY_KEY) -> str:
    """One of `POLICIES`, from itself, Kafka's class or that class without its package.

    Raises:
        ConfigError: there is no such policy.
    """
    short = text.strip().removeprefix("org.apache.kafka.connect.connector.policy.").removesuffix(_CLASS)
    if short in POLICIES:
        return short
    raise ConfigError(
        f"Invalid value {text} for configuration {key}: use {', '.join(POLICIES)}, or Kafka's class of one of them "
        "(classes of one's own cannot run here)",
        key=key,
        value=text,
    )
