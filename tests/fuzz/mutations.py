"""New inputs from old ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

MOST_BYTES: Final = 100_000
DEPTHS: Final = (3, 40, 300, 1_100, 3_000)
"""Python gives up at a thousand levels."""
TOKENS: Final = (
    b"",
    b"\x00",
    b"\xff",
    b"\xff\xfe",
    b"\xef\xbb\xbf",  # a byte order mark
    b"\xed\xa0\x80",  # half of a surrogate pair
    b"\\ud800",
    b"\\u0000",
    b"\\u",
    b"\\",
    "\u0660\u0661\uff11".encode(),  # digits that are none
    "e\u0301\u202e\u2028\x85\u00a0".encode(),
    "\u0130\u0131\u017f\u212a".encode(),  # letters whose other case is another letter, or two
    b"\r",
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b"-",
    b"+",
    b"--",
    b"0",
    b"-0",
    b"-1",
    b"00",
    b"1_0",
    b"0x10",
    b"1e400",
    b"1E-400",
    b"1e999999999",
    b"1e9999999999",
    b"1e-999999999",
    b"0." + b"0" * 400 + b"1",
    b"NaN",
    b"Infinity",
    b"null",
    b"true",
    b"false",
    b'""',
    b'"',
    b"'",
    b"{}",
    b"[]",
    b"[null]",
    b'{"":null}',
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b",",
    b":",
    b";",
    b"=",
    b"#",
    b"%",
    b"%00",
    b"$",
    b"*",
    b"/",
    b"..",
    b"127",
    b"128",
    b"32768",
    b"2147483647",
    b"2147483648",
    b"-2147483649",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"18446744073709551616",
    b"9" * 400,
    b"9" * 5_000,  # more digits than Python turns into a number
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff" * 8,
    b"\x7f" + b"\xff" * 7,
    b"\xff" * 9 + b"\x01",  # a very large number of variable length
    b"\xfe" + b"\xff" * 8 + b"\x01",
)
_BRACKETS: Final = ((b"[", b"]"), (b"{", b"}"), (b"(", b")"), (b'{"a":', b"}"), (b'[{"a":', b"}]"), (b"- ", b""))

Step = Callable[[random.Random, bytes, bytes, Sequence[bytes]], bytes]


def mutated(chance: random.Random, data: bytes, other: bytes, tokens: Sequence[bytes] = ()) -> bytes:
    """An input like another one.

    Args:
        chance: decides.
        data: the input to begin with.
        other: one to take parts of.
        tokens: words of its language.
    """
    words = (*tokens, *tokens, *TOKENS) if tokens else TOKENS
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        data = chance.choice(_STEPS)(chance, data, other, words)[:MOST_BYTES]
    return data


def noise(chance: random.Random, tokens: Sequence[bytes] = ()) -> bytes:
    """An input like no other: bytes, or words."""
    if chance.random() < 0.5:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(60)))
    return b"".join(chance.choice((*TOKENS, *tokens)) for _ in range(chance.randrange(12)))


def _range(chance: random.Random, data: bytes) -> tuple[int, int]:
    begin = chance.randrange(len(data) + 1)
    longest = len(data) - begin
    length = chance.randrange(longest + 1) if chance.random() < 0.3 else chance.randrange(min(longest, 8) + 1)
    return begin, begin + length


def _flip(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = chance.randrange(len(data))
    return data[:at] + bytes((data[at] ^ (1 << chance.randrange(8)),)) + data[at + 1 :]


def _byte(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = chance.randrange(len(data))
    return data[:at] + bytes((chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256))),)) + data[at + 1 :]


def _cut(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _remove(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    begin, end = _range(chance, data)
    return data[:begin] + data[end:]


def _duplicate(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    begin, end = _range(chance, data)
    times = chance.choice((1, 1, 1, 2, 20, 1_000))
    return data[:end] + data[begin:end] * times + data[end:]


def _insert(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(words) + data[at:]


def _replace(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    begin, end = _range(chance, data)
    return data[:begin] + chance.choice(words) + data[end:]


def _value(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    """Another value in the place of a number or a quoted text."""
    begin = chance.randrange(len(data) + 1)
    while begin < len(data) and data[begin] not in b'"0123456789tfn[{':
        begin += 1
    if begin == len(data):
        return data
    end = begin + 1
    if data[begin] == ord('"'):
        end = data.find(b'"', end) + 1 or len(data)
    else:
        while end < len(data) and data[end] not in b',:]} \n"':
            end += 1
    return data[:begin] + chance.choice(words) + data[end:]


def _splice(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    (begin, end), (first, last) = _range(chance, data), _range(chance, other)
    return data[:begin] + other[first:last] + data[end:]


def _nest(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    before, after = chance.choice(_BRACKETS)
    depth = chance.choice(DEPTHS)
    begin, end = _range(chance, data) if chance.random() < 0.7 else (0, len(data))
    closing = after * depth if chance.random() < 0.7 else b""
    return data[:begin] + before * depth + data[begin:end] + closing + data[end:]


def _swap(chance: random.Random, data: bytes, other: bytes, words: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


_STEPS: Final[tuple[Step, ...]] = (
    _flip,
    _byte,
    _cut,
    _remove,
    _duplicate,
    _insert,
    _insert,
    _replace,
    _value,
    _value,
    _value,
    _splice,
    _nest,
    _swap,
)
