from __future__ import annotations

import pytest

from seamark.config.java_regex import PatternSyntaxError, Replacement, compile_pattern, valid_regex
from seamark.errors import ConfigError


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (r"(?<year>\d+)-\k<year>", ["12-12"], ["12-13", "٣-٣"]),
        (r"\Qa.b\E*", ["a.", "a.bb"], ["axb"]),
        (r"[a-z&&[^aeiou]]+", ["xyz"], ["xay", "X"]),
        (r"[a-c[x-z]]", ["b", "y"], ["m"]),
        (r"[^\w.]", ["-", "é"], ["a", "."]),
        (r"[\Q^-]\E]+", ["^-]"], ["a"]),
        (r"[]a]+", ["]a"], ["b"]),
        (r"[a-]", ["a", "-"], ["b"]),
        (r"\p{Alpha}\P{Digit}\pL", ["aaé"], ["a1é", "aa1"]),
        (r"\p{IsUppercase}\p{javaLowerCase}", ["Éé"], ["éÉ"]),
        (r"a(?i)b|c", ["ab", "aB", "C"], ["AB", "cB"]),
        (r"(?i:a)b", ["ab", "Ab"], ["aB"]),
        (r"(?x) a  b # c", ["ab"], ["a b"]),
        (r"a.b", ["axb"], ["a\rb", "a\u2028b"]),
        (r"(?s)a.b", ["a\nb"], []),
        (r"x\z", ["x"], ["x\n"]),
        (r"\h\v?", ["\t", " \n"], ["\n"]),
        (r"\x41\u0042\x{43}\0104\cA\t", ["ABCD\x01\t"], ["ABC"]),
        (r"a{2,3}+(?>b|bc)c", ["aabc", "aaabc"], ["abc"]),
    ],
)
def test_patterns_mean_what_they_mean_to_java(pattern: str, matching: list[str], others: list[str]) -> None:
    compiled = compile_pattern(pattern)
    for text in matching:
        assert compiled.fullmatch(text), text
    for text in others:
        assert not compiled.fullmatch(text), text


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "Unclosed group near index 2\n(a"),
        ("*", "Dangling meta character '*' near index 0\n*\n^"),
        ("[a", "Unclosed character class near index 1\n[a\n ^"),
        (r"\y", "Illegal/unsupported escape sequence near index 1\n\\y\n ^"),
    ],
)
def test_what_is_no_pattern_is_refused_in_javas_words(pattern: str, message: str) -> None:
    with pytest.raises(PatternSyntaxError) as caught:
        compile_pattern(pattern)
    assert str(caught.value) == message
    with pytest.raises(ConfigError) as refused:
        valid_regex("regex", pattern)
    assert refused.value.message == f"Invalid value {pattern} for configuration regex: Invalid regex: {message}"


@pytest.mark.parametrize(
    ("pattern", "text", "subject", "result"),
    [
        ("(a)(b)?", "$2$1$12", "ab-ab", "baa2-ab"),
        ("(?<x>.)", "${x}${x}", "ab", "aab"),
        (".", r"\$1\\", "ab", "$1\\b"),
        ("b", "x", "a", "a"),
    ],
)
def test_replacements(pattern: str, text: str, subject: str, result: str) -> None:
    assert Replacement(text).first(compile_pattern(pattern), subject) == result


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("$3", IndexError, "No group 3"),
        ("$", ValueError, "Illegal group reference: group index is missing"),
        ("$a", ValueError, "Illegal group reference"),
        ("\\", ValueError, "character to be escaped is missing"),
        ("${x}", ValueError, "No group with name {x}"),
    ],
)
def test_a_replacement_that_refers_to_nothing_fails(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        Replacement(text).first(compile_pattern("a"), "a")
    assert str(caught.value) == message
