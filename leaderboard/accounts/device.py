"""Logging a machine in by a code that a person types: the shape of RFC 8628.

    machine   start ─▶ device code (secret, stays on it) and user code (eight letters, on its screen)
    person    types the user code on the site, sees what asks, and confirms or refuses
    machine   asks with the device code, no faster than told, and gets one token, once

What a person types is guarded twice: wrong codes are counted for the person and the address, and a code alone does
nothing before its owner has seen what it would let in. No address carries a code, so no link can bring one along.
"""

import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from leaderboard.accounts import allowance
from leaderboard.accounts.models import DeviceLogin, Scope, User
from leaderboard.accounts.services import issue_token
from leaderboard.core.errors import Refusal
from leaderboard.core.secrets import digest

LIFE, SKEW = timedelta(minutes=10), timedelta(minutes=1)  # what clocks of a site's hosts may differ by
INTERVAL, SLOWER, SLOWEST = 5, 5, 60  # seconds between questions; what asking too soon adds; where that ends
TOKEN_LIFE = timedelta(days=90)
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels, so no words; nothing that looks like a digit: 20^8 codes
STARTS, GUESSES, GUESSES_FROM_ADDRESS = 30, 10, 40  # within ten minutes
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,39}")
FORGET = timedelta(days=1)
State = DeviceLogin.State


@dataclass(frozen=True)
class Started:
    """What a machine is told: its secret, the code for its screen (`BCDF-GHJK`), and its rhythm in seconds."""

    device_code: str
    user_code: str
    expires_in: int
    interval: int


@dataclass(frozen=True)
class Granted:
    """A token, once."""

    token: str
    name: str
    scope: str
    expires: datetime
    user: User


def start(*, label: str, scope: str, address: str) -> Started:
    """Begin a login. Raises Refusal bad_label or bad_scope (400), too_many (429)."""
    if not LABEL.fullmatch(label):
        raise Refusal("bad_label", "A machine's name here has 1 to 40 letters, digits, spaces, dots, dashes and @.")
    if scope not in (Scope.READ, Scope.SUBMIT):
        raise Refusal("bad_scope", "A machine can ask for `submit` or `read`, for nothing more.")
    allowance.spend("device-start", {f"address:{allowance.network_of(address)}": STARTS})
    now = timezone.now()
    DeviceLogin.objects.filter(expires__lt=now - FORGET).delete()
    allowance.forget_old()
    device_code = secrets.token_urlsafe(32)
    created = False
    while not created:
        user_code = "".join(secrets.choice(ALPHABET) for _ in range(8))
        _, created = DeviceLogin.objects.get_or_create(
            user_digest=_typed_digest(user_code),
            defaults={
                "device_digest": digest(device_code),
                "label": label,
                "address": address[:45],
                "scope": scope,
                "created": now,
                "expires": now + LIFE,
                "interval": INTERVAL,
            },
        )
    shown = f"{user_code[:4]}-{user_code[4:]}"
    return Started(device_code, shown, int(LIFE.total_seconds()), INTERVAL)


def find(*, typed: str, user: User, address: str) -> DeviceLogin:
    """Return the login that waits under the code a person typed.

    Every try counts, also a right one. Raises Refusal unknown_code (404) alike for a code that never was, is over or
    was answered, and too_many (429).
    """
    names = {f"user:{user.pk}": GUESSES, f"address:{allowance.network_of(address)}": GUESSES_FROM_ADDRESS}
    allowance.spend("device-guess", names)
    code = re.sub(r"[\s-]", "", typed[:40]).upper()
    found = _waiting().filter(user_digest=_typed_digest(code)).first()
    if found is None:
        raise Refusal("unknown_code", "No machine waits under this code: it is mistyped, or older than 10 min.", 404)
    return found


def answer(*, login_id: int, user: User, confirm: bool) -> DeviceLogin:
    """Let a machine in as `user`, or send it away. Raises Refusal unknown_code (404) when it no longer waits."""
    if not _waiting().filter(pk=login_id).update(state=State.APPROVED if confirm else State.REFUSED, user=user):
        raise Refusal("unknown_code", "This machine no longer waits; start again there.", 404)
    return DeviceLogin.objects.get(pk=login_id)


def redeem(*, device_code: str) -> Granted:
    """Answer a machine's question, with a token the first time after a person said yes.

    Raises Refusal (400) with RFC 8628's codes: authorization_pending, slow_down (with the new interval),
    access_denied, expired_token, and invalid_grant for a code that never was or has been used.
    """
    with transaction.atomic():  # the row is the lock: of two questions at once one gets the token
        login = DeviceLogin.objects.select_for_update().filter(device_digest=digest(device_code)).first()
        unknown = Refusal("invalid_grant", "No login goes by this code; start again.")
        outcome = _ask(login, timezone.now()) if login else unknown
    if isinstance(outcome, Refusal):  # raised out here: what was noted of the question stays
        raise outcome
    return outcome


def _ask(login: DeviceLogin, now: datetime) -> Granted | Refusal:
    if login.state == State.USED:
        return Refusal("invalid_grant", "This code has given its token; if not to you, revoke that on the site.")
    if login.state == State.REFUSED:
        return Refusal("access_denied", "The login was refused on the site.")
    if not now < login.expires <= now + LIFE + SKEW:
        return Refusal("expired_token", "The code is older than 10 min; start again.")
    soon = login.asked is not None and timedelta() <= now - login.asked < timedelta(seconds=login.interval)
    login.asked = now
    if soon:
        login.interval = min(login.interval + SLOWER, SLOWEST)
        login.save(update_fields=["asked", "interval"])
        return Refusal("slow_down", f"Ask every {login.interval} s, not faster.", interval=login.interval)
    login.save(update_fields=["asked"])
    if login.state == State.PENDING or login.user is None:
        return Refusal("authorization_pending", "Nobody has confirmed the code yet.")
    if not login.user.is_active:
        return Refusal("access_denied", "The account that confirmed this is closed.")
    login.state = State.USED
    login.save(update_fields=["state"])
    token, text = issue_token(user=login.user, name=f"submit on {login.label}", days=TOKEN_LIFE.days, scope=login.scope)
    return Granted(text, token.name, token.scope, token.expires, login.user)


def _waiting() -> QuerySet[DeviceLogin]:
    """Return the logins that nobody has answered and that are not over.

    One that has longer to live than it was given is over too: the clock was put back since.
    """
    now = timezone.now()
    return DeviceLogin.objects.filter(state=State.PENDING, expires__gt=now, expires__lte=now + LIFE + SKEW)


def _typed_digest(code: str) -> str:
    return salted_hmac("device-login", code, algorithm="sha256").hexdigest()
