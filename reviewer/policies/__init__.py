"""Ready-made policies: each a TOML table in this folder that names every rule, for competition files to build on."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

PRESETS = ("time-budget", "speed-run", "size-limited")


def preset(name: str) -> dict[str, Any]:
    """Return the table of a preset. Raises KeyError for a name that there is not."""
    if name not in PRESETS:
        raise KeyError(name)
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
