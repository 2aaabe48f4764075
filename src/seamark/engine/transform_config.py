"""The keys of a connector's transforms and predicates: ``transforms.<alias>.*`` and ``predicates.<alias>.*``.

Which keys there are depends on the aliases and classes that a config names; this module adds them to the definition
of a connector's keys, with Connect's messages for what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from seamark.config.configdef import ConfigDef, ConfigKey, Importance, Type, Validator, Width
from seamark.config.parsing import parse_type
from seamark.config.validators import invalid
from seamark.connector.transform import Predicate, Transformation
from seamark.engine.plugins import Plugins
from seamark.engine.transforms.registry import JAVA_TRANSFORMS
from seamark.errors import ConfigError, PluginError

PREDICATE, NEGATE = "predicate", "negate"
Found = TypeVar("Found", type[Transformation], type[Predicate])


@dataclass(frozen=True, slots=True)
class _Kind(Generic[Found]):
    """Transforms, or predicates."""

    key: str
    """What lists the aliases."""
    name: str
    base: Found

    def find(self, plugins: Plugins, name: str) -> type[Any]:
        if self.base is Transformation:
            return plugins.transformation_class(name)
        return plugins.predicate_class(name)


TRANSFORMS = _Kind("transforms", "Transformation", Transformation)  # type: ignore[type-abstract]
PREDICATES = _Kind("predicates", "Predicate", Predicate)  # type: ignore[type-abstract]


@dataclass(frozen=True, slots=True)
class _Embedded:
    """A validator that sees the name of its key as the plugin defined it, without the prefix."""

    validator: Validator
    prefix: str

    def __call__(self, name: str, value: Any) -> None:
        self.validator(name.removeprefix(self.prefix), value)

    def __str__(self) -> str:
        return str(self.validator)


@dataclass(frozen=True, slots=True)
class TypeCheck:
    """Checks what spans the keys of one alias."""

    config: Mapping[str, object]
    prefix: str
    alias: str

    def __call__(self, name: str, value: Any) -> None:
        negate, predicate = self.prefix + NEGATE, self.prefix + PREDICATE
        if self.prefix.startswith(TRANSFORMS.key) and negate in self.config and predicate not in self.config:
            raise ConfigError(
                f"Config '{negate}' was provided but there is no config '{predicate}' defining a predicate to be "
                "negated.",
                key=negate,
            )

    def __str__(self) -> str:
        return f"valid configs for {self.alias}"


def aliases(config: Mapping[str, str], key: str) -> list[str]:
    """The aliases that a config lists, each once."""
    return list(dict.fromkeys(parse_type(key, config.get(key), Type.LIST) or []))


def enriched(definition: ConfigDef, plugins: Plugins, config: Mapping[str, str], *, lenient: bool = False) -> ConfigDef:
    """A definition with the keys of the transforms and predicates of a config.

    Args:
        definition: The keys of the connector.
        plugins: Where classes are found.
        config: The connector's.
        lenient: Leave out the keys of a class that cannot be found: its `type` is reported when values are checked.

    Raises:
        ConfigError: a class cannot be found, and not lenient.
    """
    result = ConfigDef(definition)
    for kind in (TRANSFORMS, PREDICATES):
        for alias in aliases(config, kind.key):
            _define(result, plugins, config, kind, alias, lenient)
    return result


def plugin_class(plugins: Plugins, config: Mapping[str, str], kind: _Kind[Any], alias: str) -> type[Any]:
    """The class of an alias.

    Raises:
        ConfigError: it is not named, not found, or not of that kind.
    """
    key = f"{kind.key}.{alias}.type"
    name = (config.get(key) or "").strip()
    if not name:
        raise invalid(key, None, f"Not a {kind.name}")
    choices = [java for java in JAVA_TRANSFORMS if java.rpartition("$")[0] == name]
    if choices and kind is TRANSFORMS:
        raise ConfigError(
            f"This class is abstract and cannot be created. Did you mean {', '.join(choices)}?", key=key, value=name
        )
    try:
        return kind.find(plugins, name)
    except PluginError as error:
        if plugins.is_known(name):
            raise ConfigError(
                f"Class class {name} does not implement the {kind.name} interface", key=key, value=name
            ) from error
        raise invalid(key, name, f"Class {name} could not be found.") from error


def _define(
    result: ConfigDef, plugins: Plugins, config: Mapping[str, str], kind: _Kind[Any], alias: str, lenient: bool
) -> None:
    prefix = f"{kind.key}.{alias}."
    group = f"{kind.key.capitalize()}: {alias}"
    result.define(
        f"{prefix}type",
        Type.CLASS,
        validator=TypeCheck(config, prefix, alias),
        importance=Importance.HIGH,
        doc=f"The class of the {kind.name.lower()} '{alias}'.",
        group=group,
        width=Width.LONG,
        display_name=f"{kind.name} type for {alias}",
    )
    result.define(
        f"{prefix}plugin.version",
        Type.STRING,
        None,
        importance=Importance.MEDIUM,
        doc=f"The version of the {kind.name.lower()} '{alias}'. Seamark has one version of each.",
        group=group,
    )
    try:
        own = plugin_class(plugins, config, kind, alias).config_def()
    except ConfigError:
        if not lenient:
            raise
        return
    if kind is TRANSFORMS:
        own = condition_config_def().extend(own)
    for order, key in enumerate(own.keys(), 3):
        result.add(embedded(key, prefix, group, order))


def condition_config_def() -> ConfigDef:
    """The keys that each transform has besides its own, which they hide if need be."""
    return (
        ConfigDef()
        .define(
            PREDICATE,
            Type.STRING,
            None,
            importance=Importance.MEDIUM,
            doc="The alias of a predicate: the transform applies to records that match it.",
        )
        .define(
            NEGATE,
            Type.BOOLEAN,
            False,
            importance=Importance.MEDIUM,
            doc="Whether the transform applies to records that do not match instead.",
        )
    )


def embedded(key: ConfigKey, prefix: str, group: str, order: int) -> ConfigKey:
    """A key of a plugin as it is within a connector's config."""
    return replace(
        key,
        name=prefix + key.name,
        validator=None if key.validator is None else _Embedded(key.validator, prefix),
        group=group if key.group is None else f"{group}: {key.group}",
        order_in_group=order,
        dependents=tuple(prefix + dependent for dependent in key.dependents),
    )
