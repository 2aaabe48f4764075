"""The pages. Importing one registers it with NiceGUI."""

from __future__ import annotations

import importlib
import pkgutil


def register() -> None:
    """Make all pages known to NiceGUI."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
