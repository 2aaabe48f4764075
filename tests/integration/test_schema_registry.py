"""The client of a schema registry behind a converter: subjects, ids, the wire, credentials and trouble."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import pytest

from fixtures.avro import (
    AVRO,
    JANE,
    PERSON,
    STRATEGIES,
    avro,
    read_independently,
)
from fixtures.registry_server import RegistryServer, running_registry
from seamark.connector.schema import (
    STRING_SCHEMA,
)
from seamark.engine.plugins import Plugins
from seamark.errors import ConfigError, DataError, RetriableError
from seamark.kafka.schema_registry import (
    RegistryConfig,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    SchemaText,
)

# subjects and ids


@pytest.mark.parametrize(
    ("strategy", "is_key", "subject"),
    [
        ("TopicNameStrategy", False, "people-value"),
        ("TopicNameStrategy", True, "people-key"),
        ("RecordNameStrategy", False, "com.example.Person"),
        ("TopicRecordNameStrategy", True, "people-com.example.Person"),
    ],
)
def test_subjects_are_named_after_topic_or_record(
    strategy: str, is_key: bool, subject: str, registry: RegistryServer
) -> None:
    key = f"{'key' if is_key else 'value'}_subject_name_strategy"
    converter = avro(registry, is_key=is_key, **{key: f"{STRATEGIES}.{strategy}"})
    data = converter.from_connect_data("people", PERSON, JANE)
    assert list(registry.subjects) == [subject]
    assert converter.to_connect_data("people", data).value == JANE


def test_only_records_have_a_name_for_a_subject(registry: RegistryServer) -> None:
    converter = avro(registry, value_subject_name_strategy=f"{STRATEGIES}.RecordNameStrategy")
    with pytest.raises(DataError, match="must only be a record schema"):
        converter.from_connect_data("t", STRING_SCHEMA, "x")


def test_subjects_may_have_any_name(registry: RegistryServer) -> None:
    data = avro(registry).from_connect_data("a/b ü", STRING_SCHEMA, "x")
    assert list(registry.subjects) == ["a/b ü-value"]
    assert avro(registry).to_connect_data("a/b ü", data).value == "x"


def test_without_registration_a_schema_must_be_known(registry: RegistryServer) -> None:
    converter = avro(registry, auto_register_schemas="false")
    with pytest.raises(DataError, match="Subject 'people-value' not found"):
        converter.from_connect_data("people", PERSON, JANE)
    avro(registry).from_connect_data("people", PERSON, JANE)
    registry.read_only = True
    assert converter.from_connect_data("people", PERSON, JANE) == b"\x00\x00\x00\x00\x01\x0a\x02\x08Jane"


def test_the_latest_version_is_used_if_wanted(registry: RegistryServer) -> None:
    wider = {
        "type": "record",
        "name": "Person",
        "namespace": "com.example",
        "fields": [
            {"name": "name", "type": ["null", "string"]},
            {"name": "id", "type": "long"},
            {"name": "country", "type": "string", "default": "de"},
        ],
    }
    registry.add("people-value", '"string"')
    registry.add("people-value", json.dumps(wider))
    converter = avro(registry, auto_register_schemas="false", use_latest_version="true")
    data = converter.from_connect_data("people", PERSON, JANE)
    assert read_independently(registry, data) == {"name": "Jane", "id": 5, "country": "de"}
    registry.add("other-value", '"int"')
    with pytest.raises(DataError, match="cannot be written with Avro schema"):
        converter.from_connect_data("other", PERSON, JANE)


def test_a_schema_can_be_chosen_by_id(registry: RegistryServer) -> None:
    chosen = registry.add("any", '["null","string"]')
    converter = avro(registry, auto_register_schemas="false", use_schema_id=str(chosen))
    assert converter.from_connect_data("t", STRING_SCHEMA, "x") == b"\x00\x00\x00\x00\x01\x02\x02x"


# the wire


@pytest.mark.parametrize("data", [b"", b"\x00\x00\x00\x00", b"\x01\x00\x00\x00\x01", b"{}"])
def test_messages_of_another_format_are_refused(data: bytes, registry: RegistryServer) -> None:
    with pytest.raises(DataError, match="Unknown magic byte!"):
        avro(registry).to_connect_data("t", data)


def test_an_unknown_id_is_refused(registry: RegistryServer) -> None:
    with pytest.raises(DataError, match="Schema 77 not found"):
        avro(registry).to_connect_data("t", struct.pack(">bI", 0, 77))


def test_cut_off_data_is_refused(registry: RegistryServer) -> None:
    converter = avro(registry)
    data = converter.from_connect_data("people", PERSON, JANE)
    assert data is not None
    for end in range(5, len(data)):
        with pytest.raises(DataError, match="cut off"):
            converter.to_connect_data("people", data[:end])


def test_credentials_are_sent(registry: RegistryServer) -> None:
    registry.user_info = "jane:s3:cret"
    with pytest.raises(DataError, match="Unauthorized"):
        avro(registry).from_connect_data("t", STRING_SCHEMA, "x")
    user_info = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "jane:s3:cret"}
    assert avro(registry, **user_info).from_connect_data("t", STRING_SCHEMA, "x") is not None
    prefixed = {"schema_registry_basic_auth_user_info": "jane:s3:cret", "basic_auth_credentials_source": "USER_INFO"}
    assert avro(registry, **prefixed).from_connect_data("t", STRING_SCHEMA, "x") is not None
    registry.url = registry.url.replace("//", "//jane:s3%3Acret@")
    assert avro(registry).from_connect_data("t", STRING_SCHEMA, "x") is not None
    with pytest.raises(ConfigError, match=r"basic.auth.user.info must be provided"):
        avro(registry, basic_auth_credentials_source="USER_INFO")


def test_tls_trusts_what_it_is_told_to(tmp_path: Path) -> None:
    key, certificate, both = (tmp_path / name for name in ("key.pem", "certificate.pem", "both.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_text(key.read_text() + certificate.read_text())
    trust = {
        "schema.registry.ssl.truststore.type": "PEM",
        "schema.registry.ssl.truststore.location": str(certificate),
    }
    with running_registry(both) as registry:
        assert avro(registry, **trust).from_connect_data("t", STRING_SCHEMA, "x") is not None
        with pytest.raises(RetriableError, match="certificate verify failed"):
            avro(registry, max_retries="0").from_connect_data("t", STRING_SCHEMA, "x")
        java_store = {**trust, "schema.registry.ssl.truststore.type": "JKS"}
        with pytest.raises(ConfigError, match="A trust store of type JKS cannot be read"):
            avro(registry, **java_store).from_connect_data("t", STRING_SCHEMA, "x")


def test_tokens_and_other_headers_are_sent(registry: RegistryServer) -> None:
    converter = avro(registry, bearer_auth_token="abc", **{"request.header.X-Team": "blue"})
    converter.from_connect_data("t", STRING_SCHEMA, "x")
    assert registry.headers[0]["Authorization"] == "Bearer abc"
    assert {key.lower(): value for key, value in registry.headers[0].items()}["x-team"] == "blue"


def test_passing_trouble_is_waited_out(registry: RegistryServer) -> None:
    registry.failures = [503, 500]
    data = avro(registry, retries_wait_ms="1").from_connect_data("t", STRING_SCHEMA, "x")
    assert data is not None
    assert len(registry.requests) == 3


def test_lasting_trouble_may_be_tried_again_later(registry: RegistryServer) -> None:
    registry.failures = [503] * 3
    converter = avro(registry, retries_wait_ms="1", max_retries="1")
    with pytest.raises(RetriableError, match=r"Failed to serialize Avro data from topic t: .*Out of order"):
        converter.from_connect_data("t", STRING_SCHEMA, "x")
    registry.failures.clear()
    assert converter.from_connect_data("t", STRING_SCHEMA, "x") is not None


def test_a_second_registry_takes_over(registry: RegistryServer) -> None:
    good = registry.url
    with running_registry() as other:
        gone = other.url
    registry.url = f"{gone},{good}"
    assert avro(registry).from_connect_data("t", STRING_SCHEMA, "x") is not None
    registry.url = gone
    with pytest.raises(RetriableError, match="does not answer"):
        avro(registry, max_retries="0").from_connect_data("t", STRING_SCHEMA, "x")


def test_the_latest_version_is_asked_again_after_a_while(registry: RegistryServer) -> None:
    registry.add("s", '"int"')
    for ttl, version in ((None, 1), (0.0, 2)):
        client = SchemaRegistryClient(RegistryConfig((registry.url,), latest_ttl_s=ttl))
        registry.subjects["s"] = [1]
        assert client.latest("s").version == 1
        registry.add("s", '"long"')
        assert client.latest("s").version == version
        client.close()


def test_the_client_reports_refusals_with_their_codes(registry: RegistryServer) -> None:
    client = SchemaRegistryClient(RegistryConfig((registry.url,)))
    with pytest.raises(SchemaRegistryError) as caught:
        client.lookup("s", SchemaText('"int"'))
    assert (caught.value.status, caught.value.code) == (404, 40401)
    reference = SchemaReference("x.A", "a", 1)
    client.register("a", SchemaText('"int"'))
    assert client.references(SchemaText("{}", "JSON", (reference,))) == {"x.A": SchemaText('"int"')}
    client.close()


def test_settings_that_would_be_ignored_are_refused(registry: RegistryServer) -> None:
    with pytest.raises(ConfigError, match=r"generalized.sum.type.support=true is not supported"):
        avro(registry, generalized_sum_type_support="true")
    with pytest.raises(ConfigError, match=r"schema.registry.url"):
        Plugins().converter(AVRO, {}, is_key=False)
