"""Finding modules on `plugin.path`.

A directory of the path may hold modules (``orders.py``), packages (``orders/__init__.py``) and, as with Java workers,
one directory per plugin that holds them in turn. Whatever cannot be imported is reported and left out: one broken
plugin must not stop a worker.
"""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

log = logging.getLogger(__name__)
_import_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """A part of `plugin.path`, or an entry point, that could not be used."""

    location: str
    reason: str


@dataclass(frozen=True, slots=True)
class FoundModule:
    """A module on `plugin.path` that could be imported."""

    module: ModuleType
    location: str


def split_plugin_path(plugin_path: str | None) -> list[Path]:
    """The directories of a `plugin.path` value."""
    return [Path(part.strip()) for part in (plugin_path or "").split(",") if part.strip()]


def extend_import_path(plugin_path: str | None) -> None:
    """Make the modules of these directories importable. They come last: a plugin cannot hide an installed package."""
    for root in import_roots(plugin_path):
        if str(root) not in sys.path:
            sys.path.append(str(root))
            importlib.invalidate_caches()


def import_roots(plugin_path: str | None) -> list[Path]:
    """The directories whose modules are plugins: those of the path and, in them, those of one plugin each."""
    return [root for directory in split_plugin_path(plugin_path) for root in _roots(directory)]


def _roots(directory: Path) -> Iterator[Path]:
    if directory.is_dir():
        yield directory.resolve()
        for child in sorted(directory.iterdir()):
            if child.is_dir() and not (child / "__init__.py").exists() and any(child.glob("*.py")):
                yield child.resolve()


def scan(plugin_path: str | None) -> tuple[list[FoundModule], list[PluginProblem]]:
    """Import everything on the path; what worked, and what did not."""
    found: list[FoundModule] = []
    problems: list[PluginProblem] = []
    with _import_lock:
        extend_import_path(plugin_path)
        for directory in split_plugin_path(plugin_path):
            if not directory.is_dir():
                problems.append(PluginProblem(str(directory), "plugin.path names it, but it is not a directory"))
            for root in _roots(directory):
                for name, file in _modules(root):
                    outcome = _import(name, file)
                    if isinstance(outcome, FoundModule):
                        found.append(outcome)
                    else:
                        problems.append(outcome)
    for problem in problems:
        log.warning("Plugin left out: %s: %s", problem.location, problem.reason)
    return found, problems


def _modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Names and files of all modules below a root, packages before what is in them."""
    for file in sorted(root.glob("*.py")):
        if not file.stem.startswith(("_", "test_")) and file.stem.isidentifier():
            yield file.stem, file
    for package in sorted(path.parent for path in root.glob("*/__init__.py")):
        yield package.name, package / "__init__.py"
        for file in sorted(package.rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            if not any(part.startswith(("_", "test_")) for part in parts) and "tests" not in parts:
                yield ".".join(parts), file


def _import(name: str, file: Path) -> FoundModule | PluginProblem:
    try:
        module = importlib.import_module(name)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # a plugin may even call sys.exit while it is imported
        return PluginProblem(str(file), f"{type(error).__name__}: {error}")
    loaded = getattr(module, "__file__", None)
    if loaded is None or Path(loaded).resolve() != file.resolve():
        return PluginProblem(str(file), f"another module is already called {name!r} ({loaded}); rename this one")
    return FoundModule(module, str(file))
