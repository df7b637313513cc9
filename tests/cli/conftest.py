"""The cast: a site, a competitor at a prompt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.site import Site

SUBMIT = Path(sys.executable).with_name("submit")


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def other_site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@dataclass
class Ended:
    code: int
    out: str
    err: str

    @property
    def last(self) -> dict[str, Any]:
        """The last event of --json."""
        return json.loads(self.out.splitlines()[-1])


@dataclass
class Prompt:
    """A folder of one's own, a clean environment, and the real executable."""

    folder: Path
    home: Path
    env: dict[str, str] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "TZ": "UTC", **self.env}

    def submit(self, *words: str) -> Ended:
        done = subprocess.run(
            [SUBMIT, *words], cwd=self.folder, env=self.environ(), capture_output=True, text=True, timeout=60
        )
        assert "Traceback" not in done.stderr + done.stdout
        return Ended(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, text: str, mode: int = 0o600) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path


@pytest.fixture
def stranger(tmp_path: Path) -> Prompt:
    """Someone with a script and no settings at all."""
    home = tmp_path / "home"
    folder = home / "project"
    folder.mkdir(parents=True)
    prompt = Prompt(folder, home)
    prompt.write("train.py", "print('hello')\n")
    return prompt


@pytest.fixture
def prompt(stranger: Prompt, site: Site) -> Prompt:
    """A competitor with a server, a token, a competition and a phase."""
    stranger.env = {
        "SUBMIT_URL": site.url,
        "SUBMIT_TOKEN": "good-token",
        "SUBMIT_COMPETITION": "demo",
        "SUBMIT_PHASE": "open",
    }
    return stranger
