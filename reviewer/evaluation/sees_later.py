"""Layers in which a place of a row sees the ones after it, as far as one line says so: there stands the next token."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.evaluation.layouts import Layouts
from reviewer.evaluation.outputs import made_of
from reviewer.evaluation.training_only import only_in_training
from reviewer.matchers.named_calls import named_calls, word_of
from reviewer.script import Script

_RECURRENT = frozenset({"torch.nn.RNN", "torch.nn.GRU", "torch.nn.LSTM"})
_CONVOLVING = frozenset({"torch.nn.Conv1d", "torch.nn.functional.conv1d"})
_RUNNING = frozenset({"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"})
_REDUCING = frozenset({"mean", "sum", "amax", "max", "norm", "std", "var", "logsumexp", "median"})
_ALONG = frozenset({"softmax", "log_softmax", "sort", "argsort", "flip", "normalize"})
_ATTENTION = "torch.nn.functional.scaled_dot_product_attention"


def sees_later(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield such places of a model, with what they are."""
    if not script.modelled.inside:
        return
    for _, call in script.calling((_ATTENTION,)):
        if script.modelled.runs(call) and _is_unmasked(script, call) and not only_in_training(script, call):
            yield call, "Attention without a mask: each place sees the token to be predicted."
    for path, call in script.calling(_RECURRENT | _CONVOLVING):
        told = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
        if not _is_of_layer(script, call):
            continue
        if path in _RECURRENT and script.values.constant(told.get("bidirectional")) is True:
            yield call, "What runs in both directions brings the token to be predicted."
        elif path in _CONVOLVING and _is_centred(script, call, told):
            yield call, "A convolution with padding on both sides sees the token to be predicted."
    for call, word in named_calls(script, _RUNNING & script.mentions.keys()):
        base = call.func.value if isinstance(call.func, cst.Attribute) else None
        if isinstance(base, cst.Name) and call.args and script.values.paths(call.func):
            base = call.args[0].value  # `torch.cumsum(x.flip(1), 1)`
        turned = isinstance(base, cst.Call) and word_of(base) == "flip"
        if turned and script.modelled.runs(call) and not only_in_training(script, call):
            yield call, f"`{word}` from the end brings each place the tokens after it."
    yield from _over_places(script)


def _over_places(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Find what is made of all places of a row and given back to each: `x.mean(1, keepdim=True)`, `x.softmax(1)`."""
    layouts, known = Layouts(script), dict[int, set[int]]()
    for call, word in named_calls(script, (_REDUCING | _ALONG) & script.mentions.keys()):
        if not script.modelled.runs(call) or not isinstance(call.func, cst.Attribute):
            continue
        kept = word in _ALONG or any(a.keyword is not None and a.keyword.value == "keepdim" for a in call.args)
        base, _ = layouts.parts(call)
        over = layouts.dims(call)
        function = script.scopes.function_of(call)
        if not kept or over not in ([1], [-2]) or function is None or not layouts.is_stream(base):
            continue
        if id(function) not in known:
            known[id(function)] = made_of(script, function)
        if id(call) in known[id(function)] and not only_in_training(script, call):
            yield call, f"`{word}` over all places of a row brings each the tokens after it."


def _is_unmasked(script: Script, call: cst.Call) -> bool:
    """Tell whether attention has neither a mask nor `is_causal`, unless only one place asks."""
    if any(a.star for a in call.args) or len([a for a in call.args if a.keyword is None]) > 3:
        return False
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value in ("attn_mask", "is_causal"):
            value = script.values.constant(arg.value)
            if not (value is False or value is None):
                return False
    given = [a.value for a in call.args if a.keyword is None]
    if len(given) == 3 and given[0] is not None and _differ(script, given[0], given[1]):
        return False  # what is asked is something else than who asks
    below: cst.CSTNode = call
    for above in script.tree.ancestors(call):
        if isinstance(above, cst.If | cst.IfExp) and below is not above.test:
            return False  # `if length == 1:`
        if isinstance(above, cst.FunctionDef):
            break
        below = above
    return True


def _differ(script: Script, asking: cst.BaseExpression, asked: cst.BaseExpression) -> bool:
    """Tell whether keys are certainly no places of the row that asks: learned ones, `self.memory`."""
    return "self." in script.tree.code(asked) and "self." not in script.tree.code(asking)


def _is_of_layer(script: Script, call: cst.Call) -> bool:
    function = script.scopes.function_of(call)
    home = script.scopes.of(function).node if function is not None else None
    return script.modelled.is_layer(home or script.tree.module) or script.modelled.runs(call)


def _is_centred(script: Script, call: cst.Call, told: dict[str, cst.BaseExpression]) -> bool:
    """Tell whether less is padded than a causal convolution cuts off again: a width of 3 with 1 on each side."""
    padding = script.values.constant(told.get("padding"))
    plain = [a.value for a in call.args if a.keyword is None]
    width = script.values.constant(told.get("kernel_size", plain[2] if len(plain) > 2 else None))
    if padding == "same":
        return bool(width != 1)
    return type(padding) is int and type(width) is int and 0 < padding < width - 1
