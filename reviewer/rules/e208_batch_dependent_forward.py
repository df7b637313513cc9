"""E208 batch-dependent-forward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.endings import ends
from reviewer.evaluation.asks_form import asks_form
from reviewer.evaluation.layouts import Layout, Layouts
from reviewer.evaluation.outputs import made_of
from reviewer.evaluation.training_only import only_in_training
from reviewer.examples.batch import HONEST, MIXING
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.matchers.named_calls import named_calls
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.values import Own

_REDUCING = frozenset(["mean", "sum", "amax", "amin", "max", "min", "norm", "std", "var", "logsumexp", "median",
                       "var_mean", "std_mean", "quantile", "argmax", "argmin", "prod"])  # fmt: skip
_ALONG = frozenset(["softmax", "log_softmax", "cumsum", "cumprod", "cummax", "logcumsumexp", "sort", "argsort", "topk",
                    "roll", "flip", "normalize", "kthvalue", "cumulative_sum"])  # fmt: skip
_WHOLE = frozenset(
    ["mean", "std", "var", "norm", "std_mean", "var_mean", "max", "amax", "min", "amin"]
)  # of all numbers, where no dimension is told
# Ways to send each token to its expert, and what is counted for them, need all tokens.
_DISPATCH = frozenset({"sum", "argsort", "sort", "max", "amax", "argmax", "min", "amin", "prod"})
_NORMS = frozenset(["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LazyBatchNorm1d", "batch_norm"])
_REMEDY = "Compute each row for itself: keep dimension 0 out of it."


class BatchDependentForward(Rule):
    """Asks a person to look at a model in which the rows of a batch know of each other.

    What it looks for
        On the way to the logits that `forward` returns or has judged: reductions, softmax, sort, topk, cumsum, roll
        and flip along the dimension of the batch, along tokens of all rows, or of everything; one row that is taken
        for all; rows joined into one; products between all tokens; an `einsum` that sums over rows; batch
        normalisation; a branch on how many rows there are, on one length, or on the type and layout of the tokens.
        Losses, router statistics, what runs in training alone and packed documents are not meant.

    Why it is refused
        The scorer decides which texts stand in one batch, and asks some of them again in other company. A score that
        depends on the neighbours measures the neighbours.

    Do instead
        Reduce over the last dimension, or over earlier places of the same row. Route each token by itself.
    """

    code = "E208"

    VALID: ClassVar = HONEST
    INVALID: ClassVar = MIXING

    def check(self, script: Script) -> Iterator[Found]:
        yield from _batch_norms(script)
        if script.modelled.inside:
            mixing = _Mixing(script)
            for node, what in (*mixing.calls(), *mixing.parts(), *mixing.products(), *mixing.branches()):
                yield Found(node, what, _REMEDY)
        for node, what in asks_form(script):
            yield Found(node, what, "Compute the same for texts of every length, type and layout.")


def _batch_norms(script: Script) -> Iterator[Found]:
    for path, calls in script.called.items():
        if path.rpartition(".")[2] in _NORMS and path.startswith("torch."):
            for call in calls:
                function = script.scopes.function_of(call)
                home = script.scopes.of(function).node if function is not None else None
                if script.modelled.is_layer(home or script.tree.module) or script.modelled.runs(call):
                    what = "Batch normalisation mixes the rows of the batch, and the places of each row (dimension 0)."
                    yield Found(call, what, "Use `rms_norm` or `layer_norm`, which see one place at a time.")


class _Mixing:
    def __init__(self, script: Script) -> None:
        self.script, self.layouts = script, Layouts(script)
        self._made_of: dict[int, set[int]] = {}

    def _counts(self, node: cst.CSTNode) -> bool:
        """Tell whether a place runs at scoring, and what the function returns is made of it."""
        function = self.script.scopes.function_of(node)
        if function is None or only_in_training(self.script, node):
            return False
        if id(function) not in self._made_of:
            self._made_of[id(function)] = made_of(self.script, function)
        return id(node) in self._made_of[id(function)]

    def calls(self) -> Iterator[tuple[cst.CSTNode, str]]:
        """Yield calls that work along the dimension of the batch."""
        words = _REDUCING | _ALONG | {"view", "reshape", "einsum"}
        for call, word in named_calls(self.script, words & self.script.mentions.keys()):
            if not self.script.modelled.runs(call) or not self._is_torch(call):
                continue
            if word == "einsum":
                what = self._einsum(call)
            else:
                base, args = self.layouts.parts(call)
                layout = self.layouts.of(base)
                what = self._along(call, word, layout, args) if layout else ""
            if what and self._counts(call):
                yield call, what

    def _is_torch(self, call: cst.Call) -> bool:
        """Tell a method of a tensor or a function of torch from what the script or Python calls so."""
        values = self.script.values.of(call.func)
        if any(isinstance(value, Own) for value in values) or self._is_layer(call.func):
            return False
        return isinstance(call.func, cst.Attribute) or any(p.startswith("torch") for p in self.script.path_of(call))

    def _is_layer(self, node: cst.BaseExpression) -> bool:
        """Tell whether this is `self.norm`, where some class makes a layer under that name.

        Layers of many classes share a name, so which of them is meant is often not known; each is judged at home.
        """
        if not isinstance(node, cst.Attribute) or getattr(node.value, "value", "") != "self":
            return False
        for binding in self.script.scopes.members.get(node.attr.value, ()):
            if isinstance(binding.node, cst.Call):
                own = any(isinstance(value, Own) for value in self.script.values.of(binding.node.func))
                if own or any(p.rpartition(".")[2][:1].isupper() for p in self.script.path_of(binding.node)):
                    return True
        return False

    def _along(self, call: cst.Call, word: str, layout: Layout, args: list[cst.BaseExpression]) -> str:
        if word in ("view", "reshape"):
            return self._joined(args, layout)
        dims = self.layouts.dims(call)
        if UNKNOWN in dims:
            return ""
        if not dims:
            whole = word in _WHOLE or (word == "roll" and layout == "rows")
            return f"`{word}` of everything mixes the rows of the batch (dimension 0) and all places." if whole else ""
        if layout == "rows" and 0 in dims:
            return f"`{word}` along dimension 0 mixes the rows of the batch."
        if layout == "second" and 1 in dims:
            return f"`{word}` along dimension 1, where the rows of the batch are, mixes them."
        if layout == "flat" and 0 in dims and word not in _DISPATCH:
            return f"`{word}` along dimension 0, which holds the tokens of all rows, mixes the rows of the batch."
        if layout == "turned" and (-1 in dims or 1 in dims) and word in _ALONG - {"sort", "argsort"}:
            return f"`{word}` along the tokens of all rows mixes the rows of the batch: they share a choice."
        return ""

    def _joined(self, args: list[cst.BaseExpression], layout: Layout) -> str:
        """Say so where `x.view(1, -1, width)` makes one long row of all."""
        if len(args) == 1 and isinstance(args[0], cst.Tuple):
            args = [e.value for e in args[0].elements]
        numbers = [self.script.values.constant(a) for a in args]
        product = len(args) > 1 and isinstance(args[1], cst.BinaryOperation)
        if (
            layout
            and not self.layouts.packed
            and numbers[:1] == [1]
            and len(args) > 2
            and (numbers[1] == -1 or product)
        ):
            return "All rows are joined into one here (dimension 0 into 1), so each can see the ones before it."
        return ""

    def _einsum(self, call: cst.Call) -> str:
        rule = self.script.values.constant(call.args[0].value) if call.args else None
        if not isinstance(rule, str) or "->" not in rule or "." in rule:
            return ""
        inputs, _, result = rule.replace(" ", "").partition("->")
        for letters, arg in zip(inputs.split(","), call.args[1:], strict=False):
            if letters and letters[0] not in result and self.layouts.of(arg.value) == "rows":
                return f"This sums over the rows of the batch (`{letters[0]}`, dimension 0)."
        return ""

    def parts(self) -> Iterator[tuple[cst.CSTNode, str]]:
        """Yield places that take one row, where its company depends on it: `x[0]`, `x[:1]`."""
        if self.layouts.packed:
            return  # the one row that there is
        for subscript in self.script.tree.of(cst.Subscript):
            one = subscript.slice[0].slice
            index = one.value if isinstance(one, cst.Index) else None
            if isinstance(one, cst.Slice):
                index = one.upper if one.lower is None and one.step is None else one.lower
            if index is None or not isinstance(subscript.value, cst.Name) or not self.script.modelled.runs(subscript):
                continue
            fixed = type(self.script.values.constant(index)) is int and self.layouts.of(subscript.value) == "rows"
            if fixed and self._is_tensor(subscript) and self._counts(subscript):
                yield subscript, "One row of the batch (dimension 0) is taken here, and others are made of it."

    def _is_tensor(self, node: cst.Subscript) -> bool:
        """Tell a tensor from a tuple of results: it is cut along two dimensions, sliced, or used as a whole as well."""
        if len(node.slice) > 1 or isinstance(node.slice[0].slice, cst.Slice) or not isinstance(node.value, cst.Name):
            return True
        for name in self.script.mentions[node.value.value]:
            above = self.script.tree.parent(name)
            whole = not isinstance(above, cst.Subscript | cst.AssignTarget | cst.Param | cst.Element)
            if whole and self.script.scopes.function_of(name) is self.script.scopes.function_of(node):
                return True
        return False

    def products(self) -> Iterator[tuple[cst.CSTNode, str]]:
        """Yield products between the tokens of all rows: `x @ x.T`."""
        for product in self.script.tree.of(cst.BinaryOperation):
            if isinstance(product.operator, cst.MatrixMultiply) and self.script.modelled.runs(product):
                right = self.layouts.of(product.right)
                left = self.layouts.of(product.left)
                if right == "turned" and left == "flat" and self._counts(product):
                    yield product, "Each token meets the tokens of all rows here (dimension 0 of both sides)."
                elif left == "second" and self._is_turned(product.right) and self._counts(product):
                    yield product, "Each row of the batch meets all others here (dimension 1 of both sides)."

    def _is_turned(self, node: cst.BaseExpression) -> bool:
        """Tell whether the rows of the batch are in the last dimension but one no more: `x.transpose(0, 1).mT`."""
        match node:
            case cst.Attribute(value=base, attr=cst.Name(value="mT")):
                return self.layouts.of(base) == "second"
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="transpose")), args=[a, b]):
                dims = [self.script.values.constant(a.value), self.script.values.constant(b.value)]
                return dims in ([1, 2], [2, 1], [-1, -2], [-2, -1]) and self.layouts.of(base) == "second"
        return False

    def branches(self) -> Iterator[tuple[cst.CSTNode, str]]:
        """Yield questions about how many rows there are, unless all they do is refuse."""
        for comparison in self.script.tree.of(cst.Comparison):
            sides = [comparison.left, comparison.comparisons[0].comparator]
            known = [type(self.script.values.constant(s)) is int for s in sides]
            above = self.script.tree.parent(comparison)
            while isinstance(above, cst.BooleanOperation | cst.UnaryOperation):
                above = self.script.tree.parent(above)
            if known.count(True) != 1 or not isinstance(above, cst.If | cst.IfExp):
                continue
            if not self.script.modelled.runs(comparison) or not self.layouts.is_batch(sides[known.index(False)]):
                continue
            refuses = isinstance(above, cst.If) and ends(self.script, above.body)
            if not refuses and not only_in_training(self.script, comparison):
                yield comparison, "What is computed depends on how many rows the batch has (dimension 0)."
