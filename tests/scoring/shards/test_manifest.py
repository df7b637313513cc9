"""Manifests and commitments."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from scoring import shards


def manifest() -> dict[str, Any]:
    return {
        "schema": 1,
        "set": "demo",
        "seed": 4,
        "vocab_size": 1024,
        "bos": 0,
        "gate_files": 1,
        "train": {"files": [{"name": "000.bin", "tokens": 5, "sha256": "ab"}]},
        "public": {"commitment": "c1"},
        "private": {"commitment": "c2"},
    }


def written(folder: Path, content: object) -> Path:
    path = folder / "manifest.json"
    path.write_text(json.dumps(content))
    return path


def test_a_manifest_is_read_with_its_own_hash(tmp_path: Path) -> None:
    path = written(tmp_path, manifest())
    read = shards.read_manifest(path)
    assert (read.name, read.vocab_size, read.commitments) == ("demo", 1024, {"public": "c1", "private": "c2"})
    assert read.train_files == (shards.TrainFile("000.bin", 5, "ab"),)
    assert read.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("missing", list(manifest()))
def test_a_manifest_without_a_field_is_refused(tmp_path: Path, missing: str) -> None:
    content = manifest()
    del content[missing]
    with pytest.raises(shards.ShardError):
        shards.read_manifest(written(tmp_path, content))


@pytest.mark.parametrize("change", [{"schema": 2}, {"gate_files": 0}, {"gate_files": 2}, {"vocab_size": "many"}])
def test_a_manifest_that_cannot_be_true_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(shards.ShardError):
        shards.read_manifest(written(tmp_path, manifest() | change))


def test_a_commitment_is_salted_with_at_least_128_bits() -> None:
    salt = bytes(range(16))
    assert shards.commitment(salt, b"text") == hashlib.sha256(salt + b"text").hexdigest()
    with pytest.raises(shards.ShardError, match="128"):
        shards.commitment(salt[:15], b"text")
