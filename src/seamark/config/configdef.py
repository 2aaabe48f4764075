"""The keys that a plugin or the worker understands: one definition feeds validation, reference pages and forms.

::

    ConfigDef().define("file", Type.STRING, validator=NonEmptyString(), doc="The file to read.")

`parse` gives typed values or raises for the first bad key; `validate` reports on all keys. Both use Kafka's rules and
words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

from seamark.config.parsing import Password, Type, parse_type, to_text
from seamark.config.validators import (
    AllOf,
    Check,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    Range,
    Validator,
    ValidList,
    ValidString,
    render,
)
from seamark.errors import ConfigError

__all__ = [
    "NO_DEFAULT",
    "AllOf",
    "Check",
    "ConfigDef",
    "ConfigKey",
    "ConfigValue",
    "Importance",
    "NonEmptyString",
    "NonEmptyStringWithoutControlChars",
    "Password",
    "Range",
    "Recommender",
    "Type",
    "ValidList",
    "ValidString",
    "Validator",
    "Width",
    "parse_type",
]


class Importance(Enum):
    """How likely a user has to know a key."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(Enum):
    """How wide a form's field for a key should be."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


class Recommender(Protocol):
    """Says which values make sense, given the other ones."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> Sequence[Any]:
        """Values to offer for this key."""

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        """Whether the key has a meaning now."""


class _NoDefault:
    """The type of `NO_DEFAULT`: survives copying and pickling as itself."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"

    def __reduce__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = _NoDefault()
"""Default of a key that must be given."""


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """The definition of one key."""

    name: str
    type: Type
    default: Any = NO_DEFAULT
    validator: Validator | None = None
    importance: Importance = Importance.MEDIUM
    doc: str = ""
    group: str | None = None
    order_in_group: int = -1
    width: Width = Width.NONE
    display_name: str = ""
    dependents: tuple[str, ...] = ()
    recommender: Recommender | None = None
    internal: bool = False

    @property
    def required(self) -> bool:
        """True if the key has no default."""
        return self.default is NO_DEFAULT

    def may_be(self, value: Any) -> bool:
        """Whether the value needs no validator: None, of a key that is None by default."""
        return value is None and self.default is None


@dataclass(slots=True)
class ConfigValue:
    """What validation found out about one key."""

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True


class ConfigDef:
    """A set of key definitions, in order."""

    def __init__(self, base: ConfigDef | None = None) -> None:
        self._keys: dict[str, ConfigKey] = {key.name: key for key in base.keys()} if base else {}
        self._group_sizes: dict[str, int] = {}
        for key in self._keys.values():
            if key.group is not None:
                self._group_sizes[key.group] = self._group_sizes.get(key.group, 0) + 1

    def define(
        self,
        name: str,
        type: Type,
        default: Any = NO_DEFAULT,
        *,
        validator: Validator | None = None,
        importance: Importance = Importance.MEDIUM,
        doc: str = "",
        group: str | None = None,
        order: int | None = None,
        width: Width = Width.NONE,
        display_name: str | None = None,
        dependents: Iterable[str] = (),
        recommender: Recommender | None = None,
        internal: bool = False,
    ) -> ConfigDef:
        """Add a key; returns the definition, so that calls can be chained.

        With the default None a key is optional: None is accepted whatever the validator says. Keys get their place in
        the group in order, unless `order` says otherwise.

        Raises:
            ConfigError: the key is defined twice, or its own default is not acceptable.
        """
        if default is not NO_DEFAULT:
            default = parse_type(name, default, type)
            if validator is not None and default is not None:
                validator(name, default)
        if order is None:
            order = -1 if group is None else self._group_sizes.get(group, 0) + 1
        return self.add(
            ConfigKey(
                name,
                type,
                default,
                validator,
                importance,
                doc,
                group,
                order,
                width,
                display_name or name,
                tuple(dependents),
                recommender,
                internal,
            )
        )

    def add(self, key: ConfigKey) -> ConfigDef:
        """Add a key that is complete.

        Raises:
            ConfigError: the key is defined twice.
        """
        if key.name in self._keys:
            raise ConfigError(f"Configuration {key.name} is defined twice.", key=key.name)
        if key.group is not None:
            self._group_sizes[key.group] = self._group_sizes.get(key.group, 0) + 1
        self._keys[key.name] = key
        return self

    def extend(self, other: ConfigDef, prefix: str = "", group: str | None = None) -> ConfigDef:
        """Add all keys of another definition, under a prefix; keys that exist here already stay as they are."""
        for key in other.keys():
            if prefix + key.name not in self._keys:
                self.define(
                    prefix + key.name,
                    key.type,
                    key.default,
                    validator=key.validator,
                    importance=key.importance,
                    doc=key.doc,
                    group=group or key.group,
                    order=None if group else key.order_in_group,
                    width=key.width,
                    display_name=key.display_name,
                    dependents=[prefix + dependent for dependent in key.dependents],
                    recommender=key.recommender,
                    internal=key.internal,
                )
        return self

    def keys(self) -> list[ConfigKey]:
        """The definitions, in order."""
        return list(self._keys.values())

    def names(self) -> list[str]:
        """The names of the keys, in order."""
        return list(self._keys)

    def key(self, name: str) -> ConfigKey | None:
        """The definition of one key."""
        return self._keys.get(name)

    def groups(self) -> list[str]:
        """The groups, in order of their first key."""
        return list(self._group_sizes)

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def parse(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Typed values of all defined keys; keys of `config` that are not defined are left out.

        Raises:
            ConfigError: a required key is missing, or a value is not acceptable; the first one, in the order of
            definition.
        """
        self._check_dependents()
        return {name: self._parse_key(key, config) for name, key in self._keys.items()}

    def parse_one(self, name: str, config: Mapping[str, Any]) -> Any:
        """The typed value of one key."""
        return self._parse_key(self._keys[name], config)

    @staticmethod
    def _parse_key(key: ConfigKey, config: Mapping[str, Any]) -> Any:
        if key.name in config:
            value = parse_type(key.name, config[key.name], key.type)
        elif key.required:
            raise _missing(key.name)
        else:
            value = key.default
        if key.validator is not None and not key.may_be(value):
            key.validator(key.name, value)
        return list(value) if isinstance(value, list) else value

    def validate(self, config: Mapping[str, Any]) -> list[ConfigValue]:
        """One report per defined key; never raises for a bad value."""
        reports = {name: self._report(key, config) for name, key in self._keys.items()}
        for name in self._undefined_dependents():
            errors = [f"{name} is referred in the dependents, but not defined."]
            reports[name] = ConfigValue(name, errors=errors, visible=False)
        parsed = {name: report.value for name, report in reports.items()}
        for key in self._keys.values():
            if key.recommender is not None:
                report = reports[key.name]
                try:
                    report.recommended_values = list(key.recommender.valid_values(key.name, parsed))
                    report.visible = key.recommender.visible(key.name, parsed)
                except ConfigError as error:
                    report.errors.append(error.message)
        return list(reports.values())

    @staticmethod
    def _report(key: ConfigKey, config: Mapping[str, Any]) -> ConfigValue:
        report = ConfigValue(key.name)
        if key.name in config:
            try:
                report.value = parse_type(key.name, config[key.name], key.type)
            except ConfigError as error:
                report.errors.append(error.message)
        elif key.required:
            report.errors.append(_missing(key.name).message)
        else:
            report.value = key.default
        if key.validator is not None and not key.may_be(report.value):
            # Kafka runs validators even after a failed parse, so a missing number is reported as "non-null" too.
            try:
                key.validator(key.name, report.value)
            except ConfigError as error:
                report.errors.append(error.message)
        return report

    def _undefined_dependents(self) -> list[str]:
        wanted = dict.fromkeys(name for key in self._keys.values() for name in key.dependents)
        return [name for name in wanted if name not in self._keys]

    def _check_dependents(self) -> None:
        undefined = self._undefined_dependents()
        if undefined:
            raise ConfigError(
                f"Some configurations in are referred in the dependents, but not defined: {','.join(undefined)}"
            )

    def markdown(self) -> str:
        """The keys as a Markdown table, those that must be given first."""
        rows = ["| Key | Type | Default | Valid values | Importance | Description |", "|---|---|---|---|---|---|"]
        keys = [key for key in self._keys.values() if not key.internal]
        for key in sorted(keys, key=lambda key: not key.required):
            valid = "" if key.validator is None else str(key.validator)
            cells = [
                f"`{key.name}`",
                key.type.value.lower(),
                _default_cell(key),
                valid,
                key.importance.value.lower(),
                key.doc,
            ]
            rows.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
        return "\n".join(rows) + "\n"


def _missing(name: str) -> ConfigError:
    return ConfigError(f'Missing required configuration "{name}" which has no default value.', key=name)


def _default_cell(key: ConfigKey) -> str:
    if key.required:
        return "**required**"
    if key.default is None:
        return "null"
    text = render(key.default) if isinstance(key.default, Password) else str(to_text(key.default))
    return f"`{text}`" if text else '""'


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
