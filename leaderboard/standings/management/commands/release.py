"""`manage.py release COMPETITION/PHASE`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Phase
from leaderboard.competitions.queries import find_phase
from leaderboard.core.errors import Refusal
from leaderboard.standings.preview import Preview, preview, troubles
from leaderboard.standings.release import release
from leaderboard.standings.rows import Row, digits_of


class Command(BaseCommand):
    """Show what a phase's release would publish, or release it as shown."""

    help = (
        "COMPETITION/PHASE: show what a release would publish, and change nothing. "
        "With --confirm DIGEST --by USERNAME, an organizer: release it as that preview showed it, for good."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("phase", metavar="COMPETITION/PHASE")
        parser.add_argument("--confirm", metavar="DIGEST", help="release what the preview with this digest showed")
        parser.add_argument("--by", metavar="USERNAME", help="the organizer who releases")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            competition, _, slug = options["phase"].partition("/")
            phase = find_phase(competition, slug)
            if options["confirm"] is None:
                self.stdout.write(text_of(preview(phase)))
            else:
                entry = release(phase, digest=options["confirm"], organizer=_organizer(options["by"]))
                self.stdout.write(f"Phase {phase.slug} is released; the ledger says so in entry {entry.seq}.")
        except Refusal as refusal:
            raise CommandError(refusal.message) from None


def _organizer(username: str | None) -> User:
    user = User.objects.filter(username=username or "").first()
    if user is None:
        raise CommandError("Say with --by USERNAME which organizer releases it; there is nobody of that name.")
    return user


def text_of(seen: Preview) -> str:
    """Return a preview as lines to read."""
    phase = seen.phase
    lines = [
        f"Phase {phase.competition.slug}/{phase.slug}, {phase.state()}; closes {phase.closes:%Y-%m-%d %H:%M} UTC.",
        f"Private scores: {seen.scored} in, {seen.failed} failed, {seen.missing} missing.",
        *_again(seen),
        *_opens(seen),
        "",
        *_board(phase, seen.rows),
        "",
    ]
    if problems := seen.problems():
        lines += ["It cannot be released:", *(f"  {problem}" for problem in problems)]
        lines += [f"  {trouble}" for trouble in troubles(phase)]
    else:
        lines += ["Nothing has been changed. To release exactly this, add:", f"  --confirm {seen.digest} --by USERNAME"]
    return "\n".join(lines)


def _again(seen: Preview) -> list[str]:
    if not seen.again:
        return ["No entry is probed again: the phase has no cut."]
    words = [entry.word for entry in seen.again]
    told = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    breaches = [entry.submission for entry in seen.again if entry.breach]
    lines = [f"Inside the cut, probed again at ten times the power: {told}."]
    return lines + [f"  submission {pk} breached; disqualify it, or let it stand." for pk in breaches]


def _opens(seen: Preview) -> list[str]:
    """Say what everybody may read from then on, and what stays sealed because of other phases."""
    rules = seen.phase.rules.visibility.model_dump()
    opened = ", ".join(part for part, when in rules.items() if when == "release")
    closed = ", ".join(part for part, when in rules.items() if when != "release")
    lines = [f"Opens to everybody, of every version on the board: {opened or 'nothing but its row'}."]
    if closed:
        lines.append(f"Never opens: {closed}.")
    if seen.sealing:
        lines.append(
            f"These shards are still to be scored on in {', '.join(seen.sealing)}: receipts of scorings, which say a"
            " score to the last digit, stay closed until the last of these phases is released."
        )
    else:
        lines.append(
            "No other phase scores on these shards: receipts of scorings open with it, of earlier phases as well."
        )
    return lines


def _board(phase: Phase, rows: list[Row]) -> list[str]:
    digits = digits_of(phase.rules.rounding)
    lines = [f"{'private':>7} {'public':>6} {'shift':>5}  {'bits per byte':>13}  team, version (submission)"]
    for row in rows:
        rank, score = (str(row.rank), f"{row.bpb:.{digits}f}") if row.bpb is not None else ("–", "–")
        shift = f"{row.shift:+d}" if row.shift else "·"
        who = f"{printable(row.team)}, v{row.version} ({row.submission})"
        lines.append(f"{rank:>7} {row.public_rank:>6} {shift:>5}  {score:>13}  {who} {row.outcome}".rstrip())
    return lines if rows else ["Nobody is ranked."]


def printable(text: str) -> str:
    """Return a name as one line that moves no cursor."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
