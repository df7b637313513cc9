"""Where the functions that a model runs write what outlives the call (`kept.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.evaluation.kept import Kept, Key
from reviewer.scope import dotted
from reviewer.script import Script

_LISTS = frozenset(["append", "extend", "insert", "appendleft", "heappush", "heapify", "heapreplace", "heappushpop",
                    "insort", "insort_left", "insort_right", "put", "put_nowait", "write"])  # fmt: skip
_DROPS = frozenset(["pop", "popitem", "popleft", "clear", "remove", "discard"])
_SETS = frozenset(["update", "setdefault", "__setitem__", "setitem", "setattr", "__setattr__", "copy_", "fill_", "set_",
                   "zero_", "register_buffer", "register_parameter", "clamp_", "move_to_end",
                   "copyto", "putmask", "place", "fill_diagonal", "put_along_axis", "at", "set"])  # fmt: skip
_ALONE = frozenset(["add", "sort", "reverse", "rotate", "discard", "remove", "write", "put"])  # else what tensors have
_HOOKS = frozenset(["register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"])
_NO_CHANGE = frozenset(["requires_grad_", "share_memory_", "retain_grad_", "resolve_", "_"])
_TOLD = frozenset(["register_buffer", "register_parameter", "setattr", "__setattr__"])


@dataclass(frozen=True)
class Write:
    """One place that writes. `how`: set, again (made of what was there), list, drop or hook."""

    node: cst.CSTNode
    how: str
    key: Key
    values: tuple[cst.CSTNode, ...]  # what is written, and where in it
    part: cst.Name | None  # the name by which it is written, which is no reading
    used: bool = False  # the writing expression is itself a value


def writes(script: Script) -> Iterator[Write]:
    """Yield every such write. Looks at assignments and at the calls of methods that change their object."""
    if script.modelled.inside:
        kept = Kept(script.modelled)
        yield from _assigned(script, kept)
        yield from _mutated(script, kept)


def _assigned(script: Script, kept: Kept) -> Iterator[Write]:
    tree, model = script.tree, script.modelled
    pairs: list[tuple[cst.CSTNode, cst.CSTNode | None, cst.CSTNode, str]] = []
    pairs += [(t.target, a.value, a, "set") for a in tree.of(cst.Assign) for t in a.targets]
    pairs += [(a.target, a.value, a, "set") for a in tree.of(cst.AnnAssign) if a.value is not None]
    pairs += [(a.target, a.value, a, "again") for a in tree.of(cst.AugAssign)]
    pairs += [(w.target, w.value, w, "set") for w in tree.of(cst.NamedExpr)]
    pairs += [(d.target, None, d, "drop") for d in tree.of(cst.Del)]
    pairs += [(f.target, f.iter, f.target, "set") for f in tree.of(cst.For)]
    while pairs:
        target, value, node, how = pairs.pop()
        if isinstance(target, cst.Tuple | cst.List):
            matched = isinstance(value, cst.Tuple) and len(value.elements) == len(target.elements)
            parts = value.elements if matched and isinstance(value, cst.Tuple) else ()
            pairs += [(e.value, parts[i].value if parts else value, node, how) for i, e in enumerate(target.elements)]
            continue
        if isinstance(target, cst.Name):
            if not (outer := script.scopes.of(target).outer) or target.value not in outer or not model.runs(target):
                continue
            key = _declared(script, target)
        elif isinstance(target, cst.Attribute | cst.Subscript) and model.runs(target):
            key = kept.of(target)
        else:
            continue
        if key is not None:
            given = [v for v in (value, *_indices(target)) if v is not None]
            yield Write(node, how, key, tuple(given), _last(target), isinstance(node, cst.NamedExpr))


def _declared(script: Script, target: cst.Name) -> Key | None:
    """Return what a name is that is declared `global`, or `nonlocal` to a function that the model does not run."""
    scope = script.scopes.of(target).parent
    while scope is not None and scope is not script.scopes.module:
        if target.value in scope.names and isinstance(scope.node, cst.FunctionDef):
            return None if id(scope.node) in script.modelled.inside else Key("closure", target.value)
        scope = scope.parent
    return Key("variable", target.value)


def _mutated(script: Script, kept: Kept) -> Iterator[Write]:
    for word in _words(script):
        for name in script.mentions.get(word, ()):
            above = script.tree.parent(name)
            named = above if isinstance(above, cst.Attribute) and above.attr is name else name
            holder = script.tree.parent(named)
            call = holder if isinstance(holder, cst.Call) and holder.func is named else None
            if isinstance(holder, cst.Attribute) and isinstance(taker := script.tree.parent(holder), cst.Call):
                call = taker if taker.func is holder else None  # `torch.ops.aten.add_.Tensor(…)`
            bound = call is None and isinstance(holder, cst.Assign | cst.Arg) and named is not name
            if (call is None and not bound) or not (script.modelled.runs(name) or (bound and _is_lent(script, holder))):
                continue
            yield from _change(script, kept, word, named, call)
    for arg in script.tree.of(cst.Arg):
        if arg.keyword is not None and arg.keyword.value == "out" and script.modelled.runs(arg):
            taker = script.tree.parent(arg)
            if isinstance(taker, cst.Call) and (key := kept.of(arg.value)):
                yield Write(taker, "set", key, tuple(a.value for a in taker.args if a is not arg), _last(arg.value))
    for taker, taken in _advanced(script):
        if isinstance(taken, cst.Name | cst.Attribute) and script.modelled.runs(taker) and (key := kept.of(taken)):
            yield Write(taker, "drop", key, (), _last(taken), used=True)


def _advanced(script: Script) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Yield `next(rows)` and `rows.send(x)` with what is advanced."""
    for name in script.mentions.get("next", ()):
        taker = script.tree.parent(name)
        if isinstance(taker, cst.Call) and taker.func is name and taker.args:
            yield taker, taker.args[0].value
    for name in script.mentions.get("send", ()):
        whole = script.tree.parent(name)
        taker = script.tree.parent(whole) if isinstance(whole, cst.Attribute) and whole.attr is name else None
        if isinstance(taker, cst.Call) and taker.func is whole and isinstance(whole, cst.Attribute):
            yield taker, whole.value


def _is_lent(script: Script, holder: cst.CSTNode | None) -> bool:
    """Tell whether a layer's `__init__` keeps a changing method for later: `self.note = self.seen.append`."""
    maker = script.scopes.function_of(holder) if holder is not None else None
    if not isinstance(maker, cst.FunctionDef) or maker.name.value != "__init__":
        return False
    if not script.modelled.is_layer(script.scopes.of(maker).node):
        return False
    taker = script.tree.parent(holder) if isinstance(holder, cst.Arg) else None
    return isinstance(holder, cst.Assign) or (
        isinstance(taker, cst.Call) and any(p.rpartition(".")[2] == "partial" for p in script.path_of(taker))
    )


def _words(script: Script) -> list[str]:
    known = _LISTS | _DROPS | _SETS | _ALONE | _HOOKS
    in_place = [w for w in script.mentions if _is_in_place(w) and w not in _NO_CHANGE]
    return sorted({*(w for w in known if w in script.mentions), *in_place})


def _is_in_place(word: str) -> bool:
    return word[-1:] == "_" and word[-2:] != "__"


def _change(
    script: Script, kept: Kept, word: str, named: cst.Attribute | cst.Name, call: cst.Call | None
) -> Iterator[Write]:
    """Yield what a call of a changing method writes, as `thing.change(…)` or as `change(thing, …)`."""
    args = [a.value for a in call.args] if call is not None else []
    node: cst.CSTNode = call if call is not None else named
    used = call is not None and not isinstance(script.tree.parent(call), cst.Expr)
    if word in _ALONE and (used or call is None):
        return
    how = "list" if word in _LISTS else "drop" if word in _DROPS else "hook" if word in _HOOKS else "set"
    if how == "set" and word not in _SETS:
        how = "list" if word in _ALONE else "again"
    thing = named.value if isinstance(named, cst.Attribute) else None
    while isinstance(thing, cst.Call) and isinstance(thing.func, cst.Attribute) and _is_in_place(thing.func.attr.value):
        thing = thing.func.value  # `self.scale.copy_(x).mul_(y)` changes `self.scale` twice
    own = [v for v in script.values.of(named) if hasattr(v, "node")]
    if own:
        return  # a method of the script, which is looked into itself
    if word in _TOLD:
        yield from _told(script, kept, word, thing, args, node)
    elif how == "hook":
        if thing is not None and kept.outlives(thing):
            yield Write(node, how, Key("attribute", word), (), None)
    elif thing is not None and (key := kept.of(thing)) is not None and not _is_imported(script, thing):
        yield Write(node, how, key, tuple(args), _last(thing), used)
    elif args and _is_function(script, thing):
        first = args[0]
        listed = word.startswith("_foreach") and isinstance(first, cst.List | cst.Tuple)
        for one in [e.value for e in first.elements] if listed and isinstance(first, cst.List | cst.Tuple) else [first]:
            if (key := kept.of(one)) is not None:
                yield Write(node, how, key, tuple(args[1:]), _last(one), used)


def _told(
    script: Script, kept: Kept, word: str, thing: cst.CSTNode | None, args: list[cst.BaseExpression], node: cst.CSTNode
) -> Iterator[Write]:
    """Yield what `setattr(self, "seen", x)` and `self.register_buffer("seen", x)` write."""
    if word == "setattr" or (word == "__setattr__" and len(args) == 3):
        thing, args = (args[0], args[1:]) if len(args) == 3 else (None, [])
    if thing is not None and args and kept.outlives(thing):
        name = script.values.constant(args[0])
        yield Write(node, "set", Key("attribute", name if isinstance(name, str) else "…"), tuple(args[1:]), None)


def _is_imported(script: Script, thing: cst.CSTNode) -> bool:
    """Tell whether this is part of a module: `torch.relu_` changes its argument, not torch."""
    bindings = script.scopes.module.names.get(dotted(thing).split(".")[0], [])
    return bool(bindings) and all(b.kind == "ref" for b in bindings)


def _is_function(script: Script, thing: cst.CSTNode | None) -> bool:
    """Tell whether `thing.change` is a function of a module or class: `torch.relu_`, `dict.update`, `heappush`."""
    return thing is None or any(not p.endswith("()") for p in script.values.paths(thing))


def _indices(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    while isinstance(target, cst.Subscript):
        yield from target.slice
        target = target.value


def _last(node: cst.CSTNode) -> cst.Name | None:
    while isinstance(node, cst.Subscript):
        node = node.value
    return node.attr if isinstance(node, cst.Attribute) else node if isinstance(node, cst.Name) else None
