"""Whether a term is a loss: something that targets judge, and not something that is computed of them like any data."""

from __future__ import annotations

from reviewer.evaluation.terms import ELEMENTWISE, Terms

_NO_CALLS = frozenset([
    "phi", "tuple", "slice", "store", "changed", "attr", "loop", "each", "part", "every", "changes", "and", "or", "cat",
    ".cat", ".concat", ".stack", "left",
])  # fmt: skip


def is_loss(terms: Terms, number: int, losses: set[int], targets: set[int]) -> bool:
    """Tell whether a term has a loss in it, or is itself what a kernel of one's own makes of logits and targets."""
    inside = terms.below(number)
    if inside & losses:
        return True
    if not inside & targets:
        return False
    judged = terms.above(inside, targets)
    return any(_judges(terms, one, judged) for one in judged)


def _judges(terms: Terms, number: int, judged: set[int]) -> bool:
    """Tell whether one term sets targets against something else: as an index, in a comparison, in a call of both."""
    name, parts = str(terms.get(number)[0]), terms.parts(number)
    if name == "item":
        return parts[0] not in judged
    if name.endswith("one_hot"):
        return True
    if name in _NO_CALLS or name.startswith(("op ", "node ")) or ELEMENTWISE.search(name):
        return False
    given = [p for p in parts if terms.is_data(p)]
    return any(p in judged for p in given) and any(p not in judged for p in given)
