"""Arithmetic of a hash-chained ledger; where entries are kept is somebody else's business.

    hash(0) = sha256(GENESIS    || canonical(entry 0))
    hash(n) = sha256(hash(n-1)  || canonical(entry n))

`||` joins raw bytes: the 32 bytes of the previous hash, then the RFC 8785 form of the entry. So one head hash fixes
every entry before it, and any JSON library can check the chain.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import rfc8785

GENESIS = "0" * 64


class BrokenChain(Exception):
    """An entry's stored hash is not what its predecessor and content give; `index` counts from 0."""

    def __init__(self, index: int, stored: str, computed: str) -> None:
        super().__init__(f"entry {index}: stored hash {stored} but content gives {computed}")
        self.index, self.stored, self.computed = index, stored, computed


def canonical(value: Any) -> bytes:
    """Return the one JSON form of `value` (RFC 8785); raises ValueError for what JSON cannot say exactly."""
    return rfc8785.dumps(value)


def entry_hash(previous: str, entry: Mapping[str, Any]) -> str:
    """Return the hex hash of `entry` after `previous` (64 hex digits; GENESIS for the first entry)."""
    before = bytes.fromhex(previous)
    if len(before) != 32:
        raise ValueError("a chain hash has 32 bytes")
    return hashlib.sha256(before + canonical(dict(entry))).hexdigest()


def verify(entries: Iterable[tuple[Mapping[str, Any], str]], start: str = GENESIS) -> str:
    """Check (entry, stored hash) pairs in order and return the head hash.

    Reads the iterable once and keeps nothing, so a ledger of any length fits. Raises BrokenChain at the first
    entry that does not follow from the one before.
    """
    head = start
    for index, (entry, stored) in enumerate(entries):
        computed = entry_hash(head, entry)
        if computed != stored:
            raise BrokenChain(index, stored, computed)
        head = computed
    return head
