"""Bodies that cannot be read: Kafka Connect answers 500 to all of them, Seamark 400 (see differences)."""

from __future__ import annotations

import json

import pytest

from compat.client import Connect, path_of
from compat.conftest import Files, Parked
from compat.targets import SOURCE

CONSTRUCT, DESERIALIZE, UNKNOWN_FIELD = "Cannot construct instance", "Cannot deserialize value", "Unrecognized field"
NO_CONFIG = 'because "connectorConfig" is null'
CONFIG = {"connector.class": SOURCE, "file": "f", "topic": "t"}
CREATE = {
    "truncated": ('{"name":"x","config":{"a":"b"', "Unexpected end-of-input"),
    "truncated-after-name": ('{"name":"x"', "Unexpected end-of-input"),
    "not-json": ("not json", "Unrecognized token 'not'"),
    "array": ("[]", DESERIALIZE),
    "string": ('"x"', CONSTRUCT),
    "number": ("1", CONSTRUCT),
    "unknown-field": ('{"name":"x","config":{},"bogus":1}', UNKNOWN_FIELD),
    "config-is-an-array": ('{"name":"x","config":[]}', DESERIALIZE),
    "config-is-a-string": ('{"name":"x","config":"y"}', CONSTRUCT),
    "config-value-is-an-object": ('{"name":"x","config":{"a":{"b":"c"}}}', DESERIALIZE),
    "config-value-is-an-array": ('{"name":"x","config":{"a":["b"]}}', DESERIALIZE),
    "name-is-an-object": ('{"name":{},"config":{}}', DESERIALIZE),
    "empty": ("", 'because "createRequest" is null'),
    "null": ("null", 'because "createRequest" is null'),
    "config-missing": ('{"name":"x"}', NO_CONFIG),
    "config-null": ('{"name":"x","config":null}', NO_CONFIG),
}
BAD_STATES = {"bogus": '"BOGUS"', "started": '"STARTED"', "empty": '""', "number": "1", "boolean": "true"}
MAPS = {
    "truncated": ('{"a":"b"', "Unexpected end-of-input"),
    "not-json": ("not json", "Unrecognized token 'not'"),
    "array": ("[]", DESERIALIZE),
    "string": ('"x"', CONSTRUCT),
    "value-is-an-object": ('{"a":{"b":"c"}}', DESERIALIZE),
}
OFFSETS = {
    "truncated": ('{"offsets":[', "Unexpected end-of-input"),
    "not-json": ("not json", "Unrecognized token 'not'"),
    "array": ("[]", DESERIALIZE),
    "string": ('"x"', CONSTRUCT),
    "unknown-field": ('{"offsets":[],"bogus":1}', UNKNOWN_FIELD),
    "unknown-field-of-an-offset": ('{"offsets":[{"partition":{},"offset":{},"bogus":1}]}', UNKNOWN_FIELD),
    "offsets-is-an-object": ('{"offsets":{}}', DESERIALIZE),
    "offset-is-an-array": ('{"offsets":[[]]}', DESERIALIZE),
    "partition-is-a-string": ('{"offsets":[{"partition":"x","offset":{}}]}', CONSTRUCT),
    "partition-is-an-array": ('{"offsets":[{"partition":[],"offset":{}}]}', DESERIALIZE),
    "empty": ("", 'because "offsets" is null'),
    "null": ("null", 'because "offsets" is null'),
    "null-element": ('{"offsets":[null]}', 'because "offset" is null'),
}


@pytest.mark.parametrize("case", CREATE)
def test_create(connect: Connect, case: str) -> None:
    content, fragment = CREATE[case]
    response = connect.call("POST", "/connectors", content=content)
    connect.refuses(response, 500, [fragment], f"parse/create/{case}")


@pytest.mark.requirement("K980-03")
@pytest.mark.requirement("K980-33")
@pytest.mark.parametrize("case", BAD_STATES)
def test_create_in_a_state_that_is_none(connect: Connect, files: Files, name: str, case: str) -> None:
    content = f'{{"name":"{name}","config":{json.dumps(files.source(name))},"initial_state":{BAD_STATES[case]}}}'
    response = connect.call("POST", "/connectors", content=content)
    connect.refuses(response, 500, [CONSTRUCT], f"parse/initial-state/{case}")
    connect.refuses(connect.get(path_of(name)), 404, f"Connector {name} not found")
    assert name not in connect.get("/connectors").json()


@pytest.mark.parametrize("case", [*MAPS, "empty", "null"])
@pytest.mark.parametrize("endpoint", ["put-config", "patch-config", "validate", "logger"])
def test_maps(connect: Connect, stopped_source: Parked, endpoint: str, case: str) -> None:
    method, path, nothing = {
        "put-config": ("PUT", f"{stopped_source.path}/config", NO_CONFIG),
        "patch-config": ("PATCH", f"{stopped_source.path}/config", 'because "patch" is null'),
        "validate": ("PUT", "/connector-plugins/FileStreamSource/config/validate", NO_CONFIG),
        "logger": ("PUT", "/admin/loggers/compat.parse", 'because "levelMap" is null'),
    }[endpoint]
    content, fragment = MAPS.get(case, ("" if case == "empty" else "null", nothing))
    response = connect.call(method, path, content=content)
    connect.refuses(response, 500, [fragment], f"parse/{endpoint}/{case}")
    assert connect.get(f"{stopped_source.path}/config").json() == stopped_source.config | {"name": stopped_source.name}


@pytest.mark.parametrize("case", OFFSETS)
def test_offsets(connect: Connect, stopped_source: Parked, case: str) -> None:
    content, fragment = OFFSETS[case]
    before = connect.offsets(stopped_source.name)
    response = connect.call("PATCH", stopped_source.offsets, content=content)
    connect.refuses(response, 500, [fragment], f"parse/offsets/{case}")
    assert connect.offsets(stopped_source.name) == before
