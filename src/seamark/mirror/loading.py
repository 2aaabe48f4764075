"""Classes that a mirror's configuration names: replication policies and filters."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final, TypeVar

from seamark.config.validators import invalid
from seamark.errors import ConfigError

JAVA_PACKAGE: Final = "org.apache.kafka.connect.mirror."
Named = TypeVar("Named")


def load_class(key: str, name: str, base: type[Named], known: Mapping[str, type[Named]]) -> type[Named]:
    """The class that a configuration key names.

    Args:
        key: The configuration key, for messages.
        name: MirrorMaker 2's Java class name or its last part, or ``module:Class`` or ``module.Class``.
        base: What the class must be a kind of.
        known: MirrorMaker 2's own classes, by the last part of their names.

    Raises:
        ConfigError: there is no such class, or it is of another kind.
    """
    name = name.strip()
    short = name.removeprefix(JAVA_PACKAGE)
    if short in known:
        return known[short]
    choices = f"use {', '.join(JAVA_PACKAGE + each for each in known)}, or module:Class of a {_path(base)}"
    module, separator, simple = name.partition(":")
    if not separator:
        module, separator, simple = name.rpartition(".")
    if not module:
        raise invalid(key, name, choices)
    try:
        found = getattr(importlib.import_module(module), simple, None)
    except (ImportError, TypeError, ValueError) as error:  # the latter if it is no name of a module
        raise ConfigError(
            f"Invalid value {name} for configuration {key}: {error}; {choices}", key=key, value=name
        ) from error
    if not isinstance(found, type) or not issubclass(found, base):
        raise invalid(key, name, choices)
    return found


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
