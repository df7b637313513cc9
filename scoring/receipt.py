"""The signed facts of an attempt: canonical bytes, signature, check.

The key is ephemeral: an agent makes one per attempt and registers its public half before the sandbox starts, so a
receipt can only come from the process that was given the run.
"""

from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from scoring.chain import canonical as _canonical

# Keeps a receipt's signature from being worth anything for another kind of message under the same key.
_CONTEXT = b"holdout receipt 1\n"


class BadSignature(Exception):
    """The signature does not belong to this receipt and public key."""


def canonical(receipt: Mapping[str, Any]) -> bytes:
    """Return the one byte form of `receipt` that is signed and hashed (RFC 8785)."""
    return _canonical(dict(receipt))


def new_key() -> Ed25519PrivateKey:
    """Make an ephemeral signing key."""
    return Ed25519PrivateKey.generate()


def key_from_seed(seed: str) -> Ed25519PrivateKey:
    """Return the key of a 32-byte seed in hex; ValueError when it is not one."""
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed))


def public_key(key: Ed25519PrivateKey) -> str:
    """Return the public half in hex (32 bytes)."""
    return key.public_key().public_bytes_raw().hex()


def sign(receipt: Mapping[str, Any], key: Ed25519PrivateKey) -> str:
    """Return the hex ed25519 signature over the receipt's canonical bytes."""
    return key.sign(_CONTEXT + canonical(receipt)).hex()


def verify(receipt: Mapping[str, Any], signature: str, public_key: str) -> None:
    """Return quietly when `signature` is `public_key`'s over `receipt`; raises BadSignature otherwise."""
    try:
        verifier = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        verifier.verify(bytes.fromhex(signature), _CONTEXT + canonical(receipt))
    except (InvalidSignature, ValueError) as error:
        raise BadSignature("the receipt's signature does not hold") from error
