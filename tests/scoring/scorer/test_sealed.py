"""Sealed targets at rest."""

from __future__ import annotations

import stat
from array import array
from pathlib import Path

import pytest

from scoring import shards
from scoring.scorer import sealed

FACTS = sealed.Facts("tiny", "public", 300, 0, 2, 9, 4, "ab" * 32)
TOKENS = array("H", [0, 7, 0, 299])


@pytest.fixture
def key(tmp_path: Path) -> bytes:
    return sealed.ensure_key(tmp_path / "key")


def test_a_target_comes_back_with_its_commitment(tmp_path: Path, key: bytes) -> None:
    made = sealed.seal(tmp_path / "t", key, sealed.pack(FACTS, TOKENS))
    plaintext, found = sealed.unseal(tmp_path / "t", key)
    assert found == made
    assert sealed.unpack(plaintext) == (FACTS, TOKENS)


def test_the_file_says_nothing_without_the_key(tmp_path: Path, key: bytes) -> None:
    sealed.seal(tmp_path / "t", key, sealed.pack(FACTS, TOKENS))
    assert b"public" not in (tmp_path / "t").read_bytes()
    with pytest.raises(shards.ShardError, match="wrong key"):
        sealed.unseal(tmp_path / "t", bytes(32))


def test_sealing_twice_commits_to_two_salts(tmp_path: Path, key: bytes) -> None:
    plaintext = sealed.pack(FACTS, TOKENS)
    assert sealed.seal(tmp_path / "a", key, plaintext) != sealed.seal(tmp_path / "b", key, plaintext)


@pytest.mark.parametrize("place", [0, 9, 25, -1])
def test_a_changed_byte_is_noticed(tmp_path: Path, key: bytes, place: int) -> None:
    sealed.seal(tmp_path / "t", key, sealed.pack(FACTS, TOKENS))
    data = bytearray((tmp_path / "t").read_bytes())
    data[place] ^= 1
    (tmp_path / "changed").write_bytes(data)
    with pytest.raises(shards.ShardError):
        sealed.unseal(tmp_path / "changed", key)


def test_key_and_target_are_their_owners_alone_to_read(tmp_path: Path, key: bytes) -> None:
    sealed.seal(tmp_path / "t", key, sealed.pack(FACTS, TOKENS))
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("key", "t")} == {0o400}


def test_a_key_is_made_once(tmp_path: Path, key: bytes) -> None:
    assert sealed.ensure_key(tmp_path / "key") == key
    assert len(key) == 32


def test_facts_that_contradict_the_stream_are_refused() -> None:
    with pytest.raises(shards.ShardError, match="disagree"):
        sealed.unpack(sealed.pack(FACTS, TOKENS[:3]))
