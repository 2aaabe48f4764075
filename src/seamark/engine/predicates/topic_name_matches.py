"""TopicNameMatches: true for records whose topic matches a (Java) regular expression as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from seamark.config.configdef import AllOf, Check, ConfigDef, Importance, NonEmptyString, Type
from seamark.config.java_regex import compile_pattern, valid_regex
from seamark.connector.transform import Predicate, Record
from seamark.engine.transforms.base import VERSION

_CACHED = 1024


class TopicNameMatches(Predicate):
    """`org.apache.kafka.connect.transforms.predicates.TopicNameMatches`."""

    version: ClassVar[str] = VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "pattern",
            Type.STRING,
            validator=AllOf(NonEmptyString(), Check(valid_regex, "valid regex")),
            importance=Importance.MEDIUM,
            doc="The expression.",
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._pattern = compile_pattern(self.config_def().parse(config)["pattern"])
        self._known: dict[str, bool] = {}

    def test(self, record: Record) -> bool:
        topic = record.topic
        known = self._known.get(topic)
        if known is None:
            if len(self._known) >= _CACHED:
                self._known.clear()
            known = self._known[topic] = topic is not None and self._pattern.fullmatch(topic) is not None
        return known
