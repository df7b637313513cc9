"""File formats of shards, read and written without torch: token files, manifests, commitments.

A token file (`.bin`) is a header of 256 little-endian int32 (magic 20240520, version 1, count of tokens, zeros)
followed by `count` little-endian uint16 tokens. A set of shards has an open folder

    manifest.json  tokenizer.json  token_bytes.bin  train/000.bin …  dev.bin

and a sealed one that only the scorer reads. The open folder's manifest names every file by hash and commits to
the sealed targets.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC, VERSION, HEADER_INTS = 20240520, 1, 256
HEADER_BYTES = 4 * HEADER_INTS
SALT_BYTES = 32  # twice the 128 bits below which a short text could be guessed from its commitment


class ShardError(Exception):
    """A shard, table or manifest that is not what it says it is; the message names the file."""


def pack_tokens(tokens: array[int]) -> bytes:
    """Lay out uint16 tokens as the bytes of a token file."""
    header = struct.pack(f"<{HEADER_INTS}i", MAGIC, VERSION, len(tokens), *([0] * (HEADER_INTS - 3)))
    return header + _uint16_bytes(tokens)


def unpack_tokens(data: bytes, name: str = "token file") -> array[int]:
    """Read the bytes of a token file back. Raises ShardError on a wrong magic, version or length."""
    if len(data) < HEADER_BYTES:
        raise ShardError(f"{name}: shorter than its header")
    magic, version, count = struct.unpack_from("<3i", data)
    if (magic, version) != (MAGIC, VERSION):
        raise ShardError(f"{name}: magic {magic} version {version}, expected {MAGIC} version {VERSION}")
    if count < 0 or len(data) != HEADER_BYTES + 2 * count:
        raise ShardError(f"{name}: header says {count} tokens, file has {len(data) - HEADER_BYTES} bytes of them")
    return _uint16_array(data[HEADER_BYTES:])


def read_token_bytes(path: Path, vocab_size: int) -> array[int]:
    """Read the byte length of every token id (uint16 little-endian). Raises ShardError on another length."""
    data = path.read_bytes()
    if len(data) != 2 * vocab_size:
        raise ShardError(f"{path.name}: {len(data)} bytes for a vocabulary of {vocab_size}")
    return _uint16_array(data)


def pack_token_bytes(lengths: array[int]) -> bytes:
    """Lay out the table of byte lengths as its file's bytes."""
    return _uint16_bytes(lengths)


def sha256(data: bytes) -> str:
    """Hash bytes to lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def commitment(salt: bytes, plaintext: bytes) -> str:
    """Commit to a sealed target: SHA-256 over salt and plaintext, hex. Raises ShardError on a short salt."""
    if len(salt) < 16:
        raise ShardError("a commitment needs at least 128 bits of salt")
    return hashlib.sha256(salt + plaintext).hexdigest()


@dataclass(frozen=True, slots=True)
class TrainFile:
    name: str
    tokens: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a set of shards consists of. `commitments` maps target to hex; `raw` is the whole document."""

    name: str
    seed: int
    vocab_size: int
    bos: int
    gate_files: int
    train_files: tuple[TrainFile, ...]
    commitments: dict[str, str]
    sha256: str
    raw: dict[str, Any]


def read_manifest(path: Path) -> Manifest:
    """Read manifest.json of an open folder. Raises ShardError when a field is missing or of another kind."""
    data = path.read_bytes()
    try:
        raw = json.loads(data)
        if raw["schema"] != 1:
            raise ShardError(f"{path}: schema {raw['schema']}, this version reads 1")
        files = tuple(TrainFile(str(f["name"]), int(f["tokens"]), str(f["sha256"])) for f in raw["train"]["files"])
        manifest = Manifest(
            name=str(raw["set"]),
            seed=int(raw["seed"]),
            vocab_size=int(raw["vocab_size"]),
            bos=int(raw["bos"]),
            gate_files=int(raw["gate_files"]),
            train_files=files,
            commitments={target: str(raw[target]["commitment"]) for target in ("public", "private")},
            sha256=sha256(data),
            raw=raw,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ShardError(f"{path}: not a manifest ({type(error).__name__}: {error})") from error
    if not 0 < manifest.gate_files <= len(files):
        raise ShardError(f"{path}: gate_files {manifest.gate_files} of {len(files)} train files")
    return manifest


def _uint16_bytes(values: array[int]) -> bytes:
    little = array("H", values)
    if sys.byteorder == "big":
        little.byteswap()
    return little.tobytes()


def _uint16_array(data: bytes) -> array[int]:
    values = array("H")
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values
