"""Weights that become others between the checkpoint and the model that is scored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

import libcst as cst

from reviewer.evaluation.at_evaluation import only_for_scoring
from reviewer.evaluation.loaded import Loaded
from reviewer.evaluation.round_trip import RoundTrip
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.script import Script
from reviewer.training.adapting import IN_PLACE

_OPERATIONS = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power, cst.MatrixMultiply)
_CHANGING = (
    cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign, cst.DivideAssign, cst.PowerAssign, cst.MatrixMultiplyAssign,
)  # fmt: skip
_METHODS = frozenset([
    "mul", "multiply", "div", "divide", "add", "sub", "subtract", "pow", "lerp", "addcmul", "addcdiv", "clamp", "clip",
    "tanh", "sqrt", "square", "sign", "round", "where", "softmax", "normalize", "matmul", "mm", "roll", "flip",
])  # fmt: skip
_FUNCTIONS = frozenset({"torch", "torch.nn.functional"})
_COPYING = frozenset({"copy_", "set_", "index_copy_", "fill_", "swap_"})
_MAKERS = frozenset(
    f"torch.{name}"
    for name in ("zeros", "ones", "full", "rand", "randn", "zeros_like", "ones_like", "full_like", "eye")
)
_QUANTISED = re.compile(r"quant|int8|int6|int4|int5|float8|fp8|zero_point|codebook", re.IGNORECASE)
_REMEDY = "Do it in training, before the checkpoint is written, and load the weights as they are."


def edits(script: Script) -> Iterator[Found]:
    """Yield every computation on weights that only `load_for_eval`, and what it alone calls, makes."""
    only = only_for_scoring(script)
    loaded, decoding = Loaded(script), _Decoding(script)
    plain = RoundTrip(script)

    def runs(node: cst.CSTNode) -> bool:
        return id(script.scopes.function_of(node)) in only

    for operation in script.tree.of(cst.BinaryOperation):
        if isinstance(operation.operator, _OPERATIONS) and runs(operation):
            yield from _computed(script, loaded, decoding, plain, operation, (operation.left, operation.right))
    for augmented in script.tree.of(cst.AugAssign):
        if isinstance(augmented.operator, _CHANGING) and runs(augmented):
            yield from _computed(script, loaded, decoding, plain, augmented, (augmented.target, augmented.value))
    for method in sorted((_METHODS | IN_PLACE) & script.mentions.keys()):
        for name in script.mentions[method]:
            whole = script.tree.parent(name)
            call = script.tree.parent(whole) if isinstance(whole, cst.Attribute) and whole.attr is name else None
            if isinstance(whole, cst.Attribute) and isinstance(call, cst.Call) and call.func is whole and runs(call):
                operands = [whole.value, *(arg.value for arg in call.args)]
                if any(path in _FUNCTIONS for path in script.values.paths(whole.value)):
                    operands = operands[1:]  # `torch.mul(a, b)`
                if method in _COPYING and any(loaded.is_weights(one) for one in operands[1:]):
                    continue  # how a loader of one's own puts them in; what is computed before is seen by itself
                yield from _computed(script, loaded, decoding, plain, call, operands)
    for assign in script.tree.of(cst.Assign):
        if isinstance(assign.value, cst.Call) and runs(assign):
            targets = [one.target for one in assign.targets if not isinstance(one.target, cst.Name)]
            made = any(path in _MAKERS for path in script.path_of(assign.value))
            if made and any(loaded.is_weights(target) for target in targets):
                yield Found(assign, "Weights are replaced on the way to scoring.", _REMEDY)


def _computed(
    script: Script,
    loaded: Loaded,
    decoding: _Decoding,
    plain: RoundTrip,
    node: cst.CSTNode,
    operands: Sequence[cst.BaseExpression],
) -> Iterator[Found]:
    """Judge one computation: with a constant it is an edit, of two parts of a checkpoint it may be a decoding."""
    weights = [one for one in operands if loaded.is_weights(one)]
    others = [one for one in operands if one not in weights]
    constants = [script.values.constant(one) for one in others]
    if not weights or any(
        isinstance(c, str) or isinstance(o, cst.FormattedString) for c, o in zip(constants, others, strict=True)
    ):
        return
    if _is_inner(script, node):
        return
    numbers = all(c is not UNKNOWN for c in constants)
    if plain.is_plain(node):
        what = "Weights are decoded here as the training encodes them, integers times their scale."
        yield Found(node, what, "Nothing to do.", "info")
    elif decoding.around(node) or (others and not numbers) or len(weights) > 1:
        what = "Weights are computed here on the way to scoring; a person looks whether that is only their decoding."
        yield Found(node, what, _REMEDY, "review")
    else:
        yield Found(node, "Weights are changed on the way to scoring: what is scored was not trained.", _REMEDY)


def _is_inner(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether a computation is an operand of another one, which is reported as a whole."""
    above = script.tree.parent(node)
    return isinstance(above, cst.BinaryOperation) and isinstance(above.operator, _OPERATIONS)


class _Decoding:
    """Tells which functions speak of quantised weights, as the training does; each is looked at once."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._known: dict[int, bool] = {}

    def around(self, node: cst.CSTNode) -> bool:
        function = self._script.scopes.function_of(node)
        if function is None:
            return False
        if id(function) not in self._known:
            said = _QUANTISED.search(self._script.tree.code(function)) is not None
            self._known[id(function)] = said and self._trained
        return self._known[id(function)]

    @cached_property
    def _trained(self) -> bool:
        script, only = self._script, only_for_scoring(self._script)
        return any(
            id(script.scopes.function_of(name)) not in only
            for word, names in script.mentions.items()
            if _QUANTISED.search(word)
            for name in names
        )
