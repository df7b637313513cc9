"""`python -m scoring.scorer build|score|verify`: the trusted side, always a process of its own."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from pathlib import Path

from scoring import shards
from scoring.scorer import sealed

OK, REFUSED, HOST_FAULT = 0, 2, 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scoring.scorer", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("score", help="read one job line on stdin, score, print one result line")
    verify = commands.add_parser("verify", help="recompute the commitment of a sealed target")
    verify.add_argument("--shard", type=Path, required=True)
    verify.add_argument("--key", type=Path, required=True)
    verify.add_argument("--commitment", help="fail unless it is this one")
    options = parser.parse_args()
    return {"score": _score, "verify": _verify}[options.command](options)


def _score(_: argparse.Namespace) -> int:
    from pydantic import ValidationError

    from scoring.scorer.channel import ScoreFailed
    from scoring.scorer.score import ScoreJob, score

    try:
        job = ScoreJob.model_validate_json(sys.stdin.readline())
    except ValidationError as error:
        print(f"job refused: {error}", file=sys.stderr)
        return REFUSED
    try:
        result = score(job, on_ready=lambda: _say({"event": "ready"}))
    except ScoreFailed as failure:
        _say({"ok": False, "code": failure.code})
        return OK
    except Exception:  # our fault, whatever it is: the competitor's run is repeated, never failed for it
        traceback.print_exc()
        _say({"ok": False, "code": "host_fault"})
        return HOST_FAULT
    _say({"ok": True, "score": result.to_json()})
    return OK


def _verify(options: argparse.Namespace) -> int:
    try:
        _, found = sealed.unseal(options.shard, sealed.read_key(options.key))
    except (OSError, shards.ShardError) as error:
        print(error, file=sys.stderr)
        return REFUSED
    print(found)
    if options.commitment not in (None, found):
        print(f"{options.shard.name}: not the target that was committed to", file=sys.stderr)
        return REFUSED
    return OK


def _say(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    sys.exit(main())
