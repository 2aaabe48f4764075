r"""Java's regular expressions in Python: patterns, and replacements with ``$1``.

Existing configurations hold patterns in Java's syntax. Most mean the same to Python; this module rewrites what does
not: named groups, ``\Q...\E``, ``\p{...}``, ``\z``, classes within classes, flags in the middle, line ends.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field

from seamark.config import char_classes
from seamark.config.char_classes import LINE_ENDS, SHORTHANDS, Ranges
from seamark.config.validators import invalid

_ENDS = "".join(f"\\u{ord(char):04x}" for char in LINE_ENDS)
_ANY = f"[^{_ENDS}]"
_BEFORE_END = rf"(?=(?:\r\n|[{_ENDS}])?\Z)"
_QUANTIFIER = re.compile(r"\{\d+(,\d*)?\}")
_FLAGS = re.compile(r"\(\?([idmsuxU]*)(?:-([idmsuxU]*))?([:)])")
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9]*")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_ANCHORS = {"A": r"\A", "b": r"\b", "B": r"\B", "z": r"\Z", "Z": _BEFORE_END, "G": r"\A"}
_LINE_BREAK = r"(?>\r\n|[\n\v\f\r\u0085\u2028\u2029])"


class PatternSyntaxError(ValueError):
    """Not a regular expression; the message is Java's, with the place below."""

    def __init__(self, description: str, pattern: str, at: int) -> None:
        super().__init__(f"{description} near index {at}\n{pattern}" + (f"\n{' ' * at}^" if at < len(pattern) else ""))


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The Python form of a Java pattern.

    Raises:
        PatternSyntaxError: it is not one, or uses what Python's expressions cannot do.
    """
    try:
        return re.compile(_Translator(pattern).translate(), re.ASCII)
    except RecursionError as error:
        raise PatternSyntaxError("Groups or classes are nested too deeply", pattern, len(pattern)) from error
    except re.error as error:
        raise PatternSyntaxError(str(error.msg).capitalize(), pattern, error.pos or 0) from error
    except OverflowError as error:
        raise PatternSyntaxError("Illegal repetition range", pattern, len(pattern)) from error


def valid_regex(name: str, value: str | None) -> None:
    """Check that the value of a configuration key is a pattern. Raises ConfigError."""
    try:
        compile_pattern(value or "")
    except PatternSyntaxError as error:
        raise invalid(name, value, f"Invalid regex: {error}") from error


@dataclass(slots=True)
class _Group:
    """An open parenthesis, or the whole pattern."""

    flags: frozenset[str]
    """Those in effect at this place of the group."""
    opened: list[str] = field(default_factory=list)
    """Flag groups that were opened within it and end with it."""


class _Translator:
    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0
        self._groups = [_Group(frozenset())]
        self._out: list[str] = []
        self._can_repeat = False

    def translate(self) -> str:
        while self._at < len(self._pattern):
            self._next()
        if len(self._groups) > 1:
            raise PatternSyntaxError("Unclosed group", self._pattern, len(self._pattern))
        return "".join(self._out) + ")" * len(self._groups[0].opened)

    def _next(self) -> None:
        char = self._pattern[self._at]
        if char == "\\":
            self._escape()
        elif char == "[":
            self._emit(self._set(self._char_class()))
        elif char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char == "|":
            # Flags hold for the branches that follow too, but the branch must not end up within their group.
            opened = self._groups[-1].opened
            self._emit(")" * len(opened) + "|" + "".join(opened), 1, can_repeat=False)
        elif char in "*+?":
            self._quantifier(char)
        elif char == "{":
            self._braces()
        elif char == ".":
            self._emit("[\\s\\S]" if "s" in self._groups[-1].flags else _ANY, 1)
        elif char == "$":
            self._emit("$" if "m" in self._groups[-1].flags else _BEFORE_END, 1)
        elif char == "^":
            self._emit("^", 1, can_repeat=True)
        elif "x" in self._groups[-1].flags and (char.isspace() or char == "#"):
            end = self._pattern.find("\n", self._at) if char == "#" else self._at
            self._at = len(self._pattern) if end < 0 else end + 1
        else:
            self._emit(re.escape(char), 1)

    def _emit(self, text: str, consumed: int = 0, *, can_repeat: bool = True) -> None:
        self._out.append(text)
        self._at += consumed
        self._can_repeat = can_repeat

    def _fail(self, description: str, at: int | None = None) -> PatternSyntaxError:
        return PatternSyntaxError(description, self._pattern, self._at if at is None else at)

    # repetition

    def _quantifier(self, char: str) -> None:
        if not self._can_repeat:
            raise self._fail(f"Dangling meta character '{char}'")
        self._emit(char, 1, can_repeat=False)
        self._suffix()

    def _braces(self) -> None:
        match = _QUANTIFIER.match(self._pattern, self._at)
        if match is None or not self._can_repeat:
            raise self._fail("Illegal repetition", max(0, self._at - 1))
        self._emit(match.group(), len(match.group()), can_repeat=False)
        self._suffix()

    def _suffix(self) -> None:
        """A question mark or plus that makes a quantifier lazy or possessive."""
        if self._pattern[self._at : self._at + 1] in ("?", "+"):
            self._emit(self._pattern[self._at], 1, can_repeat=False)

    # groups

    def _open(self) -> None:
        flags = self._groups[-1].flags
        rest = self._pattern[self._at :]
        if match := _FLAGS.match(rest):
            self._flags(match)
        elif rest.startswith("(?<") and rest[3:4] not in ("=", "!"):
            name = _NAME.match(rest, 3)
            if name is None or rest[name.end() : name.end() + 1] != ">":
                raise self._fail("named capturing group is missing trailing '>'", self._at + 3)
            self._push(f"(?P<{name.group()}>", name.end() + 1, _Group(flags))
        else:
            prefix = next((p for p in ("(?<=", "(?<!", "(?=", "(?!", "(?>") if rest.startswith(p)), "(")
            if prefix == "(" and rest.startswith("(?"):
                raise self._fail("Unknown inline modifier", self._at + 2)
            self._push(prefix, len(prefix), _Group(flags))

    def _push(self, text: str, consumed: int, group: _Group) -> None:
        self._emit(text, consumed, can_repeat=False)
        self._groups.append(group)

    def _flags(self, match: re.Match[str]) -> None:
        on, off, end = match.groups()
        flags = (self._groups[-1].flags | set(on)) - set(off or "")
        # The others change nothing here: only ASCII is compared without case, and \n is not the only line end.
        kept_on = "".join(sorted(set(on) & set("im")))
        kept_off = "".join(sorted(set(off or "") & set("im")))
        text = f"(?{kept_on}{'-' + kept_off if kept_off else ''}:"
        if end == ":":
            self._push(text, match.end(), _Group(flags))
        else:
            self._emit(text, match.end(), can_repeat=False)
            self._groups[-1].flags = flags
            self._groups[-1].opened.append(text)

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise self._fail("Unmatched closing ')'", max(0, self._at - 1))
        group = self._groups.pop()
        self._emit(")" * (len(group.opened) + 1), 1)

    # escapes

    def _escape(self) -> None:
        begin = self._at
        char = self._pattern[begin + 1 : begin + 2]
        if char == "Q":
            self._emit(re.escape(self._quoted()))
        elif char in _ANCHORS:
            self._emit(_ANCHORS[char], 2)
        elif char == "R":
            self._emit(_LINE_BREAK, 2)
        elif char == "k" and self._pattern[begin + 2 : begin + 3] == "<":
            name = _NAME.match(self._pattern, begin + 3)
            if name is None or self._pattern[name.end() : name.end() + 1] != ">":
                raise self._fail("named group reference is missing trailing '>'", begin + 3)
            self._emit(f"(?P={name.group()})", name.end() + 1 - begin)
        elif char.isdigit() and char != "0":
            self._emit(f"(?:\\{char})", 2)
        else:
            ranges = self._escaped_class()
            self._emit(self._set(ranges) if ranges is not None else re.escape(self._escaped_char()))

    def _quoted(self) -> str:
        end = self._pattern.find("\\E", self._at + 2)
        text = self._pattern[self._at + 2 : end if end >= 0 else None]
        self._at = end + 2 if end >= 0 else len(self._pattern)
        return text

    def _escaped_class(self) -> Ranges | None:
        r"""The set that ``\d`` or ``\p{...}`` stands for; None if the escape is a single character."""
        char = self._pattern[self._at + 1 : self._at + 2]
        if char in SHORTHANDS:
            self._at += 2
            return SHORTHANDS[char]  # no case splits them
        if char not in ("p", "P"):
            return None
        name = self._pattern[self._at + 2 : self._at + 3]
        end = self._at + 3
        if name == "{":
            end = self._pattern.find("}", self._at)
            if end < 0:
                raise self._fail("Unclosed character family", len(self._pattern) - 1)
            name = self._pattern[self._at + 3 : end]
            end += 1
        ranges = char_classes.named(name)
        if ranges is None:
            raise self._fail(f"Unknown character property name {{{name}}}", end - 1)
        self._at = end
        ranges = self._folded(ranges)
        return ranges if char == "p" else char_classes.complement(ranges)

    def _folded(self, ranges: Ranges) -> Ranges:
        """What a set is where case does not count. It must be so before a complement is taken."""
        return char_classes.in_any_case(ranges) if "i" in self._groups[-1].flags else ranges

    def _set(self, ranges: Ranges) -> str:
        """An expression for one character of a set to which Python must not add other cases."""
        text = char_classes.expression(ranges)
        return f"(?-i:{text})" if "i" in self._groups[-1].flags else text

    def _escaped_char(self) -> str:
        """The character that an escape stands for."""
        begin = self._at
        char = self._pattern[begin + 1 : begin + 2]
        if not char:
            raise self._fail("Unexpected internal error", begin + 1)
        if char in _CONTROLS:
            self._at += 2
            return _CONTROLS[char]
        for expression in (r"\\x([0-9a-fA-F]{2})", r"\\x\{([0-9a-fA-F]+)\}", r"\\u([0-9a-fA-F]{4})"):
            if match := re.compile(expression).match(self._pattern, begin):
                digits = match.group(1).lstrip("0") or "0"
                if len(digits) > len(f"{sys.maxunicode:x}") or int(digits, 16) > sys.maxunicode:
                    raise self._fail("Hexadecimal codepoint is too big", begin + 3)
                self._at = match.end()
                return chr(int(digits, 16))
        if match := re.compile(r"\\0([0-3]?[0-7]{1,2})").match(self._pattern, begin):
            self._at = match.end()
            return chr(int(match.group(1), 8))
        if char == "c" and begin + 2 < len(self._pattern):
            self._at += 3
            return chr(ord(self._pattern[begin + 2]) ^ 64)
        if char.isascii() and char.isalnum():
            raise self._fail("Illegal/unsupported escape sequence", begin + 1)
        self._at += 2
        return char

    # character classes

    def _char_class(self) -> Ranges:
        """A class from its bracket on: unions by juxtaposition and nesting, intersections with ``&&``."""
        self._at += 1
        is_negated = self._pattern.startswith("^", self._at)
        self._at += is_negated
        result: Ranges | None = None
        members: list[Ranges] = []
        is_first = True
        while True:
            if self._at >= len(self._pattern):
                raise self._fail("Unclosed character class", len(self._pattern) - 1)
            char = self._pattern[self._at]
            if char == "]" and not is_first:
                self._at += 1
                break
            if self._pattern.startswith("&&", self._at):
                self._at += 2
                result = _narrowed(result, members)
                members = []
            elif char == "[":
                members.append(self._char_class())
            else:
                members.append(self._class_member())
            is_first = False
        found = _narrowed(result, members)
        return char_classes.complement(found) if is_negated else found

    def _class_member(self) -> Ranges:
        if self._pattern.startswith("\\Q", self._at):
            return self._folded(char_classes.of(*self._quoted()))
        if self._pattern[self._at] == "\\" and (ranges := self._escaped_class()) is not None:
            return ranges
        first = self._class_char()
        if self._pattern[self._at : self._at + 1] != "-" or self._pattern[self._at + 1 : self._at + 2] in (
            "]",
            "[",
            "",
        ):
            return self._folded(char_classes.of(first))
        self._at += 1
        last = self._class_char()
        if last < first:
            raise self._fail("Illegal character range", self._at - 1)
        return self._folded(char_classes.of(first + last))

    def _class_char(self) -> str:
        if self._at < len(self._pattern) and self._pattern[self._at] == "\\":
            return self._escaped_char()
        self._at += 1
        return self._pattern[self._at - 1 : self._at]


def _narrowed(result: Ranges | None, members: list[Ranges]) -> Ranges:
    found = char_classes.union(members)
    if result is None:
        return found
    return char_classes.intersection(result, found) if members else result


@dataclass(frozen=True, slots=True)
class Replacement:
    r"""A text with ``$1``, ``${name}`` and ``\x`` in it, for matches of one pattern."""

    text: str

    def first(self, pattern: re.Pattern[str], subject: str) -> str:
        """The subject with the first match replaced.

        Raises:
            ValueError: the text is not a replacement.
            IndexError: it refers to a group that the pattern does not have.
        """
        match = pattern.search(subject)
        if match is None:
            return subject
        return subject[: match.start()] + self.expand(match) + subject[match.end() :]

    def expand(self, match: re.Match[str]) -> str:
        """The text for one match; a group without a match stands for nothing."""
        result = []
        at = 0
        while at < len(self.text):
            char = self.text[at]
            at += 1
            if char == "\\":
                if at == len(self.text):
                    raise ValueError("character to be escaped is missing")
                result.append(self.text[at])
                at += 1
            elif char == "$":
                group, at = self._reference(match, at)
                result.append(group or "")
            else:
                result.append(char)
        return "".join(result)

    def _reference(self, match: re.Match[str], at: int) -> tuple[str | None, int]:
        if at == len(self.text):
            raise ValueError("Illegal group reference: group index is missing")
        if self.text[at] == "{":
            end = at + 1
            while end < len(self.text) and self.text[end].isascii() and self.text[end].isalnum():
                end += 1
            name = self.text[at + 1 : end]
            if not name:
                raise ValueError("named capturing group is missing trailing '}'")
            if self.text[end : end + 1] != "}":
                raise ValueError("named capturing group is missing trailing '}'")
            if name[0].isdigit():
                raise ValueError(f"capturing group name {{{name}}} starts with digit character")
            if name not in match.re.groupindex:
                raise ValueError(f"No group with name {{{name}}}")
            return match[name], end + 1
        if self.text[at] not in "0123456789":
            raise ValueError("Illegal group reference")
        number = int(self.text[at])
        at += 1
        if number > match.re.groups:
            raise IndexError(f"No group {number}")
        # More digits belong to the number as long as there is such a group.
        while at < len(self.text) and self.text[at] in "0123456789":
            longer = number * 10 + int(self.text[at])
            if longer > match.re.groups:
                break
            number, at = longer, at + 1
        return match[number], at
