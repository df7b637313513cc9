"""Writes of accounts: tokens and teams. A competition is any saved model here, since its app lies above this one."""

import secrets
from contextlib import suppress
from datetime import timedelta

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Model, Q
from django.utils import timezone

from leaderboard.accounts.models import ApiToken, Membership, Scope, Team, User
from leaderboard.core.errors import Refusal
from leaderboard.core.secrets import digest

PREFIX = "hold_"  # lets secret scanners and people recognise a token
USE_GRAIN = timedelta(minutes=1)  # `last_used` is written at most this often: reads stay reads
NAME_LENGTH = 40


def issue_token(*, user: User, name: str, days: int = 90, scope: str = Scope.ALL) -> tuple[ApiToken, str]:
    """Make a token and return its row and its text, which is nowhere else and cannot be shown again."""
    if not 1 <= days <= 366:
        raise Refusal("bad_token", "A token lasts between 1 and 366 days.")
    name = name.strip()
    if not name or len(name) > 60:
        raise Refusal("bad_token", "A token needs a name of at most 60 characters.")
    text = PREFIX + secrets.token_urlsafe(32)
    expires = timezone.now() + timedelta(days=days)
    row = ApiToken.objects.create(user=user, name=name, scope=scope, digest=digest(text), expires=expires)
    return row, text


def revoke_token(*, user: User, token_id: int) -> None:
    """Delete one of the user's own tokens; one that is not theirs, or is gone, changes nothing."""
    ApiToken.objects.filter(user=user, pk=token_id).delete()


def token_of_text(text: str) -> ApiToken:
    """Return a token with its person. Raises Refusal `not_authenticated` or `token_expired`, both 401."""
    token = ApiToken.objects.select_related("user").filter(digest=digest(text)).first()
    if token is None or not token.user.is_active:
        raise Refusal("not_authenticated", "This token is not known here. Make one on the site under Tokens.", 401)
    now = timezone.now()
    if token.expires <= now:
        raise Refusal(
            "token_expired",
            f"This token expired on {token.expires:%Y-%m-%d %H:%M} UTC. Make a new one on the site under Tokens.",
            401,
            expired=token.expires.isoformat(),
        )
    if token.last_used is None or token.last_used <= now - USE_GRAIN:
        unused = Q(last_used=None) | Q(last_used__lte=now - USE_GRAIN)
        with suppress(OperationalError):  # a disk that is full stops no reading
            ApiToken.objects.filter(unused, pk=token.pk).update(last_used=now)
    return token


def team_of(user: User, competition: Model) -> Team | None:
    """Return the user's team in a competition."""
    return Team.objects.filter(memberships__user=user, memberships__competition_id=competition.pk).first()


def ensure_team(*, user: User, competition: Model, name: str | None = None) -> Team:
    """Return the user's team in a competition, making it on first need.

    The database holds one team per person and competition, so of two calls at once both return the same team. A name
    that somebody else has is refused (`team_name_taken`, 409) where it was asked for, and numbered where it was not.
    """
    wanted = user.get_username()[:NAME_LENGTH] if name is None else _team_name(name)
    for number in range(1, 1000):
        team = team_of(user, competition)
        if team is not None:
            return team
        suffix = "" if number == 1 else f"-{number}"
        try:
            with transaction.atomic():
                team = Team.objects.create(
                    competition_id=competition.pk, name=wanted[: NAME_LENGTH - len(suffix)] + suffix
                )
                Membership.objects.create(user=user, team=team, competition_id=competition.pk)
        except IntegrityError:
            if name is not None and team_of(user, competition) is None:
                raise Refusal("team_name_taken", f"Another team here is called {wanted!r}.", 409) from None
        else:
            return team
    raise Refusal("team_name_taken", f"Too many teams here are called {wanted!r}.", 409)


def _team_name(text: str) -> str:
    name = " ".join(text.split())
    if not name or not name.isprintable():
        raise Refusal("bad_team_name", "A team needs a name of printable characters.")
    if len(name) > NAME_LENGTH:
        raise Refusal("bad_team_name", f"A team's name has at most {NAME_LENGTH} characters.")
    return name
