"""StringConverter: texts as bytes of an encoding, anything else as Java's `toString` prints it."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from seamark.config.configdef import ConfigDef, Importance, Type, Width
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.records import SchemaAndValue, ValueBatch
from seamark.connector.schema import OPTIONAL_STRING_SCHEMA, Schema
from seamark.engine.converters.java_columns import texts_of
from seamark.engine.converters.java_text import to_java_string
from seamark.errors import ConfigError

_MARKS = {
    "utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE),
    "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE),
}
"""Without one of these marks, texts in these encodings are big-endian."""


class StringConverter(Converter, HeaderConverter):
    """`org.apache.kafka.connect.storage.StringConverter`."""

    passes: ClassVar[tuple[type, ...]] = (str,)

    def __init__(self) -> None:
        self._encoding = "utf-8"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "converter.encoding",
            Type.STRING,
            "UTF-8",
            importance=Importance.HIGH,
            doc="The character set, by the name Java or Python knows it by.",
            width=Width.MEDIUM,
            display_name="Encoding",
        )

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        name = self.config_def().parse(config)["converter.encoding"]
        try:
            self._encoding = codecs.lookup(name).name
            "".encode(self._encoding)  # refuses codecs that are no character sets
        except LookupError as error:
            raise ConfigError(
                f"Invalid value {name} for configuration converter.encoding: unsupported encoding",
                key="converter.encoding",
                value=name,
            ) from error
        if self._encoding != "utf-8":
            # only UTF-8 is what a producer makes of a text by itself
            self.passes = ()  # type: ignore[misc]

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else self._encoded(value if type(value) is str else to_java_string(value, schema))

    def write_batch(self, topic: str, batch: ValueBatch) -> list[bytes | None]:
        """Many values at once, as `from_connect_data` writes each."""
        if batch.fields is not None:  # none of them is None
            return [self._encoded(text) for text in texts_of(batch)]
        schema, write = batch.schema, self.from_connect_data
        return [write(topic, schema, value) for value in batch.rows]

    def _encoded(self, text: str) -> bytes:
        if self._encoding == "utf-16" and text:  # Java writes big-endian with a mark, and UTF-32 without
            return codecs.BOM_UTF16_BE + text.encode("utf-16-be", "replace")
        return text.encode(f"{self._encoding}-be" if self._encoding in _MARKS else self._encoding, "replace")

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(OPTIONAL_STRING_SCHEMA, None)
        encoding = self._encoding
        if not data.startswith(_MARKS.get(encoding, b"")):
            encoding += "-be"
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, data.decode(encoding, "replace"))

    def read_batch(self, data: Sequence[bytes | None]) -> ValueBatch:
        """Many values at once, as `to_connect_data` reads each."""
        if self._encoding == "utf-8":
            texts = [None if each is None else each.decode("utf-8", "replace") for each in data]
            return ValueBatch(OPTIONAL_STRING_SCHEMA, texts)
        return ValueBatch(OPTIONAL_STRING_SCHEMA, [self.to_connect_data("", each).value for each in data])

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, data)
