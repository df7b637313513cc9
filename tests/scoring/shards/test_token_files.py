"""Token files: a header of 256 int32, then uint16 tokens."""

from __future__ import annotations

import struct
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import shards


@given(st.lists(st.integers(0, 65_535), max_size=200))
def test_tokens_come_back(tokens: list[int]) -> None:
    assert shards.unpack_tokens(shards.pack_tokens(array("H", tokens))).tolist() == tokens


def test_the_layout_is_the_one_other_tools_write() -> None:
    data = shards.pack_tokens(array("H", [1, 515]))
    assert struct.unpack_from("<256i", data) == (20240520, 1, 2, *[0] * 253)
    assert data[1024:] == b"\x01\x00\x03\x02"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "shorter"),
        (struct.pack("<256i", 20240519, 1, 0, *[0] * 253), "magic"),
        (struct.pack("<256i", 20240520, 2, 0, *[0] * 253), "version 2"),
        (struct.pack("<256i", 20240520, 1, 3, *[0] * 253) + b"\0\0", "3 tokens"),
        (struct.pack("<256i", 20240520, 1, -1, *[0] * 253), "-1 tokens"),
    ],
)
def test_another_file_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(shards.ShardError, match=reason):
        shards.unpack_tokens(data)


def test_a_byte_table_fits_its_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "token_bytes.bin"
    path.write_bytes(shards.pack_token_bytes(array("H", [0, 1, 300])))
    assert shards.read_token_bytes(path, 3).tolist() == [0, 1, 300]
    with pytest.raises(shards.ShardError, match="vocabulary of 4"):
        shards.read_token_bytes(path, 4)
