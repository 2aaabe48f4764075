"""RegexRouter: another topic for records whose topic matches a (Java) regular expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import Check, ConfigDef, Importance, Type
from seamark.config.java_regex import Replacement, compile_pattern, valid_regex
from seamark.connector.transform import Record
from seamark.engine.transforms.base import BuiltInTransformation
from seamark.engine.transforms.copies import with_topic
from seamark.engine.transforms.errors import IllegalArgumentError, NoSuchGroupError

_CACHED = 1024


class RegexRouter(BuiltInTransformation):
    """`org.apache.kafka.connect.transforms.RegexRouter`."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define(
                "regex",
                Type.STRING,
                validator=Check(valid_regex, "valid regex"),
                importance=Importance.HIGH,
                doc="The expression, which must match the whole topic.",
            )
            .define(
                "replacement",
                Type.STRING,
                importance=Importance.HIGH,
                doc="What takes the place of the first match; `$1` stands for what the first group matched.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        self._regex = compile_pattern(values["regex"])
        self._replacement = Replacement(values["replacement"])
        self._routes: dict[str, str | None] = {}

    def apply(self, record: Record) -> Record:
        topic = record.topic
        try:
            routed = self._routes[topic]
        except KeyError:
            routed = self._route(topic)
        return record if routed is None else with_topic(record, routed)

    def _route(self, topic: str) -> str | None:
        """The new topic; None if it does not match."""
        routed = None
        if self._regex.fullmatch(topic):
            try:
                # Not the match of the whole: Java searches again, and may find less.
                routed = self._replacement.first(self._regex, topic)
            except ValueError as error:
                raise IllegalArgumentError(str(error)) from error
            except IndexError as error:
                raise NoSuchGroupError(str(error)) from error
        if len(self._routes) >= _CACHED:
            self._routes.clear()
        self._routes[topic] = routed
        return routed
