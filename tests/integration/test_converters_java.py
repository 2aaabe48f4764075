"""Our converters against the Java classes themselves, in a JVM of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.json import JsonConverter
from seamark.engine.converters.string import StringConverter
from seamark.engine.converters.values import format_value, parse_value
from seamark.kafka import jars

pytestmark = pytest.mark.java

FIELDS: dict[str, tuple[Schema, Any]] = {
    "text": (Schema(Type.STRING), 'q"\\/\b\f\n\r\t\x01\x1f\x7fäöü€\u2028😀'),
    "missing": (Schema(Type.STRING, optional=True), None),
    "long": (Schema(Type.INT64), -(2**63)),
    "int": (Schema(Type.INT32, optional=True), 2**31 - 1),
    "flag": (Schema(Type.BOOLEAN), True),
    "bytes": (Schema(Type.BYTES), bytes(range(256))),
    **{f"double{number}": (Schema(Type.FLOAT64), number) for number in (0.0, 1e7, 1e-3, 1.5e-4, 1e10, 0.1)},
}


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """A JVM with Kafka Connect's classes."""
    py4j_jar = next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
    port = launch_gateway(
        classpath=jars.classpath(jars.CONNECT), jarpath=str(py4j_jar), javaopts=["-Xmx128m"], die_on_exit=True
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    yield gateway.jvm
    gateway.shutdown()


@pytest.fixture(scope="module")
def java_json(jvm: Any) -> Callable[[Any, Any], bytes]:
    converter = jvm.org.apache.kafka.connect.json.JsonConverter()
    converter.configure(jvm.java.util.HashMap(), False)
    return lambda schema, value: bytes(converter.fromConnectData("t", schema, value))


def java_schema(jvm: Any, schema: Schema) -> Any:
    kind = getattr(jvm.org.apache.kafka.connect.data.Schema.Type, schema.type.name)
    made = jvm.org.apache.kafka.connect.data.SchemaBuilder(kind)
    return (made.optional() if schema.optional else made).build()


def test_json_of_every_primitive_type_is_byte_for_byte_javas(jvm: Any, java_json: Callable[[Any, Any], bytes]) -> None:
    schema = Schema.struct({name: member for name, (member, _) in FIELDS.items()}, name="All", version=3, doc="d")
    value = Struct(schema, {name: member for name, (_, member) in FIELDS.items() if member is not None})
    builder = jvm.org.apache.kafka.connect.data.SchemaBuilder.struct().name("All").version(3).doc("d")
    for name, (member, _) in FIELDS.items():
        builder.field(name, java_schema(jvm, member))
    java = jvm.org.apache.kafka.connect.data.Struct(builder.build())
    for name, (member, content) in FIELDS.items():
        if member.type is Type.INT64:
            java.put(name, jvm.java.lang.Long.valueOf(str(content)))
        elif content is not None:
            java.put(name, content)
    ours = JsonConverter().from_connect_data("t", schema, value)
    assert ours == java_json(java.schema(), java)
    assert JsonConverter().to_connect_data("t", ours).value == value


def test_strings_are_javas(jvm: Any) -> None:
    converter = jvm.org.apache.kafka.connect.storage.StringConverter()
    converter.configure(jvm.java.util.HashMap(), False)
    for value in ("ü😀", True, 12, 1e10, 0.1, [1, "a", None], {"a": 1}):
        assert StringConverter().from_connect_data("t", None, value) == bytes(
            converter.fromConnectData("t", None, value)
        )


@pytest.mark.parametrize(
    "text",
    [
        "12",
        "-129",
        "1.5",
        "1e60",
        "1e3",
        "1.",
        ".5",
        "+5",
        "01",
        "1_000",
        "true",
        "true}",
        "  ",
        "x:y",
        "[a]",
        "[1, 2.5]",
        "[1,]",
        "[,]",
        "[1 2]",
        "[]",
        "{}",
        "[null]",
        '[1,"a"]',
        '{"a":1,"b":2000}',
        '{"a"}',
        "2020-01-02",
        "12:00:01.002Z",
        "2020-01-02T12:00:01.002Z",
        "[12:00:01.002Z]",
    ],
)
def test_header_values_are_read_and_written_as_java_does(text: str, jvm: Any) -> None:
    values = jvm.org.apache.kafka.connect.data.Values
    java = values.parseString(text)
    ours = parse_value(text)
    assert ours.schema is not None
    assert ours.schema.type.name == java.schema().type().toString()
    assert format_value(ours.value, ours.schema) == values.convertToString(java.schema(), java.value())
