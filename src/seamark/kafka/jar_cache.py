"""What is in the cache of jars, without downloading anything."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from seamark.kafka.jars import JarSet, cache_dir


@dataclass(frozen=True, slots=True)
class CachedJars:
    """One set of jars: how many it has, and which of them are not in the cache as they should be."""

    name: str
    total: int
    missing: tuple[str, ...]
    bytes_missing: int


@dataclass(frozen=True, slots=True)
class JarCache:
    """The cache directory, whether jars could be put there, and the sets that were asked for."""

    folder: str
    is_writable: bool
    sets: tuple[CachedJars, ...]


def look_at_jars(jar_sets: tuple[JarSet, ...], cache: Path | None = None) -> JarCache:
    """How complete these sets are. Sizes are compared, as `seamark.kafka.jars.ensure` does it."""
    folder = cache or cache_dir()
    return JarCache(str(folder), _is_writable(folder), tuple(_look(each, folder) for each in jar_sets))


def _look(jar_set: JarSet, cache: Path) -> CachedJars:
    folder = jar_set.folder(cache)
    missing = [jar for jar in jar_set.jars if _size(folder / jar.file_name) != jar.size]
    names = tuple(jar.file_name for jar in missing)
    return CachedJars(jar_set.name, len(jar_set.jars), names, sum(jar.size for jar in missing))


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _is_writable(folder: Path) -> bool:
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    return os.access(existing, os.W_OK | os.X_OK)
