"""Whether a function hands out what a model says, unchanged: a wrapper that picks the logits out of a tuple."""

from __future__ import annotations

import libcst as cst

from reviewer.evaluation.flow import Run
from reviewer.evaluation.oracles import Watched
from reviewer.evaluation.terms import Terms
from reviewer.scope import Function
from reviewer.script import Script

_PICKED = frozenset({"logits", "output", "prediction", "predictions"})
_TOKENS = frozenset({".long", ".int", ".to", ".contiguous", ".clone", ".type", ".detach"})
_PEELS = 20


def passed_on(script: Script, function: Function) -> str | None:
    """Return whose answer to its own arguments a function hands out: `.inner`, `model`, `super`; None if it computes.

    Every result has to be the answer of one and the same call, or a part of it.
    """
    terms = Terms(script.budget)
    if isinstance(function, cst.Lambda):
        return _plain_call(function.body)
    run = Run(script, terms, Watched(oracles=False), lambda question: True)
    run.function(function)
    answers = {one for returned in run.returned for one in _picked(terms, terms.plain(returned, False))}
    (answer,) = answers if len(answers) == 1 else (None,)
    if answer is None:
        return None
    name = str(terms.get(answer)[0])
    return "super" if _is_super(terms, answer) else name


def _is_super(terms: Terms, number: int) -> bool:
    term = terms.get(number)
    return len(term) > 1 and isinstance(term[1], int) and terms.get(term[1])[0] == "super"


def _plain_call(node: cst.CSTNode) -> str | None:
    while isinstance(node, cst.Subscript):
        node = node.value
    plain = isinstance(node, cst.Call) and all(isinstance(arg.value, cst.Name) for arg in node.args)
    return node.func.value if plain and isinstance(node, cst.Call) and isinstance(node.func, cst.Name) else None


def _picked(terms: Terms, number: int) -> set[int | None]:
    """Return the calls whose answer a term is, or is a part of; None for anything that is computed."""
    todo, found = [number], set[int | None]()
    for _ in range(_PEELS):
        if not todo:
            return found
        term = terms.get(todo[-1])
        one, name = todo.pop(), str(term[0])
        parts = terms.parts(one)
        if name == "phi" and len(parts) == 3:
            todo += parts[1:]
        elif name in ("item", "part", "slice") or (name == "attr" and str(term[2]) in _PICKED):
            todo.append(parts[0])
        elif name.startswith(".") and parts and terms.get(parts[0])[0] in ("#self", "super"):
            found.add(one if all(_is_given(terms, p) for p in parts[1:]) else None)
        elif name == "call" or name.isidentifier():
            found.add(one if parts and all(_is_given(terms, p) for p in parts) else None)
        else:
            found.add(None)
    return {None}


def _is_given(terms: Terms, number: int) -> bool:
    """Tell whether an argument is one that the function itself was given, or a setting."""
    term = terms.get(terms.plain(number, False))
    while str(term[0]) in _TOKENS:
        term = terms.get(term[1])
    return not any(isinstance(part, int) for part in term[1:]) or term[0] == "attr"
