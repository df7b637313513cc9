"""Uploads that arrive once however often they are sent: a program names each by a key of its own.

The key's row is written first, in the transaction that makes the submission. A second request with the same key waits
at it, and finds either the finished submission or, when the first was refused and left nothing behind, a free key. It
lives as long as its submission.
"""

import hashlib
import re
from collections.abc import Callable
from typing import TypeVar

from django.db import transaction
from django.db.models import Model

from leaderboard.accounts.models import SentOnce, User
from leaderboard.core.errors import Refusal

KEY = re.compile(r"[\x20-\x7e]{1,200}")
M = TypeVar("M", bound=Model)


def once(*, user: User, key: str, content: list[bytes], make: Callable[[], M]) -> tuple[M | int, bool]:
    """Return what `make` made for this key and True, or the number of what it made earlier and False.

    Raises Refusal bad_idempotency_key (400) or idempotency_mismatch (409), and what `make` raises, which leaves the
    key free.
    """
    if not KEY.fullmatch(key):
        raise Refusal("bad_idempotency_key", "An Idempotency-Key has 1 to 200 printable ASCII characters.")
    sha256 = _digest(content)
    with transaction.atomic():
        row, fresh = SentOnce.objects.get_or_create(user=user, key=key, defaults={"content_sha256": sha256})
        if fresh:
            made = make()
            SentOnce.objects.filter(pk=row.pk).update(submission_id=made.pk)
            return made, True
        if row.content_sha256 != sha256 or row.submission_id is None:
            raise Refusal(
                "idempotency_mismatch",
                "This Idempotency-Key was used for another upload; a new upload takes a new key.",
                409,
                submission=row.submission_id,
            )
        return row.submission_id, False


def _digest(content: list[bytes]) -> str:
    """Return one hash of several texts; each goes in with its length, so that none can borrow from the next."""
    whole = hashlib.sha256()
    for part in content:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()
