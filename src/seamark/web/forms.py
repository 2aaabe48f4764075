"""A connector's configuration as a form: which fields there are, and what becomes of what is typed into them.

Fields come from the worker's validation, which knows the keys of the connector, its converters, transforms and
clients. A field that is left blank is not in the configuration, so that the default applies. Secrets never reach a
browser: it gets `MASK`, and what still is `MASK` when it comes back stands for the value that there was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from seamark.client import ConfigEntry, ConfigKey, ConfigValue, Validation
from seamark.config.secret_keys import is_secret_by_name

Config = Mapping[str, str | None]

MASK: Final = "[hidden]"
OWN: Final = "Connector"
OTHER: Final = "Other keys"
FIXED: Final = frozenset(("name", "connector.class"))
"""Not for fields: they are chosen once, when a connector is created."""

_NO_SECRET: Final = re.compile(r"\.(location|url|uri|class|type|path|file|ms|provider|algorithm)$", re.IGNORECASE)
# ${provider:path:key}: says where a secret is, and is none itself.
_REFERENCE: Final = re.compile(r"^\$\{[^}]+\}$")
_NUMBERS: Final = ("INT", "SHORT", "LONG", "DOUBLE")


class Kind(Enum):
    """How a field is filled in."""

    TEXT = "text"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    LIST = "list"
    SECRET = "secret"  # noqa: S105 - the name of a kind


@dataclass(frozen=True, slots=True)
class Field:
    """A key of the configuration."""

    name: str
    label: str
    kind: Kind
    is_required: bool = False
    default: str | None = None
    help: str = ""
    importance: str = "MEDIUM"
    choices: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    is_basic: bool = True
    """Whether it is shown without being asked for: it has to be known, is set, or is wrong."""


@dataclass(frozen=True, slots=True)
class Section:
    """Fields that belong together."""

    title: str
    fields: Sequence[Field]

    @property
    def basic(self) -> list[Field]:
        """Those that are shown at first."""
        return [field for field in self.fields if field.is_basic]

    @property
    def has_errors(self) -> bool:
        """Whether one of them is wrong."""
        return any(field.errors for field in self.fields)


@dataclass(frozen=True, slots=True)
class Change:
    """A key that changes; None where it is not set. Secrets are masked."""

    key: str
    old: str | None
    new: str | None

    @property
    def lines(self) -> list[str]:
        """As in a file of differences."""
        if self.old == self.new:  # two masks
            return [f"- {self.key} = {self.old}", f"+ {self.key} = {self.new} (changed)"]
        old = [] if self.old is None else [f"- {self.key} = {self.old}"]
        return old + ([] if self.new is None else [f"+ {self.key} = {self.new}"])


# fields


def entries_of(keys: Iterable[ConfigKey]) -> list[ConfigEntry]:
    """Definitions alone, before anything was validated."""
    return [ConfigEntry(key, ConfigValue(key.name, key.default_value)) for key in keys]


def sections_of(entries: Iterable[ConfigEntry], config: Config, groups: Sequence[str] = ()) -> list[Section]:
    """The form: the connector's own keys first, then the groups in their order, then what nobody has defined."""
    found: dict[str, list[tuple[int, int, Field]]] = {}
    known = set(FIXED)
    for place, entry in enumerate(entries):
        key, name = entry.definition, entry.value.name
        if name in known:
            continue
        known.add(name)
        if key is not None and not entry.value.visible and not config.get(name) and not entry.value.errors:
            continue
        group = OTHER if key is None else key.group or OWN
        order = key.order_in_group if key is not None and key.group else place
        found.setdefault(group, []).append((order, place, _field(entry, config)))
    for name in sorted(set(config) - known):
        found.setdefault(OTHER, []).append((0, len(known), _undefined(name)))
    # What belongs to one transform stands below the list of transforms.
    known_titles = sorted(dict.fromkeys((OWN, *groups, *found)), key=lambda title: title == OTHER)
    firsts = [title.partition(":")[0] for title in known_titles]
    titles = sorted(known_titles, key=lambda title: firsts.index(title.partition(":")[0]))
    return [
        Section(title, [field for *_, field in sorted(found[title], key=lambda each: each[:2])])
        for title in titles
        if title in found
    ]


def _field(entry: ConfigEntry, config: Config) -> Field:
    key, value = entry.definition, entry.value
    if key is None:
        return _undefined(value.name, tuple(value.errors))
    choices = tuple(str(each) for each in value.recommended_values)
    is_set = config.get(value.name) not in (None, "")
    importance = key.importance or "MEDIUM"
    return Field(
        value.name,
        key.display_name or value.name,
        _kind(key, value.name, choices),
        key.required,
        key.default_value or None,
        key.documentation or "",
        importance,
        choices,
        told_once(value.errors),
        key.required or importance == "HIGH" or is_set or bool(value.errors) or not key.group,
    )


def _undefined(name: str, errors: tuple[str, ...] = ()) -> Field:
    return Field(name, name, Kind.SECRET if is_secret(name) else Kind.TEXT, errors=told_once(errors))


def _kind(key: ConfigKey, name: str, choices: Sequence[str]) -> Kind:
    if is_secret(name, key.type):
        return Kind.SECRET
    if key.type == "BOOLEAN":
        return Kind.SWITCH
    if key.type in _NUMBERS:
        return Kind.NUMBER
    if choices:
        return Kind.CHOICE
    return Kind.LIST if key.type == "LIST" else Kind.TEXT


# secrets


def is_secret(name: str, type_name: str | None = None) -> bool:
    """Whether the value of a key is not to be shown: it is a password by its definition, or by its name."""
    if type_name == "PASSWORD":
        return True
    return is_secret_by_name(name) and not _NO_SECRET.search(name) and type_name in (None, "STRING", "LIST")


def secrets_in(entries: Iterable[ConfigEntry], config: Config) -> frozenset[str]:
    """The keys of a configuration whose values are not to be shown."""
    types = {each.value.name: None if each.definition is None else each.definition.type for each in entries}
    return frozenset(
        name
        for name, value in config.items()
        if value and not _REFERENCE.match(value) and is_secret(name, types.get(name))
    )


def shown(config: Config, secrets: Iterable[str]) -> dict[str, str]:
    """What a browser gets of a configuration."""
    hidden = set(secrets)
    return {name: MASK if name in hidden else value or "" for name, value in config.items()}


def without_secrets(text: str, config: Config, secrets: Iterable[str]) -> str:
    """A worker's message, without the values of secrets."""
    for name in secrets:
        value = config.get(name)
        if value and value != MASK:
            text = text.replace(value, MASK)
    return text


# what was typed


def config_of(values: Mapping[str, str | None], before: Config) -> dict[str, str | None]:
    """The configuration that the values of fields stand for, given the one that there was."""
    config: dict[str, str | None] = {}
    for name, typed in values.items():
        value = (typed or "").strip("\r\n")
        if value == MASK and before.get(name):
            config[name] = before[name]
        elif value:
            config[name] = value
        elif name in before and not before[name]:  # was blank before, and still is
            config[name] = before[name]
    return config


def changes_of(before: Config, after: Config, secrets: Iterable[str]) -> list[Change]:
    """What would change, by key. Values of secrets are masked."""
    hidden = set(secrets)

    def show(config: Config, name: str) -> str | None:
        if name not in config:
            return None
        return MASK if name in hidden and config[name] else config[name] or ""

    return [
        Change(name, show(before, name), show(after, name))
        for name in sorted({*before, *after})
        if (name in before) != (name in after) or before.get(name) != after.get(name)
    ]


def messages_of(validation: Validation) -> dict[str, list[str]]:
    """The worker's own messages, by key; each once."""
    return {each.value.name: told for each in validation.configs if (told := list(told_once(each.value.errors)))}


def told_once(messages: Sequence[str]) -> tuple[str, ...]:
    """Without those that only follow from another one: what is missing or malformed is then also said to be null."""
    found = tuple(dict.fromkeys(messages))
    return tuple(each for each in found if not each.startswith("Invalid value null ")) or found
