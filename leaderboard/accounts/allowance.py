"""Limits on how often: so many times in a window for each person and each address, counted for all processes."""

import ipaddress
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from leaderboard.accounts.models import Allowance
from leaderboard.core.errors import Refusal

WINDOW = timedelta(minutes=10)
FORGET = timedelta(days=1)


def spend(what: str, limits: dict[str, int]) -> None:
    """Count one more of `what` for each of these names, or none at all. Raises Refusal too_many (429).

    The count is committed before the caller goes on: what it refuses afterwards has been counted all the same. The
    rows are locked in the order given, so give people before addresses.
    """
    with transaction.atomic():
        rows = []
        for name, limit in limits.items():
            key = salted_hmac("allowance", f"{what}:{name}", algorithm="sha256").hexdigest()
            Allowance.objects.get_or_create(key=key, defaults={"began": timezone.now()})
            row = Allowance.objects.select_for_update().get(key=key)
            now = timezone.now()
            # Over, or begun by a clock that was far ahead. Not by one a little ahead: whoever waited for the lock, or
            # runs on a host whose clock is a second late, would begin anew what is in force.
            if not row.began - WINDOW <= now < row.began + WINDOW:
                row.began, row.used = now, 0
            if row.used >= limit:
                minutes = int(WINDOW.total_seconds()) // 60
                wait = int((row.began + WINDOW - now).total_seconds()) + 1
                raise Refusal(
                    "too_many",
                    f"That was tried {limit} times within {minutes} minutes; wait {wait} s and try again.",
                    429,
                    retry_after=wait,
                )
            row.used += 1
            rows.append(row)
        for row in rows:
            row.save()


def forget_old() -> None:
    """Delete counts that nobody will look at again."""
    Allowance.objects.filter(began__lt=timezone.now() - FORGET).delete()


def network_of(address: str) -> str:
    """Return whose an address is, for counting: itself, or the /64 of an IPv6 one, which one household has whole."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
