"""`manage.py agent add NAME --hardware cpu`: register a hardware host and give it its key."""

import re
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from leaderboard.core.secrets import digest, write_private
from leaderboard.env import env
from leaderboard.runs import agents
from leaderboard.runs.models import Agent


class Command(BaseCommand):
    help = "Register an agent and write its key where an agent on this host looks for it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="register an agent; an existing one keeps its key while the key file fits")
        add.add_argument("name")
        add.add_argument("--hardware", default=env().agent_hardware, help="hardware class whose queue it serves")
        add.add_argument("--key-file", type=Path, default=env().home / "agent" / "agent.key")

    def handle(self, *args: Any, **options: Any) -> None:
        name, hardware, path = options["name"], options["hardware"], options["key_file"]
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", name):
            raise CommandError("An agent's name has letters, digits, dots, dashes and underscores.")
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", hardware):
            raise CommandError("A hardware class has small letters, digits and dashes.")
        if _fits(path, name, hardware):
            self.stdout.write(f"Agent {name} is registered already; its key is in {path}")
            return
        with transaction.atomic():
            write_private(path, agents.add(name=name, hardware=hardware) + "\n")
        self.stdout.write(f"Agent {name} serves {hardware}; its key is in {path}")


def _fits(path: Path, name: str, hardware: str) -> bool:
    try:
        key = path.read_text().strip()
    except FileNotFoundError:
        return False
    registered = Agent.objects.filter(name=name, hardware=hardware, revoked=False)
    return registered.filter(digest=digest(key)).exists()
