from __future__ import annotations

import pytest

from seamark.config.rest_keys import HeaderRule, Listener, parse_header_rules, parse_listener, split_csv
from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("http://:8083", "", 8083),
        ("HTTP://worker-1.example:80", "worker-1.example", 80),
        ("http://[::1]:0", "::1", 0),
        ("http://0.0.0.0:1", "0.0.0.0", 1),
    ],
)
def test_listeners(text: str, host: str, port: int) -> None:
    assert parse_listener(text) == Listener(host, port, text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("localhost:8083", "right format"),
        ("http://localhost", "right format"),
        ("ftp://localhost:1", r"one of \[http, https\]"),
        ("http://localhost:65536", "65535"),
        ("http://localhost:-1", "65535"),
    ],
)
@pytest.mark.parametrize("key", ["listeners", "admin.listeners"])
def test_bad_listeners(key: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        WorkerConfig({key: text})
    assert caught.value.key == key


def test_there_must_be_a_listener() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        WorkerConfig({"listeners": ""})


def test_there_may_be_no_admin_listener() -> None:
    assert WorkerConfig({"admin.listeners": ""})["admin.listeners"] == []
    assert WorkerConfig({})["admin.listeners"] is None


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", []),
        ("a", ["a"]),
        (" a , b,c ", ["a", "b", "c"]),
        ('a, "b, c" ,d', ["a", "b, c", "d"]),
        ('"a\\"b"', ['a"b']),
    ],
)
def test_items_between_commas(text: str, items: list[str]) -> None:
    assert split_csv(text) == items


def test_header_rules() -> None:
    assert parse_header_rules('set A:b, "ADD  C : d, e", setdate Expires: 100, addDate X: -5') == [
        HeaderRule("set", "A", "b"),
        HeaderRule("add", "C", "d, e"),
        HeaderRule("setDate", "Expires", "100"),
        HeaderRule("addDate", "X", "-5"),
    ]
    assert parse_header_rules("  ") == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("set", "Invalid format of header config"),
        ("put A:b", "Invalid header config action"),
        ("set A", "header name and header value pair"),
        ("set A:", "header name and header value pair"),
        ("set A:b:c", "header name and header value pair"),
        ("set A b:c", "cannot contain whitespace"),
        ("set :c", "Invalid header name"),
        ("setDate A:soon", "milliseconds"),
        ("set Ä:b", "characters"),
    ],
)
def test_bad_header_rules(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        WorkerConfig({"response.http.headers.config": text})
