"""What two texts have in common, as a verdict with one sentence."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scoring.verify.place import Place
from scoring.verify.running import SECONDS, Ended, Seen, observed


@dataclass(frozen=True)
class Verdict:
    """Whether it is proved, one sentence about it, and the parts in which the two texts differ."""

    holds: bool
    sentence: str
    differs: tuple[str, ...] = ()


def verify(
    before: bytes,
    after: bytes,
    args: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> Verdict:
    """Compare two texts. Raises SandboxError where this host has no sandbox."""
    seen = []
    with tempfile.TemporaryDirectory(prefix="holdout-verify-") as folder:
        place = Place(Path(folder))
        for which, text in (("the script", before), ("the repaired text", after)):
            try:
                seen.append(observed(place, text, args, env or {}, seconds))
            except Ended as ended:
                return Verdict(False, f"Not proved: {which} {ended}.", ("end",))
        one, two = seen
        differs = compare(one, two)
        if differs and not _repeats(place, before, args, env or {}, seconds, one):
            sentence = "Not proved: the script does not repeat itself under one seed, so nothing can be compared."
            return Verdict(False, sentence, ("itself",))
    if differs:
        return Verdict(False, f"Not proved: the two texts differ in {' and '.join(differs)}.", differs)
    if all(answer.startswith("no answer") for answer in one.training):
        return Verdict(False, "Not proved: no model of the script answers tokens alone.", ("logits",))
    sentence = "Proved: three steps of both texts give the same losses, parameters and logits, bit by bit."
    if one.evaluation != two.evaluation:
        sentence += " Evaluation, which differed from training, is now the same as training."
    return Verdict(True, sentence)


def compare(before: Seen, after: Seen) -> tuple[str, ...]:
    """Return the parts in which what was noted of two texts differs; empty where nothing does."""
    differs = [name for name in ("losses", "parameters") if getattr(before, name) != getattr(after, name)]
    if before.training != after.training:
        differs.append("logits in training mode")
    if before.evaluation != after.evaluation and after.evaluation != after.training:
        differs.append("logits in evaluation mode")
    return tuple(differs)


def _repeats(
    place: Place, text: bytes, args: tuple[str, ...], env: Mapping[str, str], seconds: float, first: Seen
) -> bool:
    """Run a text once more and tell whether it comes to the same."""
    try:
        return not compare(first, observed(place, text, args, env, seconds))
    except Ended:
        return False
