"""The shipped scripts, imported beside a kit whose vocabulary and training text are tiny."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.scoring.tiny import ROOT, Tiny, build_tiny

SCRIPTS = ROOT / "deploy/demo/scripts"
Import = Callable[[str], ModuleType]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small gain nothing from threads, which wait for each other where cores are shared."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    return build_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def folder(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A competitor's folder with the kit, which is also the working folder."""
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    monkeypatch.chdir(tiny.kit(tmp_path / "kit"))
    return tmp_path / "kit"


@pytest.fixture
def script(folder: Path) -> Iterator[Import]:
    """Import a script by name as the platform does for scoring: under a name other than __main__."""
    spec = importlib.util.spec_from_file_location("prepare", folder / "prepare.py")
    assert spec is not None
    assert spec.loader is not None
    kit = importlib.util.module_from_spec(spec)
    sys.modules["prepare"] = kit
    spec.loader.exec_module(kit)

    def load(name: str) -> ModuleType:
        module = types.ModuleType("train")
        exec(compile((SCRIPTS / name).read_text(), name, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
        return module

    yield load
    sys.modules.pop("prepare", None)
