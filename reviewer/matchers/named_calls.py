"""The calls of functions and methods of a given name, found by the places where the name stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from reviewer.script import Script


def named_calls(script: Script, words: Iterable[str]) -> Iterator[tuple[cst.Call, str]]:
    """Yield `min(…)`, `torch.min(…)` and `x.min(…)` for the word `min`, whatever it means there."""
    for word in sorted(words):
        for name in script.mentions.get(word, ()):
            above = script.tree.parent(name)
            named = above if isinstance(above, cst.Attribute) and above.attr is name else name
            call = script.tree.parent(named)
            if isinstance(call, cst.Call) and call.func is named:
                yield call, word


def word_of(call: cst.Call) -> str:
    """Return the last word of what is called, `min` for `torch.min(…)`; an empty text for what has no name."""
    named = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return named.value if isinstance(named, cst.Name) else ""
