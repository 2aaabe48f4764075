"""Plugins: what is installed, and the configuration keys of each."""

from __future__ import annotations

from typing import Any, Final

from seamark.client import ClientError, ConfigKey, Plugin
from seamark.web import session as sessions
from seamark.web.figures import count
from seamark.web.session import Session
from seamark.web.shell import page
from seamark.web.table import Column, Facet, Table
from seamark.web.widgets import card, link, notice, tag

_PLUGINS: Final = (
    Column("name", "Plugin"),
    Column("type", "Type"),
    Column("version", "Version"),
)
_KEYS: Final = (
    Column("name", "Key"),
    Column("type", "Type"),
    Column("default", "Default", "code"),
    Column("importance", "Importance"),
    Column("group", "Group"),
)
CONNECTORS: Final = ("source", "sink")
_KNOWN_S: Final = 30.0


@page("/plugins", "Plugins")
async def plugins() -> None:
    """Build the list."""
    session = sessions.current()
    with tag("div", classes="sm-head"):
        tag("h1", "Plugins")
        counted = tag("p", classes="sm-muted")
    with card():
        table = Table(
            _PLUGINS,
            label="Plugins",
            facets=[Facet("type", "Type")],
            search="Search plugins",
            empty="No plugin is installed.",
        )

    def show(found: list[Plugin]) -> None:
        counted.clear()
        with counted:
            tag("span", f"{count(len(found), 'plugin')} installed on this worker")
        table.show([_row(each, session) for each in found])

    await session.watch("plugins", lambda: session.client.plugins(connectors_only=False), show, interval_s=_KNOWN_S)


def _row(plugin: Plugin, session: Session) -> dict[str, Any]:
    package, _, short = plugin.class_name.rpartition(".")
    name = {"text": short, "sub": package, "href": session.href("plugins", plugin.class_name)}
    return {
        "id": f"{plugin.type} {plugin.class_name} {plugin.version or ''}",
        "facets": {"type": plugin.type},
        "name": {**name, "sort": short},
        "search": plugin.class_name,
        "type": plugin.type,
        "version": plugin.version,
    }


@page("/plugins/{name}", "Plugin", active="Plugins")
async def plugin(name: str) -> None:
    """Build the page of one plugin."""
    session = sessions.current()
    with tag("div", classes="sm-head"):
        tag("h1", name.rpartition(".")[2])
        actions = tag("span")
    tag("p", name, "sm-mono sm-muted")
    try:
        keys = await session.client.plugin_config(name)
        known = await session.client.plugins(connectors_only=True)
    except ClientError as error:
        notice(str(error), "bad")
        return
    if any(each.class_name == name for each in known):
        with actions:
            link("Create a connector", session.href("create", plugin=name), "sm-button sm-primary")
    with card("Configuration keys"):
        table = Table(
            _KEYS,
            label="Configuration keys",
            facets=[Facet("importance", "Importance"), Facet("group", "Group")],
            search="Search keys",
            empty="It has no keys of its own.",
        )
        table.show([_key_row(key) for key in keys])


def _key_row(key: ConfigKey) -> dict[str, Any]:
    default = "required" if key.required else "null" if key.default_value is None else key.default_value
    return {
        "id": key.name,
        "facets": {"importance": (key.importance or "").lower() or None, "group": key.group},
        "name": {"text": key.name, "sub": " ".join((key.documentation or "").split())},
        "type": key.type.lower(),
        "default": {"text": default or '""', "tone": "warn" if key.required else None},
        "importance": (key.importance or "").lower(),
        "group": key.group,
    }
