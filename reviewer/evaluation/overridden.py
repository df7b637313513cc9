"""Methods of PyTorch that a model takes over, so that moving, loading or calling it makes another model of it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.evaluation.passing_on import passed_on
from reviewer.found import Found
from reviewer.matchers.attributes import Store, stores
from reviewer.script import Script
from reviewer.training.trained_model import method_of

# The scorer's way to the model comes through these, the training's does not, or not in the same way.
_ON_THE_WAY = frozenset([
    "to", "cuda", "cpu", "_apply", "load_state_dict", "_load_from_state_dict", "set_extra_state", "__setstate__",
    "__setattr__", "requires_grad_",
])  # fmt: skip
_MODES = frozenset({"eval", "train"})
_REMEDY = "Leave PyTorch's own method as it is; what the model computes stands in `forward`."


def overridden(script: Script) -> Iterator[Found]:
    """Yield the methods of a layer that stand in PyTorch's place and change what the model computes."""
    every = [one for one in script.tree.of(cst.ClassDef) if script.modelled.is_layer(one)]
    taken = {id(f): f for cls in every for name in _ON_THE_WAY if (f := method_of(script, cls, name))}
    for store in stores(script) if taken else ():
        function = taken.get(id(script.scopes.function_of(store.node)))
        if function is not None and not store.by_key and store.name and _is_changed(script, store):
            what = f"`{function.name.value}` is the model's own here, and sets `{store.name}`, which it computes with."
            yield Found(store.node, what, _REMEDY, "review")
    for cls in every:
        call = method_of(script, cls, "__call__")
        if call is not None and method_of(script, cls, "forward") and passed_on(script, call) is None:
            what = "`__call__` is the model's own here, so calling it gives something else than its `forward`."
            yield Found(call, what, _REMEDY, "review")
        for name in sorted(_MODES):
            mode = method_of(script, cls, name)
            if mode is not None and not any(_is_in(script, word, mode) for word in script.mentions.get("super", ())):
                what = f"`{name}` is the model's own here and leaves the layers in the mode that they were in."
                yield Found(mode, what, _REMEDY, "review")


def _is_changed(script: Script, store: Store) -> bool:
    """Tell whether a store gives the model something that it reads and that is not made of what it had."""
    if store.value is None or isinstance(store.value, cst.Call):
        return False  # `self.cos = self.cos.float()`, `self.cos = fn(self.cos)`
    return any(script.modelled.runs(node) for node in script.mentions.get(store.name or "", ()))


def _is_in(script: Script, node: cst.CSTNode, function: cst.FunctionDef) -> bool:
    return script.scopes.function_of(node) is function
