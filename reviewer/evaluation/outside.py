"""What a model reaches that lies outside of it and outlives a call: generators of random numbers, and files."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.evaluation.outputs import made_of
from reviewer.evaluation.training_only import only_in_training
from reviewer.matchers.named_calls import named_calls
from reviewer.script import Script

_DRAWN = frozenset(
    [f"torch.{n}" for n in ("rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm")]
    + [f"torch.{n}" for n in ("bernoulli", "multinomial", "normal", "poisson", "seed", "manual_seed")]
    + [f"numpy.random.{n}" for n in ("rand", "randn", "random", "randint", "normal", "uniform", "choice")]
    + [f"random.{n}" for n in ("random", "randint", "choice", "uniform", "gauss", "randrange", "sample")]
)
_FILLED = frozenset({"uniform_", "normal_", "bernoulli_", "exponential_", "random_", "cauchy_", "log_normal_"})
_WRITTEN = frozenset(["torch.save", "numpy.save", "numpy.savez", "pickle.dump", "json.dump", "shelve.open"])


def outside(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield such places of what runs at scoring, with what they are."""
    if not script.modelled.inside:
        return
    known: dict[int, set[int]] = {}
    for _, call in script.calling(_WRITTEN):
        if script.modelled.runs(call) and not only_in_training(script, call):
            yield call, "`forward` writes a file, and a later call can read it."
    drawn = [call for _, call in script.calling(_DRAWN)]
    drawn += [call for call, _ in named_calls(script, _FILLED & script.mentions.keys())]
    for call in drawn:
        function = script.scopes.function_of(call)
        if function is None or not script.modelled.runs(call) or only_in_training(script, call):
            continue
        if id(function) not in known:
            known[id(function)] = made_of(script, function)
        if id(call) in known[id(function)]:
            yield call, "`forward` draws random numbers, so one text is answered differently each time."
