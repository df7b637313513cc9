"""Documents in, documents dealt: the split into train, dev, public and private.

Every document gets a place by SHA-256 of seed and text, so the split depends on nothing else: not on the order of
the corpus, not on the machine. Held-out documents that share more than a given part of their word 13-grams with text
that competitors are given are dropped, then the rest fills dev, public and private in turn.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from scoring.scorer.overlap import Overlap, measure

HELD_OUT = ("dev", "public", "private")
SPARE = 1.5  # candidates set aside for each byte wanted, since some of them overlap and are dropped


class BuildError(Exception):
    """The corpus cannot become a set of shards; the message says why."""


@dataclass(frozen=True, slots=True)
class Split:
    train: list[str]
    held_out: dict[str, list[str]]
    overlaps: list[Overlap]  # of every candidate, kept or dropped
    dropped: int
    unused: int
    duplicates: int = 0


def read_jsonl(path: Path) -> list[str]:
    """Read documents from JSON lines {"text": …}. Raises BuildError with the line that is not one."""
    texts = []
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                text = json.loads(line)["text"]
                text.encode()  # a lone surrogate is legal JSON, but no text
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BuildError(f"{path.name}, line {number}: not a document ({type(error).__name__})") from error
            if text:
                texts.append(text)
    return texts


def deal(
    texts: Iterable[str], *, seed: int, held_out_bytes: int, most_shared: float, say: Callable[[str], None]
) -> Split:
    """Split documents by their hash.

    `held_out_bytes` is wanted for each of dev, public and private; `most_shared` is the share of 13-grams above
    which a candidate is dropped. Where too many are dropped, twice as many are set aside. Raises BuildError when the
    corpus is too small.
    """
    all_texts = list(texts)
    ordered = sorted(set(all_texts), key=lambda text: _place(seed, text))
    ends = list(accumulate(len(text.encode()) for text in ordered))
    aside = SPARE * held_out_bytes * len(HELD_OUT)
    while ends and 2 * aside <= ends[-1]:
        cut = bisect_left(ends, aside) + 1
        split = _deal_at(ordered[:cut], ordered[cut:], held_out_bytes, most_shared, say)
        if split is not None:
            return replace(split, duplicates=len(all_texts) - len(ordered))
        aside *= 2
    size = ends[-1] if ends else 0
    raise BuildError(
        f"{size} bytes of text, and what of it overlaps, do not let {held_out_bytes} be held out three times"
    )


def _deal_at(
    candidates: list[str], train: list[str], held_out_bytes: int, most_shared: float, say: Callable[[str], None]
) -> Split | None:
    say(f"comparing {len(candidates)} held-out candidates with {len(train)} training documents")
    overlaps = measure(candidates, train)
    rest = [text for text, overlap in zip(candidates, overlaps, strict=True) if overlap.share <= most_shared]
    dropped = len(candidates) - len(rest)
    held_out: dict[str, list[str]] = {}
    for target in HELD_OUT:
        filled = _fill(rest, held_out_bytes)
        if filled is None:
            return None
        held_out[target], rest = filled
        if target == "dev":  # it is handed out, so it counts as training text for the sealed targets
            against_dev = measure(rest, held_out["dev"])
            clean = [text for text, overlap in zip(rest, against_dev, strict=True) if overlap.share <= most_shared]
            dropped += len(rest) - len(clean)
            rest = clean
    return Split(train, held_out, overlaps, dropped, unused=len(rest))


def _fill(texts: list[str], size: int) -> tuple[list[str], list[str]] | None:
    total = 0
    for index, text in enumerate(texts):
        total += len(text.encode())
        if total >= size:
            return texts[: index + 1], texts[index + 1 :]
    return None


def _place(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\n".encode() + text.encode()).digest()
