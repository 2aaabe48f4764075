"""The settings that Kafka's own clients know, with Java's types and defaults: what a connector may override.

`client_keys.json` has them by role: name -> [type, default, importance], and ``true`` for those without a default. It
describes the Java clients of `seamark.kafka.jars.KAFKA_VERSION`, since that is what configurations are written for.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from seamark.config.configdef import NO_DEFAULT, ConfigDef, ConfigKey, Importance, Type
from seamark.config.parsing import parse_type
from seamark.kafka.overrides import Role


@cache
def client_config_def(role: Role) -> ConfigDef:
    """The keys of a producer, consumer or admin client."""
    described = json.loads(files("seamark.kafka").joinpath("client_keys.json").read_text("utf-8"))[role]
    definition = ConfigDef()
    for name, (kind, default, importance, *required) in described.items():
        value = NO_DEFAULT if required else parse_type(name, default, Type(kind))
        doc = f"Setting {name} of Kafka's {role} client."
        definition.add(
            ConfigKey(name, Type(kind), value, importance=Importance(importance), doc=doc, display_name=name)
        )
    return definition
