"""A small competition file with all that it names."""

import json
import pydoc_data.topics
from pathlib import Path

import pytest
from django.db import transaction

from leaderboard.competitions.shards import build, corpus_path
from tests.leaderboard.cast import make_shards

TEXT = """\
slug = "spring"
title = "Spring"

[shards]
set = "demo"

[kit]
path = "kit"
version = "1"

[policy]
version = "1"
[policy.rules]
K101 = "reject"

[[phases]]
slug = "one"
title = "One"
opens = 2026-01-01T00:00:00Z
closes = 2026-02-01T00:00:00+01:00
timezone = "Europe/Berlin"
runs = 3
[phases.budget]
seconds = 60
threads = 2

[[phases]]
slug = "two"
title = "Two"
opens = 2026-02-01T00:00:00Z
closes = 2026-03-01T00:00:00Z
budget.seconds = 60
"""


@pytest.fixture
def file(tmp_path):
    """A competition file with its kit beside it, and the shard set that it names."""
    make_shards("demo")
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "prepare.py").write_text("# a kit\n")
    path = tmp_path / "spring.toml"
    path.write_text(TEXT)
    return path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Half a megabyte of English that every Python brings along."""
    path = corpus_path("topics")
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in pydoc_data.topics.topics.values()))
    return path


@pytest.fixture(scope="session")
def built(corpus, django_db_setup, django_db_blocker) -> str:
    """Build one set for all tests and roll its row back: on disk, unknown to the database, as after a crash."""
    with django_db_blocker.unblock(), transaction.atomic():
        made, fresh = build(name="topics", corpus=corpus, held_out=20_000)
        transaction.set_rollback(True)
    assert fresh
    return made.manifest_sha256
