"""Connector files of the standalone command line: told apart by content, read exactly, refused with a place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seamark.config.connector_files import ConnectorFile, parse_initial_state, read_connector_file
from seamark.config.properties import dump_properties
from seamark.config.states import TargetState
from seamark.errors import ConfigError

Write = Callable[..., Path]

CONFIG = {"name": "lines", "connector.class": "FileStreamSource", "tasks.max": "1", "topic": "t"}
REQUEST = {"name": "lines", "config": {"connector.class": "FileStreamSource", "topic": "t"}}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
configs = st.dictionaries(texts.filter(lambda key: key != "name"), texts, max_size=8)
names = texts.filter(bool)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file; its name says nothing about its kind."""

    def write(content: str | bytes, name: str = "connector") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        read_connector_file(path)
    message = str(refused.value)
    assert str(path) in message, "the message must name the file"
    return message


# what is what


@pytest.mark.requirement("K980-07")
def test_properties_are_read_by_javas_rules(write: Write) -> None:
    path = write("# a comment\nname = lines\nconnector.class:FileStreamSource\nfile=C\\:\\\\x\\u00e9\ntopic=a\\\n  b\n")
    expected = {"name": "lines", "connector.class": "FileStreamSource", "file": "C:\\xé", "topic": "ab"}
    assert read_connector_file(path) == ConnectorFile(str(path), "lines", expected)  # type: ignore[arg-type]


@pytest.mark.requirement("K980-07")
def test_properties_in_javas_old_encoding_are_read(write: Write) -> None:
    assert read_connector_file(write("name=café\n".encode("iso-8859-1"))).name == "café"


@pytest.mark.requirement("K980-08")
@pytest.mark.requirement("K980-30")
def test_flat_json_is_a_config(write: Write) -> None:
    path = write(json.dumps(CONFIG))
    assert read_connector_file(path) == ConnectorFile(str(path), "lines", dict(CONFIG))


@pytest.mark.requirement("K980-09")
@pytest.mark.requirement("K980-31")
def test_create_request(write: Write) -> None:
    path = write(json.dumps({**REQUEST, "initial_state": "stopped"}))
    config: dict[str, str | None] = {"connector.class": "FileStreamSource", "topic": "t", "name": "lines"}
    assert read_connector_file(path) == ConnectorFile(str(path), "lines", config, TargetState.STOPPED)


@pytest.mark.requirement("K980-09")
@pytest.mark.parametrize("state", [{}, {"initial_state": None}])
def test_create_request_without_a_state(write: Write, state: dict[str, None]) -> None:
    assert read_connector_file(write(json.dumps({**REQUEST, **state}))).initial_state is None


@pytest.mark.requirement("K980-09")
def test_unknown_fields_of_a_create_request_are_ignored(write: Write) -> None:
    found = read_connector_file(write(json.dumps({**REQUEST, "offsets": [], "owner": {"team": "a"}})))
    assert found.config.keys() == {"connector.class", "topic", "name"}


@pytest.mark.requirement("K980-11")
@pytest.mark.parametrize("name", ["c.properties", "c.json", "c.txt", "c"])
@pytest.mark.parametrize("text", [json.dumps(CONFIG), dump_properties(CONFIG)], ids=["json", "properties"])
def test_the_name_of_a_file_says_nothing(write: Write, text: str, name: str) -> None:
    assert read_connector_file(write(text, name)).config == CONFIG


@pytest.mark.requirement("K980-11")
@pytest.mark.parametrize("lead", ["\ufeff", " \t\r\n", "\ufeff\n  "], ids=["bom", "blanks", "both"])
@pytest.mark.parametrize("text", [json.dumps(CONFIG), dump_properties(CONFIG)], ids=["json", "properties"])
def test_what_stands_before_the_content_does_not_matter(write: Write, lead: str, text: str) -> None:
    assert read_connector_file(write(lead + text)).config == CONFIG


@pytest.mark.requirement("K980-12")
def test_a_config_with_a_key_that_is_called_config_is_a_config(write: Write) -> None:
    content = {**CONFIG, "config": "text", "initial_state": "whatever"}
    found = read_connector_file(write(json.dumps(content)))
    assert (found.config, found.initial_state) == (content, None)


@pytest.mark.requirement("K980-12")
def test_json_can_be_properties_only_if_it_does_not_begin_like_json(write: Write) -> None:
    assert read_connector_file(write('name=x\n{"a"=1\n')).config == {"name": "x", '{"a"': "1"}


# values


@pytest.mark.requirement("K980-08")
@pytest.mark.parametrize("is_nested", [False, True])
def test_scalars_are_taken_as_texts(write: Write, is_nested: bool) -> None:
    text = '{"name": "x", "int": 1, "big": 123456789012345678901234567890, "float": 1.50, "yes": true, "no": false'
    text += ', "none": null, "exp": 1E400}'
    content = f'{{"name": "x", "config": {text}}}' if is_nested else text
    assert read_connector_file(write(content)).config == {
        "name": "x",
        "int": "1",
        "big": "123456789012345678901234567890",
        "float": "1.50",
        "yes": "true",
        "no": "false",
        "none": None,
        "exp": "1E400",
    }


@pytest.mark.requirement("K980-02")
@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("RUNNING", TargetState.STARTED),
        ("running", TargetState.STARTED),
        ("Paused", TargetState.PAUSED),
        ("sToPpEd", TargetState.STOPPED),
        (None, None),
    ],
)
def test_initial_state_in_any_case(text: str | None, state: TargetState | None) -> None:
    assert parse_initial_state(text) is state


@pytest.mark.requirement("K980-33")
@pytest.mark.parametrize("value", ["STARTED", "", " STOPPED", "FAILED", "none", 1, True, ["STOPPED"], {}])
def test_initial_state_that_is_none(value: object) -> None:
    with pytest.raises(ConfigError, match="must be one of RUNNING, PAUSED, STOPPED"):
        parse_initial_state(value)


# refused


@pytest.mark.requirement("K980-12")
@pytest.mark.parametrize("state", ['"STARTED"', '""', "1", "true", '["STOPPED"]'])
def test_a_bad_state_is_named_with_the_file(write: Write, state: str) -> None:
    message = refusal(write(f'{{"name": "x", "config": {{"a": "b"}}, "initial_state": {state}}}', "c.properties"))
    assert "initial_state" in message
    assert "RUNNING, PAUSED, STOPPED" in message
    assert "mandatory" not in message


@pytest.mark.requirement("K980-12")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"name": "x",\n "topic": }', "line 2, column 11"),
        ('{\n  "name": "x"\n  "topic": "t"\n}', "line 3, column 3"),
        ('\ufeff{"name": "x"', "line 1, column 13"),
        ('{"name": "x"} and more', "line 1, column 15"),
        ('{"name": "x", "a": NaN}', "NaN"),
        ("{" + '"a":{' * 100_000, "nested"),
    ],
    ids=["value", "comma", "end", "more", "nan", "deep"],
)
def test_malformed_json_is_refused_with_its_place(write: Write, text: str, place: str) -> None:
    message = refusal(write(text, "c.properties"))
    assert "is not valid JSON" in message
    assert place in message


@pytest.mark.requirement("K980-09")
def test_a_name_that_differs_in_the_config(write: Write) -> None:
    assert "doesn't match" in refusal(write(json.dumps({"name": "x", "config": {"name": "y"}})))
    assert read_connector_file(write(json.dumps({"name": "x", "config": {"name": "x"}}))).name == "x"


@pytest.mark.requirement("K980-08")
@pytest.mark.parametrize(
    "text",
    ['{"topic": "t"}', '{"name": null}', "topic=t\n", "", '{"config": {"topic": "t"}}', '{"name": null, "config": {}}'],
)
def test_a_missing_name(write: Write, text: str) -> None:
    assert "missing the mandatory 'name'" in refusal(write(text))


@pytest.mark.requirement("K980-12")
@pytest.mark.parametrize("text", ["[]", '[{"name": "x"}]'])
def test_an_array_is_no_connector(write: Write, text: str) -> None:
    assert "must hold a JSON object" in refusal(write(text))


@pytest.mark.requirement("K980-12")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"name": "x", "topics": ["a", "b"]}', "'topics'"),
        ('{"name": "x", "config": ["a"]}', "'config'"),
        ('{"name": "x", "config": {"a": {"b": "c"}}}', "'config.a'"),
        ('{"name": "x", "conf": {"a": "b"}}', "'conf'"),
    ],
)
def test_a_value_that_is_no_scalar_is_named(write: Write, text: str, key: str) -> None:
    assert key in refusal(write(text))


def test_files_that_cannot_be_read(write: Write, tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refusal(tmp_path / "missing")
    assert "cannot be read: Is a directory" in refusal(tmp_path)
    assert "is not UTF-8 text" in refusal(write(b'{"name": "\xff"}'))


# round trips

each = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.requirement("K980-10")
@each
@given(name=names, config=configs, ascii_only=st.booleans(), state=st.sampled_from(["RUNNING", "PAUSED", "STOPPED"]))
def test_every_kind_of_file_gives_the_same_connector(
    write: Write, name: str, config: dict[str, str], ascii_only: bool, state: str
) -> None:
    wanted = {"name": name, **config}
    nested = {"initial_state": state, "config": config, "name": name}
    files = {
        "flat": json.dumps(wanted, ensure_ascii=ascii_only),
        "request": json.dumps(nested, ensure_ascii=ascii_only, indent=ascii_only * 2),
        "properties": dump_properties(wanted),
    }
    for kind, text in files.items():
        found = read_connector_file(write(text, kind))
        assert (found.name, found.config) == (name, wanted), kind
        assert found.initial_state is (parse_initial_state(state) if kind == "request" else None)


@each
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: ("{" + text).encode("utf-8", "replace")))
def test_whatever_a_file_holds_it_is_read_or_refused(write: Write, content: bytes) -> None:
    path = write(content)
    try:
        assert read_connector_file(path).name is not None
    except ConfigError as error:
        assert str(path) in str(error)
