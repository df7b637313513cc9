"""Shard sets: built by the scorer's own process, registered once, committed to on the ledger."""

import json
import stat
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from leaderboard.competitions.models import ShardSet
from leaderboard.competitions.shards import BuildError, build, harvest
from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import verify

pytestmark = pytest.mark.django_db
HOME = Path(settings.HOME)


def test_a_set_that_was_built_but_not_registered_is_registered_and_not_built_again(corpus, built):
    made, fresh = build(name="topics", corpus=corpus)
    assert (made.manifest_sha256, fresh) == (built, False)
    assert made.inputs["seed"] == made.manifest["seed"]
    entry = json.loads(Entry.objects.latest("seq").data)
    assert entry["manifest_sha256"] == built
    assert entry["public_commitment"] == made.manifest["public"]["commitment"]
    assert entry["private_commitment"] == made.manifest["private"]["commitment"]
    assert verify().ok


def test_the_same_inputs_again_change_nothing(corpus, built, capsys):
    made, _ = build(name="topics", corpus=corpus)
    rows = Entry.objects.count()
    assert build(name="topics", corpus=corpus, seed=made.inputs["seed"], vocab=1024) == (made, False)
    call_command("shards", "build", "--set", "topics", "--corpus", "topics")
    assert "Shard set topics is there already; nothing was built" in capsys.readouterr().out
    assert Entry.objects.count() == rows
    assert ShardSet.objects.count() == 1


def test_other_inputs_are_refused(corpus, built, tmp_path):
    made, _ = build(name="topics", corpus=corpus)
    with pytest.raises(BuildError, match="another seed"):
        build(name="topics", corpus=corpus, seed=made.inputs["seed"] + 1)
    with pytest.raises(BuildError, match="another vocab"):
        build(name="topics", corpus=corpus, vocab=2048)
    other = tmp_path / "other.jsonl"
    other.write_text('{"text": "other"}\n')
    with pytest.raises(BuildError, match="another corpus"):
        build(name="topics", corpus=other)


def test_a_set_whose_folder_was_changed_is_refused(corpus, built):
    build(name="topics", corpus=corpus)
    manifest = HOME / "shards" / "topics" / "manifest.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole + b" ")
    try:
        with pytest.raises(BuildError, match="missing or changed"):
            build(name="topics", corpus=corpus)
    finally:
        manifest.write_bytes(whole)


def test_sealed_shards_and_their_key_are_private_and_hold_no_plain_text(built):
    sealed = HOME / "sealed" / "topics"
    assert stat.S_IMODE(sealed.stat().st_mode) == 0o700
    assert stat.S_IMODE((HOME / "sealed" / "key").stat().st_mode) == 0o400
    assert {path.name for path in sealed.iterdir()} >= {"public.shard", "private.shard"}
    assert all(b"Python" not in path.read_bytes() for path in sealed.iterdir())


@pytest.mark.parametrize("name", ["", "../up", "a/b", "A", ".hidden", "a" * 61])
def test_a_name_that_could_lead_elsewhere_is_refused(corpus, name):
    with pytest.raises(BuildError, match="is no name"):
        build(name=name, corpus=corpus)
    with pytest.raises(BuildError, match="is no name"):
        harvest(name=name)


def test_a_corpus_that_is_there_is_kept(corpus, capsys):
    before = corpus.stat().st_mtime_ns
    call_command("corpus", "harvest", "--name", "topics")
    assert "is there already; nothing was harvested" in capsys.readouterr().out
    assert corpus.stat().st_mtime_ns == before


def test_a_build_that_fails_says_so_and_registers_nothing(tmp_path, capfd):
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with pytest.raises(CommandError, match="reason stands above"):
        call_command("shards", "build", "--set", "empty", "--corpus", str(empty))
    assert "held out" in capfd.readouterr().err
    assert not ShardSet.objects.exists()


def test_a_corpus_that_is_missing_is_named():
    with pytest.raises(CommandError, match=r"none\.jsonl cannot be read"):
        call_command("shards", "build", "--set", "x", "--corpus", "none")
