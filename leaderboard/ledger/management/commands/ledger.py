"""`manage.py ledger verify`: is the chain whole?"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.ledger import services


class Command(BaseCommand):
    """Check the ledger; the exit code is 1 when a link is broken."""

    help = "verify: recompute every link of the ledger and name the first broken one."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["verify"])

    def handle(self, *args: Any, **options: Any) -> None:
        verdict = services.verify()
        if not verdict.ok:
            raise CommandError(f"The ledger is broken at entry {verdict.broken}: {verdict.why}.")
        seq, hash_ = services.head()
        self.stdout.write(f"The ledger is whole: {verdict.entries} entries, head {seq} {hash_}.")
