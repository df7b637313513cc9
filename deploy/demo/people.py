"""The two demo accounts: an organizer and a competitor with a token that the CLI finds in this folder."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import django

COMPETITION, PHASE = "demo", "open"


@dataclass(frozen=True)
class Person:
    """A demo account; its password is random, kept in the state folder, and good on this machine's loopback only."""

    role: str
    username: str
    password: str


def demo_people(home: Path, url: str) -> tuple[list[Person], str]:
    """Create what is missing of the demo accounts; return both and the competitor's token."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
    django.setup()
    path = home / "secrets" / "demo-accounts.json"
    if not path.exists():
        fresh = [
            Person("organizer", "olga", secrets.token_urlsafe(12)),
            Person("competitor", "carl", secrets.token_urlsafe(12)),
        ]
        path.touch(mode=0o600)
        path.write_text(json.dumps([asdict(person) for person in fresh]))
    people = [Person(**fields) for fields in json.loads(path.read_text())]
    users = {person.role: _user(person) for person in people}
    return people, _token_for_cli(home, url, users["competitor"])


def _user(person: Person) -> Any:
    from leaderboard.accounts.models import User
    from leaderboard.competitions.models import Competition

    user, created = User.objects.get_or_create(
        username=person.username, defaults={"email": f"{person.username}@example.org"}
    )
    if created:
        user.set_password(person.password)
        user.is_staff = user.is_superuser = person.role == "organizer"
        user.save()
    if person.role == "organizer":
        Competition.objects.get(slug=COMPETITION).organizers.add(user)
    return user


def _token_for_cli(home: Path, url: str, user: Any) -> str:
    """Leave a token for this origin where `submit` looks when it is started in the project folder."""
    from leaderboard.accounts.services import ensure_team, issue_token
    from leaderboard.cli.settings import write_project_file
    from leaderboard.competitions.models import Competition

    ensure_team(user=user, competition=Competition.objects.get(slug=COMPETITION))
    user.tokens.filter(name="make run").delete()
    _, token = issue_token(user=user, name="make run", days=30)
    write_project_file(home / "submit.toml", url=url, token=token, competition=COMPETITION, phase=PHASE)
    return token
