"""Parsers of requests, answers, files of the command line, and what the operator reads of resources."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from fuzz.target import Target, of_file, of_text, scratch, text_of
from seamark.capacity.model import read_measurements
from seamark.cli.contexts import Contexts, read_contexts
from seamark.cli.exits import RefusedError
from seamark.cli.offset_changes import parse_export, parse_object
from seamark.cli.resources import read_resources
from seamark.client import operations as client_operations
from seamark.client.errors import ClientError
from seamark.client.exchange import result_of
from seamark.config.connector_files import ConnectorFile
from seamark.errors import BadRequestError
from seamark.operator import connector_specs, offset_forms
from seamark.operator.reset_plans import ResetRefusedError, parse_time, require_past
from seamark.rest import bodies, uris
from seamark.rest.answers import to_json
from seamark.rest.basic_auth import credentials_of
from seamark.rest.media import check_headers
from seamark.runtime.herder import RestError
from seamark.runtime.internal_requests import InternalRequest, InternalRequests
from seamark.storage.config_records import SessionKey

# requests


def _body(parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """A body; a refusal can be sent as an answer."""

    def parse_body(data: bytes) -> Any:
        try:
            return parse(data)
        except BadRequestError as error:
            to_json({"message": error.message})
            raise

    return parse_body


def _check_texts(data: bytes, found: Mapping[str, str | None]) -> None:
    assert all(isinstance(key, str) and isinstance(value, str | None) for key, value in found.items())
    to_json(found)


def _check_create(data: bytes, found: bodies.CreateConnectorRequest) -> None:
    _check_texts(data, found.config)
    assert isinstance(found.name, str)
    assert found.initial_state is None or found.initial_state in bodies.INITIAL_STATES.values()


def _check_offsets(data: bytes, found: list[tuple[Any, Any]]) -> None:
    assert found, "an empty list is no change"
    assert all(isinstance(each, dict | None) for pair in found for each in pair)
    to_json(found)


def _check_request(data: bytes, found: Any) -> None:
    again = bodies.parse_offset_request(json.dumps(found.as_json()).encode())
    assert again.as_json() == found.as_json(), "it reads otherwise as it is shown"


def _check_path(data: bytes, found: str) -> None:
    assert found.startswith("/")
    assert "//" not in found
    assert not any(ord(char) < 0x20 or char in "\\\x7f" for char in found)
    assert found.encode().count(b"/") <= data.count(b"/"), "a slash was hidden in it"


def _signature(text: str) -> None:
    algorithm, _, signature = text.partition("\n")
    request = InternalRequest(body=b"[]", algorithm=algorithm, signature=signature)
    InternalRequests().verify(request, SessionKey(b"k" * 32, "HmacSHA256", 0))
    raise AssertionError("a signature that nobody made is right")


def _media(text: str) -> Any:
    content_type, _, accept = text.partition("\n")
    headers = {"content-type": content_type, "accept": accept}
    return check_headers(headers, checks_content_type=True, checks_accept=True)


# answers


def _answer(data: bytes) -> Any:
    """What a client makes of an answer; the first byte says to which question, and whether it is an error."""
    kinds = (
        client_operations.connectors(),
        client_operations.status("orders"),
        client_operations.offsets("orders"),
        client_operations.plugins(connectors_only=True),
        client_operations.offset_history("orders"),
        client_operations.progress("orders"),
        client_operations.validate("X", {}),
        client_operations.mirror("a"),
    )
    kind = data[0] if data else 0
    status = 500 if kind & 0x80 else 200
    answer = httpx.Response(status, content=data[1:], request=httpx.Request("GET", "http://localhost:8083/"))
    found = result_of(kinds[kind % len(kinds)], answer)
    if isinstance(found, ClientError):
        raise found
    return found


# the command line


def _resources(data: bytes) -> list[ConnectorFile]:
    """A file of one of the kinds: its first line is its ending."""
    ending, _, content = data.partition(b"\n")
    path = scratch() / {b"json": "c.json", b"properties": "c.properties"}.get(ending, "c.yaml")
    path.write_bytes(content)
    return read_resources([str(path)])


def _check_resources(data: bytes, found: list[ConnectorFile]) -> None:
    names = [each.name for each in found]
    assert names
    assert len(set(names)) == len(names), "a connector is in it twice"
    for each in found:
        _check_texts(data, each.config)
        assert isinstance(each.name, str)
        assert each.config["name"] == each.name


def _check_export(data: bytes, found: list[Any]) -> None:
    assert found
    assert all(isinstance(each.partition, dict) and isinstance(each.offset, dict | None) for each in found)


def _check_object(data: bytes, found: dict[str, Any]) -> None:
    assert isinstance(found, dict)
    assert json.loads(json.dumps(found)) == found or found != found


def _check_contexts(data: bytes, found: Contexts) -> None:
    for context in found.contexts.values():
        assert isinstance(context.url, str)


# resources of Kubernetes


def _config_map(data: bytes) -> list[Any]:
    """The offsets in an entry of a ConfigMap; the first byte says of which connector of a mirror."""
    kinds = list(offset_forms.MirrorType)
    kind = kinds[(data[0] if data else 0) % len(kinds)]
    fields = offset_forms.MirrorFields(kind, "a", "b", "configs")
    rows = offset_forms.parse(text_of(data[1:]), "ConfigMap offsets, entry connector.json")
    offset_forms.needs_topics(fields, rows)
    return offset_forms.complete(fields, rows, ["configs", "orders"], "entry connector.json")


def _check_config_map(data: bytes, found: list[Any]) -> None:
    for each in found:
        for name, value in each.partition.items():
            if name == "partition":
                assert type(value) is int
                assert 0 <= value < 2**31
            else:
                assert isinstance(value, str), f"{name} is {value!r}"
        assert each.offset is None or 0 <= each.offset["offset"] < 2**63


def _reset_time(text: str) -> int | None:
    found = parse_time(text)
    require_past(text, "9999-01-01T00:00:00Z")
    return found


def _check_reset_time(data: bytes, found: int | None) -> None:
    assert (found is None) == (data in (b"earliest", b"latest"))


def _restart(text: str) -> None:
    """The values of annotations, which anybody may write into a resource."""
    connector_specs.restart_of(text)
    connector_specs.mirror_restart(text)
    task = connector_specs.task_restart(text)
    assert task is None or 0 <= task[1] < 2**31, f"{task[1]} is no task"


_OFFSETS = (b'{"offsets":[{"partition":{"a":1},"offset":{"b":2}}]}', b'"partition"', b'"offset"', b'"offsets"')
_POSITIONS = (b'"positions":"-2h"', b'{"orders:3":42}', b'"clamp":true', b'"earliest"')

TARGETS = (
    Target(
        "rest-create",
        _body(bodies.parse_create_request),
        (BadRequestError,),
        _check_create,
        (b'{"name":"x","config":{}}', b'"initial_state":"STOPPED"', *_OFFSETS, *_POSITIONS),
    ),
    Target("rest-config", _body(bodies.parse_config), (BadRequestError,), _check_texts, (b'{"a":"b"}', b"1.50")),
    Target("rest-offsets", _body(bodies.parse_offsets), (BadRequestError,), _check_offsets, _OFFSETS),
    Target(
        "rest-offset-request",
        _body(bodies.parse_offset_request),
        (BadRequestError,),
        _check_request,
        (*_OFFSETS, *_POSITIONS),
    ),
    Target("rest-task-configs", _body(bodies.parse_task_configs), (BadRequestError,), None, (b'[{"a":"b"}]',)),
    Target("rest-level", _body(bodies.parse_level), (BadRequestError,), None, (b'{"level":"DEBUG"}',)),
    Target(
        "rest-path",
        uris.decode_path,
        (uris.BadTargetError,),
        _check_path,
        (b"/connectors/", b"%2F", b"%2e%2e", b";a=b", b"%C3%A9", b"/../", b"//", b"%25", b"#"),
    ),
    Target("rest-query", uris.parse_query, (), None, (b"expand=status", b"&", b"%zz", b"+", b"=", b";")),
    Target("rest-credentials", of_text(credentials_of), (), None, (b"Basic ", b"YTpi", b"=", b"Basic YTpi")),
    Target(
        "rest-media-type",
        of_text(_media),
        (uris.BadTargetError,),
        None,
        (b"application/json", b"*/*", b";q=0", b",", b"\n"),
    ),
    Target("rest-signature", of_text(_signature), (RestError,), None, (b"HmacSHA256\n", b"AAAA", b"=", b"==", b"\n")),
    Target(
        "client-answer",
        _answer,
        (ClientError,),
        None,
        (b'["orders"]', b'"connector"', b'"tasks"', b'"state"', *_OFFSETS),
    ),
    Target(
        "cli-resources",
        _resources,
        (RefusedError,),
        _check_resources,
        (
            b"yaml\n",
            b"json\n",
            b"properties\n",
            b"---\n",
            b"name: x\n",
            b"config:\n",
            b"&a ",
            b"*a",
            b"<<: *a",
            b"!!python/name:os",
            b"!!binary ",
            b"!!set ",
            b"? ",
            b"- ",
            b"|\n",
            b"2026-05-01",
            b"0o17",
            b"~",
            b"!!float 1",
            b"!!int x",
            b"!!timestamp 1",
        ),
    ),
    Target(
        "cli-export", of_text(lambda text: parse_export(text, "offsets.json")), (RefusedError,), _check_export, _OFFSETS
    ),
    Target(
        "cli-object",
        of_text(lambda text: parse_object(text, "--partition")),
        (RefusedError,),
        _check_object,
        (b'{"a":1}',),
    ),
    Target(
        "cli-contexts",
        of_file(read_contexts),
        (RefusedError,),
        _check_contexts,
        (
            b"current: a\n",
            b"contexts:\n",
            b"  a:\n",
            b"    url: http://x\n",
            b"&a ",
            b"*a",
            b"!!timestamp ",
            b"2026-13-45",
            b"!!binary x",
        ),
    ),
    Target("measurements", of_file(read_measurements), (BadRequestError,), None, (b'"kinds"', b'"record_us"', b"{}")),
    Target(
        "config-map-offsets",
        _config_map,
        (offset_forms.OffsetsInvalidError,),
        _check_config_map,
        (*_OFFSETS, b'"cluster"', b'"topic"', b'"group"', b'"sourceClusterAlias"'),
    ),
    Target(
        "reset-time",
        of_text(_reset_time),
        (ResetRefusedError,),
        _check_reset_time,
        (b"earliest", b"2026-05-01T12:00:00Z", b"+14:00", b"-23:59", b".123456789", b"0001", b"9999"),
    ),
    Target(
        "restart-annotation",
        of_text(_restart),
        (),
        None,
        (b"true", b"includeTasks", b"onlyFailed", b",", b":", b"orders:0"),
    ),
)
