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
    make = commands.add_parser("build", help="build a set of shards from documents; prints the manifest's path")
    for flag in ("--corpus", "--open", "--sealed", "--key"):
        make.add_argument(flag, type=Path, required=True)
    make.add_argument("--set", required=True, help="name of the set")
    make.add_argument("--seed", type=int, required=True)
    make.add_argument("--vocab", type=int, default=1024, help="tokens of the vocabulary, BOS included")
    make.add_argument("--held-out-bytes", type=int, default=150_000, help="for each of dev, public and private")
    make.add_argument("--most-shared", type=float, default=0.2, help="share of 13-grams above which one is dropped")
    make.add_argument("--gate-tokens", type=int, default=65_536, help="tokens visible before the clock starts")
    make.add_argument("--file-tokens", type=int, default=1_048_576, help="tokens of each further training file")
    make.add_argument("--owner", type=int, help="user id that the sealed folder is given to")
    commands.add_parser("score", help="read one job line on stdin, score, print one result line")
    verify = commands.add_parser("verify", help="recompute the commitment of a sealed target")
    verify.add_argument("--shard", type=Path, required=True)
    verify.add_argument("--key", type=Path, required=True)
    verify.add_argument("--commitment", help="fail unless it is this one")
    options = parser.parse_args()
    return {"build": _build, "score": _score, "verify": _verify}[options.command](options)


def _build(options: argparse.Namespace) -> int:
    from scoring.scorer.build import Plan, build
    from scoring.scorer.documents import BuildError

    plan = Plan(
        corpus=options.corpus,
        name=options.set,
        open_dir=options.open,
        sealed_dir=options.sealed,
        key=options.key,
        seed=options.seed,
        vocab_size=options.vocab,
        held_out_bytes=options.held_out_bytes,
        most_shared=options.most_shared,
        gate_tokens=options.gate_tokens,
        file_tokens=options.file_tokens,
        owner=options.owner,
    )
    try:
        print(build(plan, lambda line: print(line, file=sys.stderr, flush=True)))
    except (BuildError, shards.ShardError, OSError) as error:
        print(f"shards not built: {error}", file=sys.stderr)
        return REFUSED
    return OK


def _score(_: argparse.Namespace) -> int:
    from pydantic import ValidationError

    from scoring.scorer.channel import ScoreFailed
    from scoring.scorer.score import score
    from scoring.scorer.task import ScoreJob

    try:
        job = ScoreJob.model_validate_json(sys.stdin.readline())
    except ValidationError as error:
        print(f"job refused: {error}", file=sys.stderr)
        return REFUSED
    try:
        result = score(job, on_ready=lambda: _say({"event": "ready"}), on_scored=lambda: _say({"event": "scored"}))
        if result.breaches:
            detail = "; ".join(result.breaches)
            _say({"ok": False, "code": "breach", "detail": detail, "probes": result.probe_table()})
            return OK
        answer = {"ok": True, "score": result.score_table(), "probes": result.probe_table()}
    except ScoreFailed as failure:
        _say({"ok": False, "code": failure.code})
        return OK
    except Exception:  # our fault, whatever it is: the competitor's run is repeated, never failed for it
        traceback.print_exc()
        _say({"ok": False, "code": "host_fault"})
        return HOST_FAULT
    _say(answer)
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
