"""`submit --check script.py`: the audit on this machine; nothing is sent and nothing is spent."""

from __future__ import annotations

import sys
from pathlib import Path

from leaderboard.cli.errors import Exit, PlatformFault
from leaderboard.cli.findings import finding_lines
from leaderboard.cli.send import read_script
from leaderboard.cli.show import say, say_json
from leaderboard.cli.words import state_word

_EXITS = {"accept": Exit.OK, "reject": Exit.REJECTED, "review": Exit.IN_REVIEW}
_LAST = {
    "accept": f"{state_word('accepted')}: nothing stops this file.",
    "reject": f"{state_word('rejected')}: correct the places above and check again; checking costs nothing.",
    "review": f"{state_word('in_review')}: an organizer would look at the places above before it runs.",
}


def check(path: Path, *, as_json: bool) -> Exit:
    """Audit a script under the standard policy. Raises Usage, and PlatformFault for an audit that does not answer."""
    script = read_script(path)
    import reviewer

    try:
        report = reviewer.review(script).to_json()
    except reviewer.ReviewerFault as fault:
        raise PlatformFault(f"The audit did not end, and that is not your script's doing: {fault}") from fault
    verdict = report["verdict"]
    if verdict not in _EXITS:
        raise PlatformFault(f"The audit ended with the unknown verdict `{verdict}`; this is not your script's doing.")
    if as_json:
        say_json({"event": "checked", "file": str(path), **report})
        return _EXITS[verdict]
    for line in finding_lines(report, str(path)):
        say(line)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        head, _, rest = _LAST[verdict].partition(" ")
        colour = {"accept": "green", "reject": "red", "review": "yellow"}[verdict]
        Console(highlight=False).print(Text.assemble((head, colour), f" {rest}"), soft_wrap=True)
    else:
        say(_LAST[verdict])
    return _EXITS[verdict]
