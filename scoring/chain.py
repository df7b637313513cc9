"""Arithmetic of a hash-chained ledger; where entries are kept is somebody else's business.

    hash(0) = sha256(GENESIS    || canonical(entry 0))
    hash(n) = sha256(hash(n-1)  || canonical(entry n))

`||` joins raw bytes: the 32 bytes of the previous hash, then the RFC 8785 form of the entry. So one head hash fixes
every entry before it, and any JSON library can check the chain.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import rfc8785

GENESIS = "0" * 64


def canonical(value: Any) -> bytes:
    """Return the one JSON form of `value` (RFC 8785); raises ValueError for what JSON cannot say exactly."""
    return rfc8785.dumps(value)


def entry_hash(previous: str, entry: Mapping[str, Any]) -> str:
    """Return the hex hash of `entry` after `previous` (64 hex digits; GENESIS for the first entry)."""
    before = bytes.fromhex(previous)
    if len(before) != 32:
        raise ValueError("a chain hash has 32 bytes")
    return hashlib.sha256(before + canonical(dict(entry))).hexdigest()
