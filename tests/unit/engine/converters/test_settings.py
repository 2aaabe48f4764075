"""Which converter a task gets, and with which settings: the connector's, else the worker's, never a mixture."""

from __future__ import annotations

import pytest

from seamark.config.worker import WorkerConfig
from seamark.connector.schema import INT32_SCHEMA, STRING_SCHEMA
from seamark.engine.converters.bytes_ import ByteArrayConverter
from seamark.engine.converters.json import JsonConverter
from seamark.engine.converters.numbers import LongConverter
from seamark.engine.converters.simple_header import SimpleHeaderConverter
from seamark.engine.converters.string import StringConverter
from seamark.engine.pipeline import Converters
from seamark.engine.plugins import Plugins
from seamark.errors import ConfigError, PluginError

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
LONG = "org.apache.kafka.connect.converters.LongConverter"
WORKER = {
    "key.converter": STRING,
    "key.converter.converter.encoding": "UTF-16BE",
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
}


def converters(connector: dict[str, str], worker: dict[str, str] | None = None) -> Converters:
    return Converters.of(Plugins(), connector, WorkerConfig(WORKER if worker is None else worker))


def written(made: Converters) -> tuple[bytes | None, bytes | None]:
    return made.key.from_connect_data("t", STRING_SCHEMA, "a"), made.value.from_connect_data("t", INT32_SCHEMA, 1)


def test_a_connector_that_says_nothing_gets_the_workers_converters_with_their_settings() -> None:
    assert written(converters({})) == (b"\x00a", b"1")


def test_a_connectors_converter_does_not_get_the_workers_settings() -> None:
    made = converters({"key.converter": STRING, "value.converter": JSON})
    assert written(made) == (b"a", b'{"schema":{"type":"int32","optional":false},"payload":1}')


def test_settings_without_a_class_do_not_change_the_workers_converter() -> None:
    assert written(converters({"value.converter.schemas.enable": "true"})) == (b"\x00a", b"1")


def test_each_converter_is_chosen_on_its_own() -> None:
    made = converters({"value.converter": STRING, "value.converter.converter.encoding": "UTF-16LE"})
    assert made.key.from_connect_data("t", None, "a") == b"\x00a"
    assert made.value.from_connect_data("t", None, "a") == b"a\x00"


def test_headers_have_a_converter_even_if_nobody_names_one() -> None:
    assert isinstance(converters({}).header, SimpleHeaderConverter)
    made = converters({"header.converter": JSON, "header.converter.schemas.enable": "false"})
    assert made.header.from_connect_header("t", "h", None, {"a": 1}) == b'{"a":1}'
    on_the_worker = converters({}, {**WORKER, "header.converter": LONG})
    assert isinstance(on_the_worker.header, LongConverter)
    assert on_the_worker.header.from_connect_header("t", "h", None, 1) == b"\x00\x00\x00\x00\x00\x00\x00\x01"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (JSON, JsonConverter),
        ("JsonConverter", JsonConverter),
        ("Json", JsonConverter),
        ("ByteArray", ByteArrayConverter),
        ("seamark.engine.converters.string:StringConverter", StringConverter),
    ],
)
def test_converters_are_found_by_java_name_alias_or_reference(name: str, found: type) -> None:
    assert type(converters({"value.converter": name}).value) is found


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(PluginError, match="available converters are"):
        converters({"value.converter": "org.example.NoConverter"})
    with pytest.raises(PluginError):
        converters({"value.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter"})
    with pytest.raises(ConfigError, match=r"schemas\.enable"):
        converters({"value.converter": JSON, "value.converter.schemas.enable": "perhaps"})
