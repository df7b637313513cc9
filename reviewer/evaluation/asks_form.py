"""Questions that a model asks about the form of its tokens, and not about them: one length, a type, how they lie.

Whoever trains gives rows of one length and one type; a scorer may not. What a model computes must not hang on that.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.dataflow.endings import ends, statements
from reviewer.evaluation.behind import is_given
from reviewer.evaluation.training_only import only_in_training
from reviewer.matchers.named_calls import named_calls
from reviewer.script import Script

_LYING = frozenset({"is_contiguous", "is_pinned", "stride", "is_shared"})
_TYPES = frozenset({"dtype", "device", "layout"})
_LAST = (1, -1)
_ALIKE = (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot)


def asks_form(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield such questions, unless all that hangs on them is a refusal or a cast of the tokens."""
    if not script.modelled.inside:
        return
    for comparison in script.tree.of(cst.Comparison):
        if len(comparison.comparisons) != 1 or not isinstance(comparison.comparisons[0].operator, _ALIKE):
            continue
        if not script.modelled.runs(comparison):
            continue
        for side, other in _both_ways(comparison):
            length = script.values.constant(other)
            if type(length) is int and length > 1 and _is_length(script, side) and _decides(script, comparison):
                yield comparison, "What is computed depends on whether the text has one certain length."
            elif _is_type(script, side) and _decides(script, comparison):
                yield comparison, "What is computed depends on the type or the device of the tokens."
    for call, _ in named_calls(script, _LYING & script.mentions.keys()):
        asked = call.func.value if isinstance(call.func, cst.Attribute) else None
        if asked is not None and script.modelled.runs(call) and is_given(script, asked) and _decides(script, call):
            yield call, "What is computed depends on how the tokens lie in memory."


def _both_ways(comparison: cst.Comparison) -> tuple[tuple[cst.BaseExpression, cst.BaseExpression], ...]:
    left, right = comparison.left, comparison.comparisons[0].comparator
    return (left, right), (right, left)


def _is_length(script: Script, node: cst.BaseExpression) -> bool:
    match node:
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="size")), args=[cst.Arg(value=index)]):
            return script.values.constant(index) in _LAST and is_given(script, base)
        case cst.Subscript(value=cst.Attribute(value=base, attr=cst.Name(value="shape")), slice=[one]):
            place = one.slice.value if isinstance(one.slice, cst.Index) else None
            return script.values.constant(place) in _LAST and is_given(script, base)
        case cst.Name():
            bindings = script.scopes.of(node).find(node.value)
            if len(bindings) != 1 or bindings[0].node is None:
                return False
            if bindings[0].kind == "expr" and isinstance(bindings[0].node, cst.Call | cst.Subscript):
                return _is_length(script, bindings[0].node)
            return bindings[0].kind == "drawn" and _is_second(script, node.value, bindings[0].node)
    return False


def _is_second(script: Script, name: str, shape: cst.CSTNode) -> bool:
    """Tell whether this is the `T` of `B, T = tokens.shape`."""
    assign = script.tree.parent(shape)
    target = assign.targets[0].target if isinstance(assign, cst.Assign) else None
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return False
    match shape:
        case cst.Attribute(value=base, attr=cst.Name(value="shape")):
            pass
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="size")), args=[]):
            pass
        case _:
            return False
    return getattr(target.elements[1].value, "value", "") == name and is_given(script, base)


def _is_type(script: Script, node: cst.BaseExpression) -> bool:
    while isinstance(node, cst.Attribute):
        if node.attr.value in _TYPES:
            return is_given(script, node.value)
        node = node.value
    return False


def _decides(script: Script, question: cst.CSTNode) -> bool:
    """Tell whether what is computed hangs on a question."""
    if only_in_training(script, question):
        return False
    above = script.tree.parent(question)
    while isinstance(above, cst.BooleanOperation | cst.UnaryOperation):
        above = script.tree.parent(above)
    if isinstance(above, cst.BinaryOperation | cst.IfExp):
        return True
    if not isinstance(above, cst.If) or ends(script, above.body):
        return False
    inner = [*statements(above.body)]
    return not all(_is_cast(statement) or only_in_training(script, statement) for statement in inner)


def _is_cast(statement: cst.CSTNode) -> bool:
    """Tell whether a statement is `tokens = tokens.long()`."""
    if not isinstance(statement, cst.Assign) or not isinstance(statement.value, cst.Call):
        return False
    base = statement.value.func.value if isinstance(statement.value.func, cst.Attribute) else None
    target = statement.targets[0].target
    return isinstance(base, cst.Name) and isinstance(target, cst.Name) and base.value == target.value
