"""Config providers: values that a configuration only refers to, ``${file:/etc/db.properties:password}``.

As in Kafka: a worker names its providers in `config.providers` and describes each with
``config.providers.<name>.class`` and ``config.providers.<name>.param.*``; every value of the worker's own
configuration and of a connector's may then hold references ``${provider:path:key}`` or ``${provider:key}``. What is
stored and shown keeps the references; `Providers.resolve` is called where the values are used, and nowhere else.

A reference to a provider that the worker does not have is an ordinary text and stays, as in Kafka. One that its
provider cannot resolve is an error here; Kafka leaves it as it is, and a connector then logs in with the password
``${file:...}``. No message of this module shows a value, and `secrets` knows all of them so that logs can hide them.
"""

from __future__ import annotations

import importlib
import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from seamark.config.properties import read_properties
from seamark.errors import ConfigError

PROVIDERS: Final = "config.providers"
PREFIX: Final = "config.providers."
REFERENCE: Final = re.compile(r"\$\{([^}:]*):(([^}:]*):)?([^}]*)\}")
_JAVA = "org.apache.kafka.common.config.provider."


class ConfigProvider(ABC):
    """Where some values come from. A subclass of one's own is named as ``module:Class``."""

    def configure(self, params: Mapping[str, str]) -> None:  # noqa: B027 - optional
        """Called once, with what follows ``config.providers.<name>.param.``.

        Raises:
            ConfigError: a parameter is not acceptable.
        """

    @abstractmethod
    def get(self, path: str, keys: frozenset[str]) -> Mapping[str, str]:
        """The values of these keys; those that do not exist are left out.

        Args:
            path: What the reference says before the last colon; empty if it has no path.
            keys: Which values are wanted.

        Raises:
            ConfigError: there is no such path, or it may not be read.
        """

    def close(self) -> None:  # noqa: B027 - optional
        """Release what is held."""


class _Paths:
    """The files and directories that may be read; all of them unless `allowed.paths` lists some."""

    def __init__(self, params: Mapping[str, str]) -> None:
        text = params.get("allowed.paths") or ""
        self._allowed = [self._existing(part.strip()) for part in text.split(",") if part.strip()] or None

    @staticmethod
    def _existing(text: str) -> Path:
        path = Path(text)
        if not path.is_absolute():
            raise ConfigError(f"Path {text} of allowed.paths is not absolute", key="allowed.paths", value=text)
        if not path.exists():
            raise ConfigError(f"Path {text} of allowed.paths does not exist", key="allowed.paths", value=text)
        return path.resolve()

    def checked(self, text: str) -> Path:
        """The path, if it may be read. Links are followed first, so that none leads out."""
        path = Path(text).resolve()
        if self._allowed is not None and not any(path.is_relative_to(allowed) for allowed in self._allowed):
            raise ConfigError(f"The path {text} is not allowed to be accessed; allowed.paths does not list it")
        return path


class FileConfigProvider(ConfigProvider):
    """Values of properties files: ``${file:/path/of.properties:key}``."""

    def configure(self, params: Mapping[str, str]) -> None:
        self._paths = _Paths(params)

    def get(self, path: str, keys: frozenset[str]) -> Mapping[str, str]:
        if not path:
            raise ConfigError("A file must be named before the key, as in ${file:/path/of.properties:key}")
        try:
            values = read_properties(self._paths.checked(path))
        except ConfigError as error:
            raise ConfigError(f"Could not read properties from file {path}: {error}") from error
        return {key: value for key, value in values.items() if key in keys}


class DirectoryConfigProvider(ConfigProvider):
    """Contents of files, as mounted secrets are: ``${dir:/path:file}``."""

    def configure(self, params: Mapping[str, str]) -> None:
        self._paths = _Paths(params)

    def get(self, path: str, keys: frozenset[str]) -> Mapping[str, str]:
        directory = self._paths.checked(path) if path else None
        if directory is None or not directory.is_dir():
            raise ConfigError(f"The path {path or '(none)'} is not a directory")
        found: dict[str, str] = {}
        for key in keys:
            file = Path(os.path.normpath(directory / key))
            # The name of a file, not a way to another directory.
            if file.parent == directory and file.is_file():
                try:
                    found[key] = self._paths.checked(str(file)).read_text("utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    raise ConfigError(f"Could not read file {file}: {type(error).__name__}") from error
        return found


class EnvVarConfigProvider(ConfigProvider):
    """Environment variables of the worker: ``${env:NAME}``."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment

    def configure(self, params: Mapping[str, str]) -> None:
        text = params.get("allowlist.pattern")
        try:
            self._allowed = re.compile(text) if text else None
        except re.error as error:
            raise ConfigError(
                f"Invalid value {text} for configuration allowlist.pattern: {error}", key="allowlist.pattern"
            ) from error

    def get(self, path: str, keys: frozenset[str]) -> Mapping[str, str]:
        if path:
            raise ConfigError(f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'")
        environment = os.environ if self._environment is None else self._environment
        names = [key for key in keys if self._allowed is None or self._allowed.fullmatch(key)]
        return {name: environment[name] for name in names if name in environment}


_CLASSES: Final[Mapping[str, type[ConfigProvider]]] = {
    cls.__name__: cls for cls in (FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider)
}


class Secrets:
    """Every value that a provider has given to this process, so that nothing that is written down shows one."""

    HIDDEN: Final = "[hidden]"
    SHORTEST: Final = 6
    """A shorter value would be found in ordinary words and numbers, and hide those."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    def add(self, values: Iterable[str]) -> None:
        """Values to hide from now on."""
        with self._lock:
            new = {value for text in values for value in (text, text.strip()) if len(value) >= self.SHORTEST}
            if not new <= self._values:
                self._values |= new
                longest_first = sorted(self._values, key=len, reverse=True)
                self._pattern = re.compile("|".join(re.escape(value) for value in longest_first))

    def hide(self, text: str) -> str:
        """The text without them."""
        pattern = self._pattern
        return text if pattern is None else pattern.sub(self.HIDDEN, text)


secrets: Final = Secrets()
"""Of this process."""


class Providers:
    """The config providers of a worker."""

    def __init__(self, providers: Mapping[str, ConfigProvider] | None = None) -> None:
        self._providers = dict(providers or {})

    @classmethod
    def of(cls, worker: Mapping[str, str | None]) -> Providers:
        """The providers that a worker's properties describe.

        Raises:
            ConfigError: a class is not named or not known, or a parameter is not acceptable.
        """
        names = [name.strip() for name in (worker.get(PROVIDERS) or "").split(",") if name.strip()]
        return cls({name: _provider(name, worker) for name in names})

    def __bool__(self) -> bool:
        return bool(self._providers)

    def resolve(self, config: Mapping[str, str | None]) -> dict[str, str | None]:
        """The config with every reference replaced by what it refers to. The result must not be stored or shown.

        Raises:
            ConfigError: a reference cannot be resolved; names the key and the reference, never a value.
        """
        if not self._providers:
            return dict(config)
        found = {name: self._values(name, config) for name in self._providers}
        result: dict[str, str | None] = {}
        for key, text in config.items():
            if text is None or key == PROVIDERS or key.startswith(PREFIX):
                result[key] = text
            else:
                result[key] = REFERENCE.sub(lambda match: _replacement(match, found), text)
        return result

    def close(self) -> None:
        """Release what the providers hold."""
        for provider in self._providers.values():
            provider.close()

    def _values(self, name: str, config: Mapping[str, str | None]) -> dict[tuple[str, str], str]:
        """What one provider says about all references of a config, by path and key."""
        wanted: dict[str, dict[str, str]] = {}
        for key, text in config.items():
            if text is not None and key != PROVIDERS and not key.startswith(PREFIX):
                for match in REFERENCE.finditer(text):
                    if match[1] == name:
                        wanted.setdefault(match[3] or "", {}).setdefault(match[4], key)
        found: dict[tuple[str, str], str] = {}
        for path, keys in wanted.items():
            where = f"config provider {name}" + (f", path {path}" if path else "")
            named = next(iter(keys.values()))
            try:
                values = self._providers[name].get(path, frozenset(keys))
            except ConfigError as error:
                raise ConfigError(f"Could not resolve the value of {named} ({where}): {error}", key=named) from error
            except Exception as error:
                # Not `from error`: whatever a provider of somebody's own says may show a value.
                text = f"Could not resolve the value of {named} ({where}): {type(error).__name__}"
                raise ConfigError(text, key=named) from None
            for reference, named in keys.items():
                if reference not in values:
                    raise ConfigError(
                        f"Could not resolve the value of {named} ({where}): there is no {reference!r}, or it may not "
                        "be read",
                        key=named,
                    )
                found[path, reference] = values[reference]
        secrets.add(found.values())
        return found


def _provider(name: str, worker: Mapping[str, str | None]) -> ConfigProvider:
    key = f"{PREFIX}{name}.class"
    class_name = (worker.get(key) or "").strip()
    if not class_name:
        raise ConfigError(f'Missing required configuration "{key}" which has no default value.', key=key)
    prefix = f"{PREFIX}{name}.param."
    params = {param[len(prefix) :]: value or "" for param, value in worker.items() if param.startswith(prefix)}
    provider = _class(key, class_name)()
    try:
        provider.configure(params)
    except ConfigError as error:
        raise ConfigError(f"Config provider {name} cannot be used: {error}", key=prefix + (error.key or "")) from error
    return provider


def _class(key: str, name: str) -> type[ConfigProvider]:
    known = _CLASSES.get(name.removeprefix(_JAVA))
    if known is not None:
        return known
    module, separator, simple = name.partition(":")
    found: object = None
    if separator:
        try:
            found = getattr(importlib.import_module(module), simple, None)
        except (ImportError, TypeError, ValueError) as error:  # the latter if it is no name of a module
            raise ConfigError(f"Invalid value {name} for configuration {key}: {error}", key=key, value=name) from error
    if not isinstance(found, type) or not issubclass(found, ConfigProvider):
        choices = ", ".join(_JAVA + simple for simple in _CLASSES)
        raise ConfigError(
            f"Invalid value {name} for configuration {key}: use {choices}, or module:Class of a "
            "seamark.config.providers.ConfigProvider",
            key=key,
            value=name,
        )
    return found


def _replacement(match: re.Match[str], found: Mapping[str, Mapping[tuple[str, str], str]]) -> str:
    values = found.get(match[1])
    return match[0] if values is None else values[match[3] or "", match[4]]


def has_references(text: str | None) -> bool:
    """Whether a value looks like it refers to a provider."""
    return text is not None and REFERENCE.search(text) is not None


def restore(task_config: Mapping[str, str], connector_config: Mapping[str, str | None]) -> dict[str, str]:
    """A task's config as it may be published: keys whose values the connector's config refers to, with the reference.

    Args:
        task_config: As the connector made it, from resolved values.
        connector_config: The connector's, with references.
    """
    references = {key: text for key, text in connector_config.items() if text is not None and has_references(text)}
    return {key: references.get(key, value) for key, value in task_config.items()}
