"""What is around every page: header, navigation, theme, and what says that the worker is lost."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any, Final
from urllib.parse import unquote

from nicegui import context, ui

from seamark.client import ClientError
from seamark.web import session as sessions
from seamark.web.session import Session
from seamark.web.widgets import tag

NAVIGATION: Final = (
    ("Overview", ""),
    ("Mirrors", "mirrors"),
    ("Create", "create"),
    ("Plugins", "plugins"),
    ("Loggers", "loggers"),
    ("Operations", "operations"),
)
RESPONSE_S: Final = 20.0

Build = Callable[..., Awaitable[Any]]


def page(path: str, title: str, *, active: str | None = None) -> Callable[[Build], Build]:
    """Make a function a page; what it builds is put into the shell. Path parameters are names as they are.

    ::

        @page("/connectors/{name}", "Connector", active="Overview")
        async def connector(name: str) -> None:
            session = sessions.current()

    Args:
        path: below ``/ui``.
        title: of the browser's tab, and the heading unless the page has one of its own.
        active: the entry of the navigation that it belongs to.
    """

    def register(build: Build) -> Build:
        @functools.wraps(build)
        async def built(*args: Any, **given: Any) -> Any:
            names = {key: unquote(value) if isinstance(value, str) else value for key, value in given.items()}
            label = next((value for value in names.values() if isinstance(value, str) and value), None)
            context.client.title = f"{label} · {title} · Seamark" if label else f"{title} · Seamark"
            with frame(sessions.current(), active or title):
                return await build(*args, **names)

        built.__signature__ = inspect.signature(build)  # type: ignore[attr-defined]
        ui.page(path, title=f"{title} · Seamark", response_timeout=RESPONSE_S)(built)
        return build

    return register


def head(root: str) -> None:
    """The stylesheet and the script of all pages."""
    version = metadata.version("seamark")
    ui.add_head_html(
        f'<link rel="stylesheet" href="{root}/assets/seamark.css?{version}">'
        f'<link rel="stylesheet" href="{root}/assets/connectors.css?{version}">'
        f'<script src="{root}/assets/seamark.js?{version}"></script>'
    )


@contextmanager
def frame(session: Session, active: str) -> Iterator[None]:
    """Header and navigation; what is made inside is the page."""
    head(session.site.root)
    tag("a", "Skip to the content", "sm-skip", href="#content")
    _lost()
    _header(session, active)
    _trouble(session)
    # NiceGUI has put all of it into a <main> already.
    with tag("div", classes="sm-main", id="content", tabindex="-1"):
        yield


def _header(session: Session, active: str) -> None:
    with tag("header", classes="sm-header"):
        with tag("a", classes="sm-brand", href=session.href(), aria_label="Seamark, to the overview"):
            ui.html(ICON, sanitize=False, tag="span")
            tag("span", "Seamark")
        with tag("nav", classes="sm-nav", aria_label="Pages"):
            for label, path in NAVIGATION:
                current = "page" if label == active else None
                tag("a", label, href=session.href(path) if path else session.href(), aria_current=current)
        with tag("div", classes="sm-header-end"):
            if len(session.site.others) > 1:
                _others(session)
            if session.user.name is not None:
                tag("span", f"{session.user.name} ({session.user.role})", "sm-user")
                tag(
                    "button", "Log out", "sm-button sm-quiet", type="button", data_logout=f"{session.site.root}/session"
                )
            with tag("label", classes="sm-theme"):
                tag("span", "Theme", "sm-hidden")
                with tag("select", data_theme_select=""):
                    for value, label in (("auto", "Auto theme"), ("light", "Light theme"), ("dark", "Dark theme")):
                        tag("option", label, value=value)


def _others(session: Session) -> None:
    """Several workers share this address: which one's page it is, and the way to the others'."""
    with tag("label", classes="sm-theme"):
        tag("span", "Worker of the flow", "sm-hidden")
        with tag("select", data_go=""):
            for label, address in session.site.others.items():
                is_here = address == f"{session.site.root}/"
                tag("option", label, value=address, selected="" if is_here else None)


def _lost() -> None:
    """Shown by the browser itself while its connection is lost: nobody else could."""
    with tag("div", classes="sm-lost", id="sm-lost", role="alert", hidden=""):
        tag("strong", "Connection to the worker lost")
        tag("span", classes="sm-lost-since")
        tag("span", "What you see is from then. Trying again …")


def _trouble(session: Session) -> None:
    """Shown when the worker answers the browser, but not what the page asks it."""
    box = tag("div", classes="sm-trouble", role="alert", hidden="")

    def tell(error: ClientError | None, at: float) -> None:
        box.clear()
        if error is None:
            box.props["hidden"] = ""
        else:
            box.props.pop("hidden", None)
            with box:
                tag("strong", "The worker has a problem:")
                tag("span", str(error))
                tag("span", f"What you see is from {time.strftime('%H:%M:%S', time.localtime(at))}. Trying again …")
        box.update()

    session.on_trouble(tell)


ICON: Final = (
    '<svg class="sm-icon" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">'
    '<path d="M12 2l3.2 5H8.8zM9 8.5h6l1.8 8H7.2z" fill="currentColor"/>'
    '<path d="M2.5 19.5c2.4 0 2.4 1.8 4.75 1.8s2.4-1.8 4.75-1.8 2.4 1.8 4.75 1.8 2.4-1.8 4.75-1.8"'
    ' fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"/></svg>'
)
