"""What converters with a schema registry have in common: settings, subjects, ids and the framing of messages.

A message is a zero byte, the id of its schema in four bytes, big-endian, and the data. A schema is registered under a
subject whose name comes from the topic, the record, or both.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from seamark.config.configdef import ConfigDef, Importance, Password, Type, ValidString
from seamark.connector.converter import Converter
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import Schema
from seamark.engine.converters.caching import LruCache
from seamark.errors import ConfigError, DataError, RetriableError
from seamark.kafka.schema_registry import (
    RegistryConfig,
    SchemaRegistryClient,
    SchemaRegistryError,
    SchemaText,
)

_STRATEGIES = "io.confluent.kafka.serializers.subject"
_TOPIC, _RECORD, _TOPIC_RECORD = "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"
_HEADER = struct.Struct(">bI")
_MAGIC = 0
_HEADERS_PREFIX = "request.header."
_CLIENT_PREFIX = "schema.registry."
_SSL_PREFIX = f"{_CLIENT_PREFIX}ssl."

Parsed = TypeVar("Parsed")
"""What a converter knows about a schema of the registry."""


Switch = tuple[str, bool, Importance, str]
"""A setting that is true or false: its key, default, importance and doc."""


def registry_config_def(*own: Switch) -> ConfigDef:
    """The keys of all converters with a schema registry, and the switches of one."""
    definition = ConfigDef().define(
        "schema.registry.url",
        Type.LIST,
        importance=Importance.HIGH,
        doc="Addresses of the schema registry; the first that answers is used. May contain `user:password@`.",
    )
    for key, default, importance, doc in (
        ("auto.register.schemas", True, Importance.MEDIUM, "Whether schemas that are not known yet are registered."),
        (
            "use.latest.version",
            False,
            Importance.LOW,
            "Whether data is written with the latest schema of the subject. Needs `auto.register.schemas=false`.",
        ),
        ("normalize.schemas", False, Importance.MEDIUM, "Whether the registry compares schemas in a normal form."),
        (
            "ignore.default.for.nullables",
            False,
            Importance.MEDIUM,
            "Whether a null stays one in a field that has a default.",
        ),
        *own,
    ):
        definition.define(key, Type.BOOLEAN, default, importance=importance, doc=doc)
    definition.define(
        "schemas.cache.config", Type.INT, 1000, importance=Importance.LOW, doc="How many schemas are remembered."
    )
    for kind in ("key", "value"):
        definition.define(
            f"{kind}.subject.name.strategy",
            Type.STRING,
            f"{_STRATEGIES}.{_TOPIC}",
            validator=ValidString.of(*(f"{_STRATEGIES}.{name}" for name in (_TOPIC, _RECORD, _TOPIC_RECORD))),
            importance=Importance.MEDIUM,
            doc=f"What the subject of a {kind}'s schema is named after: the topic, the record, or both.",
        )
    definition.define(
        "use.schema.id", Type.INT, -1, importance=Importance.LOW, doc="The id of the schema to write with, if not -1."
    )
    _define_connection(definition)
    return definition


def _define_connection(definition: ConfigDef) -> None:
    definition.define(
        "basic.auth.credentials.source",
        Type.STRING,
        "URL",
        validator=ValidString.of("URL", "USER_INFO"),
        importance=Importance.MEDIUM,
        doc="Where user and password come from: the address, or `basic.auth.user.info`.",
    )
    definition.define(
        "basic.auth.user.info", Type.PASSWORD, None, importance=Importance.MEDIUM, doc="`user:password`, for USER_INFO."
    )
    definition.define("bearer.auth.token", Type.PASSWORD, None, importance=Importance.MEDIUM, doc="A bearer token.")
    for key, default, doc in (
        ("http.connect.timeout.ms", 60_000, "How long a connection may take."),
        ("http.read.timeout.ms", 60_000, "How long an answer may take."),
        ("max.retries", 3, "How often a request is repeated when the registry does not answer or is in trouble."),
        ("retries.wait.ms", 1_000, "The wait before the first repetition; it doubles each time."),
        ("retries.max.wait.ms", 20_000, "The longest wait."),
        ("latest.cache.ttl.sec", -1, "How long a latest version is believed to be the latest; -1 for ever."),
    ):
        definition.define(key, Type.INT, default, importance=Importance.LOW, doc=doc)
    for key, doc in (
        ("truststore.type", "`PEM` is the only type of trust store that can be read."),
        ("truststore.location", "A file with the certificates to trust; without it, those that the system trusts."),
        ("keystore.type", "`PEM` is the only type of key store that can be read."),
        ("keystore.location", "A file with the client's key and certificate."),
        ("endpoint.identification.algorithm", "Empty to accept a certificate that was made out to another host."),
    ):
        definition.define(f"{_SSL_PREFIX}{key}", Type.STRING, None, importance=Importance.LOW, doc=doc)
    definition.define(
        f"{_SSL_PREFIX}key.password", Type.PASSWORD, None, importance=Importance.LOW, doc="The password of the key."
    )


@dataclass(frozen=True, slots=True)
class _Choice:
    """How the schema to write with is chosen."""

    auto_register: bool
    use_latest: bool
    normalize: bool
    schema_id: int


class RegistryConverter(Converter, Generic[Parsed]):
    """A converter whose schemas are in a registry."""

    schema_type: str
    """The registry's word for the kind of schema."""
    data_name: str
    """How messages call the data."""
    unsupported: ClassVar[tuple[str, ...]] = ()
    """Switches of Confluent's converter that cannot be on here."""

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        for key in self.unsupported:
            if str(config.get(key, "false")).strip().lower() == "true":
                raise ConfigError(f"{key}=true is not supported; leave it out", key=key, value=config[key])
        # Confluent accepts the settings of the client with or without this prefix.
        known = self.config_def()
        settings = dict(config)
        for key in known.names():
            prefixed = f"{_CLIENT_PREFIX}{key}"
            if prefixed in config and key not in config:
                settings[key] = config[prefixed]
        values = known.parse(settings)
        self._is_key = is_key
        self._strategy = values[f"{'key' if is_key else 'value'}.subject.name.strategy"].rpartition(".")[2]
        self._choice = _Choice(
            values["auto.register.schemas"],
            values["use.latest.version"],
            values["normalize.schemas"],
            values["use.schema.id"],
        )
        headers = {
            key.removeprefix(_HEADERS_PREFIX): value for key, value in config.items() if key.startswith(_HEADERS_PREFIX)
        }
        tls = {key.removeprefix(_CLIENT_PREFIX): value for key, value in config.items() if key.startswith(_SSL_PREFIX)}
        self.registry = SchemaRegistryClient(_client_config(values, headers, tls))
        self._encoders: LruCache[tuple[str, Schema | None], tuple[bytes, Callable[[bytearray, Any], None]]] = LruCache(
            values["schemas.cache.config"]
        )
        self._latest: tuple[str, Schema | None, tuple[bytes, Callable[[bytearray, Any], None]]] | None = None
        self._decoders: dict[tuple[int, str], Callable[[bytes], SchemaAndValue]] = {}
        self.configure_data(values)

    # for the converters

    @abstractmethod
    def configure_data(self, values: Mapping[str, Any]) -> None:
        """Take the settings that are the converter's own."""

    @abstractmethod
    def to_registry(self, schema: Schema | None) -> Parsed:
        """The registry's schema of a Connect schema."""

    @abstractmethod
    def parse(self, text: str, references: Mapping[str, str]) -> Parsed:
        """A schema that the registry gave."""

    @abstractmethod
    def record_name(self, parsed: Parsed) -> str | None:
        """The full name of the record that a schema describes; None if it describes something else."""

    @abstractmethod
    def encoder(self, schema: Schema | None, parsed: Parsed) -> Callable[[bytearray, Any], None]:
        """A function that appends a value. Raises DataError if the schemas do not go together."""

    @abstractmethod
    def decoder(self, parsed: Parsed, version: int | None) -> Callable[[bytes], SchemaAndValue]:
        """A function that reads a message, from its sixth byte on."""

    # to bytes

    def write(self, topic: str, schema: Schema | None, value: Any) -> bytes:
        """A message."""
        known = self._latest
        if known is None or known[1] is not schema or known[0] != topic:
            known = self._latest = (topic, schema, self._prepare(topic, schema))
        header, encode = known[2]
        out = bytearray(header)
        encode(out, value)
        return bytes(out)

    def _prepare(self, topic: str, schema: Schema | None) -> tuple[bytes, Callable[[bytearray, Any], None]]:
        prepared = self._encoders.get((topic, schema))
        if prepared is None or self._choice.use_latest:
            parsed = self.to_registry(schema)
            subject = self._subject(topic, parsed)
            try:
                schema_id, written = self._choose(subject, parsed)
                encode = self.encoder(schema, written)
            except SchemaRegistryError as error:
                raise DataError(
                    f"Failed to serialize {self.data_name} data from topic {topic}: {error.message}"
                ) from error
            except RetriableError as error:
                raise RetriableError(
                    f"Failed to serialize {self.data_name} data from topic {topic}: {error.message}"
                ) from error
            prepared = _HEADER.pack(_MAGIC, schema_id), encode
            self._encoders.put((topic, schema), prepared)
        return prepared

    def _choose(self, subject: str, parsed: Parsed) -> tuple[int, Parsed]:
        """The id of the schema to write with, and the schema."""
        choice, text = self._choice, SchemaText(str(parsed), self.schema_type)
        if choice.auto_register:
            return self.registry.register(subject, text, normalize=choice.normalize), parsed
        if choice.schema_id >= 0:
            return choice.schema_id, self._parsed(self.registry.schema(choice.schema_id, subject))
        if choice.use_latest:
            latest = self.registry.latest(subject)
            return latest.id, self._parsed(latest.schema)
        return self.registry.lookup(subject, text, normalize=choice.normalize).id, parsed

    def _subject(self, topic: str, parsed: Parsed) -> str:
        kind = "key" if self._is_key else "value"
        if self._strategy == _TOPIC:
            return f"{topic}-{kind}"
        name = self.record_name(parsed)
        if name is None:
            raise DataError(
                f"In configuration {kind}.subject.name.strategy = {_STRATEGIES}.{self._strategy}, the message {kind} "
                "must only be a record schema"
            )
        return name if self._strategy == _RECORD else f"{topic}-{name}"

    def _parsed(self, schema: SchemaText) -> Parsed:
        if schema.type != self.schema_type:
            raise DataError(f"The schema is of type {schema.type}, but {self.schema_type} is needed")
        references = {name: referred.text for name, referred in self.registry.references(schema).items()}
        return self.parse(schema.text, references)

    # from bytes

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(None, None) if data is None else self.read(topic, data)

    def read(self, topic: str, data: bytes) -> SchemaAndValue:
        """The content of a message."""
        if len(data) < _HEADER.size or data[0] != _MAGIC:
            raise DataError(f"Failed to deserialize data for topic {topic} to {self.data_name}: Unknown magic byte!")
        schema_id = _HEADER.unpack_from(data)[1]
        decode = self._decoders.get((schema_id, topic))
        if decode is None:
            decode = self._decoders[schema_id, topic] = self._prepare_reading(topic, schema_id)
        try:
            return decode(data)
        except (IndexError, struct.error, RecursionError) as error:
            raise DataError(
                f"Failed to deserialize data for topic {topic} to {self.data_name}: the data is cut off or not of "
                f"schema {schema_id}"
            ) from error

    def _prepare_reading(self, topic: str, schema_id: int) -> Callable[[bytes], SchemaAndValue]:
        try:
            by_topic = f"{topic}-{'key' if self._is_key else 'value'}" if self._strategy == _TOPIC else None
            text = self.registry.schema(schema_id, by_topic)
            parsed = self._parsed(text)
            version = self.registry.lookup(self._subject(topic, parsed), text).version
        except SchemaRegistryError as error:
            raise DataError(
                f"Failed to deserialize data for topic {topic} to {self.data_name}: {error.message}"
            ) from error
        except RetriableError as error:
            raise RetriableError(
                f"Failed to deserialize data for topic {topic} to {self.data_name}: {error.message}"
            ) from error
        return self.decoder(parsed, version)


def _client_config(values: Mapping[str, Any], headers: Mapping[str, str], tls: Mapping[str, str]) -> RegistryConfig:
    user_info = _secret(values["basic.auth.user.info"])
    if values["basic.auth.credentials.source"] == "USER_INFO" and not user_info:
        raise ConfigError(
            "basic.auth.user.info must be provided when basic.auth.credentials.source is set to USER_INFO",
            key="basic.auth.user.info",
        )
    ttl = values["latest.cache.ttl.sec"]
    return RegistryConfig(
        tuple(values["schema.registry.url"]),
        user_info=user_info if values["basic.auth.credentials.source"] == "USER_INFO" else None,
        bearer_token=_secret(values["bearer.auth.token"]) or None,
        headers=headers,
        connect_timeout_s=values["http.connect.timeout.ms"] / 1000,
        read_timeout_s=values["http.read.timeout.ms"] / 1000,
        retries=values["max.retries"],
        retry_wait_s=values["retries.wait.ms"] / 1000,
        retry_max_wait_s=values["retries.max.wait.ms"] / 1000,
        latest_ttl_s=None if ttl < 0 else float(ttl),
        ssl=tls,
    )


def _secret(value: Any) -> str:
    return value.value if isinstance(value, Password) else str(value or "")
