"""A round over the archive in words: one line for each submission that changes, and what it all comes to."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from leaderboard.competitions.models import Competition
from leaderboard.pipeline.reaudit import Read, Wanted
from reviewer.report import RULESET

SHOWN = 20  # numbers of submissions in one line; the rest is counted


@dataclass
class Summary:
    """Counts what was read. Of the submissions it keeps numbers alone."""

    competition: Competition
    wanted: Wanted
    apply: bool
    archive: int  # submissions there are
    due: int = 0  # of those, not yet read under the wanted rules
    read: int = 0
    faults: int = 0
    same: int = 0
    rules: int = 0  # the same verdict by other rules
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    states: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    looks: list[int] = field(default_factory=list)
    stand: list[int] = field(default_factory=list)

    def add(self, one: Read) -> None:
        """Count one."""
        self.read += 1
        change, pk = one.change, one.submission.pk
        if change is None:
            self.faults += 1
            return
        if change.then != change.now:
            self.verdicts[change.then, change.now] += 1
            self.states[change.then, change.now, one.submission.state] += 1
        elif change.rules:
            self.rules += 1
        else:
            self.same += 1
        if one.look:
            self.looks.append(pk)
        if one.stands:
            self.stand.append(pk)

    def heading(self) -> str:
        """Say what is about to be read."""
        passed = self.archive - self.due
        under = "the policy that it was last read under"
        if self.wanted.row is not None:
            under = f"policy {self.wanted.row.number}"
        elif self.wanted.trial is not None:
            under = "the policy of the file, which is not the competition's"
        known = f"; {passed:,} were read under that already" if passed else ""
        return f"{self.competition.slug}: {self.due:,} to read under {under} and ruleset {RULESET}{known}."

    def lines(self) -> Iterator[str]:
        """Say what came of it."""
        yield f"{self.read - self.faults:,} read: {self.same:,} as before, {self.rules:,} with other findings."
        for (then, now), count in sorted(self.verdicts.items()):
            states = ((state, n) for (*pair, state), n in sorted(self.states.items()) if pair == [then, now])
            yield f"  {then} → {now}: {count:,} ({', '.join(f'{n:,} {state}' for state, n in states)})"
        if self.looks:
            what = f"{'' if self.apply else 'would be '}opened for a second look, and nothing else of them changes"
            yield f"{len(self.looks):,} {what}: {_numbers(self.looks)}."
        if self.stand:
            what = f"would pass now; an organizer can reinstate them{'' if self.apply else ', once that is applied'}"
            yield f"{len(self.stand):,} that an audit has rejected {what}: {_numbers(self.stand)}."
        if not self.apply:
            yield "Nothing has been written." + ("" if self.wanted.trial else " To keep these reports, add --apply.")


def line_of(one: Read) -> str:
    """Return a submission as one line: who, its state, its verdict then and now, and the rules that differ."""
    submission, change = one.submission, one.change
    name = "".join(letter if letter.isprintable() else "?" for letter in submission.team.name)
    who = f"{submission.pk:>6}  v{submission.version} of {name}, {submission.phase.slug}, {submission.state}"
    if change is None:
        return f"{who}: not read: {one.fault}"
    words = [f"{change.then} → {change.now}" if change.then != change.now else change.now]
    for rule, (then, now) in change.rules.items():
        if then == "off":
            words.append(f"+{rule} {now}")
        elif now == "off":
            words.append(f"-{rule}")
        else:
            words.append(f"{rule} {then} → {now}")
    said = " · for a second look" if one.look else " · can be reinstated" if one.stands else ""
    return f"{who}: {'  '.join(words)}{said}"


def _numbers(found: list[int]) -> str:
    shown = ", ".join(map(str, found[:SHOWN]))
    return shown if len(found) <= SHOWN else f"{shown} and {len(found) - SHOWN:,} more"
