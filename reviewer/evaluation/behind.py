"""Where a model looks past the tokens that it is given, at what lies beside them in memory: the next token, often."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from reviewer.evaluation.training_only import only_in_training
from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.training.judged import root

_PAST = frozenset([
    "_base", "untyped_storage", "_typed_storage", "storage", "as_strided", "as_strided_", "data_ptr", "set_",
    "storage_offset", "__array_interface__", "__cuda_array_interface__", "__dlpack__",
])  # fmt: skip
_FUNCTIONS = frozenset([
    "torch.as_strided", "torch.utils.dlpack.to_dlpack", "numpy.lib.stride_tricks.as_strided",
    "torch._C._from_blob", "torch.as_strided_copy",
])  # fmt: skip
_TOKENS = re.compile(r"(idx|ids|tokens?|token_ids|input_ids|inputs?|input_seq|x)$")


def looks_past(script: Script) -> Iterator[cst.CSTNode]:
    """Yield the places where the storage, the base or the address of a model's tokens is asked for."""
    words = _PAST & script.mentions.keys()
    if not script.modelled.inside:
        return
    for word in sorted(words):
        for name in script.mentions[word]:
            whole = script.tree.parent(name)
            if isinstance(whole, cst.Attribute) and whole.attr is name and is_given(script, whole.value):
                yield whole
    for _, call in script.calling(_FUNCTIONS):
        if call.args and is_given(script, call.args[0].value):
            yield call


def is_given(script: Script, node: cst.BaseExpression) -> bool:
    """Tell whether an expression is the tokens that the model is given, or a view of them."""
    name = root(node)
    if name is None or not _TOKENS.match(name.value):
        return False
    starts = {id(f) for f in script.modelled.starts}
    for binding in script.scopes.of(name).find(name.value):
        function = binding.scope.node
        if binding.kind == "param" and isinstance(function, cst.FunctionDef) and id(function) in starts:
            first = next((p.name.value for p in parameters(function) if p.name.value not in ("self", "cls")), "")
            tokens = name.value != "x" or _is_outermost(script, function)
            return first == name.value and tokens and not only_in_training(script, name)
    return False


def _is_outermost(script: Script, function: cst.FunctionDef) -> bool:
    """Tell whether an `x` can only be tokens: the function looks them up in an embedding."""
    used = (n for n in script.mentions.get("x", ()) if script.scopes.function_of(n) is function)
    return any("emb" in script.tree.code(call.func) for n in used if (call := _taker(script, n)) is not None)


def _taker(script: Script, name: cst.Name) -> cst.Call | None:
    arg = script.tree.parent(name)
    call = script.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    return call if isinstance(call, cst.Call) else None
