"""The losses of a phase's own baseline at every position of a target: where they are beaten, looking ahead would pay.

    file      = MAGIC · nonce (12 bytes) · AES-256-GCM(key, plaintext), MAGIC authenticated with it
    plaintext = length of binding (uint32) · binding (JSON) · nats (float32, little-endian, rows × seq_len)

Nats per token say much about sealed text, so they leave the scorer only under its own key. The binding names set,
target, its commitment and the shape, so that losses of another shard or another cut are refused, and the checkpoint
that they are of.
"""

from __future__ import annotations

import json
import secrets
import struct
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy
import torch
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from scoring.scorer.sealed import NONCE_BYTES
from scoring.shards import ShardError

MAGIC = b"HREFER1\n"
LARGEST = 1e30  # nats, for float32


@dataclass(frozen=True, slots=True)
class Binding:
    """What the losses are of; `checkpoint` is the hash of the baseline's."""

    set: str
    target: str
    commitment: str
    rows: int
    seq_len: int
    checkpoint: str


def seal(key: bytes, binding: Binding, nats: torch.Tensor) -> bytes:
    """Encrypt nats float64 [R, T] under a fresh nonce."""
    head = json.dumps(asdict(binding), sort_keys=True, separators=(",", ":")).encode()
    plaintext = struct.pack("<I", len(head)) + head + nats.clamp(max=LARGEST).numpy().astype("<f4").tobytes()
    nonce = secrets.token_bytes(NONCE_BYTES)
    return MAGIC + nonce + AESGCM(key).encrypt(nonce, plaintext, MAGIC)


def unseal(path: Path, key: bytes, expected: Binding) -> torch.Tensor:
    """Give the nats float64 [R, T] of a reference; `expected` may name any checkpoint.

    Raises ShardError when the file is no reference, was changed, or is of anything but what is expected.
    """
    data = path.read_bytes()
    start = len(MAGIC) + NONCE_BYTES
    if not data.startswith(MAGIC) or len(data) < start:
        raise ShardError(f"{path.name}: no reference losses")
    try:
        plaintext = AESGCM(key).decrypt(data[len(MAGIC) : start], data[start:], MAGIC)
    except InvalidTag as error:
        raise ShardError(f"{path.name}: wrong key, or the file was changed") from error
    try:
        (length,) = struct.unpack_from("<I", plaintext)
        found = json.loads(plaintext[4 : 4 + length])
        nats = numpy.frombuffer(plaintext, dtype="<f4", offset=4 + length)
    except (struct.error, ValueError) as error:
        raise ShardError(f"{path.name}: unreadable reference losses") from error
    for name, value in asdict(expected).items():
        if name != "checkpoint" and found.get(name) != value:
            raise ShardError(f"{path.name}: reference losses of another {name}")
    if len(nats) != expected.rows * expected.seq_len or not numpy.isfinite(nats).all():
        raise ShardError(f"{path.name}: reference losses of another shape")
    return torch.from_numpy(nats.astype("float64").reshape(expected.rows, expected.seq_len))
