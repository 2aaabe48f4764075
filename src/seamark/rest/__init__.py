"""The REST API: Kafka Connect's, over a herder."""

from __future__ import annotations

from seamark.rest.app import create_admin_app, create_app
from seamark.rest.forward import Forwarder
from seamark.rest.server import RestServer

__all__ = ["Forwarder", "RestServer", "create_admin_app", "create_app"]
