"""Whether a value is made of held-out text: followed backwards from it, to files and splits that are held out.

What is followed: names and what is put into them in part, attributes, arguments back to the calls that give them, what
the script's own functions return, and what a call is given. A model is no part of what it computes here, so `model(x)`
is made of `x` alone. What leads nowhere says nothing: rows of the training split that a script holds back for itself
may have any name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.files.splits import SPLITS, constants, is_file
from reviewer.matchers.attributes import Store
from reviewer.matchers.stored import stored
from reviewer.nodes import children
from reviewer.scope import Function
from reviewer.script import Script
from reviewer.values import Own

_MOST_STEPS = 600  # of one question
_STEPS_OF_A_MENTION = 4
_MOST_SITES = 8
_MOST_STORES = 6
_MOST_CALLS = 8  # inside one another
_WORDS = SPLITS - {"test", "eval", "public", "private"}
_MENTIONED: WeakKeyDictionary[Script, dict[str, dict[int, list[cst.Name]]]] = WeakKeyDictionary()
# What is certainly not made of held-out text, by expression and by the call that it was followed into.
_CLEAN: WeakKeyDictionary[Script, set[tuple[int, int]]] = WeakKeyDictionary()
_PUTTING = frozenset({"append", "extend", "copy_", "update", "add"})


@dataclass(frozen=True)
class _Inside:
    """The call by which a function was entered: its parameters are what this call gives, and no other."""

    function: cst.CSTNode
    call: cst.Call
    outer: _Inside | None
    depth: int


_Step = tuple[cst.CSTNode | None, _Inside | None]


def made_of_held_out(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether an expression is made of held-out text, as far as that can be followed."""
    seen: set[tuple[int, int]] = set()
    clean = _CLEAN.setdefault(script, set())
    todo: list[_Step] = [(node, None)]
    deep = False
    while todo and len(seen) < _MOST_STEPS:
        one, inside = todo.pop()
        key = (id(one), id(inside.call) if inside is not None else 0)
        if one is None or key in seen or key in clean:
            continue
        deep |= inside is not None and inside.depth >= _MOST_CALLS
        script.budget.spend()
        seen.add(key)
        match one:
            case cst.Name():
                todo += _named(script, one, inside)
            case cst.Attribute(value=base):
                if _is_held_out(script, one, inside):
                    return True
                kept = _kept(script, one)
                todo += [(store.value, None) for store in kept] or [(base, inside)]
            case cst.Call():
                if any(_is_held_out(script, a.value, inside) or _is_split(script, a) for a in one.args):
                    return True
                todo += _called(script, one, inside)
            case cst.Subscript(value=base):
                todo.append((base, inside))
            case _:
                todo += [(child, inside) for child in children(one)]
    if not todo and not deep:  # all of it was looked at, so whoever comes here again need not
        clean |= seen
    return False


def _is_held_out(script: Script, node: cst.BaseExpression, inside: _Inside | None) -> bool:
    if not isinstance(node, cst.Name | cst.Attribute | cst.BaseString | cst.Call | cst.BinaryOperation):
        return False
    texts = script.paths.of(node)
    if inside is None and any(given is not None and not is_file(text) for text, given in texts):
        return False  # of one class there are loaders of both splits, and which of them this is cannot be told
    for text, given in texts:
        if is_file(text) and (given is None or inside is None or any(a.value is given for a in inside.call.args)):
            return True
    return False


def _is_split(script: Script, arg: cst.Arg) -> bool:
    """Tell whether `"val"` or the like is given: `load_tokens("val")`, `make_dataloader(…, split="dev")`."""
    return isinstance(arg.value, cst.Name | cst.SimpleString) and bool(_WORDS & {*constants(script, arg.value)})


def _kept(script: Script, node: cst.Attribute) -> list[Store]:
    """Return what is set under the name of an attribute; by the same class alone, where that is known."""
    kept = [*stored(script).get(node.attr.value, ())]
    if getattr(node.value, "value", "") == "self":
        home = script.tree.enclosing(node, cst.ClassDef)
        kept = [s for s in kept if script.tree.enclosing(s.node, cst.ClassDef) is home] or kept
    return kept if len(kept) <= _MOST_STORES else []


def _called(script: Script, call: cst.Call, inside: _Inside | None) -> Iterator[_Step]:
    depth = inside.depth + 1 if inside is not None else 1
    for value in script.values.of(call.func) if depth <= _MOST_CALLS else ():
        if isinstance(value, Own) and isinstance(value.node, Function):
            entered = _Inside(value.node, call, inside, depth)
            yield from ((returned, entered) for returned in script.scopes.returns.get(id(value.node), ()))
            return
    yield from ((arg.value, inside) for arg in call.args)
    if isinstance(call.func, cst.Attribute):
        yield call.func.value, inside


def _named(script: Script, name: cst.Name, inside: _Inside | None) -> Iterator[_Step]:
    mine = _mine(script, name)
    script.budget.spend(_STEPS_OF_A_MENTION * len(mine))
    set_before = _last_set(script, name, mine)
    for binding in script.scopes.of(name).find(name.value) if not set_before else ():
        function = binding.scope.node
        if binding.kind == "param" and isinstance(function, Function):
            sites = script.calls.sites.get(id(function), ())[:_MOST_SITES]
            entered = inside is not None and inside.function is function
            for site, own in sites:
                if not entered or (inside is not None and site is inside.call):
                    given = script.calls.arguments(function, site, own).get(name.value)
                    yield given, inside.outer if entered and inside is not None else None
        elif binding.kind in ("expr", "drawn"):
            yield binding.node, inside
    yield from ((value, inside) for value in set_before)
    before = next((at for at, other in enumerate(mine) if other is name), 0) if set_before else len(mine)
    for other in mine[:before]:
        yield from ((put, inside) for put in _put(script, other))


def _mine(script: Script, name: cst.Name) -> list[cst.Name]:
    """Return where the function around a name mentions it, in source order."""
    groups = _MENTIONED.setdefault(script, {})
    if name.value not in groups:
        found = groups[name.value] = defaultdict(list)
        for other in script.mentions.get(name.value, ()):
            script.budget.spend(_STEPS_OF_A_MENTION)
            found[id(script.scopes.function_of(other))].append(other)
    return groups[name.value].get(id(script.scopes.function_of(name)), [])


def _last_set(script: Script, use: cst.Name, mine: list[cst.Name]) -> list[cst.CSTNode]:
    """Return what a name was last set to before a use of it; nothing where its other values may come here as well.

    One long `main` uses the same few names for the rows of the training and for those of its evaluation.
    """
    around = {id(above) for above in script.tree.ancestors(use)}
    found: list[cst.CSTNode] = []
    certain = False
    for name in mine:
        if name is use:
            break
        statement, value = _setting(script, name)
        if statement is None or value is None or (id(statement) in around and not isinstance(statement, cst.For)):
            continue
        if id(_block(script, statement)) in around:
            found, certain = [value], True
        else:
            found.append(value)
    return found if certain else []


def _block(script: Script, statement: cst.CSTNode) -> cst.CSTNode | None:
    """Return the block that certainly runs a statement; the blocks of `with` run as what is around them does."""
    line = script.tree.parent(statement)
    block = line if isinstance(statement, cst.For) else script.tree.parent(line) if line is not None else None
    while block is not None and isinstance(held := script.tree.parent(block), cst.With):
        block = script.tree.parent(held)
    return block


def _setting(script: Script, name: cst.Name) -> tuple[cst.CSTNode | None, cst.CSTNode | None]:
    """Return the statement that sets a name, and what to; a tuple of names is set to a whole."""
    node: cst.CSTNode | None = script.tree.parent(name)
    below: cst.CSTNode = name
    while isinstance(node, cst.Element | cst.Tuple | cst.List):
        below, node = node, script.tree.parent(node)
    if isinstance(node, cst.AssignTarget):
        statement = script.tree.parent(node)
        return statement, getattr(statement, "value", None)
    if isinstance(node, cst.AnnAssign) and node.target is below:
        return node, node.value
    return (node, node.iter) if isinstance(node, cst.For) and node.target is below else (None, None)


def _put(script: Script, name: cst.Name) -> Iterator[cst.CSTNode]:
    """Yield what is put into something: `x[row, :length] = tokens[:-1]`, `rows.append(chunk)`."""
    above = script.tree.parent(name)
    holder = script.tree.parent(above) if above is not None else None
    match above, holder:
        case cst.Subscript(value=whole), cst.AssignTarget() if whole is name:
            assign = script.tree.parent(holder) if holder is not None else None
            if isinstance(assign, cst.Assign):
                yield assign.value
        case cst.Attribute(value=whole, attr=cst.Name(value=method)), cst.Call(func=func, args=args):
            if whole is name and func is above and method in _PUTTING:
                yield from (arg.value for arg in args)
