"""`seamark plugins`: what is installed, and its configuration keys."""

from __future__ import annotations

from typing import Annotated

import typer

from seamark.cli.connection import ContextName, Form, Output, Url, connect


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(plugins)


def plugins(
    plugin: Annotated[
        str | None, typer.Argument(metavar="[PLUGIN]", help="Class or alias of one, for its keys.")
    ] = None,
    all_kinds: Annotated[
        bool, typer.Option("--all", help="Transforms, predicates and converters, too, not only connectors.")
    ] = False,
    version: Annotated[str | None, typer.Option(help="Of the plugin, for its keys.")] = None,
    output: Form = Output.table,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """List installed plugins, or the configuration keys of one."""
    from seamark.cli.shown import print_data, print_table
    from seamark.client import encode

    with connect(url, context) as client:
        if plugin is None:
            found = client.plugins(connectors_only=not all_kinds)
            if output in (Output.json, Output.yaml):
                print_data(encode(found), output)
            else:
                rows = [(each.class_name, each.type, each.version or "-") for each in found]
                print_table(("CLASS", "TYPE", "VERSION"), rows, empty="There is no plugin.")
            return
        keys = client.plugin_config(plugin, version)
    if output in (Output.json, Output.yaml):
        print_data(encode(keys), output)
        return
    headers = ["KEY", "TYPE", "DEFAULT", "IMPORTANCE", *(["DOCUMENTATION"] if output is Output.wide else [])]
    lines = []
    for key in keys:
        default = "(required)" if key.required else "null" if key.default_value is None else key.default_value
        line = [key.name, key.type, default, key.importance or "-"]
        if output is Output.wide:
            line.append(" ".join((key.documentation or "").split()))
        lines.append(line)
    print_table(headers, lines, empty=f"{plugin} has no keys.")
