"""Documents in, documents dealt: the split into train, dev, public and private.

Every document gets a place by SHA-256 of seed and text, so the split depends on nothing else: not on the order of
the corpus, not on the machine. Held-out documents that share more than a given part of their word 13-grams with text
that competitors are given are dropped, then the rest fills dev, public and private in turn.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    duplicates: int


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
    which a candidate is dropped. Raises BuildError when the corpus is too small.
    """
    all_texts = list(texts)
    ordered = sorted(set(all_texts), key=lambda text: _place(seed, text))
    sizes = [len(text.encode()) for text in ordered]
    wanted, held = SPARE * held_out_bytes * len(HELD_OUT), 0
    cut = 0
    while cut < len(ordered) and held < wanted:
        held += sizes[cut]
        cut += 1
    if 2 * held > sum(sizes):
        raise BuildError(f"{sum(sizes)} bytes of text are too few to hold out {held_out_bytes} three times")
    candidates, train = ordered[:cut], ordered[cut:]
    say(f"comparing {len(candidates)} held-out candidates with {len(train)} training documents")
    overlaps = measure(candidates, train)
    clean = [text for text, overlap in zip(candidates, overlaps, strict=True) if overlap.share <= most_shared]
    dropped = len(candidates) - len(clean)
    dev, rest = _fill(clean, held_out_bytes)
    # Dev is handed out, so it counts as training text for the sealed targets.
    against_dev = measure(rest, dev)
    rest = [text for text, overlap in zip(rest, against_dev, strict=True) if overlap.share <= most_shared]
    dropped += len(against_dev) - len(rest)
    public, rest = _fill(rest, held_out_bytes)
    private, rest = _fill(rest, held_out_bytes)
    return Split(
        train=train,
        held_out={"dev": dev, "public": public, "private": private},
        overlaps=overlaps,
        dropped=dropped,
        unused=len(rest),
        duplicates=len(all_texts) - len(ordered),
    )


def _fill(texts: list[str], size: int) -> tuple[list[str], list[str]]:
    total = 0
    for index, text in enumerate(texts):
        total += len(text.encode())
        if total >= size:
            return texts[: index + 1], texts[index + 1 :]
    raise BuildError("too many held-out documents overlap with training text; hold out less, or allow more overlap")


def _place(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\n".encode() + text.encode()).digest()
