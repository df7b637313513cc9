from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.scoring.tiny import Tiny, build_tiny

Load = Callable[..., ModuleType]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    return build_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def load_kit(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Lay out a kit with the constants given, and import its prepare.py the way a script does."""
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")

    def load(**constants: Any) -> ModuleType:
        folder = tiny.kit(tmp_path / "kit", **constants)
        spec = importlib.util.spec_from_file_location("prepare", folder / "prepare.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["prepare"] = module
        spec.loader.exec_module(module)
        return module

    yield load
    sys.modules.pop("prepare", None)


@pytest.fixture
def kit(load_kit: Load) -> ModuleType:
    return load_kit()
