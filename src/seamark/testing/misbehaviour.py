"""What observable sources and sinks have in common: the definition of their keys, and failing on request."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

from seamark.config.configdef import ConfigDef, Type, ValidString
from seamark.errors import RetriableError
from seamark.testing.observed import CallLog

Key = tuple[str, Type, Any, str]
_CHOICES = {
    "observe.polls": ("all", "records", "none"),
    "fail.how": ("raise", "retriable", "kill"),
    "update.offsets.after": ("none", "last", "loop"),
    "has.work": ("unknown", "true", "false", "auto"),
}


def define_keys(keys: Sequence[Key]) -> ConfigDef:
    """A definition from name, type, default and description of each key."""
    definition = ConfigDef()
    for name, kind, default, doc in keys:
        validator = ValidString.of(*_CHOICES[name]) if name in _CHOICES else None
        definition.define(name, kind, default, validator=validator, doc=doc)
    return definition


class Misbehaviour:
    """Fails and waits where the config says so."""

    def __init__(self, values: Mapping[str, Any], calls: CallLog) -> None:
        self._at, self._in, self._how = values["fail.at"], values["fail.in"], values["fail.how"]
        self._once, self._calls = values["fail.once"], calls
        self._block_ms: dict[str, float] = json.loads(values["block.ms"])
        self._counts: dict[str, int] = {}

    def enter(self, method: str) -> None:
        """To be called first in each method."""
        self._counts[method] = self._counts.get(method, 0) + 1
        time.sleep(self._block_ms.get(method, 0) / 1000)
        if method == self._in and method not in ("poll", "put"):
            self.fail_if(self._counts[method] == self._at)

    @property
    def record(self) -> int:
        """The number of the record that is not to be passed on; -1 if there is none."""
        return int(self._at) if self._in in ("poll", "put") else -1

    def fail_if(self, due: bool) -> None:
        """Fail, if it is due and did not happen before or may happen again."""
        if not due or (self._once and not self._calls.first_time(f"fail-{self._in}")):
            return
        self._calls.write("failure", how=self._how, where=self._in)
        if self._how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        text = f"failing in {self._in} at {self._at} as configured"
        raise RetriableError(text) if self._how == "retriable" else RuntimeError(text)
