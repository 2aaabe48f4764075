"""Starts NiceGUI with all pages. Imported when the page is opened for the first time."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from nicegui import app, core, ui
from nicegui.client import Client
from nicegui.nicegui import _startup

from seamark.web import pages

RECONNECT_S: Final = 30.0
"""How long a page is kept whose browser has lost the connection; then it is built anew."""
PING_S: Final = 4.0
_ASSETS: Final = Path(__file__).with_name("assets")

logging.getLogger("nicegui").setLevel(logging.WARNING)


async def start() -> FastAPI:
    """NiceGUI's application, which now belongs to the running loop; a former one must have ended."""
    _forget_former_loop()
    if not app.config.has_run_config:
        pages.register()
        app.add_static_files("/assets", _ASSETS, max_cache_age=3600)
        # Its own stylesheet is all that a page needs: without Tailwind it is there twice as soon.
        ui.run_with(
            FastAPI(),
            title="Seamark",
            dark=None,
            language="en-US",
            tailwind=False,
            favicon=_ASSETS / "icon.svg",
            binding_refresh_interval=None,
            reconnect_timeout=RECONNECT_S,
            show_welcome_message=False,
        )
    await _startup()
    # A worker that hangs is noticed within twice this time.
    core.sio.eio.ping_interval = core.sio.eio.ping_timeout = PING_S
    return app


def _forget_former_loop() -> None:
    """What belongs to a loop that is closed is of no use any more."""
    if core.loop is None or core.loop is asyncio.get_running_loop():
        return
    for client in list(Client.instances.values()):
        Client.instances.pop(client.id, None)
    core.sio.eio.sockets.clear()
    core.sio.eio.start_service_task = True
    core.sio.eio.service_task_event = core.sio.eio.service_task_handle = None
