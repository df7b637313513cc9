"""`manage.py competition load FILE`."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.competitions import files


class Command(BaseCommand):
    """Load a competition file; one that is loaded already changes nothing."""

    help = "load FILE: make the site's competition what the file says; a second time changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["load"])
        parser.add_argument("file", type=Path)
        parser.add_argument("--unless-there", action="store_true", help="leave a competition of this name as it is")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["unless_there"] and (there := files.loaded(options["file"])):
                self.stdout.write(
                    f"Competition {there.slug} is there; `competition load {options['file']}` applies changes."
                )
                return
            published = files.publish(options["file"])
        except files.CompetitionFileError as error:
            raise CommandError(f"The competition file is refused, and nothing has changed.\n{error}") from None
        new, changes = published.is_new, "; ".join(published.changes)
        what = f"new, with {changes}" if new else f"changed {changes or 'nothing, it was loaded before'}"
        self.stdout.write(f"Competition {published.competition.slug}: {what}.")
