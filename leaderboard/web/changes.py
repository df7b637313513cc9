"""What changed between two versions of a script, line by line, in bounded time whatever the lines are.

Patience diff: what is equal at both ends is kept, then lines that stand exactly once on both sides are anchors, in the
longest order that both share, and the same is done between them. Where nothing stands out a block is replaced as a
whole. The usual search for longest matches takes minutes for texts that are made to be slow, and these are sent in by
strangers.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.safestring import SafeString

from leaderboard.web.source import fitting, lines

AROUND = 3  # equal lines shown beside a change
DEPTH = 12  # how often anchors are looked for between anchors
ROWS = 4_000  # shown at most

Pair = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """A line of the comparison: its numbers in both versions, from 1; `skipped` equal lines stand for a gap."""

    sign: str  # "+", "-" or ""
    old: int | None
    new: int | None
    html: SafeString
    skipped: int = 0


@dataclass(frozen=True)
class Changes:
    """The rows to show, how many lines came and went, and how many rows are too many to show."""

    rows: list[Row]
    added: int
    removed: int
    hidden: int


def plain(text: str) -> list[str]:
    """Return the text's lines, ended as Python ends them."""
    return re.split(r"\r\n|\r|\n", text)


def share_new(old: str, new: str) -> float:
    """Return which share of the non-empty lines of `new` is not in `old`, each line of it used once."""
    mine = Counter(line.strip() for line in plain(new) if line.strip())
    theirs = Counter(line.strip() for line in plain(old))
    return (mine - theirs).total() / max(mine.total(), 1)


def changes(old: str, new: str) -> Changes:
    """Compare two versions of a text."""
    html_old, html_new = lines(old), lines(new)
    before, after = plain(old)[: len(html_old)], plain(new)[: len(html_new)]
    pairs = [*_pairs(before, (0, len(before)), after, (0, len(after)), 0), (len(before), len(after))]
    rows: list[Row] = []
    equal: list[Row] = []
    i = j = added = removed = 0
    for a, b in pairs:
        if a > i or b > j:
            rows += _folded(equal, first=not rows, last=False)
            equal = []
            rows += [Row("-", n + 1, None, html_old[n]) for n in range(i, a)]
            rows += [Row("+", None, n + 1, html_new[n]) for n in range(j, b)]
            removed, added = removed + a - i, added + b - j
        if a < len(before):
            equal.append(Row("", a + 1, b + 1, html_new[b]))
        i, j = a + 1, b + 1
    if rows:
        rows += _folded(equal, first=False, last=True)
    most = fitting((row.html for row in rows), ROWS)
    return Changes(rows[:most], added, removed, len(rows) - most)


def _folded(equal: list[Row], *, first: bool, last: bool) -> list[Row]:
    """Return equal lines with their middle folded away; before the first and after the last change, with one end."""
    head = [] if first else equal[:AROUND]
    tail = [] if last else equal[len(head) :][-AROUND:]
    skipped = len(equal) - len(head) - len(tail)
    gap = [Row("", None, None, SafeString(""), skipped)] if skipped else []
    return [*head, *gap, *tail]


def _pairs(a: list[str], of_a: Pair, b: list[str], of_b: Pair, depth: int) -> Iterator[Pair]:
    """Yield which line of `a` is which line of `b`, in order."""
    (i, a_end), (j, b_end) = of_a, of_b
    while i < a_end and j < b_end and a[i] == b[j]:
        yield i, j
        i, j = i + 1, j + 1
    same = 0
    while i < a_end - same and j < b_end - same and a[a_end - same - 1] == b[b_end - same - 1]:
        same += 1
    a_end, b_end = a_end - same, b_end - same
    anchors = _anchors(a, (i, a_end), b, (j, b_end)) if depth < DEPTH else []
    for p, q in anchors:
        yield from _pairs(a, (i, p), b, (j, q), depth + 1)
        yield p, q
        i, j = p + 1, q + 1
    if anchors:
        yield from _pairs(a, (i, a_end), b, (j, b_end), depth + 1)
    yield from ((a_end + n, b_end + n) for n in range(same))


def _anchors(a: list[str], of_a: Pair, b: list[str], of_b: Pair) -> list[Pair]:
    """Return the longest run of pairs, rising on both sides, of lines that stand once in each part."""
    once = [Counter(text[start:end]) for text, (start, end) in ((a, of_a), (b, of_b))]
    where = {b[n]: n for n in range(*of_b) if once[1][b[n]] == 1}
    found = [(n, where[a[n]]) for n in range(*of_a) if once[0][a[n]] == 1 and a[n] in where]
    ends: list[int] = []  # ends[k]: the least line of `b` in which a rising run of k + 1 pairs can end
    last: list[int] = []
    back: list[int] = []
    for number, (_, q) in enumerate(found):
        k = bisect_left(ends, q)
        back.append(last[k - 1] if k else -1)
        ends[k : k + 1] = [q]
        last[k : k + 1] = [number]
    run, at = [], last[-1] if last else -1
    while at >= 0:
        run.append(found[at])
        at = back[at]
    return run[::-1]
