from __future__ import annotations

import pytest

from seamark.connector.schema import INT32_SCHEMA, Schema, Struct
from seamark.engine.transforms.fields import FieldPath, split_path
from seamark.errors import ConfigError, DataError

INNER = Schema.struct({"x": INT32_SCHEMA})
OUTER = Schema.struct({"in.ner": INNER, "plain": INT32_SCHEMA})


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ["a"]),
        ("a.b", ["a", "b"]),
        ("`a.b`.c", ["a.b", "c"]),
        ("`a`b`.c", ["a`b", "c"]),
        (r"`a\`.b`", ["a`.b"]),
        ("a.", ["a", ""]),
        (".a", ["", "a"]),
        ("a`b", ["a`b"]),
        ("", []),
    ],
)
def test_paths_are_split_at_dots_outside_of_backticks(path: str, steps: list[str]) -> None:
    assert split_path(path) == steps


@pytest.mark.parametrize("path", ["`a", r"`a\`", "b.`a.c"])
def test_a_backtick_needs_its_partner(path: str) -> None:
    with pytest.raises(ConfigError, match="Incomplete backtick pair in path"):
        split_path(path)


def test_the_first_syntax_takes_names_as_they_are() -> None:
    assert FieldPath("in.ner", "v1").value_from_map({"in.ner": 1}) == 1


def test_paths_lead_into_structs_and_maps() -> None:
    path = FieldPath("`in.ner`.x", "V2")
    assert path.value_from_struct(Struct(OUTER, {"in.ner": Struct(INNER, x=5)}), with_defaults=True) == 5
    assert path.value_from_map({"in.ner": {"x": 6}}) == 6
    field = path.field_from(OUTER)
    assert field is not None
    assert field.schema is INT32_SCHEMA


def test_a_path_through_a_number_fails() -> None:
    path = FieldPath("plain.x", "V2")
    with pytest.raises(DataError, match=r"Only Struct objects supported for \[nested field access\]"):
        path.value_from_struct(Struct(OUTER, plain=1), with_defaults=True)
    with pytest.raises(DataError, match="Cannot look up fields on non-struct type"):
        path.field_from(OUTER)
    with pytest.raises(DataError, match=r"found: java\.lang\.Long"):
        path.value_from_map({"plain": 1})
