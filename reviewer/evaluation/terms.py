"""Symbolic values of one function: equal terms have equal numbers, so comparing two paths is comparing numbers.

A term is a tuple: an operator's or a function's name, then the numbers of its parts. `plain` removes what does not
change what a model says: casts, reshapes, choices of positions, dropout, checkpointing and, on the training path
only, noise and fake quantisation.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any, cast

import libcst as cst

from reviewer.budget import Budget

Term = tuple[Any, ...]

_SAME = re.compile(
    r"\.(float|double|half|bfloat16|to|type|type_as|view|view_as|reshape|flatten|unflatten|contiguous|clone|detach"
    r"|squeeze|unsqueeze|requires_grad_|clamp_min_eps)$|(^|[._])drop(out|path|_path|_emb|_resid)?\d?$|\.cast$|\.rearrange$"
)
_CHECKPOINT = re.compile(r"(^|[._])checkpoint$")
NOISE = re.compile(
    r"rand|noise|normal_$|bernoulli|quant|(^|[._])ste($|_)|straight|stochastic|round|perturb"
    r"|(^|[._])(floor|ceil|trunc)_?$"
)
ELEMENTWISE = re.compile(
    r"^op (Add|Subtract|Multiply|Divide|Power|Minus)$"
    r"|(^|[._])(tanh|sigmoid|clamp|clip|mul|div|add|sub|softcap|exp|log|log_softmax|softmax|pow|where|masked_fill|lerp|addcmul|relu|scale|temperature|bias|cap)_?$"
)

_OVER_ALL = re.compile(r"(^|\.)(mean|sum|amax|amin|max|min|norm|std|var|prod|median|cumsum)$")
_SPLIT = re.compile(r"\.(chunk|split|tensor_split)$")  # without a dimension: along the first one
_JOIN = re.compile(r"(^|\.)(cat|concat)$")
_VIEW = re.compile(
    r"\.(view|view_as|reshape|flatten|unflatten|contiguous|squeeze|unsqueeze|transpose|permute|chunk|split|tensor_split"
    r"|unbind|narrow|select|expand|expand_as|diagonal|movedim|swapaxes|unfold|t|numpy|detach|float|half|bfloat16|double|to"
    r"|type|type_as|requires_grad_|view_as_real|view_as_complex|rearrange|__getitem__|values|items|get"
    r"|parameters|named_parameters|buffers|named_buffers|modules|children|state_dict)_?$"
)
_MOST_ROOTS = 64
_HOLDING = frozenset(
    ["tuple", "node Dict", "node DictElement", "store", "changed", "zip", "enumerate", "list", "every"]
)
EVERY = "every"  # a list that a loop or a comprehension makes
ORACLE_TRAIN, ORACLE_EVAL = "oracle in training", "oracle in evaluation"


def is_view(name: str) -> bool:
    """Tell whether a method of this name, written with its dot, may hand out the same memory."""
    return _VIEW.search(name) is not None


class Terms:
    """A table of terms, shared by all runs of one function."""

    def __init__(self, budget: Budget, only_named_so: Callable[[str], bool] = lambda name: False) -> None:
        self.budget = budget
        self._only_named_so = only_named_so  # tells of a name whether it says something else than it does
        self._numbers: dict[Term, int] = {}
        self._terms: list[Term] = []
        self._loud: list[bool] = []  # is there noise or rounding in it?
        self._data: list[bool] = []  # is it made of a function's input, not only of settings and weights?
        self._oracle: list[int] = []  # bits: is there an oracle in it, as in training (1), as in evaluation (2)?
        self._depth: list[int] = []
        self.origin: list[cst.CSTNode | None] = []
        self._plain: dict[tuple[int, bool], int] = {}
        self.trained: set[int] = set()  # every term in what the training path computes
        self.true, self.false = self.make(("True",)), self.make(("False",))
        self.none = self.make(("None",))

    def make(self, term: Term, node: cst.CSTNode | None = None) -> int:
        """Return the number of a term; `node` is remembered as the place where it first came up."""
        self.budget.spend()
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self._terms)
            self._terms.append(term)
            name, parts = str(term[0]), [p for p in term[1:] if isinstance(p, int)]
            self._loud.append(bool(NOISE.search(name)) or any(self._loud[p] for p in parts))
            self._data.append((name[0] == "#" and name != "#self") or any(self._data[p] for p in parts))
            own = {ORACLE_TRAIN: 1, ORACLE_EVAL: 2}.get(name, 0)
            self._oracle.append(reduce(or_, (self._oracle[p] for p in parts), own))
            self._depth.append(1 + max((self._depth[p] for p in parts), default=0))
            self.origin.append(node)
        return number

    def get(self, number: int) -> Term:
        """Return the term of a number."""
        return self._terms[number]

    def truth(self, number: int) -> bool | None:
        """Return what a term is as a condition, if that is known; an oracle's is true in training, say."""
        if number == self.true:
            return True
        if number in (self.false, self.none):
            return False
        return {0: None, 1: True}.get(self._oracle[number], False)

    def place(self, number: int) -> cst.CSTNode | None:
        """Return where a term first came up; of two arms that were joined, the one that is made of more."""
        for _ in range(50):
            term = self._terms[number]
            if term[0] != "phi" or self.origin[number] is not None:
                break
            number = max(self.parts(number)[1:], key=lambda p: self._depth[p])
        return self.origin[number]

    def is_data(self, number: int) -> bool:
        """Tell whether a term is made of a function's input, not only of settings and weights."""
        return self._data[number]

    def parts(self, number: int) -> tuple[int, ...]:
        """Return the numbers of which a term is made."""
        return cast(tuple[int, ...], tuple(p for p in self._terms[number][1:] if isinstance(p, int)))

    def below(self, number: int) -> set[int]:
        """Return a term and all terms inside it."""
        seen: set[int] = set()
        todo = [number]
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo.extend(self.parts(one))
        self.budget.spend(len(seen))
        return seen

    def above(self, among: set[int], some: set[int]) -> set[int]:
        """Return those of a set of terms that have one of some others in them; parts have smaller numbers."""
        found = among & some
        for number in sorted(among):
            if any(part in found for part in self.parts(number)):
                found.add(number)
        return found

    def roots(self, number: int) -> set[int]:
        """Return what a term may share its numbers in memory with: `x` of `x.view(-1)[0]`, and itself."""
        found: set[int] = set()
        todo = [number]
        while todo and len(found) < _MOST_ROOTS:
            one = todo.pop()
            term, parts = self._terms[one], self.parts(one)
            name = str(term[0])
            if one in found:
                continue
            if name in ("phi", "loop"):
                todo += parts[1:]
            elif name in _HOLDING:
                todo += parts
            elif name == "attr":
                todo += parts if self._data[parts[0]] else ()
            elif parts and (name in ("slice", "item", "part", "each") or _VIEW.search(name)):
                todo.append(parts[0])
            found.add(one)
        self.budget.spend(len(found))
        return found

    def plain(self, number: int, training: bool) -> int:
        """Return the term without what does not change the model's answer."""
        key = (number, training)
        if key not in self._plain:
            self._plain[key] = self._simplify(number, training)
        return self._plain[key]

    def _simplify(self, number: int, training: bool) -> int:
        term = self._terms[number]
        name, parts = str(term[0]), self.parts(number)
        if not parts:
            return number
        alike = bool(_CHECKPOINT.search(name) or _SAME.search(name) or NOISE.search(name)) and self._only_named_so(name)
        if not alike and _CHECKPOINT.search(name) and len(parts) > 1:
            positional = list(itertools.takewhile(lambda p: isinstance(p, int), term[1:]))
            return self.plain(self.called(positional[0], positional[1:]), training)
        if (whole := self._whole(number)) is not None:
            return self.plain(whole, training)
        strip = training or number in self.trained  # noise of both paths is no difference; of evaluation alone, it is
        drops = not strip and "training" in term and term[term.index("training") + 1] == self.true
        if not alike and not drops and _SAME.search(name):
            # `self.drop(x)` names the module first, `x.to(y.dtype)` the value.
            first = next((p for p in parts if self._data[p]), parts[0]) if "drop" in name else parts[0]
            return self.plain(first, training)
        if strip and name == "phi" and len(parts) == 3:
            for noisy, calm in ((parts[1], parts[2]), (parts[2], parts[1])):
                if self._is_noise(noisy) and self._holds(noisy, calm, training):
                    return self.plain(calm, training)
        if strip and name == "op Add":
            loud = [p for p in parts if self._is_noise(p)]
            if len(loud) == 1 and len(parts) == 2:
                return self.plain(next(p for p in parts if p != loud[0]), training)
        if strip and not alike and name != "phi" and not name.startswith("op ") and NOISE.search(name):
            inner = [p for p in parts if self.parts(p)] or [p for p in parts if self._data[p]]
            return self.plain(inner[0], training) if inner else number
        new = tuple(self._inner(name, p, training) if isinstance(p, int) else p for p in term[1:])
        if name == "phi" and new[1] == new[2]:
            return cast(int, new[1])
        return self.make((term[0], *new), self.origin[number])

    def _inner(self, name: str, part: int, training: bool) -> int:
        """Return a part, plain; of which positions something is the sum makes another sum."""
        inner = self._terms[part]
        if inner[0] == "slice" and _OVER_ALL.search(name):
            return self.make(("slice", self.plain(inner[1], training), *inner[2:]), self.origin[part])
        return self.plain(part, training)

    def _whole(self, number: int) -> int | None:
        """Return the tensor of which this is some positions, or all of them put together again; None for others."""
        term, parts = self._terms[number], self.parts(number)
        name = str(term[0])
        if name == "slice":
            return parts[0] if self._data[parts[0]] else None  # the other half of a weight is another weight
        if name in ("item", "each") and parts:
            inner = self._terms[parts[0]]
            rows = _SPLIT.search(str(inner[0])) and all(isinstance(p, int) for p in inner[1:]) and len(inner) == 3
            return inner[1] if rows and self._data[inner[1]] else None
        if name == "part" and self._terms[parts[0]][0] == "each":
            inner = self._terms[self.parts(parts[0])[0]]
            place = int(str(term[2]).strip("'"))
            known = inner[0] == "zip" and place < len(inner) - 1 and isinstance(inner[place + 1], int)
            return self.make(("each", inner[place + 1])) if known else None
        if _JOIN.search(name) and len(term) <= 3 and parts:
            inner = self._terms[parts[-1]]
            inner = self._terms[inner[3]] if inner[0] == "loop" and self._terms[inner[2]] == ("tuple",) else inner
            return inner[1] if inner[0] == EVERY else None
        return None

    def told(self, number: int, training: bool) -> int:
        """Return what a value says about the next token, plain: of all rows, and before it is normalised."""
        plain = self.plain(number, training)
        term, parts = self._terms[plain], self.parts(plain)
        if term[0] == "each" and self._data[parts[0]] and self._terms[parts[0]][0] not in _HOLDING:
            return self.plain(parts[0], training)  # a loop over the rows of a batch
        if str(term[0]).endswith(".log_softmax") and len(parts) == 2 and self._is_last(parts[1]):
            return self.plain(parts[0], training)
        return plain

    def _is_last(self, number: int) -> bool:
        """Tell whether a term is -1."""
        return self._terms[number][0] == "op Minus" and self._terms[self.parts(number)[0]] == ("'1",)

    def _holds(self, number: int, part: int, training: bool) -> bool:
        """Tell whether a term has another one in it, cast and reshaped as it may be."""
        below = self.below(number)
        if part in below:
            return True
        wanted = self.plain(part, training)
        return bool(self.parts(wanted)) and any(self.plain(one, training) == wanted for one in below)

    def _is_noise(self, number: int) -> bool:
        return self._terms[number][0] == ".detach" or self._loud[number]

    def called(self, function: int, args: Sequence[int | str], node: cst.CSTNode | None = None) -> int:
        """Return the term of a call of something that is itself a term."""
        term = self._terms[function]
        if term[0] == "attr":
            return self.make((f".{term[2]}", term[1], *args), node)
        name = str(term[0])
        return self.make((name[1:], *args) if name.startswith("#") else ("call", function, *args), node)

    def core(self, number: int) -> int:
        """Return what is left when element-wise operations are peeled off: usually the last projection."""
        for _ in range(50):
            name, parts = str(self._terms[number][0]), self.parts(number)
            if not parts or not ELEMENTWISE.search(name):
                break
            number = max(parts, key=lambda p: (self._data[p], self._depth[p]))
        return number
