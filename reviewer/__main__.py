"""`python -m reviewer FILE...`: audit files without running them, under the standard policy or one of a file.

Ends with 4 where a file is rejected, with 9 where one needs a person and none is rejected, else with 0; with 2 where
a file or the policy cannot be read, and with 7 where this host does not let an audit run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reviewer import Policy, PolicyError, ReviewerFault, review
from reviewer.formats import FORMATS, Checked, written
from reviewer.policyfile import policy_in, read_toml

_EXITS = {"accept": 0, "review": 9, "reject": 4}
_WORST = (4, 9, 0)


def main(argv: list[str] | None = None) -> int:
    """Print the reports and return the exit code."""
    parser = argparse.ArgumentParser(prog="reviewer", description="Audit training scripts without running them.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a script; - reads standard input")
    parser.add_argument("--format", choices=FORMATS, default="text", help="what is printed (default: text)")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="a competition file, or its policy table alone")
    options = parser.parse_args(argv)
    try:
        policy = None if options.policy is None else policy_in(read_toml(options.policy), options.policy)
    except PolicyError as error:
        return _complain(str(error), 2)
    checked, missing = [], 0
    for name in options.files:
        try:
            checked.append(_checked(name, policy))
        except OSError as error:
            missing = _complain(f"{name} cannot be read: {error.strerror or error}", 2)
        except ReviewerFault as fault:
            return _complain(str(fault), 7)
    if checked or options.format == "sarif":
        print(written(options.format, checked))
    return missing or min((_EXITS[one.report.verdict] for one in checked), key=_WORST.index, default=0)


def _checked(name: str, policy: Policy | None) -> Checked:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    return Checked("stdin" if name == "-" else name, review(data, policy))


def _complain(sentence: str, code: int) -> int:
    print(f"reviewer: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
