"""`manage.py reaudit COMPETITION`."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

import reviewer
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.competitions.queries import find_phase
from leaderboard.core.errors import Refusal
from leaderboard.pipeline import reaudit
from leaderboard.pipeline.rereading import Summary, line_of
from leaderboard.submissions.visibility import organizes
from reviewer.policyfile import policy_in, read_toml

FAULTS = 3  # one after another; then it is the host that cannot audit
EVERY = 100  # submissions, between two words of how far it is


class Command(BaseCommand):
    """Show what a change of policy or ruleset would change in the archive, or write it down."""

    help = (
        "COMPETITION: read everything that was sent to it again, under its newest policy, and show what would change; "
        "nothing is written. With --apply the new reports are kept beside the old ones, and an organizer is asked to "
        "look where one is stricter; no state changes. What is interrupted goes on when it is started again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("competition", metavar="COMPETITION")
        under = parser.add_mutually_exclusive_group()
        under.add_argument("--policy", type=Path, metavar="FILE", help="a competition file, or its policy table alone")
        under.add_argument("--ruleset", action="store_true", help="each under the policy that it was last read under")
        parser.add_argument(
            "--phase", action="append", default=[], metavar="PHASE", help="only this one; may be repeated"
        )
        parser.add_argument("--apply", action="store_true", help="keep the reports and ask for the looks")
        parser.add_argument("--by", metavar="USERNAME", help="the organizer who does it, for the record")

    def handle(self, *args: Any, **options: Any) -> None:
        competition = _competition(options["competition"])
        for slug in options["phase"]:
            try:
                find_phase(competition.slug, slug)
            except Refusal as refusal:
                raise CommandError(refusal.message) from None
        wanted = _wanted(competition, options["policy"], each_its_own=options["ruleset"])
        if options["apply"] and wanted.trial is not None:
            raise CommandError(
                f"--apply needs a policy of the competition: load {options['policy']} with `manage.py competition load`"
                " first, or leave --apply out to see what it would change."
            )
        by = _organizer(competition, options["by"])
        summary = Summary(
            competition, wanted, apply=options["apply"], archive=reaudit.archive(competition, options["phase"]).count()
        )
        summary.due = reaudit.to_read(competition, wanted, options["phase"]).count()
        self.stdout.write(summary.heading())
        if getattr(self, "_called_from_command_line", False):
            reviewer.keep_ready()  # while one is judged the next process starts
        try:
            self._read(summary, options, by)
        except KeyboardInterrupt:
            raise CommandError(
                "Stopped. What is written stays; start it again and it goes on.", returncode=130
            ) from None
        self.stdout.write("\n".join(summary.lines()))
        if summary.faults:
            raise CommandError(f"{summary.faults} could not be read, which is this host's doing; start it again.")

    def _read(self, summary: Summary, options: dict[str, Any], by: User | None) -> None:
        together = 0
        phases, apply = options["phase"], options["apply"]
        for one in reaudit.read(summary.competition, summary.wanted, phases, apply=apply, by=by):
            summary.add(one)
            if one.fault or options["verbosity"] > 1 or (one.change and one.change.rules) or one.look or one.stands:
                self.stdout.write(line_of(one))
            together = together + 1 if one.fault else 0
            if together == FAULTS:
                raise CommandError(f"Audits do not run on this host: {one.fault}; what is written stays.")
            if summary.read % EVERY == 0:
                self.stderr.write(f"{summary.read:,} of {summary.due:,} read", style_func=str)


def _competition(slug: str) -> Competition:
    found = Competition.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(Competition.objects.order_by("slug").values_list("slug", flat=True)) or "none"
        raise CommandError(f"There is no competition called {slug!r}; there are: {known}.")
    return found


def _wanted(competition: Competition, file: Path | None, *, each_its_own: bool) -> reaudit.Wanted:
    """Return under what is read. A file that says what the newest policy says is that policy."""
    if each_its_own:
        return reaudit.Wanted()
    newest = competition.policies.order_by("-number").first()
    if newest is None:
        raise CommandError(f"{competition.slug} has no policy yet; it comes with its competition file.")
    if file is None:
        return reaudit.Wanted(row=newest)
    try:
        trial = policy_in(read_toml(file), file)
    except reviewer.PolicyError as error:
        sentence = str(error).rstrip(".")
        raise CommandError(f"{sentence}." if str(file) in sentence else f"{file}: {sentence}.") from None
    same = trial == reviewer.Policy.from_mapping(newest.body)
    return reaudit.Wanted(row=newest) if same else reaudit.Wanted(trial=trial)


def _organizer(competition: Competition, username: str | None) -> User | None:
    if username is None:
        return None
    user = User.objects.filter(username=username).first()
    if user is None or not organizes(user, competition):
        raise CommandError(f"{username!r} is no organizer of {competition.slug}; --by names one.")
    return user
