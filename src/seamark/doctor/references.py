"""References to config providers."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.config.providers import Providers


def resolved(worker: Mapping[str, str], config: Mapping[str, str]) -> dict[str, str]:
    """A config with what its references stand for, by the providers of a worker's or mirror-maker's file.

    Raises:
        ConfigError: one cannot be resolved.
    """
    providers = Providers.of(worker)
    try:
        return {key: value or "" for key, value in providers.resolve(config).items()}
    finally:
        providers.close()
