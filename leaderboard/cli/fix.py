"""`submit --fix script.py`: the audit's own repairs on this machine; the script itself is never changed.

The repaired text is written beside it, as `script.fixed.py`, and shown as a diff; `--diff` shows it alone. What only
warns is left alone unless `--also` names its rule. With `--verify` the text is written when it is proved, not before.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaderboard.cli.errors import Exit, PlatformFault, Usage
from leaderboard.cli.findings import finding_lines
from leaderboard.cli.scriptlines import read_script_lines
from leaderboard.cli.send import read_script
from leaderboard.cli.show import say, say_json
from leaderboard.cli.terms import read_terms
from leaderboard.cli.words import clean, state_word

if TYPE_CHECKING:
    from reviewer import Fixed

_COLOURS = {"+": "\033[32m", "-": "\033[31m", "@": "\033[36m"}


def fix_scripts(scripts: Sequence[str], flags: Mapping[str, str | None], *, alone: bool, **options: Any) -> Exit:
    """Read what was typed beside `--fix`. Raises Usage where it does not go with it."""
    if len(scripts) > 1:
        raise Usage("One script is repaired at a time; name one.")
    if not alone:
        raise Usage("--fix and --diff audit as well; leave out --check, --unpacked and --format.")
    if options["output"] is not None and not options["write"]:
        raise Usage("--output names the file that --fix writes; add --fix.")
    return fix(Path(scripts[0]), flags=flags, **options)


def fix(
    path: Path,
    *,
    write: bool,
    output: Path | None = None,
    also: str | None = None,
    verify: bool = False,
    policy: Path | None = None,
    flags: Mapping[str, str | None] | None = None,
    as_json: bool = False,
) -> Exit:
    """Repair a script, say how, and return what an audit of the new text comes to.

    Raises Usage where a file cannot be read or would be overwritten, or where this host cannot prove what was to be
    proved, and PlatformFault where no audit ends.
    """
    script = read_script(path)
    terms = read_terms(policy)
    launch = terms.launch(str(path), flags or {}, read_script_lines(script, str(path)))
    target = output or _beside(path)
    import reviewer

    try:
        fixed = reviewer.fix(script, terms.policy, launch=launch, also=_rules(also))
    except reviewer.ReviewerFault as fault:
        raise PlatformFault(f"The audit did not end, and that is not your script's doing: {fault}") from fault
    write = write and bool(fixed.edits)
    if write:
        _free(target, fixed.text.encode(), script)
    proof = None
    if verify and fixed.edits:
        from leaderboard.cli.verify import verified

        proof = verified(script, fixed.text.encode(), launch.args if launch is not None else ())
    write = write and (proof is None or proof.holds)
    written = _write(target, fixed.text.encode(), script) if write else None
    diff = "".join(_diff(script, fixed.text, str(path), str(target)))
    if as_json:
        event = {"event": "fixed", "file": str(path), "output": str(written) if written else None, "diff": diff}
        event |= {name: value for name, value in fixed.to_json().items() if name != "text"}
        say_json(event | ({"verified": proof.to_json()} if proof is not None else {}))
    else:
        _say(path, fixed, diff, written)
        if proof is not None:
            say(proof.sentence)
    if proof is not None and not proof.holds:
        return Exit.FAILED
    worst = {finding.severity for finding in fixed.remaining}
    return Exit.REJECTED if "reject" in worst else Exit.IN_REVIEW if "review" in worst else Exit.OK


def _rules(words: str | None) -> frozenset[str]:
    """Read `--also H701,H704`. Raises Usage for what is no rule."""
    from reviewer.catalogue import CATALOGUE

    codes = [word.strip().upper() for word in (words or "").split(",") if word.strip()]
    if unknown := next((code for code in codes if code not in CATALOGUE), None):
        raise Usage(f"There is no rule {unknown[:40]!r} for --also; `submit rules` lists all.")
    return frozenset(codes)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}.fixed{path.suffix or '.py'}")


def _free(target: Path, data: bytes, script: bytes) -> bool:
    """Tell whether a file is still to be written. Raises Usage where another one is there."""
    try:
        there = target.read_bytes()
    except FileNotFoundError:
        return True
    except OSError as error:
        raise Usage(f"{target} cannot be written: {error.strerror}.") from error
    if there == data != script:
        return False  # it says this already
    raise Usage(f"{target} is there already; delete it, or name another file with --output.")


def _write(target: Path, data: bytes, script: bytes) -> Path:
    """Write the repaired text to a file that is not there yet. Raises Usage."""
    if _free(target, data, script):
        try:
            with open(target, "xb") as file:
                file.write(data)
        except OSError as error:
            raise Usage(f"{target} cannot be written: {error.strerror}.") from error
    return target


def _diff(script: bytes, text: str, before: str, after: str) -> Iterator[str]:
    """Yield a unified diff that `patch` takes, also where the last line has no end."""
    lines = (script.decode("utf-8", "replace").split("\n"), text.split("\n"))
    old, new = ([*(f"{line}\n" for line in part[:-1]), *part[-1:]] for part in lines)
    for line in difflib.unified_diff([o for o in old if o], [n for n in new if n], before, after):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _say(path: Path, fixed: Fixed, diff: str, written: Path | None) -> None:
    paint = sys.stdout.isatty()
    for line in diff.splitlines():
        colour = _COLOURS.get(line[:1], "") if paint else ""
        say(f"{colour}{clean(line)}\033[0m" if colour else clean(line))
    report = {"findings": fixed.to_json()["remaining"]}
    for line in finding_lines(report, str(written or path)):
        say(line)
    count = len(fixed.edits)
    if count:
        edits = f"{count} edit" if count == 1 else f"{count} edits"
        where = f"in {written}; {path} is as it was" if written else "nothing is written"
        say(f"{path}: {edits}, {where}.")
        if not any(finding.severity in ("reject", "review") for finding in fixed.remaining):
            say(f"{state_word('accepted')}: nothing stops the repaired text.")
    else:
        say(f"{path}: nothing that stops it can be repaired with certainty.")
    if fixed.more:
        say(f"{sum(fixed.more.values())} more can be repaired with --also {','.join(fixed.more)}.")
