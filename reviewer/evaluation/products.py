"""One product by two kernels: what trains in fewer bits, or fused with its neighbours, and is scored as written."""

from __future__ import annotations

import re

from reviewer.evaluation.named_alike import only_named_so
from reviewer.evaluation.terms import Terms
from reviewer.script import Script

_MOST_DEEP = 200
# What trains faster than it scores is named so.
_KERNEL = re.compile(r"fp8|float8|_f8|fused|kernel|triton|flash|scaled_mm")
_PRODUCT = re.compile(r"(^|\.)(linear|matmul|mm|bmm|addmm|einsum)$|^op MatrixMultiply$")


def names_a_kernel(code: str) -> bool:
    """Tell whether a piece of code is about another kernel, or about fewer bits."""
    return _KERNEL.search(code) is not None


def trains_faster(terms: Terms, train: int, scored: set[int]) -> bool:
    """Tell whether what training computes names such a kernel, and nothing in what is scored does."""
    alone = {str(word) for n in terms.below(train) - scored for word in terms.get(n)}
    alone -= {str(word) for n in scored for word in terms.get(n)}
    return any(map(names_a_kernel, alone))


def own_in_place_of_kernel(script: Script, terms: Terms, train: int, scored: set[int]) -> bool:
    """Tell whether what training alone calls is a function of this file that anybody can read, and no kernel."""
    names = {str(terms.get(n)[0]) for n in terms.below(train) - scored if terms.parts(n)}
    return any(only_named_so(script, name, kernel=True) for name in names)


def is_same_product(script: Script, terms: Terms, scored: int, train: int) -> bool:
    """Tell whether evaluation multiplies, and nothing else, what training gives to another kernel."""
    for _ in range(_MOST_DEEP):
        one, two = terms.get(scored), terms.get(train)
        pairs = [(a, b) for a, b in zip(one[1:], two[1:], strict=False) if a != b]
        if one[0] != two[0] or len(one) != len(two) or len(pairs) != 1 or not isinstance(pairs[0][0], int):
            break
        scored, train = pairs[0]
    name, given = str(terms.get(scored)[0]), terms.below(train)
    parts = [p for p in terms.parts(scored) if terms.parts(p) or terms.is_data(p)]
    own = terms.make(("attr", terms.make(("#self",)), name[1:]))
    if not (_PRODUCT.search(name) or own in given) or not parts:
        return False
    return all(p in given or _is_module(script, str(terms.get(p)[0])) for p in parts)


def is_given_all(terms: Terms, scored: int, train: int) -> bool:
    """Tell whether training gives a kernel by name all that evaluation makes the same thing of."""
    me = terms.make(("#self",))
    given, made = terms.below(train), terms.below(scored)
    kernels = [str(terms.get(n)[0]).lower() for n in given - made if terms.parts(n)]
    if not any(map(names_a_kernel, kernels)):
        return False
    needed = {n for n in made if terms.get(n)[0] == "attr" or (terms.is_data(n) and not terms.parts(n))}
    needed -= {terms.get(n)[1] for n in needed if terms.get(n)[0] == "attr"}  # `self.mix` of `self.mix.weight`
    layers = {n for n in made if terms.parts(n)[:1] == (me,) and terms.get(n)[0] != "attr"}
    return needed | layers <= given


def _is_module(script: Script, name: str) -> bool:
    return name[0] == "#" and any(b.kind == "ref" for b in script.scopes.module.names.get(name[1:], ()))
