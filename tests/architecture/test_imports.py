"""Borders seen from a fresh interpreter: what really gets loaded, not what the text seems to say."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ["django", "django.db", "celery", "torch", "boto3", "scipy.stats", "libcst", "httpx", "psycopg"]


def loaded_by(statement: str) -> set[str]:
    """Return which of HEAVY a fresh interpreter has loaded after `statement`."""
    code = f"{statement}\nimport sys, json; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return set(json.loads(out.splitlines()[-1]))


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import leaderboard.cli.main", set()),
        ("import reviewer", set()),
        ("import scoring.bpb, scoring.job, scoring.receipt, scoring.chain, scoring.outcomes, scoring.shards", set()),
        ("import scoring.runner, scoring.sandbox, scoring.backends.local", set()),
        # kombu takes one lazy-text class from Django where that is installed; the database stays out
        ("import leaderboard.agent.app", {"celery", "httpx", "django"}),
        (
            "import django; import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'leaderboard.settings'\n"
            "django.setup(); import leaderboard.urls",
            {"django", "django.db", "celery"},
        ),
    ],
)
def test_a_part_loads_only_what_it_may(statement: str, allowed: set[str]) -> None:
    assert loaded_by(statement) <= allowed


def test_the_import_rules_name_every_module_of_scoring() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    torch_free = next(set(c["source_modules"]) for c in contracts if "scoring.scorer" in c.get("forbidden_modules", []))
    present = {f"scoring.{path.stem}" for path in (ROOT / "scoring").iterdir() if path.suffix == ".py" or path.is_dir()}
    present -= {"scoring.__init__", "scoring.__pycache__", "scoring.harness", "scoring.scorer", "scoring.kit"}
    assert {name for name in torch_free if name.startswith("scoring.")} == present


def test_only_env_reads_the_environment() -> None:
    """Every setting of the site stands in one file; a program that starts processes hands on what it was given."""
    allowed = {"leaderboard/env.py", "leaderboard/cli/settings.py"}
    for path in (ROOT / "leaderboard").rglob("*.py"):
        text = path.read_text()
        reads = "os.environ.get" in text or "os.getenv" in text or "os.environ[" in text
        assert not reads or str(path.relative_to(ROOT)) in allowed, path
