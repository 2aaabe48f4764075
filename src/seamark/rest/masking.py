"""What users who may not change configurations do not see of them: passwords and other secrets.

An editor sees values as they are, as every client of Kafka Connect does. To others a key of type PASSWORD, a key whose
name says that it is a secret, and a password within an address are ``[hidden]``. References to config providers, such
as ``${file:/secrets:password}``, are no secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from seamark.config.secret_keys import is_secret_by_name
from seamark.errors import ConnectError
from seamark.rest.answers import Call
from seamark.rest.identity import Role
from seamark.runtime.herder import Herder

HIDDEN: Final = "[hidden]"
_REFERENCE: Final = re.compile(r"\s*(\$\{[^{}]*\}\s*)+")
# In user:password@host, and in parameters of an address.
_IN_ADDRESS: Final = re.compile(r"(://[^/\s:@]*:)([^@/\s]+)(@)")
_IN_PARAMETER: Final = re.compile(
    r"\b((?:password|passwd|pwd|secret|token|api_?key|access_?key|signature|sig)=)([^&;,\s\"']+)", re.IGNORECASE
)
_PASSWORDS: WeakKeyDictionary[Herder, dict[str, frozenset[str]]] = WeakKeyDictionary()
_MOST_CLASSES: Final = 1000


def sees_secrets(call: Call) -> bool:
    """Whether the user sees configurations as they are."""
    return call.identity.role.allows(Role.EDITOR)


def shown_config(call: Call, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A connector's or a task's configuration as the user sees it."""
    if sees_secrets(call):
        return config
    passwords = _password_keys(call.herder, config.get("connector.class"))
    return {key: masked(key, value, passwords) for key, value in config.items()}


def shown_task(call: Call, config: Mapping[str, Any], connector_class: str | None) -> dict[str, Any]:
    """The configuration of a task of such a connector, as the user sees it."""
    shown = shown_config(call, {**config, "connector.class": connector_class})
    return {key: shown[key] if key != "connector.class" else config[key] for key in config}


def shown_info(call: Call, info: Mapping[str, Any]) -> Mapping[str, Any]:
    """Something that has a `config`, as the user sees it."""
    return info if sees_secrets(call) else {**info, "config": shown_config(call, info["config"])}


def shown_request(call: Call, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an operation was asked to do, as the user sees it."""
    if isinstance(request.get("config"), Mapping):
        request = shown_info(call, request)
    if isinstance(request.get("url"), str) and not sees_secrets(call):
        request = {**request, "url": masked("url", request["url"])}
    return request


def masked(key: str, value: Any, passwords: frozenset[str] = frozenset()) -> Any:
    """A value, or what is shown instead of it."""
    if value is None or value == "" or (isinstance(value, str) and _REFERENCE.fullmatch(value)):
        return value
    if key in passwords or is_secret_by_name(key):
        return HIDDEN
    if not isinstance(value, str):
        return value
    return _IN_PARAMETER.sub(rf"\1{HIDDEN}", _IN_ADDRESS.sub(rf"\1{HIDDEN}\3", value))


def _password_keys(herder: Herder, class_name: Any) -> frozenset[str]:
    """The keys of type PASSWORD of a connector; none of one that is not there, whose names still count."""
    if not isinstance(class_name, str):
        return frozenset()
    known = _PASSWORDS.setdefault(herder, {})
    if class_name not in known:
        try:
            rows = herder.plugin_config(class_name, None)
        except ConnectError:
            return frozenset()
        if len(known) >= _MOST_CLASSES:
            known.clear()
        known[class_name] = frozenset(str(row["name"]) for row in rows if row.get("type") == "PASSWORD")
    return known[class_name]
