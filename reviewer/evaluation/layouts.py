"""Which dimension of a tensor the rows of a batch are in, as far as a function's text tells.

`rows`: in dimension 0, alone. `second`: in dimension 1, after the places. `flat`: in dimension 0, together with the
places of each row. `turned`: such a flat one, transposed. None: not known, or the text says that there is no batch
(`x[None]`, packed documents).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal

import libcst as cst

from reviewer.evaluation.last_set import LastSet
from reviewer.fold import UNKNOWN, names_in
from reviewer.matchers.named_calls import word_of
from reviewer.nodes import children
from reviewer.scope import dotted, parameters
from reviewer.script import Script
from reviewer.values import Own

Layout = Literal["rows", "second", "flat", "turned"] | None

_GIVEN = re.compile(r"(idx|ids|tokens?|token_ids|input_ids|inputs?|x|h|hidden|hidden_states|embeddings?)$")
_PACKED = frozenset(
    ["cu_seqlens", "create_block_mask", "BlockMask", "input_seq", "flash_attn_varlen_func", "cu_seqlens_q", "seqlens"]
)
_BATCH = re.compile(r"(B|b|bs|bsz|batch|batch_size|n_batch|bsize|N)$")
# Methods and functions that give each element, or each row, for itself.
_SAME = frozenset(
    ["float", "half", "bfloat16", "double", "to", "type", "type_as", "long", "int", "bool", "contiguous", "clone",
     "detach", "relu", "gelu", "silu", "tanh", "sigmoid", "exp", "log", "square", "sqrt", "rsqrt", "abs", "neg", "pow",
     "clamp", "clamp_min", "clamp_max", "mul", "add", "sub", "div", "dropout", "rms_norm", "layer_norm", "linear",
     "embedding", "leaky_relu", "masked_fill", "where", "one_hot", "lerp", "softplus", "normalize", "argmax", "roll",
     "cumsum", "softmax", "log_softmax", "logsumexp", "mean", "sum", "amax", "amin", "norm", "std", "var", "tril",
     "flip",
     "scaled_dot_product_attention", "addcmul", "eq", "ne", "gt", "lt", "zeros_like", "ones_like"]
)  # fmt: skip
_REDUCING = frozenset(["mean", "sum", "amax", "amin", "norm", "std", "var", "max", "min", "logsumexp", "argmax"])
_MOVING = frozenset(["linear", "embedding", "cumsum", "softmax", "log_softmax", "roll", "flip", "tril", "one_hot",
                     "scaled_dot_product_attention", "normalize"])  # fmt: skip
_PLAIN = (_SAME - _REDUCING - _MOVING) | {"size"}
_OF_SEVERAL = frozenset(["lerp", "where", "add", "sub", "mul", "addcmul", "maximum", "minimum"])
_NORMS = frozenset({"norm", "rms_norm", "rmsnorm", "layer_norm"})  # as functions of the script
_SHAPING = frozenset({"view", "reshape", "unflatten"})
_PAIRS = frozenset({"max", "min", "sort", "topk", "chunk", "split"})  # give several things of one layout
_EMBEDS = re.compile(r"emb|wte", re.IGNORECASE)
_STEPS = 12
_DEEP = 40


class Layouts:
    """Answers for one script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._known: dict[int, Layout] = {}
        self._open: set[int] = set()
        self._sets = LastSet(script)
        self._starts = {id(f) for f in script.modelled.starts}
        self.packed = bool(_PACKED & script.mentions.keys())

    def of(self, node: cst.CSTNode | None) -> Layout:
        """Return the layout of an expression."""
        if node is None:
            return None
        if id(node) not in self._known:
            self._known[id(node)] = None
            self._open.add(id(node))
            self._known[id(node)] = self._script.modelled.following(self._laid_out, node)
            self._open.discard(id(node))
        return self._known[id(node)]

    def _laid_out(self, node: cst.CSTNode) -> Layout:
        match node:
            case cst.Name():
                return self._name(node)
            case cst.BinaryOperation(left=left, operator=cst.MatrixMultiply()):
                return self.of(left)
            case cst.BinaryOperation(left=left, right=right):
                return self._either([left, right])
            case cst.Comparison(left=left):
                return self.of(left)
            case cst.UnaryOperation(expression=inner) | cst.NamedExpr(value=inner):
                return self.of(inner)
            case cst.IfExp(body=body, orelse=orelse):
                return self._either([body, orelse])
            case cst.Attribute(value=value, attr=cst.Name(value="T" | "mT")):
                return "turned" if self.of(value) == "flat" else None
            case cst.Attribute(value=value, attr=cst.Name(value="values" | "indices" | "data")):
                return self.of(value)
            case cst.Subscript(value=value, slice=parts):
                whole = isinstance(parts[0].slice, cst.Slice) and self._is_all(parts[0].slice)
                rest = isinstance(parts[0].slice, cst.Index) and isinstance(parts[0].slice.value, cst.Ellipsis)
                return self.of(value) if whole or rest else None
            case cst.Call():
                return self._call(node)
        return None

    def _either(self, nodes: Iterable[cst.CSTNode]) -> Layout:
        found = {layout for n in nodes if (layout := self.of(n))}
        return next(iter(found)) if len(found) == 1 else None

    def _is_all(self, part: cst.Slice) -> bool:
        return part.lower is None and part.upper is None and part.step is None

    def is_stream(self, node: cst.CSTNode | None, hops: int = 0) -> bool:
        """Tell whether this is what layers hand on, [rows, places, width]: an embedding, and what is added to it."""
        if node is None or hops > _DEEP or self.of(node) != "rows":
            return False
        match node:
            case cst.Name():
                value, drawn = self._sets.before(node) or (None, True)
                return not drawn and self.is_stream(value, hops + 1)
            case cst.BinaryOperation(left=left, right=right):
                return self.is_stream(left, hops + 1) or self.is_stream(right, hops + 1)
            case cst.Call(func=func):
                base, _ = self.parts(node)
                if _EMBEDS.search(word_of(node)):
                    return True
                layer = dotted(func).startswith("self.") or self._is_held(func) or self._is_elementwise(node)
                first = node.args[0].value if node.args else None
                return self.is_stream(first if layer else base, hops + 1) if layer or word_of(node) in _PLAIN else False
        return False

    def _name(self, node: cst.Name) -> Layout:
        last = self._sets.before(node)
        if last is not None:
            value, drawn = last
            kept = isinstance(value, cst.Call) and word_of(value) in _PAIRS
            return self.of(value) if kept or not drawn else None
        found: set[Layout] = set()
        for binding in self._script.scopes.of(node).find(node.value)[:_STEPS]:
            if binding.kind == "param" and isinstance(binding.scope.node, cst.FunctionDef):
                found.add(self._parameter(node.value, binding.scope.node))
            elif binding.kind == "expr" and binding.node is not None and id(binding.node) not in self._open:
                found.add(self.of(binding.node))
        return next(iter(found)) if len(found) == 1 else None

    def _parameter(self, name: str, function: cst.FunctionDef) -> Layout:
        plain = [p.name.value for p in parameters(function) if p.name.value not in ("self", "cls")]
        if id(function) in self._starts:
            if plain[:1] != [name]:
                return None
            may = bool(_GIVEN.match(name)) and not self.packed and not self._adds_a_front
            return "rows" if may or self._unpacks(name, function) else None
        sites = self._script.calls.sites.get(id(function), ())
        sites = [site for site in sites if self._script.modelled.runs(site[0])] or sites
        if not sites or len(sites) > _STEPS:
            return None
        given = [self._script.calls.arguments(function, call, own).get(name) for call, own in sites]
        found = {self.of(g) for g in given}
        return next(iter(found)) if len(found) == 1 else None

    def _unpacks(self, name: str, function: cst.FunctionDef) -> bool:
        """Tell whether `B, T = idx.shape` says how many dimensions there are."""
        return (id(function), name) in self._unpacked

    @cached_property
    def _unpacked(self) -> set[tuple[int, str]]:
        """Every variable whose shape is unpacked into two parts or more, the first of which can be the batch."""
        found = set()
        for assign in self._script.tree.of(cst.Assign):
            target = assign.targets[0].target
            if isinstance(target, cst.Tuple) and len(target.elements) >= 2 and (name := _shape_of(assign.value)):
                first = target.elements[0].value
                if isinstance(first, cst.Name) and (_BATCH.match(first.value) or len(target.elements) > 2):
                    found.add((id(self._script.scopes.function_of(assign)), name))
        return found

    @cached_property
    def _adds_a_front(self) -> bool:
        """Tell whether the model adds a dimension in front itself, so that it is not given one."""
        for subscript in self._script.tree.of(cst.Subscript):
            part = subscript.slice[0].slice
            none = isinstance(part, cst.Index) and isinstance(part.value, cst.Name) and part.value.value == "None"
            made = none and len(subscript.slice) == 1 and isinstance(subscript.value, cst.Call)
            if made and self._script.modelled.runs(subscript):
                return True
        return False

    def _call(self, node: cst.Call) -> Layout:
        word = word_of(node)
        if self._is_held(node.func):
            return self.of(node.args[0].value) if node.args else None
        elementwise = self._is_elementwise(node)
        base, args = self.parts(node)
        layout = self.of(base)
        if elementwise:
            return layout
        if layout is None and word in _OF_SEVERAL:
            layout = self._either(args)
        if layout is None:
            return self._cat(node, args) if word in ("cat", "concat") else None
        if word in _SHAPING:
            return self._shaped(base, args, layout)
        numbers = [self._script.values.constant(a) for a in args]
        if word == "flatten":
            start = numbers[0] if numbers else 0
            return "flat" if start == 0 else layout
        if word in ("transpose", "swapaxes"):
            return self._swapped(layout, numbers[:2])
        if word == "t":
            return "turned" if layout == "flat" else None
        if word == "permute":
            kept = numbers[:1] == [0] and (layout != "second" or numbers[1:2] == [1])
            return layout if kept else self._swapped(layout, numbers[:2]) if numbers[:2] in ([0, 1], [1, 0]) else None
        if word in ("unsqueeze", "squeeze"):
            return layout if numbers and numbers[0] != 0 and UNKNOWN not in numbers else None
        dims = self.dims(node)
        if word in _SAME or word in ("max", "min", "sort", "topk"):
            reduces = word in _REDUCING
            lost = 1 if layout == "second" else 0
            return None if reduces and (not dims or lost in dims or UNKNOWN in dims) else layout
        if dotted(node.func).startswith("self.") and not isinstance(base, cst.Attribute):
            return layout  # a layer
        return layout if isinstance(node.func, cst.Name) and word in _NORMS else None

    def _swapped(self, layout: Layout, dims: list[object]) -> Layout:
        """Return where the rows are when two dimensions have changed places."""
        if layout in ("rows", "second"):
            if dims in ([0, 1], [1, 0]):
                return "second" if layout == "rows" else "rows"
            return None if (0 if layout == "rows" else 1) in dims else layout
        if 0 in dims:
            return "turned" if layout == "flat" else None
        return layout

    def _is_held(self, func: cst.BaseExpression, hops: int = 0) -> bool:
        """Tell whether one of a model's layers is called: `self.blocks[i]`, or `block`, drawn from such a list."""
        if isinstance(func, cst.Subscript):
            return dotted(func.value).startswith("self.")
        if not isinstance(func, cst.Name) or hops:
            return False
        bindings = self._script.scopes.of(func).find(func.value)
        return bool(bindings) and all(
            b.node is not None and "self" in names_in(b.node)
            if b.kind == "drawn"
            else b.kind == "expr" and isinstance(b.node, cst.Subscript) and self._is_held(b.node)
            for b in bindings
        )

    def _is_elementwise(self, node: cst.Call) -> bool:
        """Tell whether the script's own function gives its first argument again, number by number or place by place."""
        for value in self._script.values.of(node.func) if isinstance(node.func, cst.Name) else ():
            if isinstance(value, Own) and isinstance(value.node, cst.FunctionDef):
                returned = self._script.scopes.returns.get(id(value.node), [])
                first = next((p.name.value for p in parameters(value.node)), "")
                return len(returned) == 1 and first in names_in(returned[0]) and _is_plain(returned[0])
        return False

    def _cat(self, node: cst.Call, args: Sequence[cst.BaseExpression]) -> Layout:
        whole = args[0] if args else None
        first = node.args[0].value if node.args else whole
        if isinstance(first, cst.List | cst.Tuple) and first.elements and 0 not in self.dims(node) and self.dims(node):
            return self._either([e.value for e in first.elements])
        return None

    def parts(self, node: cst.Call) -> tuple[cst.BaseExpression | None, list[cst.BaseExpression]]:
        """Return what a call is about, and its other arguments: `x.mean(0)`, `torch.mean(x, 0)`, `self.norm(x)`."""
        plain = [a.value for a in node.args if a.keyword is None and not a.star]
        own = isinstance(node.func, cst.Attribute) and dotted(node.func).startswith("self.")
        is_method = isinstance(node.func, cst.Attribute) and not self._is_module(node.func.value)
        layer = own and (dotted(node.func).count(".") == 1 or word_of(node) not in _SAME | _SHAPING)
        if isinstance(node.func, cst.Attribute) and is_method and not layer:
            return node.func.value, plain
        return (plain[0], plain[1:]) if plain else (None, [])

    def _is_module(self, node: cst.BaseExpression) -> bool:
        return any("(" not in p and not p.startswith("builtins.") for p in self._script.values.paths(node))

    def dims(self, node: cst.Call) -> list[object]:
        """Return the dimensions that a call is told to work along."""
        _, args = self.parts(node)
        word = word_of(node)
        named = next((a.value for a in node.args if a.keyword and a.keyword.value in ("dim", "axis", "dims")), None)
        position = 1 if word in ("topk", "roll", "norm", "kthvalue", "normalize") else 0
        told = named if named is not None else args[position] if len(args) > position else None
        if told is None:
            return [-1] if word in ("topk", "sort", "argsort") else []
        value = self._script.values.constant(told)
        return list(value) if isinstance(value, list) else [value]

    def _shaped(self, base: cst.BaseExpression | None, args: list[cst.BaseExpression], layout: Layout) -> Layout:
        if len(args) == 1 and isinstance(args[0], cst.Tuple):
            args = [e.value for e in args[0].elements]
        first = args[0] if args else None
        if first is None:
            return None
        if self.is_batch(first):
            return "rows"
        number = self._script.values.constant(first)
        if number == -1 or _is_product(first):
            return "flat" if layout in ("rows", "flat") else None
        return None

    def is_batch(self, node: cst.CSTNode) -> bool:
        """Tell whether a number is how many rows there are: `x.size(0)`, `x.shape[0]`, or a name for it."""
        match node:
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="size")), args=[cst.Arg(value=index)]):
                return self._script.values.constant(index) == 0 and self.of(base) == "rows"
            case cst.Subscript(value=cst.Attribute(value=base, attr=cst.Name(value="shape")), slice=[one]):
                first = one.slice.value if isinstance(one.slice, cst.Index) else None
                return first is not None and self._script.values.constant(first) == 0 and self.of(base) == "rows"
            case cst.Call(func=cst.Name(value="len"), args=[cst.Arg(value=base)]):
                return self.of(base) == "rows"
            case cst.Name():
                bindings = self._script.scopes.of(node).find(node.value)
                return len(bindings) == 1 and self._names_batch(node.value, bindings[0].node)
        return False

    def _names_batch(self, name: str, value: cst.CSTNode | None) -> bool:
        """Tell whether a name is the first of `B, T, C = x.shape`, or set to `x.size(0)`."""
        if value is None:
            return False
        if (whole := _shape_node(value)) is None:
            return not isinstance(value, cst.Name) and self.is_batch(value)
        above = self._script.tree.parent(value)
        target = above.targets[0].target if isinstance(above, cst.Assign) else None
        first = target.elements[0].value if isinstance(target, cst.Tuple) and target.elements else None
        return isinstance(first, cst.Name) and first.value == name and self.of(whole) == "rows"


def _shape_node(node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the `x` of `x.shape`, `x.size()` and `x.shape[:2]`."""
    match node:
        case cst.Attribute(value=base, attr=cst.Name(value="shape")):
            return base
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="size")), args=[]):
            return base
        case cst.Subscript(value=value, slice=[cst.SubscriptElement(cst.Slice(lower=None))]):
            return _shape_node(value)
    return None


def _shape_of(node: cst.CSTNode) -> str:
    base = _shape_node(node)
    return base.value if isinstance(base, cst.Name) else ""


def _is_plain(node: cst.CSTNode) -> bool:
    """Tell whether an expression keeps every place where it is."""
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, cst.Subscript | cst.Lambda | cst.BaseComp | cst.Tuple) and part is node:
            return False
        if isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.MatrixMultiply):
            return False
        if isinstance(part, cst.Call):
            if word_of(part) not in _PLAIN:
                return False
            if word_of(part) in ("rms_norm", "layer_norm", "size"):
                continue  # what they are told of shapes
        todo += children(part)
    return True


def _is_product(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply)
