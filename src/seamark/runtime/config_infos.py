"""Definitions and values of configuration keys, in the JSON shapes of Connect's REST API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamark.config.configdef import ConfigDef, ConfigKey, ConfigValue, Password
from seamark.config.parsing import to_text
from seamark.connector.java_maps import hash_order


def key_info(key: ConfigKey, prefix: str = "") -> dict[str, Any]:
    """The definition of a key."""
    return {
        "name": prefix + key.name,
        "type": key.type.value,
        "required": key.required,
        "default_value": None if key.required else _text(key.default),
        "importance": key.importance.value,
        "documentation": key.doc,
        "group": key.group,
        "order_in_group": key.order_in_group,
        "width": key.width.value,
        "display_name": key.display_name,
        "dependents": list(key.dependents),
    }


def value_info(value: ConfigValue, prefix: str = "") -> dict[str, Any]:
    """What was found out about a key."""
    return {
        "name": prefix + value.name,
        "value": _text(value.value),
        "recommended_values": [_text(recommended) for recommended in value.recommended_values],
        "errors": list(value.errors),
        "visible": value.visible,
    }


def _text(value: Any) -> str | None:
    return Password.HIDDEN if isinstance(value, Password) else to_text(value)


@dataclass(slots=True)
class Section:
    """A part of an answer: the connector's own keys, or those of a converter or client."""

    error_count: int = 0
    groups: list[str] = field(default_factory=list)
    configs: list[dict[str, Any]] = field(default_factory=list)


def connector_section(keys: Sequence[ConfigKey], values: Iterable[ConfigValue], groups: Iterable[str]) -> Section:
    """The keys of a connector: values that nobody defines first, then all keys in order. Counts messages."""
    by_name: dict[str, ConfigValue] = {}
    defined = {key.name for key in keys}
    section = Section(groups=list(dict.fromkeys(groups)))
    for value in values:
        by_name[value.name] = value
        if value.name not in defined:
            section.configs.append({"definition": None, "value": value_info(value)})
            section.error_count += len(value.errors)
    for key in keys:
        value = by_name.get(key.name, ConfigValue(key.name))
        section.configs.append({"definition": key_info(key), "value": value_info(value)})
        section.error_count += len(value.errors)
    return section


def embedded_section(definition: ConfigDef, values: Sequence[ConfigValue], prefix: str) -> Section:
    """The keys of a converter or client, under its prefix. Counts keys with errors, however many each has."""
    section, by_name = Section(), {value.name: value for value in values}
    for value in map(by_name.__getitem__, hash_order(list(by_name))):
        key = definition.key(value.name)
        if key is not None and key.group is not None and key.group not in section.groups:
            section.groups.append(key.group)
        section.error_count += bool(value.errors)
        described = None if key is None else key_info(key, prefix)
        section.configs.append({"definition": described, "value": value_info(value, prefix)})
    return section
