"""`submit --check script.py …`: the audit on this machine; nothing is sent and nothing is spent."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leaderboard.cli.errors import CliError, Exit, PlatformFault, Usage
from leaderboard.cli.findings import finding_lines
from leaderboard.cli.scriptlines import read_script_lines
from leaderboard.cli.send import read_script
from leaderboard.cli.show import say
from leaderboard.cli.terms import Terms, read_terms
from leaderboard.cli.words import one_line, state_word

if TYPE_CHECKING:
    from reviewer import Report
    from reviewer.formats import Checked, Format

_EXITS = {"accept": Exit.OK, "review": Exit.IN_REVIEW, "reject": Exit.REJECTED}
_WORST = (Exit.REJECTED, Exit.IN_REVIEW, Exit.OK)
_LAST = {
    "accept": f"{state_word('accepted')}: nothing stops this file.",
    "reject": f"{state_word('rejected')}: correct the places above and check again; checking costs nothing.",
    "review": f"{state_word('in_review')}: an organizer would look at the places above before it runs.",
}


def check(
    paths: Sequence[Path],
    *,
    format: Format = "text",
    policy: Path | None = None,
    flags: Mapping[str, str | None] | None = None,
    unpacked: bool = False,
) -> Exit:
    """Audit scripts, each under the launch that it names, and say what was found in one of the formats.

    Raises Usage once all others are judged where a file cannot be read, and PlatformFault where no audit ends.
    """
    if unpacked and (len(paths) > 1 or format != "text"):
        raise Usage("--unpacked prints the text inside one file; name one, and no --format.")
    terms = read_terms(policy)
    checked: list[Checked] = []
    unread: list[CliError] = []
    for path in paths:
        try:
            one = _audited(path, terms, flags or {})
        except Usage as error:
            unread.append(error)
            continue
        checked.append(one)
        if unpacked:
            _print_inner(one)
        elif format in ("text", "json"):  # as soon as it is known
            _say(one, format, name_it=len(paths) > 1)
    if format == "sarif" or (format == "github" and checked):
        from reviewer.formats import written

        say(written(format, checked))
    if unread:
        raise Usage(" ".join(error.sentence for error in unread), data={"unread": len(unread)})
    return min((_EXITS[one.report.verdict] for one in checked), key=_WORST.index, default=Exit.OK)


def _audited(path: Path, terms: Terms, flags: Mapping[str, str | None]) -> Checked:
    script = read_script(path)
    launch = terms.launch(str(path), flags, read_script_lines(script, str(path)))
    import reviewer
    from reviewer.formats import Checked

    try:
        return Checked(str(path), reviewer.review(script, terms.policy, launch=launch))
    except reviewer.ReviewerFault as fault:
        raise PlatformFault(f"The audit did not end, and that is not your script's doing: {fault}") from fault


def _say(one: Checked, format: Format, *, name_it: bool) -> None:
    if format == "json":
        from reviewer.formats import written

        say(written("json", [one]))
        return
    for line in finding_lines(one.report.to_json(), one.file):
        say(line)
    said, name = _LAST[one.report.verdict], f"{one_line(one.file)}: " if name_it else ""
    if not sys.stdout.isatty():
        say(f"{name}{said}")
        return
    from rich.console import Console
    from rich.text import Text

    head, _, rest = said.partition(" ")
    colour = {"accept": "green", "reject": "red", "review": "yellow"}[one.report.verdict]
    Console(highlight=False).print(Text.assemble(name, (head, colour), f" {rest}"), soft_wrap=True)


def _print_inner(one: Checked) -> None:
    """Print the innermost text as it is, and on stderr why there is none."""
    if one.report.unpacked:
        say(one.report.unpacked[-1].text, end="")
        return
    sys.stderr.write(f"submit: {one_line(one.file)} {_why_nothing(one.report)}\n")


def _why_nothing(report: Report) -> str:
    if not report.packed and not any(found.view == "unpacked" for found in report.findings):
        return "is not packed: what stands in it is what runs."
    return "is packed, and the text inside it cannot be shown; --check without --unpacked says why."
