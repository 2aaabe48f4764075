from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.errors import BadRequestError
from seamark.rest import bodies
from seamark.rest.answers import to_json
from seamark.runtime.states import TargetState

texts = st.text(st.characters(exclude_categories=["Cs"]))
integers = st.integers(-(10**30), 10**30)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | texts | integers | floats | st.booleans()
documents = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))
PARSERS: list[Callable[[bytes], Any]] = [
    bodies.parse_create_request,
    bodies.parse_config,
    bodies.parse_level,
    bodies.parse_offsets,
    bodies.parse_task_configs,
]


def as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


@given(st.dictionaries(texts, scalars))
def test_scalars_of_a_config_are_kept_as_the_texts_they_were_written_as(config: dict[str, Any]) -> None:
    assert bodies.parse_config(json.dumps(config).encode()) == {key: as_text(value) for key, value in config.items()}


@pytest.mark.parametrize(
    "written",
    ["1.5", "1.50", "1e3", "1E+3", "-0", "2", "true", "false", "12345678901234567890123", "1e400"],
)
def test_numbers_are_not_rewritten(written: str) -> None:
    assert bodies.parse_config(b'{"key":%s}' % written.encode()) == {"key": written}


@given(documents, st.sampled_from(PARSERS))
def test_any_json_is_parsed_or_refused_with_a_message(document: Any, parse: Callable[[bytes], Any]) -> None:
    try:
        parse(json.dumps(document).encode())
    except BadRequestError as error:
        assert error.message


@given(st.binary(), st.sampled_from(PARSERS))
def test_any_bytes_are_parsed_or_refused(body: bytes, parse: Callable[[bytes], Any]) -> None:
    try:
        parse(body)
    except BadRequestError as error:
        to_json({"message": error.message})


@given(st.dictionaries(texts, scalars), texts)
def test_what_is_cut_off_is_refused(config: dict[str, Any], name: str) -> None:
    body = json.dumps({"name": name, "config": config}).encode()
    with pytest.raises(BadRequestError, match="Unexpected end-of-input"):
        bodies.parse_create_request(body[:-1])


offsets = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "partition": st.none() | st.dictionaries(texts, documents, max_size=3),
            "offset": st.none() | st.dictionaries(texts, documents, max_size=3),
        },
    ),
    min_size=1,
    max_size=5,
)


@given(offsets)
def test_offsets_are_numbers_again(items: list[dict[str, Any]]) -> None:
    expected = [(item.get("partition"), item.get("offset")) for item in items]
    assert bodies.parse_offsets(json.dumps({"offsets": items}).encode()) == expected


def test_offsets_keep_the_kind_of_a_number() -> None:
    body = b'{"offsets":[{"partition":{"a":1,"b":1.0,"c":true},"offset":{"d":9223372036854775808}}]}'
    [(partition, offset)] = bodies.parse_offsets(body)
    assert partition is not None
    assert offset is not None
    assert [type(value) for value in partition.values()] == [int, float, bool]
    assert offset == {"d": 2**63}


@pytest.mark.parametrize("state", ["running", "RUNNING", "Paused", "STOPPED"])
def test_initial_state_in_any_case(state: str) -> None:
    request = bodies.parse_create_request(json.dumps({"name": "n", "config": {}, "initial_state": state}).encode())
    assert request.initial_state is bodies.INITIAL_STATES[state.upper()]


@pytest.mark.parametrize("body", ['{"config":{}}', '{"config":{},"initial_state":null}'])
def test_initial_state_may_be_missing(body: str) -> None:
    assert bodies.parse_create_request(body.encode()).initial_state is None


def test_running_is_what_the_config_topic_calls_started() -> None:
    request = bodies.parse_create_request(b'{"config":{},"initial_state":"running"}')
    assert request.initial_state is TargetState.STARTED


@pytest.mark.parametrize("state", ["started", "", "5", "destroyed", "running "])
def test_other_initial_states_are_refused(state: str) -> None:
    body = json.dumps({"name": "n", "config": {}, "initial_state": state}).encode()
    with pytest.raises(BadRequestError, match="Cannot construct instance") as caught:
        bodies.parse_create_request(body)
    assert f"InitialState.{state.upper()}" in caught.value.message
    assert "RUNNING, PAUSED, STOPPED" in caught.value.message


@pytest.mark.parametrize(
    ("name", "kept"),
    [('" a "', "a"), ('"\\t\\u0001a\\n"', "a"), ('"\\u00a0a"', "\u00a0a"), ("null", ""), ("5", "5"), ("true", "true")],
)
def test_names_are_trimmed_as_java_does(name: str, kept: str) -> None:
    assert bodies.parse_create_request(f'{{"name":{name},"config":{{}}}}'.encode()).name == kept


def test_the_last_of_equal_keys_wins() -> None:
    assert bodies.parse_create_request(b'{"name":"a","name":"b","config":{"x":1,"x":2}}').config == {"x": "2"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_every_encoding_of_json_is_read(encoding: str) -> None:
    assert bodies.parse_config('{"é":"😀"}'.encode(encoding)) == {"é": "😀"}


DESERIALIZE, CONSTRUCT, FIELD = "Cannot deserialize value", "Cannot construct instance", "Unrecognized field"


@pytest.mark.parametrize(
    ("parse", "body", "fragment"),
    [
        (bodies.parse_create_request, "[]", DESERIALIZE),
        (bodies.parse_create_request, '"x"', CONSTRUCT),
        (bodies.parse_create_request, "5", CONSTRUCT),
        (bodies.parse_create_request, '{"bogus":1}', f'{FIELD} "bogus"'),
        (bodies.parse_create_request, '{"name":[1]}', DESERIALIZE),
        (bodies.parse_create_request, '{"config":[]}', DESERIALIZE),
        (bodies.parse_create_request, '{"config":"x"}', CONSTRUCT),
        (bodies.parse_create_request, '{"config":{"a":{}}}', DESERIALIZE),
        (bodies.parse_create_request, '{"config":{},"initial_state":[]}', DESERIALIZE),
        (bodies.parse_create_request, "{}", "config"),
        (bodies.parse_create_request, '{"config":null}', "config"),
        (bodies.parse_create_request, "null", "no body"),
        (bodies.parse_create_request, "", "no body"),
        (bodies.parse_create_request, " \n", "no body"),
        (bodies.parse_create_request, '{"name":"\\ud800","config":{}}', "surrogate"),
        (bodies.parse_create_request, "not", "Unrecognized token 'not'"),
        (bodies.parse_create_request, '{"config":{}} x', "Unrecognized token 'x'"),
        (bodies.parse_create_request, '{"config":{}} {}', "Unexpected character"),
        (bodies.parse_create_request, '{"config":{},}', "was expecting double-quote to start field name"),
        (bodies.parse_create_request, '{"config":{"a":NaN}}', "Non-standard token 'NaN'"),
        (bodies.parse_create_request, '{"name":"a\nb"}', "Illegal unquoted character"),
        (bodies.parse_create_request, '{"name":"\\x"}', "Unrecognized character escape"),
        (bodies.parse_config, "[]", DESERIALIZE),
        (bodies.parse_config, '"x"', CONSTRUCT),
        (bodies.parse_config, '{"a":[]}', f"{DESERIALIZE}.*a"),
        (bodies.parse_config, "", "no body"),
        (bodies.parse_config, '{"a":' + "9" * 1001 + "}", "Number value length"),
        (bodies.parse_config, "[" * 100000, "nested too deeply"),
        (bodies.parse_level, "null", "no body"),
        (bodies.parse_level, '{"level":{}}', DESERIALIZE),
        (bodies.parse_offsets, "", "no body"),
        (bodies.parse_offsets, "{}", bodies.NO_OFFSETS),
        (bodies.parse_offsets, '{"offsets":null}', bodies.NO_OFFSETS),
        (bodies.parse_offsets, '{"offsets":[]}', bodies.NO_OFFSETS),
        (bodies.parse_offsets, '{"offsets":{}}', DESERIALIZE),
        (bodies.parse_offsets, '{"offsets":[null]}', "null"),
        (bodies.parse_offsets, '{"offsets":[5]}', CONSTRUCT),
        (bodies.parse_offsets, '{"offsets":[{"x":1}]}', FIELD),
        (bodies.parse_offsets, '{"offsets":[{"partition":5}]}', DESERIALIZE),
        (bodies.parse_offsets, '{"offsets":[{"offset":"x"}]}', CONSTRUCT),
        (bodies.parse_offsets, '{"offsets":[{}],"x":1}', FIELD),
        (bodies.parse_task_configs, "{}", DESERIALIZE),
        (bodies.parse_task_configs, "", "no body"),
        (bodies.parse_task_configs, "[null]", "null"),
        (bodies.parse_task_configs, '[{"a":null}]', "null"),
    ],
)
def test_what_is_refused_and_the_words_that_clients_look_for(
    parse: Callable[[bytes], Any], body: str, fragment: str
) -> None:
    with pytest.raises(BadRequestError, match=fragment):
        parse(body.encode())


def test_task_configs() -> None:
    assert bodies.parse_task_configs(b'[{"a":1},{}]') == [{"a": "1"}, {}]


def test_a_level_may_be_missing() -> None:
    assert bodies.parse_level(b'{"x":1}') is None
    assert bodies.parse_level(b'{"level":"debug"}') == "debug"
