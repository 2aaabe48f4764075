"""Whether what is on `plugin.path` can be used, and the worker's own converters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seamark.config.connector import converter_settings
from seamark.config.worker import WorkerConfig
from seamark.doctor.findings import Finding, error, ok, warning
from seamark.engine.plugin_path import PluginProblem, import_roots, split_plugin_path
from seamark.engine.plugins import Plugins
from seamark.errors import ConfigError, PluginError

CHECK: Final = "plugins"


@dataclass(frozen=True, slots=True)
class PathEntry:
    """A directory of `plugin.path`: how many Python files and Java archives there are in it, and below."""

    path: str
    is_directory: bool
    modules: int = 0
    jars: int = 0


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """What a worker would find."""

    entries: Sequence[PathEntry]
    problems: Sequence[PluginProblem]
    own: int
    """Plugins that come from `plugin.path`."""


def judge_plugins(facts: PluginFacts) -> list[Finding]:
    """What cannot be used."""
    found: list[Finding] = []
    missing = {entry.path for entry in facts.entries if not entry.is_directory}
    for entry in facts.entries:
        if not entry.is_directory:
            found.append(
                error(
                    CHECK, f"plugin.path names {entry.path}, which is no directory.", "Create it, or remove it there."
                )
            )
        elif entry.jars and not entry.modules:
            found.append(
                warning(
                    CHECK,
                    f"{entry.path} of plugin.path has {entry.jars} jars and no Python: Java plugins do not run here.",
                    "Remove it from `plugin.path`; `seamark doctor --url URL` tells which connectors need its classes.",
                )
            )
    for problem in facts.problems:
        if problem.location not in missing:
            found.append(
                error(
                    CHECK,
                    f"{problem.location} cannot be used: {problem.reason}",
                    "Mend the module or install what it imports; a worker leaves it out.",
                )
            )
    if not found:
        where = f"{len(facts.entries)} directories of plugin.path, with {facts.own} plugins" if facts.entries else ""
        found.append(ok(CHECK, f"All plugins can be imported{': ' if where else ''}{where}."))
    return found


def look_at_plugins(plugins: Plugins) -> PluginFacts:
    """Imports all of them, as a worker does."""
    entries = [_entry(path) for path in split_plugin_path(plugins.plugin_path)]
    roots = [str(root) for root in import_roots(plugins.plugin_path)]
    infos = [*plugins.connectors(), *plugins.converters(), *plugins.transformations(), *plugins.predicates()]
    own = {info.class_name for info in infos if info.location.startswith(tuple(roots))} if roots else set()
    return PluginFacts(entries, plugins.problems(), len(own))


def judge_converters(config: WorkerConfig, plugins: Plugins) -> list[Finding]:
    """The worker's own converters: there, and content with their settings."""
    found = []
    for kind in ("key", "value", "header"):
        name, settings = converter_settings(kind, {}, config)
        try:
            if kind == "header":
                plugins.header_converter(name, settings)
            else:
                plugins.converter(name, settings, kind == "key")
        except PluginError:
            found.append(
                error(
                    CHECK,
                    f"{kind}.converter is {name}, which Seamark does not have.",
                    f"Set `{kind}.converter` to one of `seamark plugins --all`, or put a module that has it on "
                    "`plugin.path`.",
                )
            )
        except ConfigError as problem:
            found.append(
                error(
                    CHECK, f"{kind}.converter {name}: {problem.message}", f"Correct `{kind}.converter.*` of the file."
                )
            )
    return found


def _entry(path: Path) -> PathEntry:
    if not path.is_dir():
        return PathEntry(str(path), False)
    return PathEntry(str(path), True, sum(1 for _ in path.rglob("*.py")), sum(1 for _ in path.rglob("*.jar")))
