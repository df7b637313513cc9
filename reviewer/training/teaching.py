"""Whether training itself runs a model as evaluation does: a teacher in evaluation mode, targets without gradients.

Then an arm that only evaluation seems to take is part of what training computes, and no repair may take it out.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.evaluation.oracles import FLAGS
from reviewer.script import Script

_FOR_SCORING = "load_for_eval"
_CONTEXTS = ("torch.no_grad", "torch.inference_mode", "torch.set_grad_enabled", "torch.autograd.grad_mode.no_grad")


def teaches(script: Script, questions: list[cst.CSTNode]) -> bool:
    """Tell whether something that training uses may have been computed in evaluation mode."""
    asks_gradients = any(_name(question) in FLAGS for question in questions)
    return any(_is_teacher(script, call) for call in _set_to_evaluation(script)) or (
        asks_gradients and any(_hands_on(script, block) for block in script.tree.of(cst.With))
    )


def _name(node: cst.CSTNode) -> str:
    func = node.func if isinstance(node, cst.Call) else node
    name = getattr(getattr(func, "attr", func), "value", "")
    return name if isinstance(name, str) else ""


def _set_to_evaluation(script: Script) -> Iterator[cst.Call]:
    for word in ("eval", "train"):
        for name in script.mentions.get(word, ()):
            above = script.tree.parent(name)
            call = script.tree.parent(above) if isinstance(above, cst.Attribute) and above.attr is name else None
            if isinstance(call, cst.Call) and call.func is above and (word == "eval") == (not call.args):
                yield call


def _is_teacher(script: Script, call: cst.Call) -> bool:
    """Tell whether a model that is set to evaluation here may stay so while another one is trained."""
    function = script.scopes.function_of(call)
    if isinstance(function, cst.FunctionDef) and function.name.value == _FOR_SCORING:
        return False
    base = call.func.value if isinstance(call.func, cst.Attribute) else call
    if not isinstance(base, cst.Name | cst.Attribute):
        return True  # `copy.deepcopy(model).eval()`: nobody can set it back
    back = (c for c in _calls(script, "train") if not c.args and isinstance(c.func, cst.Attribute))
    if any(script.tree.code(c.func.value) == script.tree.code(base) for c in back):  # type: ignore[attr-defined]
        return False
    if isinstance(base, cst.Name) and any(
        isinstance(script.tree.parent(use), cst.Return) and script.scopes.function_of(use) is function
        for use in script.mentions[base.value]
    ):
        return True
    order = [id(one) for one in script.tree.of(cst.Call)]
    later = set(order[order.index(id(call)) :])
    return any(id(c) in later and script.scopes.function_of(c) is function for c in _calls(script, "backward"))


def _calls(script: Script, method: str) -> Iterator[cst.Call]:
    for name in script.mentions.get(method, ()):
        above = script.tree.parent(name)
        call = script.tree.parent(above) if isinstance(above, cst.Attribute) else None
        if isinstance(call, cst.Call) and call.func is above:
            yield call


def _hands_on(script: Script, block: cst.With) -> bool:
    """Tell whether a block without gradients, beside a `backward()`, computes something that is used after it."""
    items = (item.item for item in block.items)
    if not any(isinstance(i, cst.Call) and any(p in _CONTEXTS for p in script.path_of(i)) for i in items):
        return False
    function = script.scopes.function_of(block)
    if not any(script.scopes.function_of(call) is function for call in _calls(script, "backward")):
        return False
    for assign in script.tree.of(cst.Assign):
        script.budget.spend()
        if any(above is block for above in script.tree.ancestors(assign)) and _has_call(script, assign):
            for target in assign.targets:
                for name in script.mentions.get(getattr(target.target, "value", ""), ()):
                    inside = any(above is block for above in script.tree.ancestors(name))
                    if not inside and script.scopes.function_of(name) is function:
                        return True
    return False


def _has_call(script: Script, assign: cst.Assign) -> bool:
    return any(
        any(above is assign for above in script.tree.ancestors(call))
        for call in script.tree.of(cst.Call)
        if not isinstance(call.func, cst.Attribute)
    )
