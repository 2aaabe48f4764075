"""Seamark's Python side in one file, for executors on machines that have Spark and Python but not Seamark.

Spark's ``spark.archives`` copies the file to each executor and unpacks it in its working directory, and
``spark.executorEnv.PYTHONPATH`` makes it importable there. The archive holds this environment's own files, compiled
ones among them: the executors need the same Python version (as PySpark demands anyway) and the same kind of machine.
PySpark is left out, since every executor has that of its Spark, and so is what only a worker's process uses.
"""

from __future__ import annotations

import json
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Final

from seamark.engine.plugin_path import import_roots
from seamark.errors import ConfigError

FOLDER: Final = "seamark-executor"
"""What the archive is called in an executor's working directory."""
KINDS: Final = (".tar.gz", ".tgz", ".tar", ".zip")
_OURS: Final = "seamark"
# Requirements of ours that tasks never import: REST, command line, operator and web page; and Spark itself.
_NOT_FOR_TASKS: Final = frozenset(
    {"pyspark", "py4j", "fastapi", "starlette", "uvicorn", "typer", "rich", "kopf", "nicegui", "prometheus-client"}
)
_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?[^;]*(?:;(.*))?")
_EXTRA: Final = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_SKIPPED: Final = frozenset({"__pycache__", "..", "INSTALLER", "RECORD", "direct_url.json"})

Add = Callable[[Path, str], None]


@dataclass(frozen=True, slots=True)
class Packed:
    """What an archive holds, and how executors are told to use it."""

    file: Path
    distributions: tuple[str, ...]

    @property
    def settings(self) -> dict[str, str]:
        """For the worker's properties, besides ``spark.pyspark.python``."""
        return {
            "spark.archives": f"{self.file}#{FOLDER}",
            "spark.executorEnv.PYTHONPATH": f"./{FOLDER}",
        }


def pack(file: Path, *, include: Iterable[str] = (), plugin_path: str | None = None) -> Packed:
    """Write the archive.

    Args:
        file: where to; its ending says which kind, see `KINDS`.
        include: further distributions of this environment, such as those of plugins; with what they require.
        plugin_path: directories as of `plugin.path`, whose modules executors shall have, too.

    Raises:
        ConfigError: a distribution is not installed here, or only as a link; or the ending is none of `KINDS`.
    """
    chosen: dict[str, metadata.Distribution] = {}
    _gather(_OURS, frozenset(), chosen)
    for name in include:
        if _normal(name) not in chosen and not _gather(name, frozenset(), chosen):
            raise ConfigError(f"There is no distribution {name!r} in this environment: install it here first.")
    files = dict(_files(chosen.values()))
    for root in import_roots(plugin_path):
        files |= {name: path for name, path in _tree(root, PurePosixPath()) if name not in files}
    with _archive(file) as add:
        for name in sorted(files):
            add(files[name], name)
    shown = sorted(f"{name} {chosen[name].version}" for name in chosen)
    return Packed(file.resolve(), tuple(shown))


def _gather(name: str, extras: frozenset[str], chosen: dict[str, metadata.Distribution]) -> bool:
    """Add a distribution and what it requires; whether it is installed.

    Markers other than extras are not looked at: a requirement that this machine does not have is not installed.
    """
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    is_new = _normal(name) not in chosen
    chosen[_normal(name)] = found
    if not is_new and not extras:
        return True
    for line in found.requires or []:
        required = _REQUIREMENT.fullmatch(line)
        if required is None or _normal(required[1]) in _NOT_FOR_TASKS:
            continue
        extra = _EXTRA.search(required[3] or "")
        if extra is None or _normal(extra[1]) in extras:
            more = frozenset(_normal(each) for each in (required[2] or "").split(",") if each.strip())
            if more or _normal(required[1]) not in chosen:
                _gather(required[1], more, chosen)
    return True


def _files(distributions: Iterable[metadata.Distribution]) -> Iterator[tuple[str, Path]]:
    """Names in the archive -> files."""
    for distribution in distributions:
        name = _normal(distribution.metadata["Name"])
        is_link = _is_editable(distribution)
        if name == _OURS:
            # A checkout is installed as a link; what runs is what is packed.
            package = Path(__file__).parents[1]
            yield from _tree(package, PurePosixPath(package.name))
        elif is_link:
            raise ConfigError(
                f"The distribution {name!r} is installed as a link to its sources (pip install -e), which cannot be "
                "packed. Install it without -e, or name its folder in --plugin-path."
            )
        for entry in distribution.files or []:
            path = Path(str(distribution.locate_file(entry)))
            if _SKIPPED.isdisjoint(entry.parts) and not entry.name.startswith("__editable__") and path.is_file():
                yield entry.as_posix(), path


def _is_editable(distribution: metadata.Distribution) -> bool:
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def _tree(root: Path, below: PurePosixPath) -> Iterator[tuple[str, Path]]:
    for path in root.rglob("*"):
        inside = path.relative_to(root)
        if path.is_file() and _SKIPPED.isdisjoint(inside.parts):
            yield (below / inside.as_posix()).as_posix(), path


@contextmanager
def _archive(file: Path) -> Iterator[Add]:
    kind = next((ending for ending in KINDS if file.name.endswith(ending)), None)
    if kind is None:
        raise ConfigError(f"The archive {file.name!r} must end with one of {', '.join(KINDS)}, as Spark unpacks them.")
    file.parent.mkdir(parents=True, exist_ok=True)
    # Whoever reads the file sees all of it or nothing.
    draft = file.with_name(f".{file.name}.part")
    try:
        if kind == ".zip":
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as zipped:
                yield zipped.write
        else:
            with tarfile.open(draft, "w" if kind == ".tar" else "w:gz") as tar:
                yield tar.add
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
