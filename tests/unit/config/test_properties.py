from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.config.properties import dump_properties, load_properties, read_properties
from seamark.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a:1\nb 2\nc\t=\t3 ", {"a": "1", "b": "2", "c": "3 "}),
        ("a = = b", {"a": "= b"}),
        ("a==b", {"a": "=b"}),
        ("lonely", {"lonely": ""}),
        ("  # comment\n! another\n\n   \nx=1", {"x": "1"}),
        ("a=1\\\n   2\\\n3", {"a": "123"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("# not continued \\\na=1", {"a": "1"}),
        ("a=1\\\n# part", {"a": "1# part"}),
        ("a=1\\\n\nb=2", {"a": "1", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        ("path=C:\\\\x\\ty", {"path": "C:\\x\ty"}),
        ("a=\\q\\n", {"a": "q\n"}),
        ("a=\\u00e4\\uD83D\\uDE00", {"a": "ä😀"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("=x", {"": "x"}),
        ("sasl.jaas.config=a required \\\n  username=\"u\" \\\n  password=\"p\";", {
            "sasl.jaas.config": 'a required username="u" password="p";'
        }),
    ],
)  # fmt: skip
def test_java_rules(text: str, expected: dict[str, str]) -> None:
    assert load_properties(text) == expected


def test_a_malformed_escape_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("a=1\n\nb=2\\\n\\u12x4\n")
    with pytest.raises(ConfigError) as caught:
        read_properties(file)
    assert caught.value.message.startswith(f"{file}, line 3: Malformed \\uxxxx encoding")


def test_a_file_is_read_as_utf8_and_else_as_latin1(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "iso-8859-1"):
        file = tmp_path / encoding
        file.write_bytes("a=grün".encode(encoding))
        assert read_properties(file) == {"a": "grün"}


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nope\.properties cannot be read: No such file"):
        read_properties(tmp_path / "nope.properties")


@given(st.dictionaries(st.text(), st.text()))
def test_what_is_dumped_loads_again(properties: dict[str, str]) -> None:
    text = dump_properties(properties)
    assert text.isascii()
    assert load_properties(text) == properties
