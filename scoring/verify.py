"""`python -m scoring.verify BEFORE.py AFTER.py`: prove that two texts of one script train the same.

Theory of operation. Both texts run three optimizer steps on the CPU with one seed, each in a fresh sandbox like any
submission, over a small data set that is made up for the purpose. What `harness/prove.py` notes of the two must be
identical in every bit:

* every loss of the three steps, that is, every value that `backward()` is called on;
* all parameters and buffers of all models at the third step boundary;
* what the models then answer, in training mode, to tokens of four shapes.

In evaluation mode the second text may differ from the first: a repair takes out what only evaluation does. Then its
answers must be those that it gives in training mode, so that what is scored is what was trained.

Not proved: what happens after the third step, on other hardware, over other data, with more processes or with another
seed; nor that the first text repeats itself. It is run twice where the two texts differ, and if it does not, that is
said. The first text finds no variable of its own in the environment, so its settings have their defaults.

    stdout   one JSON object: holds, sentence, and what differs
    exit     0 proved, 6 not proved, 3 this host cannot say
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import sys
import tempfile
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scoring.kit import __file__ as _kit
from scoring.sandbox import box, interpreter
from scoring.sandbox.bwrap import HARNESS_INSIDE
from scoring.sandbox.spec import Bind, Caps, Data, Mount, SandboxError, Spec
from scoring.scorer.build import Plan, build

PROVED, NOT_PROVED, CANNOT = 0, 6, 3
SECONDS = 300.0  # for one text; three steps of a large model on a CPU take their time
_MOST_SAID = 1 << 20
_VOCAB, _LENGTH, _BATCH = 512, 64, 4
_CAPS = Caps(8 << 30, 256, 1024, 1 << 30, 1 << 28, 1 << 30)


@dataclass(frozen=True)
class Verdict:
    """Whether it is proved, one sentence about it, and the parts in which the two texts differ."""

    holds: bool
    sentence: str
    differs: tuple[str, ...] = ()


class _Ended(Exception):
    """A text that did not come to its third step; the sentence says how it ended."""


class Place:
    """A folder with a made-up data set, as a trainer sees it."""

    def __init__(self, folder: Path) -> None:
        self._open = folder / "open"
        draw = random.Random(5)  # noqa: S311 - the same words every time
        words = ["".join(draw.choices("abcdefghijklmnoprstuvyz", k=draw.randint(2, 7))) for _ in range(900)]
        texts = (" ".join(draw.choices(words, k=draw.randint(30, 80))) + "." for _ in range(1200))
        corpus = folder / "corpus.jsonl"
        corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        build(
            Plan(
                corpus=corpus,
                name="made-up",
                open_dir=self._open,
                sealed_dir=folder / "sealed",
                key=folder / "key",
                seed=3,
                vocab_size=_VOCAB,
                held_out_bytes=4_000,
                gate_tokens=40_000,
                file_tokens=80_000,
            ),
            lambda _: None,
        )
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        self._manifest: dict[str, Any] = json.loads((self._open / "manifest.json").read_text())

    def mounts(self, script: bytes) -> tuple[Mount, ...]:
        """Return what a text finds inside."""
        kit = Path(_kit).with_name("prepare.py")
        files = self._manifest["train"]["files"]
        constants = {
            "seed": 11, "vocab_size": _VOCAB, "bos": self._manifest["bos"], "budget_seconds": 3600.0,
            "startup_cap_seconds": 3600.0, "excluded_steps": 1000, "term_seconds": 10.0,
            "eval_timeout_seconds": 60.0, "seq_len": _LENGTH, "batch_size": _BATCH, "data_dir": "/holdout/data",
            "train_files": files, "gate_files": len(files), "dev_file": "/holdout/dev.bin",
            "tokenizer": "/holdout/tokenizer.json", "token_bytes": "/holdout/token_bytes.bin", "steps_fifo": "",
        }  # fmt: skip
        return (
            Data(script, "/holdout/script"),
            Data(script, "/work/train.py"),
            Data(json.dumps(constants).encode(), "/holdout/constants.json"),
            Bind(kit, "/work/prepare.py"),
            Bind(self._open / "train", "/holdout/data"),
            Bind(self._open / "dev.bin", "/holdout/dev.bin"),
            Bind(self._open / "tokenizer.json", "/holdout/tokenizer.json"),
            Bind(self._open / "token_bytes.bin", "/holdout/token_bytes.bin"),
        )


def observed(place: Place, script: bytes, args: tuple[str, ...], env: dict[str, str]) -> dict[str, Any]:
    """Run one text for three steps and return what was noted. Raises _Ended, and SandboxError for the host."""
    read, write = os.pipe()
    try:
        spec = Spec(
            name=f"verify.{uuid.uuid4().hex[:8]}",
            slot="trainer",
            argv=(interpreter.PYTHON, f"{HARNESS_INSIDE}/prove.py", str(write), *args),
            mounts=(*interpreter.mounts(), *place.mounts(script)),
            env={**interpreter.environment(1), **env},
            caps=_CAPS,
            cpus=(min(os.sched_getaffinity(0)),),
            keep_fds=(write,),
        )
        sandbox = box.start(spec)
        try:
            os.close(write)
            write = -1
            sandbox.go()
            said, log = _heard(read, sandbox.output)
        finally:
            sandbox.close()
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        last = log.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise _Ended(f"did not come to a third step: {last[0][:200]}")
    return found


def _heard(channel: int, output: int) -> tuple[bytes, bytes]:
    """Read the proof and the end of the log until both are closed. Raises _Ended when time is up."""
    said: dict[int, bytes] = {channel: b"", output: b""}
    waiting, until = {channel, output}, time.monotonic() + SECONDS
    while waiting:
        left = until - time.monotonic()
        ready = select.select(list(waiting), [], [], max(left, 0))[0]
        if not ready:
            raise _Ended(f"did not come to a third step within {SECONDS:.0f} s")
        for fd in ready:
            chunk = os.read(fd, 65_536)
            if not chunk:
                waiting.discard(fd)
            said[fd] = (said[fd] + chunk)[-_MOST_SAID:]
    return said[channel], said[output]


def compare(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    """Return the parts in which what was noted of two texts differs; empty where the proof holds."""
    differs = [name for name in ("losses", "parameters") if before.get(name) != after.get(name)]
    one, two = before.get("answers", {}), after.get("answers", {})
    if one.get("training") != two.get("training"):
        differs.append("logits in training mode")
    if one.get("evaluation") != two.get("evaluation") and two.get("evaluation") != two.get("training"):
        differs.append("logits in evaluation mode")
    return tuple(differs)


def verify(before: bytes, after: bytes, args: tuple[str, ...] = (), env: dict[str, str] | None = None) -> Verdict:
    """Compare two texts. Raises SandboxError where this host has no sandbox."""
    with tempfile.TemporaryDirectory(prefix="holdout-verify-") as folder:
        place = Place(Path(folder))
        seen = []
        for which, text in (("The script", before), ("The repaired text", after)):
            try:
                seen.append(observed(place, text, args, env or {}))
            except _Ended as ended:
                return Verdict(False, f"Not proved: {which[0].lower()}{which[1:]} {ended}.", ("end",))
        differs = compare(*seen)
        if differs:
            again = observed(place, before, args, env or {})
            if compare(seen[0], again):
                sentence = "Not proved: the script does not repeat itself under one seed, so nothing can be compared."
                return Verdict(False, sentence, ("itself",))
            return Verdict(False, f"Not proved: the two texts differ in {' and '.join(differs)}.", differs)
        if not any(not str(a).startswith("no answer") for a in seen[0]["answers"]["training"]):
            return Verdict(False, "Not proved: no model of the script answers tokens alone.", ("logits",))
    sentence = "Proved: three steps of both texts give the same losses, parameters and logits, bit by bit."
    if seen[0]["answers"]["evaluation"] != seen[1]["answers"]["evaluation"]:
        sentence += " Evaluation, which differed from training, is now the same as training."
    return Verdict(True, sentence)


def main(argv: list[str] | None = None) -> int:
    """Compare two files, print one JSON object."""
    parser = argparse.ArgumentParser(prog="scoring.verify", description="Prove that two texts train the same.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("args", nargs="*", help="words of the launch command")
    options = parser.parse_args(argv)
    try:
        verdict = verify(options.before.read_bytes(), options.after.read_bytes(), tuple(options.args))
    except (SandboxError, OSError) as error:
        sys.stdout.write(json.dumps(asdict(Verdict(False, f"This host cannot prove it: {error}.", ("host",)))) + "\n")
        return CANNOT
    sys.stdout.write(json.dumps(asdict(verdict)) + "\n")
    return PROVED if verdict.holds else NOT_PROVED


if __name__ == "__main__":
    sys.exit(main())
