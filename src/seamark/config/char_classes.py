"""Sets of characters, as the character classes of Java's regular expressions denote them."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

Ranges = tuple[tuple[int, int], ...]
"""Code points from-to, both included; sorted, without overlaps."""

ALL: Ranges = ((0, sys.maxunicode),)
LINE_ENDS = "\n\r\x85\u2028\u2029"


def of(*items: str) -> Ranges:
    """A set from single characters and pairs, which mean all characters from the first to the second."""
    return union([((ord(item[0]), ord(item[-1])),) for item in items])


def union(sets: Iterable[Ranges]) -> Ranges:
    """Characters of any of the sets."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pair for ranges in sets for pair in ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """All other characters."""
    gaps = []
    begin = 0
    for first, last in ranges:
        if first > begin:
            gaps.append((begin, first - 1))
        begin = last + 1
    if begin <= sys.maxunicode:
        gaps.append((begin, sys.maxunicode))
    return tuple(gaps)


def intersection(one: Ranges, other: Ranges) -> Ranges:
    """Characters of both sets."""
    return complement(union([complement(one), complement(other)]))


def in_any_case(ranges: Ranges) -> Ranges:
    """With the other case of each ASCII letter: those are what Java's patterns compare without case."""
    lower, upper = of("az"), of("AZ")
    step = ord("a") - ord("A")
    small, capital = intersection(ranges, lower), intersection(ranges, upper)
    return union(
        [ranges, tuple((a - step, b - step) for a, b in small), tuple((a + step, b + step) for a, b in capital)]
    )


def expression(ranges: Ranges) -> str:
    """A Python expression for one character of the set."""
    if not ranges:
        return r"(?!)"
    if ranges == ALL:
        return r"[\s\S]"
    return "[" + "".join(_escaped(a) if a == b else f"{_escaped(a)}-{_escaped(b)}" for a, b in ranges) + "]"


def _escaped(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\U{code:08x}"


DIGIT, LOWER, UPPER = of("09"), of("az"), of("AZ")
ALPHA = union([LOWER, UPPER])
WORD = union([ALPHA, DIGIT, of("_")])
SPACE = of(*" \t\n\v\f\r")
HORIZONTAL_SPACE = of(*" \t\xa0\u1680\u180e\u202f\u205f\u3000", "\u2000\u200a")
VERTICAL_SPACE = of(*"\v\f", *LINE_ENDS)
_PUNCTUATION = of(*"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

SHORTHANDS: dict[str, Ranges] = {
    "d": DIGIT,
    "w": WORD,
    "s": SPACE,
    "h": HORIZONTAL_SPACE,
    "v": VERTICAL_SPACE,
}
SHORTHANDS |= {letter.upper(): complement(ranges) for letter, ranges in SHORTHANDS.items()}

_NAMED: dict[str, Ranges] = {
    "Lower": LOWER,
    "Upper": UPPER,
    "ASCII": of("\x00\x7f"),
    "Alpha": ALPHA,
    "Digit": DIGIT,
    "Alnum": union([ALPHA, DIGIT]),
    "Punct": _PUNCTUATION,
    "Graph": union([ALPHA, DIGIT, _PUNCTUATION]),
    "Print": union([ALPHA, DIGIT, _PUNCTUATION, of(" ")]),
    "Blank": of(" ", "\t"),
    "Cntrl": of("\x00\x1f", "\x7f"),
    "XDigit": of("09", "af", "AF"),
    "Space": SPACE,
    "L1": of("\x00\xff"),
    "all": ALL,
}
_TESTS: dict[str, Callable[[str], bool]] = {
    "javaLowerCase": str.islower,
    "javaUpperCase": str.isupper,
    "javaLetter": str.isalpha,
    "javaDigit": lambda char: unicodedata.category(char) == "Nd",
    "javaLetterOrDigit": lambda char: char.isalpha() or unicodedata.category(char) == "Nd",
    "IsAlphabetic": str.isalpha,
    "IsLowercase": str.islower,
    "IsUppercase": str.isupper,
    "IsDigit": lambda char: unicodedata.category(char) == "Nd",
    "IsPunctuation": lambda char: unicodedata.category(char).startswith("P"),
    "IsWhite_Space": str.isspace,
}
_CATEGORIES = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co Cn".split()
)


@cache
def named(name: str) -> Ranges | None:
    r"""The set of ``\p{name}``; None if there is no such name here."""
    if name in _NAMED:
        return _NAMED[name]
    if name in _TESTS:
        return _where(_TESTS[name])
    category = re.sub(r"^(Is|general_category=|gc=)", "", name)
    if category == "LC":
        return _where(lambda char: unicodedata.category(char) in ("Lu", "Ll", "Lt"))
    if category in _CATEGORIES:
        return _where(lambda char: unicodedata.category(char).startswith(category))
    return None


def _where(test: Callable[[str], bool]) -> Ranges:
    ranges: list[tuple[int, int]] = []
    begin: int | None = None
    for code in range(sys.maxunicode + 2):
        holds = code <= sys.maxunicode and test(chr(code))
        if holds and begin is None:
            begin = code
        elif not holds and begin is not None:
            ranges.append((begin, code - 1))
            begin = None
    return tuple(ranges)
