"""The command line of the proof.

stdout   one JSON object: holds, sentence, and what differs
exit     0 proved, 6 not proved, 3 this host cannot say
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from scoring.sandbox.spec import SandboxError
from scoring.verify.comparing import Verdict, verify
from scoring.verify.running import SECONDS

PROVED, NOT_PROVED, CANNOT = 0, 6, 3


def main() -> int:
    """Compare two files, print one JSON object."""
    parser = argparse.ArgumentParser(
        prog="python -m scoring.verify", description="Prove that two texts train the same."
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for the three steps of one text")
    parser.add_argument("args", nargs="*", help="words of the launch command, after `--`")
    options = parser.parse_args()
    try:
        texts = options.before.read_bytes(), options.after.read_bytes()
        verdict = verify(*texts, tuple(options.args), seconds=options.seconds)
    except (SandboxError, OSError) as error:
        print(json.dumps(asdict(Verdict(False, f"This host cannot prove it: {error}.", ("host",)))))
        return CANNOT
    print(json.dumps(asdict(verdict)))
    return PROVED if verdict.holds else NOT_PROVED


if __name__ == "__main__":
    sys.exit(main())
