"""A client of a Confluent-compatible schema registry: schemas by id, ids by schema.

What a registry says about an id, or about a schema under a subject, never changes, so answers are kept; only
`latest` is asked again, after the time to live. Subjects and schemas are texts here: what they mean is the
converters' business.

Trouble that may pass (no connection, no answer in time, an overloaded registry) is raised as `RetriableError` after
the client's own retries; a refusal as `SchemaRegistryError`.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import httpx

from seamark.errors import ConfigError, DataError, RetriableError
from seamark.kafka.security import kafka_python_config

_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_PASSING = frozenset({408, 429, 500, 502, 503, 504})


class SchemaRegistryError(DataError):
    """The registry refused a request."""

    def __init__(self, message: str, *, status: int, code: int) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A schema that another one refers to, by a name of its own."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as the registry keeps it."""

    text: str
    type: str = "AVRO"
    references: tuple[SchemaReference, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema with the place it has in the registry."""

    schema: SchemaText
    id: int
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class RegistryConfig:
    """Where the registry is and how to talk to it."""

    urls: tuple[str, ...]
    user_info: str | None = None
    """``user:password``."""
    bearer_token: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    connect_timeout_s: float = 60.0
    read_timeout_s: float = 60.0
    retries: int = 3
    retry_wait_s: float = 1.0
    retry_max_wait_s: float = 20.0
    latest_ttl_s: float | None = None
    """How long the latest version of a subject is believed to be the latest; None for ever."""
    ssl: Mapping[str, str] = field(default_factory=dict)
    """Kafka's own ``ssl.*`` settings."""


class SchemaRegistryClient:
    """Talks to the first registry that answers; used from one thread at a time."""

    def __init__(self, config: RegistryConfig) -> None:
        if not config.urls:
            raise ConfigError('Missing required configuration "schema.registry.url" which has no default value.')
        self._config = config
        self._http: httpx.Client | None = None
        self._by_id: dict[int, SchemaText] = {}
        self._ids: dict[tuple[str, SchemaText, bool], int] = {}
        self._lookups: dict[tuple[str, SchemaText, bool], RegisteredSchema] = {}
        self._versions: dict[tuple[str, int], RegisteredSchema] = {}
        self._latest: dict[str, tuple[float, RegisteredSchema]] = {}

    # schemas and ids

    def register(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        """The id of a schema under a subject, where it is registered if it is new. Raises SchemaRegistryError."""
        key = (subject, schema, normalize)
        if key not in self._ids:
            path = f"/subjects/{quote(subject, safe='')}/versions{'?normalize=true' if normalize else ''}"
            self._ids[key] = int(self._request("POST", path, _body(schema))["id"])
            self._by_id.setdefault(self._ids[key], schema)
        return self._ids[key]

    def lookup(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> RegisteredSchema:
        """Id and version of a schema that is registered under the subject. Raises SchemaRegistryError."""
        key = (subject, schema, normalize)
        if key not in self._lookups:
            path = f"/subjects/{quote(subject, safe='')}{'?normalize=true' if normalize else ''}"
            self._lookups[key] = _registered(self._request("POST", path, _body(schema)))
        return self._lookups[key]

    def schema(self, schema_id: int, subject: str | None = None) -> SchemaText:
        """The schema of an id. Raises SchemaRegistryError."""
        if schema_id not in self._by_id:
            query = "" if subject is None else f"?fetchMaxId=false&subject={quote(subject, safe='')}"
            self._by_id[schema_id] = _schema_text(self._request("GET", f"/schemas/ids/{schema_id}{query}"))
        return self._by_id[schema_id]

    def version(self, subject: str, version: int) -> RegisteredSchema:
        """A version of a subject. Raises SchemaRegistryError."""
        key = (subject, version)
        if key not in self._versions:
            path = f"/subjects/{quote(subject, safe='')}/versions/{version}?deleted=true"
            self._versions[key] = _registered(self._request("GET", path))
        return self._versions[key]

    def latest(self, subject: str) -> RegisteredSchema:
        """The latest version of a subject. Raises SchemaRegistryError."""
        asked, known = self._latest.get(subject, (0.0, None))
        ttl = self._config.latest_ttl_s
        if known is None or (ttl is not None and time.monotonic() - asked > ttl):
            known = _registered(self._request("GET", f"/subjects/{quote(subject, safe='')}/versions/latest"))
            self._latest[subject] = (time.monotonic(), known)
        return known

    def references(self, schema: SchemaText) -> dict[str, SchemaText]:
        """The schemas that a schema refers to, directly or not, by the names it uses for them; the deepest first."""
        found: dict[str, SchemaText] = {}
        for reference in schema.references:
            referred = self.version(reference.subject, reference.version).schema
            found.update(self.references(referred))
            found[reference.name] = referred
        return found

    def close(self) -> None:
        """Give back the connections."""
        if self._http is not None:
            self._http.close()
            self._http = None

    # HTTP

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        wait_s = self._config.retry_wait_s
        for attempt in range(self._config.retries + 1):
            try:
                return self._try_all(method, path, body)
            except RetriableError:
                if attempt == self._config.retries:
                    raise
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, self._config.retry_max_wait_s)
        raise AssertionError("unreachable")

    def _try_all(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        failure: RetriableError | None = None
        for url in self._config.urls:
            try:
                return self._try(url, method, path, body)
            except RetriableError as error:
                failure = error
        assert failure is not None  # noqa: S101 - there is at least one address
        raise failure

    def _try(self, url: str, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        base, user_info = _without_credentials(url)
        credentials = self._config.user_info or user_info
        auth = None if credentials is None else httpx.BasicAuth(*_user_and_password(credentials))
        try:
            answer = self._client().request(method, f"{base}{path}", json=body, auth=auth)
        except httpx.InvalidURL as error:
            raise ConfigError(f"Invalid value {base} for configuration schema.registry.url: {error}") from error
        except httpx.HTTPError as error:
            raise RetriableError(
                f"The schema registry at {base} does not answer: {type(error).__name__}: {error}"
            ) from error
        if answer.status_code in _PASSING:
            raise RetriableError(f"The schema registry at {base} is in trouble: {_problem(answer)[1]}")
        if not answer.is_success:
            code, message = _problem(answer)
            raise SchemaRegistryError(
                f"The schema registry at {base} refused {method} {path}: {message}",
                status=answer.status_code,
                code=code,
            )
        found: dict[str, Any] = answer.json()
        return found

    def _client(self) -> httpx.Client:
        if self._http is None:
            config = self._config
            headers = {"Accept": f"{_CONTENT_TYPE}, application/json", "Content-Type": _CONTENT_TYPE, **config.headers}
            if config.bearer_token is not None:
                headers["Authorization"] = f"Bearer {config.bearer_token}"
            self._http = httpx.Client(
                headers=headers,
                timeout=httpx.Timeout(config.read_timeout_s, connect=config.connect_timeout_s),
                verify=_tls(config),
                trust_env=False,  # a worker's settings are in its configuration
            )
        return self._http


def _tls(config: RegistryConfig) -> ssl.SSLContext:
    if not any(url.strip().startswith("https:") for url in config.urls):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # not used, but httpx would load all certificates for its own
    context: ssl.SSLContext = kafka_python_config({"security.protocol": "SSL", **config.ssl})["ssl_context"]
    return context


def _without_credentials(url: str) -> tuple[str, str | None]:
    parts = urlsplit(url.strip().rstrip("/"))
    user_info, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=host)), unquote(user_info) if at else None


def _user_and_password(user_info: str) -> tuple[str, str]:
    user, _, password = user_info.partition(":")
    return user, password


def _body(schema: SchemaText) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.type != "AVRO":
        body["schemaType"] = schema.type
    if schema.references:
        body["references"] = [
            {"name": reference.name, "subject": reference.subject, "version": reference.version}
            for reference in schema.references
        ]
    return body


def _schema_text(answer: Mapping[str, Any]) -> SchemaText:
    references: Sequence[Mapping[str, Any]] = answer.get("references") or ()
    return SchemaText(
        answer["schema"],
        answer.get("schemaType") or "AVRO",
        tuple(SchemaReference(item["name"], item["subject"], int(item["version"])) for item in references),
    )


def _registered(answer: Mapping[str, Any]) -> RegisteredSchema:
    return RegisteredSchema(_schema_text(answer), int(answer["id"]), str(answer["subject"]), int(answer["version"]))


def _problem(answer: httpx.Response) -> tuple[int, str]:
    try:
        problem = answer.json()
        return int(problem.get("error_code", answer.status_code)), str(problem.get("message", answer.text))
    except (ValueError, AttributeError):
        return answer.status_code, f"{answer.status_code} {answer.text[:200]}".strip()
