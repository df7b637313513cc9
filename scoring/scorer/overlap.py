"""How much of a held-out document competitors have seen: shared word 13-grams.

Only the n-grams of the held-out side are kept in memory; training text streams past them, however much there is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

LENGTH = 13
WORD = re.compile(r"\w+")
EDGES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
WORST = 20


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of `grams` n-grams of a document, `shared` are in the other text; `nearest` shares most with it (or -1)."""

    grams: int
    shared: int
    nearest: int
    nearest_shared: int

    @property
    def share(self) -> float:
        return self.shared / self.grams if self.grams else 0.0


def grams(text: str) -> Iterator[tuple[str, ...]]:
    """Yield a text's word 13-grams, lower case; a shorter text is one n-gram of what it has."""
    words = WORD.findall(text.lower())
    for start in range(max(1, len(words) - LENGTH + 1) if words else 0):
        yield tuple(words[start : start + LENGTH])


def measure(held_out: Sequence[str], other: Iterable[str]) -> list[Overlap]:
    """Compare each held-out document with all the other text; one Overlap per document, in order."""
    wanted = [list(grams(text)) for text in held_out]
    seen_in: dict[tuple[str, ...], int] = {gram: -1 for document in wanted for gram in document}
    for index, text in enumerate(other):
        for gram in grams(text):
            if seen_in.get(gram) == -1:
                seen_in[gram] = index
    return [_overlap(document, seen_in) for document in wanted]


def report(overlaps: Sequence[Overlap], most_shared: float) -> dict[str, Any]:
    """Sum up for the manifest: a table of documents by share, and the worst pairs (numbers only, no text)."""
    counts = [0] * len(EDGES)
    for overlap in overlaps:
        counts[next(i for i, edge in enumerate(EDGES) if overlap.share <= edge)] += 1
    total = sum(overlap.grams for overlap in overlaps)
    worst = sorted(overlaps, key=lambda overlap: (-overlap.share, -overlap.shared, overlap.nearest))[:WORST]
    return {
        "ngram_words": LENGTH,
        "most_shared": most_shared,
        "candidates": len(overlaps),
        "shared_before": sum(overlap.shared for overlap in overlaps) / total if total else 0.0,
        "table": [{"share_up_to": edge, "documents": count} for edge, count in zip(EDGES, counts, strict=True)],
        "worst": [
            {
                "train_document": overlap.nearest,
                "share": round(overlap.share, 4),
                "grams": overlap.grams,
                "shared_with_it": overlap.nearest_shared,
            }
            for overlap in worst
            if overlap.shared
        ],
    }


def _overlap(document: list[tuple[str, ...]], seen_in: dict[tuple[str, ...], int]) -> Overlap:
    places = Counter(index for gram in document if (index := seen_in[gram]) >= 0)
    nearest, most = max(places.items(), key=lambda item: (item[1], -item[0]), default=(-1, 0))
    return Overlap(grams=len(document), shared=places.total(), nearest=nearest, nearest_shared=most)
