"""All parsers, by their names."""

from __future__ import annotations

from typing import Final

from fuzz import (
    checkpoint_targets,
    config_targets,
    converter_targets,
    mirror_targets,
    storage_targets,
    surface_targets,
)
from fuzz.target import Target

TARGETS: Final[dict[str, Target]] = {
    target.name: target
    for part in (
        config_targets,
        storage_targets,
        mirror_targets,
        converter_targets,
        checkpoint_targets,
        surface_targets,
    )
    for target in part.TARGETS
}
