from __future__ import annotations

import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.rest.uris import BadTargetError, connector_path, decode_path, parse_query


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b"/", "/"),
        (b"/connectors/", "/connectors"),
        (b"/connectors/a%20b", "/connectors/a b"),
        (b"/connectors/a+b", "/connectors/a+b"),
        (b"/connectors/a;b=c/status", "/connectors/a/status"),
        (b"/connectors;x", "/connectors"),
        (b"/connectors/;x", "/connectors"),
        (b"/connectors/a%3Bb", "/connectors/a;b"),
        (b"/connectors/%C3%A9", "/connectors/é"),
        (b"/connectors/..", "/connectors/.."),
        (b"/connectors/a#b", "/connectors/a"),
        (b"/connectors/a..b", "/connectors/a..b"),
        (b"/connectors/%7B%7D", "/connectors/{}"),
    ],
)
def test_paths_are_decoded(raw: bytes, path: str) -> None:
    assert decode_path(raw) == path


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"connectors",
        b"*",
        b"http://x/",
        b"//",
        b"/a//b",
        b"/;a/b",
        b"/a%2Fb",
        b"/a%2fb",
        b"/a%5Cb",
        b"/a\\b",
        b"/a%25b",
        b"/a%0Ab",
        b"/a%00b",
        b"/a%7Fb",
        b"/a%80b",
        b"/a%C3",
        b"/%zz",
        b"/a%2",
        b"/%u0041",
        b"/%2e%2e",
        b"/%2E",
        b"/..",
        b"/a/../..",
        b"/..;x/y",
        b"/.;x",
        b"/{x}",
        b"/a|b",
        b'/a"b',
        b"/a^b",
        b"/a[b]",
        b"/\xe9",
        b"/%ED%A0%80",
        b"/%C0%AF",
        b"/a b",
    ],
)
def test_ambiguous_paths_are_refused(raw: bytes) -> None:
    with pytest.raises(BadTargetError):
        decode_path(raw)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\%"), min_size=1))
def test_every_other_name_can_be_addressed(name: str) -> None:
    if name in (".", ".."):
        return
    assert decode_path(b"/connectors/" + urllib.parse.quote(name, safe="").encode()) == f"/connectors/{name}"


@given(st.binary())
def test_no_path_is_trouble(raw: bytes) -> None:
    try:
        assert decode_path(raw).startswith("/")
    except BadTargetError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("query", "parsed"),
    [
        (b"", {}),
        (b"expand", {"expand": [""]}),
        (b"expand=info&expand=status", {"expand": ["info", "status"]}),
        (b"a=%20b+c", {"a": [" b c"]}),
        (b"a=%zz&%", {"a": ["%zz"], "%": [""]}),
        (b"a=\xff", {"a": ["ÿ"]}),
        (b"a=%ff", {"a": ["\ufffd"]}),
    ],
)
def test_queries(query: bytes, parsed: dict[str, list[str]]) -> None:
    assert parse_query(query) == parsed


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a b", "a%20b"),
        ("é", "%C3%A9"),
        ("a/b", "a/b"),
        ("/a", "a"),
        ("a%41", "a%41"),
        ("a%zz", "a%25zz"),
        ("{x}", "%7Bx%7D"),
        ("a;b", "a;b"),
        ("a?b#c", "a%3Fb%23c"),
        ("a:b@c!$'()*,", "a:b@c!$'()*,"),
        ("[x]", "%5Bx%5D"),
    ],
)
def test_paths_of_connectors_are_encoded_as_java_does(name: str, path: str) -> None:
    assert connector_path(name) == f"/connectors/{path}"
