"""A set of shards, from documents to manifest."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from scoring import shards
from scoring.scorer import sealed
from scoring.scorer.documents import BuildError
from tests.scoring.tiny import ROOT, VOCAB, Tiny, build_tiny, corpus, write_corpus


def test_the_manifest_names_every_open_file_by_hash(tiny: Tiny) -> None:
    manifest = shards.read_manifest(tiny.open_dir / "manifest.json")
    for file in manifest.train_files:
        data = (tiny.open_dir / "train" / file.name).read_bytes()
        assert (shards.sha256(data), len(shards.unpack_tokens(data))) == (file.sha256, file.tokens)
    for name, key in (("tokenizer.json", "tokenizer_sha256"), ("token_bytes.bin", "token_bytes_sha256")):
        assert shards.sha256((tiny.open_dir / name).read_bytes()) == manifest.raw[key]
    assert sum(file.tokens for file in manifest.train_files) == manifest.raw["train"]["tokens"]


def test_the_first_training_file_is_small(tiny: Tiny) -> None:
    tokens = [file["tokens"] for file in tiny.manifest["train"]["files"]]
    assert tokens[0] == 2_000
    assert tokens[1] == 20_000
    assert tiny.manifest["gate_files"] == 1


def test_the_manifest_commits_to_the_sealed_targets(tiny: Tiny) -> None:
    key = sealed.read_key(tiny.home / "sealed/key")
    for target in ("public", "private"):
        plaintext, found = sealed.unseal(tiny.home / f"sealed/tiny/{target}.shard", key)
        facts, tokens = sealed.unpack(plaintext)
        said = tiny.manifest[target]
        assert found == said["commitment"]
        assert (facts.documents, facts.bytes, facts.tokens) == (said["documents"], said["bytes"], said["tokens"])
        table = shards.read_token_bytes(tiny.open_dir / "token_bytes.bin", VOCAB)
        assert sum(table[token] for token in tokens) == facts.bytes
        assert tokens.count(facts.bos) == facts.documents


def test_the_sealed_folder_is_closed_to_others(tiny: Tiny) -> None:
    assert stat.S_IMODE((tiny.home / "sealed/tiny").stat().st_mode) == 0o700


def test_the_open_folder_is_the_same_for_the_same_seed(tiny: Tiny, tmp_path: Path) -> None:
    again = build_tiny(tmp_path)
    for path in (path for path in tiny.open_dir.rglob("*") if path.is_file() and path.name != "manifest.json"):
        assert path.read_bytes() == (again.open_dir / path.relative_to(tiny.open_dir)).read_bytes()
    first, second = tiny.manifest, again.manifest
    assert first["public"].pop("commitment") != second["public"].pop("commitment")  # its salt is new
    first["private"].pop("commitment"), second["private"].pop("commitment")
    assert first == second


def test_sealed_text_is_nowhere_in_the_open_folder(tiny: Tiny) -> None:
    from tokenizers import Tokenizer

    bpe = Tokenizer.from_file(str(tiny.open_dir / "tokenizer.json"))
    plaintext, _ = sealed.unseal(tiny.home / "sealed/tiny/public.shard", sealed.read_key(tiny.home / "sealed/key"))
    sealed_text = bpe.decode(list(sealed.unpack(plaintext)[1]), skip_special_tokens=True)
    manifest = shards.read_manifest(tiny.open_dir / "manifest.json")
    files = [tiny.open_dir / "train" / file.name for file in manifest.train_files] + [tiny.open_dir / "dev.bin"]
    open_text = "".join(bpe.decode(list(shards.unpack_tokens(file.read_bytes()))) for file in files)
    assert sealed_text[:100] in " ".join(corpus()) or len(sealed_text) > 1000
    assert not any(sealed_text[start : start + 60] in open_text for start in range(0, len(sealed_text) - 60, 60))


def test_a_set_is_built_once(tiny: Tiny) -> None:
    before = tiny.manifest
    with pytest.raises(BuildError, match="built once"):
        build_tiny(tiny.home)
    assert tiny.manifest == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_can_give_the_sealed_side_to_the_scorers_user(tmp_path: Path) -> None:
    built = build_tiny(tmp_path, owner=61002)
    sealed_side = [built.home / "sealed/key", built.home / "sealed/tiny", *(built.home / "sealed/tiny").iterdir()]
    assert {path.stat().st_uid for path in sealed_side} == {61002}


def test_the_command_builds_and_prints_the_manifests_path(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "c.jsonl", corpus())
    program = [sys.executable, "-m", "scoring.scorer", "build", "--corpus", source, "--set", "x", "--seed", "1"]
    folders = ["--open", tmp_path / "open", "--sealed", tmp_path / "s/x", "--key", tmp_path / "s/key"]
    sizes = ["--vocab", "300", "--held-out-bytes", "4000"]
    done = subprocess.run([*program, *folders, *sizes], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(tmp_path / "open/manifest.json")
    assert "sealing private" in done.stderr
    refused = subprocess.run([*program, *folders, *sizes], cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 2
    assert refused.stderr.startswith("shards not built: ")
    check = [sys.executable, "-m", "scoring.scorer", "verify", "--key", tmp_path / "s/key"]
    public = tmp_path / "s/x/public.shard"
    commitment = shards.read_manifest(tmp_path / "open/manifest.json").commitments["public"]
    verified = subprocess.run([*check, "--shard", public, "--commitment", commitment], cwd=ROOT, capture_output=True)
    assert (verified.returncode, verified.stdout.decode().strip()) == (0, commitment)
    other = subprocess.run([*check, "--shard", public, "--commitment", "0" * 64], cwd=ROOT, capture_output=True)
    assert other.returncode == 2
