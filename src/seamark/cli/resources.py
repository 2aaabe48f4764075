"""Connectors in files: JSON, YAML and properties; what would change if they were applied.

A file has a configuration with its ``name``, or an object with ``name``, ``config`` and perhaps ``initial_state``, or
a list of these; YAML may have several documents. What `seamark get -o json|yaml` prints is understood, too. All values
are texts as they are written: ``1.50`` and ``yes`` in YAML are not numbers or booleans.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from seamark.cli.exits import RefusedError
from seamark.config.connector_files import ConnectorFile, connector_of, read_connector_file
from seamark.config.properties import load_properties
from seamark.errors import ConfigError

STDIN: Final = "-"
_YAML: Final = (".yaml", ".yml")
_KNOWN: Final = (".json", *_YAML, ".properties")


def read_resources(paths: Sequence[str], *, is_recursive: bool = False) -> list[ConnectorFile]:
    """The connectors of files and directories, in their order.

    Raises:
        RefusedError: a file cannot be read or understood, there is none, or two have the same connector.
    """
    found: dict[str, ConnectorFile] = {}
    try:
        for path in paths:
            for each in _read(path, is_recursive):
                other = found.setdefault(each.name, each)
                if other is not each:
                    raise RefusedError(f"Connector {each.name} is in {other.path} and again in {each.path}")
    except ConfigError as error:
        raise RefusedError(error.message) from error
    if not found:
        raise RefusedError(f"There is no connector in {', '.join(paths)}")
    return list(found.values())


def _read(given: str, is_recursive: bool) -> Iterator[ConnectorFile]:
    if given == STDIN:
        yield from _parse("stdin", sys.stdin.read(), None)
        return
    path = Path(given)
    if path.is_dir():
        inside = path.rglob("*") if is_recursive else path.iterdir()
        for file in sorted(each for each in inside if each.suffix in _KNOWN and each.is_file()):
            yield from _read_file(file)
    else:
        yield from _read_file(path)


def _read_file(path: Path) -> Iterator[ConnectorFile]:
    if path.suffix not in (*_YAML, ".json"):
        yield read_connector_file(path)
        return
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"Connector file '{path}' cannot be read: {reason}") from error
    yield from _parse(str(path), text, path.suffix)


def _parse(name: str, text: str, suffix: str | None) -> Iterator[ConnectorFile]:
    if text.lstrip().startswith(("{", "[")) and suffix not in _YAML:
        contents = [_json(name, text)]
    elif suffix is None and "=" in (text.strip().splitlines() or [""])[0].partition(":")[0]:
        contents = [load_properties(text, name)]
    else:
        contents = _yaml(name, text)
    for content in contents:
        for each in content if isinstance(content, list) else [content]:
            if not isinstance(each, Mapping):
                raise ConfigError(f"Connector file '{name}' should have objects with 'name' and 'config', not {each!r}")
            yield connector_of(name, each)


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"Connector file '{name}' is not valid JSON: {error}") from error


def _no_constant(text: str) -> None:
    raise ValueError(f"there is no such value as {text}")


def _yaml(name: str, text: str) -> list[Any]:
    import yaml

    from seamark.cli.yaml_texts import YamlTextError, documents

    class Loader(yaml.SafeLoader):
        """Leaves texts as they are; only what says that it is null is that."""

        yaml_implicit_resolvers: ClassVar[Any] = {
            letter: [(tag, pattern) for tag, pattern in found if tag in _RESOLVED]
            for letter, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    try:
        return [each for each in documents(text, Loader) if each is not None]
    except YamlTextError as error:
        raise ConfigError(f"Connector file '{name}' is not valid YAML: {error}") from error


_RESOLVED: Final = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """What applying a connector would do. `lines` are those of the difference."""

    resource: ConnectorFile
    is_new: bool
    lines: tuple[str, ...] = field(default=())

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do."""
        return self.is_new or bool(self.lines)


def wanted_config(resource: ConnectorFile) -> dict[str, str | None]:
    """As a worker keeps it."""
    return {**resource.config, "name": resource.name}


def change_of(resource: ConnectorFile, current: Mapping[str, str | None] | None) -> ResourceChange:
    """Compare a connector with what the worker has of it; None if it has none."""
    wanted = wanted_config(resource)
    if current is None:
        return ResourceChange(resource, True, tuple(f"+ {key} = {value}" for key, value in sorted(wanted.items())))
    lines = []
    for key in sorted({*wanted, *current}):
        if key in current and (key not in wanted or wanted[key] != current[key]):
            lines.append(f"- {key} = {current[key]}")
        if key in wanted and (key not in current or wanted[key] != current[key]):
            lines.append(f"+ {key} = {wanted[key]}")
    return ResourceChange(resource, False, tuple(lines))
