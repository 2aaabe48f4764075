"""The keys of one connector config: Connect's own, completed with what the worker and the named plugins add.

Which keys there are depends on the config (transforms and predicates bring theirs); defaults and recommended values
depend on the worker (its converters are the defaults) and on the plugins it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seamark.config.configdef import ConfigDef, ConfigKey, ConfigValue, Importance, Type, Width
from seamark.config.connector_keys import common_config_def
from seamark.config.worker import WorkerConfig
from seamark.config.worker_keys import ENGINE_KEYS
from seamark.engine.plugins import Plugins
from seamark.engine.transform_config import PREDICATES, TRANSFORMS, TypeCheck, aliases, condition_config_def, embedded
from seamark.errors import ConfigError, PluginError
from seamark.runtime.plugin_catalog import PluginCatalog, plugin_version

Config = Mapping[str, str | None]
CONVERTERS = {"key.converter": "converter", "value.converter": "converter", "header.converter": "header_converter"}
_ALIASED = {TRANSFORMS.key: ("transformation", "Transformation"), PREDICATES.key: ("predicate", "Predicate")}
_IMPORTANCES = list(Importance)


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Recommends the same values whatever the others are."""

    values: Sequence[str]
    is_visible: bool = True

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        return self.values

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return self.is_visible


@dataclass(frozen=True, slots=True)
class ClassChoice:
    """The class that a config names under a key, with the key of its version."""

    key: str
    version_key: str
    is_given: bool
    plugin: type[Any] | None = None
    """Only if it is usable."""
    shown: str | None = None
    error: str | None = None
    version_error: str | None = None

    @property
    def versions(self) -> list[str]:
        """Those there are."""
        version = None if self.plugin is None else plugin_version(self.plugin)
        return [] if version is None else [version]

    @property
    def default_version(self) -> str | None:
        """The one that is used if the config asks for none."""
        return next(iter(self.versions), None)

    def report(self, values: Mapping[str, ConfigValue]) -> None:
        """Complete what was found out about both keys."""
        if self.is_given:
            value = values[self.key]
            value.value = self.shown
            value.errors = ([self.error] if self.error else []) + value.errors
            if self.version_error:
                for key in (self.key, self.version_key):
                    values[key].errors.append(self.version_error)


def _choice(catalog: PluginCatalog, kind: str, config: Config, key: str, version_key: str) -> ClassChoice:
    name = config.get(key)
    if name is None:
        return ClassChoice(key, version_key, is_given=key in config)
    try:
        plugin = catalog.chosen(kind, key, name)
    except ConfigError as error:
        shown = None if error.value is None else str(error.value)
        return ClassChoice(key, version_key, True, None, shown, error.message)
    version_error = None
    wanted = config.get(version_key)
    if wanted is not None:
        try:
            catalog.check_version(plugin, wanted)
        except ConfigError as error:
            version_error = error.message
    return ClassChoice(key, version_key, True, plugin, Plugins.java_name(plugin), None, version_error)


class EnrichedKeys:
    """The keys of a connector config."""

    def __init__(self, catalog: PluginCatalog, worker: WorkerConfig, connector: type, base: ConfigDef, config: Config):
        self._catalog, self._worker, self._config = catalog, worker, config
        self.choices: list[ClassChoice] = []
        self.definition = self._common(base, connector)
        for key in (TRANSFORMS.key, PREDICATES.key):
            for alias in aliases({key: config.get(key) or ""}, key):
                self._define_alias(key, alias)

    def choice(self, key: str) -> ClassChoice:
        """What the config names under a key of a class."""
        return next(choice for choice in self.choices if choice.key == key)

    def _common(self, base: ConfigDef, connector: type) -> ConfigDef:
        definition = ConfigDef()
        for key in base.keys():
            if key.name in ENGINE_KEYS and key.name not in self._config:
                continue  # Connect has no such keys; shown where they are used, so that errors have a place
            definition.add(self._completed(key, connector))
        return definition

    def _completed(self, key: ConfigKey, connector: type) -> ConfigKey:
        class_key = key.name.removesuffix(".plugin.version")
        if key.name in CONVERTERS:
            return self._converter(key)
        if key.name == "connector.plugin.version":
            version = plugin_version(connector)
            return replace(key, default=version, recommender=_Fixed([version] if version else []))
        if class_key in CONVERTERS:
            return self._converter_version(key, class_key)
        return key

    def _converter(self, key: ConfigKey) -> ConfigKey:
        kind = CONVERTERS[key.name]
        self.choices.append(_choice(self._catalog, kind, self._config, key.name, f"{key.name}.plugin.version"))
        default = self._workers_converter(key.name)
        shown = str(self._worker[key.name]) if default is None else Plugins.java_name(default)
        return replace(key, default=shown, recommender=_Fixed(self._catalog.names(kind)))

    def _converter_version(self, key: ConfigKey, class_key: str) -> ConfigKey:
        choice = self.choice(class_key)
        if choice.is_given and choice.shown is not None:
            return replace(key, default=choice.default_version, recommender=_Fixed(choice.versions))
        inherited = self._workers_converter(class_key)
        version = None if inherited is None else plugin_version(inherited)
        if choice.is_given:
            is_null = self._config[class_key] is None
            return replace(key, default=version if is_null else None, recommender=_Fixed([], is_visible=False))
        return replace(key, default=version, recommender=_Fixed([version] if version else []))

    def _workers_converter(self, key: str) -> type[Any] | None:
        try:
            return self._catalog.find(CONVERTERS[key], str(self._worker[key]))
        except PluginError:
            return None  # the worker's own mistake, reported when a connector needs it

    def _define_alias(self, key: str, alias: str) -> None:
        kind, title = _ALIASED[key]
        prefix, group = f"{key}.{alias}.", f"{key.capitalize()}: {alias}"
        choice = _choice(self._catalog, kind, self._config, f"{prefix}type", f"{prefix}plugin.version")
        self.choices.append(choice)
        self.definition.define(
            choice.key,
            Type.CLASS,
            validator=TypeCheck(self._config, prefix, alias),
            importance=Importance.HIGH,
            doc=f"The class of the {kind} '{alias}'.",
            group=group,
            order=0,
            width=Width.LONG,
            display_name=f"{title} type for {alias}",
            recommender=_Fixed(self._catalog.names(kind)),
        ).define(
            choice.version_key,
            Type.STRING,
            choice.default_version,
            importance=Importance.HIGH,
            doc=f"The version of the {kind} '{alias}' that is wanted, or a range.",
            group=group,
            order=1,
            width=Width.LONG,
            display_name=f"{title} version for {alias}",
            recommender=_Fixed(choice.versions),
        )
        if choice.plugin is None or choice.version_error:
            return
        own: ConfigDef = choice.plugin.config_def()
        if key == TRANSFORMS.key:
            own = condition_config_def().extend(own)
        for order, each in enumerate(_sorted(own), 2):
            self.definition.add(embedded(each, prefix, group, order))


def common_keys(connector: type) -> ConfigDef:
    """The keys of all connectors, for a config whose own cannot be told since its connector is of another version."""
    definition, version = ConfigDef(), plugin_version(connector)
    for key in common_config_def().keys():
        if key.name == "connector.plugin.version":
            definition.add(replace(key, default=version, recommender=_Fixed([version] if version else [])))
        elif key.name.endswith(".plugin.version"):
            definition.add(replace(key, recommender=_Fixed([], is_visible=False)))
        else:
            definition.add(key)
    return definition


def _sorted(definition: ConfigDef) -> list[ConfigKey]:
    """As Kafka sorts the keys of a plugin that is part of another: by group, place, need, importance and name."""
    groups = definition.groups()

    def rank(key: ConfigKey) -> tuple[Any, ...]:
        group = -1 if key.group is None else groups.index(key.group)
        return group, key.order_in_group, not key.required, _IMPORTANCES.index(key.importance), key.name

    return sorted(definition.keys(), key=rank)
