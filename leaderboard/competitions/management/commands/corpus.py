"""`manage.py corpus harvest`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.competitions import shards


class Command(BaseCommand):
    """Make the demo corpus from the documentation of installed libraries; a corpus that is there is kept."""

    help = "harvest: make the demo corpus from the documentation of installed libraries."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["harvest"])
        parser.add_argument("--name", default="demo", help="what the corpus is called")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            path, made = shards.harvest(name=options["name"])
        except shards.BuildError as error:
            raise CommandError(str(error)) from None
        state = "harvested" if made else "is there already; nothing was harvested"
        self.stdout.write(f"Corpus {options['name']} {state}: {path}, {path.stat().st_size / 1e6:.1f} MB.")
