"""`python -m reviewer FILE [--json] [--policy COMPETITION.toml]`: audit a file; exits 0 whatever the verdict."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path

from reviewer import Policy, PolicyError, ReviewerFault, review
from reviewer.report import human_lines


def main(argv: list[str] | None = None) -> int:
    """Print the report. Returns 0, or 2 where a file, a policy or this host does not let it."""
    parser = argparse.ArgumentParser(prog="reviewer", description="Audit a training script without running it.")
    parser.add_argument("file", help="the script; - reads standard input")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--policy", metavar="FILE", help="a competition file whose [policy] applies")
    options = parser.parse_args(argv)
    try:
        policy = _policy(options.policy)
        data = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
    except (OSError, PolicyError, tomllib.TOMLDecodeError) as error:
        print(f"reviewer: {error}", file=sys.stderr)
        return 2
    try:
        report = review(data, policy)
    except ReviewerFault as fault:
        print(f"reviewer: {fault}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        print("\n".join(human_lines(report, options.file)))
    return 0


def _policy(file: str | None) -> Policy | None:
    if file is None:
        return None
    table = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    return Policy.from_mapping(table.get("policy", {}))


if __name__ == "__main__":
    sys.exit(main())
