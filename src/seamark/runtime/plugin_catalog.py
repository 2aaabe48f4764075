"""The plugins of a worker as REST shows them: kinds, versions, and look-up by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from seamark.config.configdef import ConfigDef, ConfigKey, Importance, Type, ValidString
from seamark.connector.connector import Connector
from seamark.connector.converter import Converter, HeaderConverter
from seamark.engine.plugins import Plugins
from seamark.engine.transforms.registry import JAVA_TRANSFORMS
from seamark.errors import BadRequestError, ConfigError, NotFoundError, PluginError
from seamark.kafka.jars import KAFKA_VERSION
from seamark.runtime.herder import PluginInfo
from seamark.runtime.version_ranges import VersionRange

KINDS: Final = ("sink", "source", "transformation", "predicate", "converter", "header_converter")
"""In the order of Connect's list."""
INTERFACES: Final = {
    "converter": "Converter",
    "header_converter": "HeaderConverter",
    "transformation": "Transformation",
    "predicate": "Predicate",
}
_KAFKA: Final = "org.apache.kafka."
# Plugins that a worker has as well, but whose keys are no business of a connector's.
_OTHERS: Final = frozenset(
    name
    for kind, names in {
        "ConfigProvider": ("File", "Directory", "EnvVar"),
        "ConnectorClientConfigOverridePolicy": ("All", "None", "Principal", "Allowlist"),
    }.items()
    for short in names
    for name in (
        short,
        short + kind,
        f"org.apache.kafka.common.config.provider.{short}{kind}",
        f"org.apache.kafka.connect.connector.policy.{short}{kind}",
    )
)


class VersionError(ConfigError):
    """There is no such version of a plugin."""


def plugin_version(plugin: type) -> str | None:
    """The version that REST and statuses show: Kafka's for Kafka's own plugins, since clients compare it.

    None if the plugin does not say.
    """
    if Plugins.java_name(plugin).startswith(_KAFKA):
        return KAFKA_VERSION
    version = getattr(plugin, "version", None)
    return None if version is None or version == "unknown" else str(version)


def converter_config_def(converter: type[Converter] | type[HeaderConverter]) -> ConfigDef:
    """The keys of a converter, with `converter.type` for those that have it in Kafka: what it is used for."""
    own, name = converter.config_def(), Plugins.java_name(converter)
    if not name.startswith(_KAFKA) or name.endswith("SimpleHeaderConverter"):
        return own
    definition = ConfigDef().add(
        ConfigKey(
            "converter.type",
            Type.STRING,
            validator=ValidString.of("key", "value", "header"),
            importance=Importance.LOW,
            doc="What this converter is used for.",
            display_name="converter.type",
        )
    )
    for key in own.keys():
        definition.add(key)
    return definition


class PluginCatalog:
    """What a worker can use."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    @cached_property
    def infos(self) -> list[PluginInfo]:
        """All plugins, by kind and name; looked for once."""
        plugins = self._plugins
        found = [*plugins.connectors(), *plugins.transformations(), *plugins.predicates(), *plugins.converters()]
        infos = [PluginInfo(info.class_name, info.kind, self._version(info.class_name, info.version)) for info in found]
        return sorted(infos, key=lambda info: (KINDS.index(info.type), info.class_name))

    @staticmethod
    def _version(class_name: str, version: str) -> str | None:
        if class_name.startswith(_KAFKA):
            return KAFKA_VERSION
        return None if version == "unknown" else version

    def names(self, kind: str) -> list[str]:
        """The classes of a kind."""
        return [info.class_name for info in self.infos if info.type == kind]

    def find(self, kind: str, name: str) -> type[Any]:
        """The class of that name or alias.

        Raises:
            PluginError: there is none of that kind.
        """
        finders: Mapping[str, Any] = {
            "connector": self._plugins.connector_class,
            "converter": self._plugins.converter_class,
            "header_converter": self._plugins.header_converter_class,
            "transformation": self._plugins.transformation_class,
            "predicate": self._plugins.predicate_class,
        }
        found: type[Any] = finders[kind](name)
        return found

    def chosen(self, kind: str, key: str, name: str) -> type[Any]:
        """The class that a connector's config names, checked as Kafka checks it.

        Raises:
            ConfigError: there is no such class, or it is not of that kind; `value` is None unless the class exists.
        """
        if kind == "transformation":
            choices = [java for java in JAVA_TRANSFORMS if java.rpartition("$")[0] == name]
            if choices:
                text = f"This class is abstract and cannot be created. Did you mean {', '.join(choices)}?"
                raise ConfigError(text, key=key, value=name)
        try:
            return self.find(kind, name)
        except PluginError as error:
            if self._plugins.is_known(name):
                text = f"Class class {name} does not implement the {INTERFACES[kind]} interface"
                raise ConfigError(text, key=key, value=name) from error
            text = f"Invalid value {name} for configuration {key}: Class {name} could not be found."
            raise ConfigError(text, key=key) from error

    def connector(self, name: str) -> type[Connector]:
        """The connector class of that name or alias.

        Raises:
            BadRequestError: there is none; the message lists those there are as a Java worker does.
        """
        try:
            found: type[Connector] = self.find("connector", name)
        except PluginError as error:
            if not error.message.startswith("Failed to find any class"):
                raise BadRequestError(error.message) from error
            known = ", ".join(_description(info) for info in self.infos if info.type in ("sink", "source"))
            raise BadRequestError(
                f"Failed to find any class that implements Connector and which name matches {name}, "
                f"available connectors are: {known}"
            ) from error
        return found

    def any(self, name: str) -> type[Any]:
        """The class of that name or alias, of whatever kind.

        Raises:
            NotFoundError: there is none.
            BadRequestError: there is one whose keys are none of a connector's.
        """
        for kind in ("connector", *INTERFACES):
            try:
                return self.find(kind, name)
            except PluginError:
                continue
        if name in _OTHERS:
            raise BadRequestError(
                f"Invalid plugin class {name}. Valid types are sink, source, converter, header_converter, "
                "transformation, predicate."
            )
        raise NotFoundError(f"Unknown plugin {name}.")

    def check_version(self, plugin: type, wanted: str) -> None:
        """Refuse a version, or range of versions, that this plugin is not of.

        Raises:
            VersionError: says which versions there are.
            ConfigError: it is neither a version nor a range.
        """
        versions = VersionRange.parse(wanted)
        name, version = Plugins.java_name(plugin), plugin_version(plugin) or "undefined"
        if versions is not None and not versions.contains(version):
            # A class that is of two kinds is listed once for each, as in Connect.
            available = [version for info in self.infos if info.class_name == name] or [version]
            raise VersionError(
                f"Plugin {name} not found that matches the version range {versions}, "
                f"available versions: [{', '.join(available)}]"
            )


def _description(info: PluginInfo) -> str:
    version = info.version or "undefined"
    return (
        f"PluginDesc{{klass=class {info.class_name}, name='{info.class_name}', version='{version}', "
        f"encodedVersion={version}, type={info.type}, typeName='{info.type}', location='classpath'}}"
    )
