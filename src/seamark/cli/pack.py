"""`seamark pack`: what executors need of Seamark, in one file that Spark ships to them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(pack)


_File = Annotated[Path, typer.Argument(help="The archive to write: .tar.gz, .tgz, .tar or .zip.")]
_Include = Annotated[
    list[str] | None,
    typer.Option("--include", help="A further distribution of this environment, such as a plugin's. May be repeated."),
]
_PluginPath = Annotated[
    str | None, typer.Option("--plugin-path", help="What `plugin.path` of the workers says: its modules are packed.")
]


def pack(file: _File, include: _Include = None, plugin_path: _PluginPath = None) -> None:
    """Pack Seamark for executors that do not have it installed, and print the settings that make Spark ship it.

    The executors need the Python version of this environment, and the same kind of machine.
    """
    from seamark.engine import executor_archive

    packed = executor_archive.pack(file, include=include or (), plugin_path=plugin_path)
    size = packed.file.stat().st_size / 1_000_000
    print(f"{packed.file}: {len(packed.distributions)} distributions, {size:.0f} MB", file=sys.stderr)
    for key, value in packed.settings.items():
        print(f"{key}={value}")
    print(f"spark.pyspark.python=python{sys.version_info.major}.{sys.version_info.minor}")
