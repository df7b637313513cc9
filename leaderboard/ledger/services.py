"""Append to the ledger, and check it.

Every entry is hashed with the hash before it, so a change anywhere breaks a later link. The one Head row says where the
chain stands: an append locks it, and whoever appends locks it last (quota row, submission row, ledger head). On
PostgreSQL that is `SELECT … FOR UPDATE`; on SQLite a transaction that writes is immediate and so alone from its start.
"""

import json
from dataclasses import dataclass
from typing import Any

import rfc8785
from django.db import connection, transaction
from django.utils import timezone

from leaderboard.ledger.models import Entry, Head
from scoring.chain import GENESIS, entry_hash


@dataclass(frozen=True)
class Verdict:
    """What a check found: how many entries hold and, where one does not, which and why."""

    entries: int
    broken: int | None = None  # seq of the first broken link
    why: str = ""

    @property
    def ok(self) -> bool:
        return self.broken is None


def append(*, kind: str, subject: str, data: dict[str, Any]) -> Entry:
    """Add one entry inside the caller's transaction and return it.

    `data` holds ids, hashes and numbers, never a name; integers beyond 2**53 go in as text, since JSON readers round
    them. Raises TransactionManagementError outside a transaction: neither an entry without the change that it records
    nor a change without its entry may exist.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a ledger entry is part of the transaction that it records")
    head = hold()
    entry = Entry(
        seq=head.seq + 1,
        at=timezone.now().isoformat(timespec="microseconds"),
        kind=kind,
        subject=subject,
        data=rfc8785.dumps(data).decode(),
        prev_hash=head.hash,
    )
    entry.hash = entry_hash(head.hash, _hashed(entry))
    entry.save(force_insert=True)
    Head.objects.filter(pk=1).update(seq=entry.seq, hash=entry.hash)
    return entry


def hold() -> Head:
    """Lock the head until the caller's transaction ends: nothing else is appended meanwhile."""
    # Made on first need. Were it ever removed, the next append would collide with entry 1 and fail.
    return Head.objects.select_for_update().get_or_create(pk=1)[0]


def head() -> tuple[int, str]:
    """Return sequence number and hash of the newest entry; (0, 64 zeros) before the first."""
    row = Head.objects.filter(pk=1).first()
    return (row.seq, row.hash) if row else (0, GENESIS)


def verify() -> Verdict:
    """Recompute every link in a stream, without a lock: what is appended meanwhile is checked or left for later."""
    top, top_hash = head()
    last, last_hash = 0, GENESIS
    for entry in Entry.objects.order_by("seq").iterator(chunk_size=2000):
        why = _fault(entry, last + 1, last_hash)
        if not why and entry.seq == top and entry.hash != top_hash:
            why = "its hash is not the one at which the head stood"
        if why:
            return Verdict(last, last + 1, why)
        last, last_hash = entry.seq, entry.hash
    if last < top:
        return Verdict(last, last + 1, f"it is missing: the head stands at entry {top}")
    if last > (now := head()[0]):
        return Verdict(now, now + 1, f"the head stands before it, at entry {now}")
    return Verdict(last)


def _hashed(entry: Entry) -> dict[str, Any]:
    """Return what the hash covers beside the hash before."""
    data = json.loads(entry.data)
    return {"seq": entry.seq, "at": entry.at, "kind": entry.kind, "subject": entry.subject, "data": data}


def _fault(entry: Entry, seq: int, prev_hash: str) -> str:
    if entry.seq != seq:
        return f"it is missing: the next one is entry {entry.seq}"
    if entry.prev_hash != prev_hash:
        return "its previous hash is not the hash of the entry before"
    try:
        canonical = rfc8785.dumps(json.loads(entry.data)).decode() == entry.data
        sound = canonical and entry.hash == entry_hash(prev_hash, _hashed(entry))
    except ValueError:  # not JSON any more, or not JSON that can be hashed
        sound = False
    return "" if sound else "its content does not give its hash"
