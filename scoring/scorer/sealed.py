"""Sealed targets: a token stream and its facts, encrypted at rest and committed to.

    file      = MAGIC · nonce (12 bytes) · AES-256-GCM(key, salt · plaintext), MAGIC authenticated with it
    plaintext = length of facts (uint32) · facts (JSON) · token file (see scoring.shards)
    commitment = SHA-256(salt · plaintext)

The salt travels inside the encryption, so nobody can test a guess of the text against the published commitment
before the salt is released. The facts bind the token table by hash: a score cannot be made with another table.
"""

from __future__ import annotations

import json
import os
import secrets
import struct
from array import array
from dataclasses import asdict, dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from scoring import shards

MAGIC = b"HSHARD1\n"
NONCE_BYTES, KEY_BYTES = 12, 32


@dataclass(frozen=True, slots=True)
class Facts:
    set: str
    target: str
    vocab_size: int
    bos: int
    documents: int
    bytes: int
    tokens: int
    token_bytes_sha256: str


def pack(facts: Facts, tokens: array[int]) -> bytes:
    """Lay out the plaintext of a target."""
    head = json.dumps(asdict(facts), sort_keys=True, separators=(",", ":")).encode()
    return struct.pack("<I", len(head)) + head + shards.pack_tokens(tokens)


def unpack(plaintext: bytes) -> tuple[Facts, array[int]]:
    """Read a plaintext back. Raises ShardError when facts and stream do not agree."""
    try:
        (length,) = struct.unpack_from("<I", plaintext)
        facts = Facts(**json.loads(plaintext[4 : 4 + length]))
    except (struct.error, ValueError, TypeError) as error:
        raise shards.ShardError(f"sealed target: unreadable facts ({type(error).__name__})") from error
    tokens = shards.unpack_tokens(plaintext[4 + length :], "sealed target")
    if len(tokens) != facts.tokens:
        raise shards.ShardError("sealed target: facts and stream disagree on the number of tokens")
    return facts, tokens


def seal(path: Path, key: bytes, plaintext: bytes) -> str:
    """Encrypt a plaintext to `path` under a fresh salt and nonce; give the commitment in hex."""
    salt, nonce = secrets.token_bytes(shards.SALT_BYTES), secrets.token_bytes(NONCE_BYTES)
    box = AESGCM(key).encrypt(nonce, salt + plaintext, MAGIC)
    write_private(path, MAGIC + nonce + box)
    return shards.commitment(salt, plaintext)


def unseal(path: Path, key: bytes) -> tuple[bytes, str]:
    """Decrypt a target; give its plaintext and the commitment recomputed from it. Raises ShardError."""
    data = path.read_bytes()
    start = len(MAGIC) + NONCE_BYTES
    if not data.startswith(MAGIC) or len(data) < start:
        raise shards.ShardError(f"{path.name}: not a sealed target")
    try:
        opened = AESGCM(key).decrypt(data[len(MAGIC) : start], data[start:], MAGIC)
    except InvalidTag as error:
        raise shards.ShardError(f"{path.name}: wrong key, or the file was changed") from error
    salt, plaintext = opened[: shards.SALT_BYTES], opened[shards.SALT_BYTES :]
    return plaintext, shards.commitment(salt, plaintext)


def read_key(path: Path) -> bytes:
    """Read the scorer's key. Raises ShardError on another length."""
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise shards.ShardError(f"{path.name}: a key has {KEY_BYTES} bytes, this has {len(key)}")
    return key


def ensure_key(path: Path) -> bytes:
    """Read the scorer's key, making it first (mode 0400) where there is none."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    except FileExistsError:
        return read_key(path)
    with open(descriptor, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
    return read_key(path)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner reads (0400), replacing an older one in one step."""
    partial = path.with_name(path.name + ".part")
    partial.unlink(missing_ok=True)
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
        file.write(data)
    os.replace(partial, path)
