"""Validation of connector configs, and the keys of plugins: what `/connector-plugins` answers.

The rules, messages and counts are Kafka Connect's, oddities included, since clients and scripts know them:
`error_count` counts messages of the connector's own keys but keys of converters and clients, and a null for a key of
the plugin itself is no error. Where a Java worker fails with an error of its own code (a number of a client override
that is no number, a null for a key it did not expect one for), the config gets an error message here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from seamark.config.configdef import ConfigDef, ConfigValue
from seamark.config.connector import validate_sink_topics
from seamark.config.connector_keys import sink_config_def, source_config_def
from seamark.config.parsing import parse_type
from seamark.config.providers import Providers, has_references, secrets
from seamark.config.validators import render
from seamark.config.worker import WorkerConfig
from seamark.config.worker_keys import ENGINE_KEYS
from seamark.connector.connector import Connector
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.sink import SinkConnector
from seamark.connector.source import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from seamark.engine.converters.java_maps import hash_map_copy
from seamark.engine.plugins import Plugins
from seamark.errors import BadRequestError, ConfigError, connector_code
from seamark.kafka.client_keys import client_config_def
from seamark.kafka.overrides import OverridePolicy, Role, allowed_overrides, default_group_id
from seamark.runtime.config_infos import Section, connector_section, embedded_section, key_info
from seamark.runtime.enriched_keys import Config, EnrichedKeys, common_keys
from seamark.runtime.herder import ConfigInfos, PluginInfo
from seamark.runtime.plugin_catalog import PluginCatalog, VersionError, converter_config_def, plugin_version
from seamark.runtime.version_ranges import VersionRange

__all__ = ["ConfigValidator", "errors_message", "plugin_version"]

NULL_VALUE = "Null value can not be supplied as the configuration value."
_NO_EXACTLY_ONCE_API = (
    "The connector does not implement the API required for preflight validation of exactly-once source support. "
    "Please consult the documentation for the connector to determine whether it supports exactly-once semantics, and "
    'then consider reconfiguring the connector to use the value "requested" for this property (which will disable this '
    "preflight check and allow the connector to be created)."
)
_NO_BOUNDARIES = (
    "The connector does not support connector-defined transaction boundaries with the given configuration. Please "
    "reconfigure it to use a different transaction boundary definition."
)


def errors_message(infos: ConfigInfos) -> str:
    """What a client is told whose config has errors."""
    lines = [
        f"Connector configuration is invalid and contains the following {infos.error_count} error(s):",
        *infos.errors,
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`",
    ]
    return "\n".join(lines)


class ConfigValidator:
    """Judges connector configs. Any thread.

    Args:
        plugins: The worker's.
        worker: Its configuration.
        distributed: False for a standalone worker, which does not check exactly-once support and group names.
        providers: Resolve references before values are judged; by default those of the worker.
    """

    def __init__(
        self, plugins: Plugins, worker: WorkerConfig, *, distributed: bool = True, providers: Providers | None = None
    ) -> None:
        self.catalog, self._plugins = PluginCatalog(plugins), plugins
        self._worker, self._distributed = worker, distributed
        self._providers = Providers.of(worker.raw) if providers is None else providers
        self._policy = OverridePolicy.of(worker.raw)

    # plugins

    def connector_plugins(self, *, connectors_only: bool) -> list[PluginInfo]:
        """What can be used: sinks and sources, or everything."""
        return [info for info in self.catalog.infos if not connectors_only or info.type in ("sink", "source")]

    def plugin_config(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        """The keys of a plugin: its own first, then those of all connectors of its type.

        Raises:
            NotFoundError: there is no such plugin.
            BadRequestError: not in this version, or it is of another kind.
        """
        if version is not None:
            try:
                VersionRange.parse(version)
            except ConfigError as error:
                raise BadRequestError(f"Invalid version specification: {version}") from error
        found = self.catalog.any(plugin)
        if version is not None:
            try:
                self.catalog.check_version(found, version)
            except VersionError as error:
                raise BadRequestError(error.message) from error
        if issubclass(found, Converter | HeaderConverter):
            return [key_info(key) for key in converter_config_def(found).keys()]
        definition = ConfigDef(found.config_def())
        if issubclass(found, Connector):
            base = sink_config_def() if issubclass(found, SinkConnector) else source_config_def()
            for key in base.keys():
                if key.name not in definition and key.name not in ENGINE_KEYS:
                    definition.add(key)
        infos = [key_info(key) for key in definition.keys()]
        for info in infos:
            if info["name"] == "connector.plugin.version":
                info["default_value"] = plugin_version(found)
        return infos

    # validation

    def validate(self, config: Config, *, resolves: bool = True) -> ConfigInfos:
        """Judge a config; without `resolves`, with references to config providers as they are.

        Raises:
            BadRequestError: it names no connector class, an unknown one, or refers to what cannot be resolved.
        """
        try:
            resolved = self._providers.resolve(config) if resolves else config
        except ConfigError as error:
            raise BadRequestError(error.message) from error
        class_name = resolved.get("connector.class")
        if class_name is None:
            shown = ", ".join(f"{key}={render(value)}" for key, value in hash_map_copy(dict(config)).items())
            raise BadRequestError(f"Connector config {{{shown}}} contains no connector type")
        connector = self.catalog.connector(class_name)
        infos = self._wrong_version(connector, resolved) or self._judge(connector, resolved)
        return _hidden(infos, config, resolved) if self._providers else infos

    def _wrong_version(self, connector: type[Connector], config: Config) -> ConfigInfos | None:
        wanted = config.get("connector.plugin.version")
        if wanted is None:
            return None
        try:
            self.catalog.check_version(connector, wanted)
        except VersionError as error:
            definition = common_keys(connector)
            values = {value.name: value for value in definition.validate(config)}
            for key in ("connector.class", "connector.plugin.version"):
                values[key].errors.append(error.message)
            return _merged(config, [connector_section(definition.keys(), values.values(), definition.groups())])
        except ConfigError as error:
            raise BadRequestError(error.message) from error
        return None

    def _judge(self, connector: type[Connector], config: Config) -> ConfigInfos:
        is_source = issubclass(connector, SourceConnector)
        base = source_config_def() if is_source else sink_config_def()
        keys = EnrichedKeys(self.catalog, self._worker, connector, base, config)
        values = {value.name: value for value in keys.definition.validate(config)}
        for choice in keys.choices:
            choice.report(values)
        instance = connector()
        if isinstance(instance, SourceConnector):
            self._check_source(instance, config, values)
        else:
            self._check_sink(config, values)
        for key, value in config.items():
            if value is None:
                values.setdefault(key, ConfigValue(key)).errors.append(NULL_VALUE)
        own = connector.config_def()
        refused = self._plugins.refused_classes(own, config)
        with connector_code(str(config.get("name")), "validate"):
            judged = {key: value for key, value in config.items() if key not in refused}
            own_values = instance.validate(cast("Mapping[str, str]", judged))
        for each in own_values:
            if each.name in refused:
                each.value, each.errors = config[each.name], [refused[each.name]]
        defined = {key.name: key for key in keys.definition.keys()} | {key.name: key for key in own.keys()}
        sections = [
            connector_section(
                list(defined.values()),
                [*values.values(), *own_values],
                [*keys.definition.groups(), *own.groups()],
            )
        ]
        sections += [self._overrides(role, config) for role in self._roles(is_source, config)]
        sections += [
            self._converter(key, keys.choice(key).plugin, config)
            for key in ("header.converter", "key.converter", "value.converter")
            if not values[key].errors
        ]
        return _merged(config, sections)

    # checks across keys

    def _check_sink(self, config: Config, values: dict[str, ConfigValue]) -> None:
        given = {key: value for key, value in config.items() if value is not None}
        for key, errors in validate_sink_topics(given).items():
            values[key].errors += errors
        if not self._distributed:
            return
        group, override = self._worker.group_id, "consumer.override.group.id"
        if override in config:
            value = values.setdefault(override, ConfigValue(override, config[override]))
            if config[override] == group:
                value.errors.append(f"Consumer group {group} conflicts with Connect worker group {group}")
        elif default_group_id(str(values["name"].value)) == group:
            name = values["name"]
            name.errors.append(
                f"Consumer group for sink connector named {name.value} conflicts with Connect worker group {group}"
            )

    def _check_source(self, connector: SourceConnector, config: Config, values: dict[str, ConfigValue]) -> None:
        if not self._distributed:
            return
        given = cast("Mapping[str, str]", config)
        support = values["exactly.once.support"]
        if not support.errors and str(support.value).lower() == "required":
            if not self._worker.exactly_once:
                support.errors.append("This worker does not have exactly-once source support enabled.")
            try:
                answer = connector.exactly_once_support(given)
            except Exception as error:
                support.errors.append(_unexpected(error))
            else:
                if answer is None:
                    support.errors.append(_NO_EXACTLY_ONCE_API)
                elif answer is not ExactlyOnceSupport.SUPPORTED:
                    support.errors.append(
                        "The connector does not support exactly-once semantics with the provided configuration."
                    )
        boundary = values["transaction.boundary"]
        if not boundary.errors and str(boundary.value).lower() == "connector":
            try:
                can = connector.can_define_transaction_boundaries(given)
            except Exception as error:
                boundary.errors.append(_unexpected(error))
            else:
                if can is not ConnectorTransactionBoundaries.SUPPORTED:
                    boundary.errors.append(_NO_BOUNDARIES)

    # converters and clients

    def _converter(self, key: str, plugin: type[Any] | None, config: Config) -> Section:
        if plugin is None:
            return Section()  # the worker's converter is used, with the worker's settings
        prefix = f"{key}."
        given: dict[str, str | None] = {"converter.type": key.partition(".")[0]}
        given |= {name[len(prefix) :]: value for name, value in config.items() if name.startswith(prefix)}
        definition = converter_config_def(plugin)
        return embedded_section(definition, definition.validate(given), prefix)

    def _roles(self, is_source: bool, config: Config) -> list[Role]:
        """The clients that the connector will have, as far as they are its own."""
        dead_letters = bool((config.get("errors.deadletterqueue.topic.name") or "").strip())
        if not is_source:
            return ["producer", "consumer", "admin"] if dead_letters else ["consumer"]
        own_topic = bool((config.get("offsets.storage.topic") or "").strip())
        own_offsets = self._distributed and (self._worker.exactly_once or own_topic)
        roles: list[Role] = ["producer"]
        if own_offsets:
            roles.append("consumer")
        if own_offsets or any(key.startswith("topic.creation.") for key in config):
            roles.append("admin")
        return roles

    def _overrides(self, role: Role, config: Config) -> Section:
        prefix, definition = f"{role}.override.", client_config_def(role)
        allowed = allowed_overrides(self._policy, self._worker.raw)
        values = []
        for key, text in config.items():
            if key.startswith(prefix):
                value = ConfigValue(key[len(prefix) :], text)
                known = definition.key(value.name)
                if known is not None:
                    try:
                        value.value = parse_type(value.name, text, known.type)
                    except ConfigError as error:
                        value.value = None
                        value.errors.append(error.message)
                if allowed is not None and value.name not in allowed:
                    value.errors.append(
                        f"The '{self._policy.value}' policy does not allow '{value.name}' to be overridden in the "
                        "connector configuration."
                    )
                values.append(value)
        return embedded_section(definition, values, prefix)


def _unexpected(error: Exception) -> str:
    text = str(error).strip()
    said = f": {text}" if text else "; please see the worker logs for more details."
    return f"An unexpected error occurred during validation{said}"


def _merged(config: Config, sections: list[Section]) -> ConfigInfos:
    return ConfigInfos(
        name=str(config["connector.class"]),
        error_count=sum(section.error_count for section in sections),
        groups=list(dict.fromkeys(group for section in sections for group in section.groups)),
        configs=[info for section in sections for info in section.configs],
    )


def _hidden(infos: ConfigInfos, config: Config, resolved: Config) -> ConfigInfos:
    """The answer with references instead of the values they stand for."""
    for info in infos.configs:
        value = info["value"]
        reference, actual = config.get(value["name"]), resolved.get(value["name"])
        if reference is not None and has_references(reference) and actual != reference:
            value["value"] = None if value["value"] is None else reference
            if actual:
                value["errors"] = [error.replace(actual, reference) for error in value["errors"]]
        value["errors"] = [secrets.hide(error) for error in value["errors"]]
    return infos
