"""Checks of single configuration values, and the words Kafka uses when one fails.

`str()` of a validator is what the reference pages show under "valid values".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from seamark.errors import ConfigError


class Validator(Protocol):
    """Anything that raises `ConfigError` for a value that it does not accept."""

    def __call__(self, name: str, value: Any) -> None:
        """Check the parsed value of the key `name`."""


def render(value: object) -> str:
    """A value as Java would print it, since clients compare messages of both workers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(render(item) for item in value) + "]"
    return str(value)


def invalid(name: str, value: object, reason: str) -> ConfigError:
    """The error for a value that is not acceptable."""
    return ConfigError(f"Invalid value {render(value)} for configuration {name}: {reason}", key=name, value=value)


def distinct(name: str, value: Any) -> None:
    """A list without null, duplicates and empty members, in the words of Kafka 4. Raises ConfigError."""
    problem = None
    if value is None:
        problem = "null"
    elif len(set(value)) < len(value):
        problem = "duplicated"
    elif "" in value:
        problem = "empty"
    if problem is not None:
        raise ConfigError(f"Configuration '{name}' values must not be {problem}.", key=name, value=value)


class Range:
    """Numbers within bounds, both included."""

    def __init__(self, minimum: float | None, maximum: float | None) -> None:
        self.minimum, self.maximum = minimum, maximum

    @classmethod
    def at_least(cls, minimum: float) -> Range:
        """Numbers from `minimum` on."""
        return cls(minimum, None)

    @classmethod
    def between(cls, minimum: float, maximum: float) -> Range:
        """Numbers from `minimum` to `maximum`."""
        return cls(minimum, maximum)

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            raise invalid(name, None, "Value must be non-null")
        if self.minimum is not None and value < self.minimum:
            raise invalid(name, value, f"Value must be at least {self.minimum}")
        if self.maximum is not None and value > self.maximum:
            raise invalid(name, value, f"Value must be no more than {self.maximum}")

    def __str__(self) -> str:
        bounds = [
            "" if self.minimum is None else f"{self.minimum},",
            "...",
            "" if self.maximum is None else f",{self.maximum}",
        ]
        return "[" + "".join(bounds) + "]"


class ValidString:
    """One of some strings."""

    def __init__(self, choices: Sequence[str], *, ignore_case: bool = False) -> None:
        self.choices, self.ignore_case = tuple(choices), ignore_case

    @classmethod
    def of(cls, *choices: str) -> ValidString:
        """Exactly one of these."""
        return cls(choices)

    @classmethod
    def of_ignoring_case(cls, *choices: str) -> ValidString:
        """One of these in any case; the value is not changed."""
        return cls(choices, ignore_case=True)

    def __call__(self, name: str, value: Any) -> None:
        if self.ignore_case:
            if value is None or value.upper() not in {choice.upper() for choice in self.choices}:
                choices = ", ".join(choice.upper() for choice in self.choices)
                raise invalid(name, value, f"String must be one of (case insensitive): {choices}")
        elif value not in self.choices:
            raise invalid(name, value, f"String must be one of: {', '.join(self.choices)}")

    def __str__(self) -> str:
        return ("(case insensitive) " if self.ignore_case else "") + "[" + ", ".join(self.choices) + "]"


class ValidList:
    """A list whose members are all among some strings."""

    def __init__(self, *choices: str) -> None:
        self._member = ValidString(choices)

    @classmethod
    def of(cls, *choices: str) -> ValidList:
        """Any of these, in any number."""
        return cls(*choices)

    def __call__(self, name: str, value: Any) -> None:
        for member in value or ():
            self._member(name, member)

    def __str__(self) -> str:
        return str(self._member)


class NonEmptyString:
    """A string that, if given, has at least one character."""

    def __call__(self, name: str, value: Any) -> None:
        if value == "":
            raise invalid(name, value, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


class NonEmptyStringWithoutControlChars:
    """A name: not empty, and without control characters. A missing one is reported as missing, not here."""

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            return
        if value == "":
            raise invalid(name, value, "String may not be empty")
        found = [str(ord(char)) for char in value if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0]
        if found:
            raise invalid(
                name,
                value,
                f"String may not contain control sequences but had the following ASCII chars: {', '.join(found)}",
            )

    def __str__(self) -> str:
        return "non-empty string without ISO control characters"


class Check:
    """A validator from a function and a description."""

    def __init__(self, check: Callable[[str, Any], None], description: str) -> None:
        self._check, self._description = check, description

    def __call__(self, name: str, value: Any) -> None:
        self._check(name, value)

    def __str__(self) -> str:
        return self._description


class AllOf:
    """Several validators, in order."""

    def __init__(self, *validators: Validator) -> None:
        self.validators = validators

    def __call__(self, name: str, value: Any) -> None:
        for validator in self.validators:
            validator(name, value)

    def __str__(self) -> str:
        return ", ".join(str(validator) for validator in self.validators)
