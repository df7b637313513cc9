"""What is set, hooked or converted on the way to scoring, and not in training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import libcst as cst

from reviewer.dataflow.code_values import is_code, is_same
from reviewer.dataflow.uses import taken
from reviewer.evaluation.at_evaluation import only_for_scoring
from reviewer.evaluation.built_for_scoring import SETTING
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.matchers.attributes import Store, stores
from reviewer.script import Script
from reviewer.training.trained_model import class_of

_HOOKS = frozenset([
    "register_forward_hook", "register_forward_pre_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_state_dict_pre_hook", "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook", "_register_load_state_dict_pre_hook", "register_parametrization",
])  # fmt: skip
_CONVERTING = ("torch.ao.quantization.", "torch.quantization.", "torchao.", "torch.nn.utils.prune.", "bitsandbytes.")
_BUILDING = frozenset({"append", "extend", "insert", "pop", "add_module", "register_module"})
_REMOVING = frozenset({"remove_parametrizations", "remove_weight_norm", "remove"})
_MAKERS = frozenset({"torch.tensor", "torch.full", "torch.as_tensor", "torch.Tensor", "torch.nn.Parameter"})
_MODES = frozenset({"forward", "__call__", "_call_impl", "__class__"})
_REMEDY = "Do the same in training, as part of the model, or leave it out."


def settings(script: Script) -> Iterator[Found]:
    """Yield what only `load_for_eval`, and what it alone calls, does to the model."""
    only = only_for_scoring(script)

    def runs(node: cst.CSTNode) -> bool:
        return id(script.scopes.function_of(node)) in only

    every: dict[str | None, list[Store]] = defaultdict(list)
    for store in stores(script):
        every[store.name].append(store)
    for alike in every.values():
        trained_as: set[str] | None = None
        for store in alike:
            said = next(_set(script, store), None) if runs(store.node) and not store.by_key else None
            if said is None:
                continue
            if trained_as is None:
                trained_as = {_code(script, other.value) for other in alike if not runs(other.node)}
            if _code(script, store.value) not in trained_as:  # the training sets it to something else
                yield said
    yield from _globals(script, only)
    yield from _filled(script, only)
    yield from _rebuilt(script, only)
    hooks = [(name, node) for name, node in taken(script, _HOOKS)]
    trained = {(name, _callback(script, node)) for name, node in hooks if not runs(node)}
    for name, node in hooks:
        if runs(node) and (name, _callback(script, node)) not in trained:
            yield Found(_called(script, node), f"`{name}` changes the model only for scoring.", _REMEDY)
    for path, calls in script.called.items():
        if (
            path.startswith(_CONVERTING)
            and "(" not in path
            and path.rpartition(".")[2] not in _REMOVING
            and all(map(runs, calls))
        ):
            for call in calls:
                yield Found(call, f"`{path.rpartition('.')[2]}` converts the model only for scoring.", _REMEDY)
    for call in script.called.get("types.MethodType", ()):
        if runs(call) and not isinstance(script.tree.parent(call), cst.Assign):
            yield Found(call, "A method is bound to the model only for scoring.", _REMEDY)


def _rebuilt(script: Script, only: frozenset[int]) -> Iterator[Found]:
    """Find layers that are added to the model, or taken from it, for scoring alone, and weights that are drawn anew."""
    done: dict[str, list[cst.CSTNode]] = {}
    for word in sorted(_BUILDING & script.mentions.keys()):
        for name in script.mentions[word]:
            method = script.tree.parent(name)
            call = script.tree.parent(method) if isinstance(method, cst.Attribute) and method.attr is name else None
            if isinstance(method, cst.Attribute) and isinstance(call, cst.Call) and _is_part(script, method.value):
                done.setdefault(script.tree.code(call), []).append(call)
    for deleted in script.tree.of(cst.Del):
        held = deleted.target.value if isinstance(deleted.target, cst.Subscript) else deleted.target
        if _is_part(script, held):
            done.setdefault(script.tree.code(deleted), []).append(deleted)
    for places in done.values():
        if all(id(script.scopes.function_of(place)) in only for place in places):
            for place in places:
                yield Found(place, "Layers come to the model, or go, only for scoring.", _REMEDY)
    for path, calls in script.called.items():
        if path.startswith("torch.nn.init."):
            for call in calls:
                if id(script.scopes.function_of(call)) in only:
                    yield Found(call, "Weights are set anew on the way to scoring.", _REMEDY, "review")


def _is_part(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether this is a part of a model: `model.blocks`."""
    below = node
    while isinstance(node, cst.Attribute):
        node = node.value
    return node is not below and class_of(script, node) is not None


def _code(script: Script, node: cst.CSTNode | None) -> str:
    return script.tree.code(node) if node is not None else ""


def _called(script: Script, node: cst.CSTNode) -> cst.CSTNode:
    above = script.tree.parent(node)
    return above if isinstance(above, cst.Call) and above.func is node else node


def _callback(script: Script, node: cst.CSTNode) -> str:
    call = _called(script, node)
    return "".join(script.tree.code(arg) for arg in call.args) if isinstance(call, cst.Call) else ""


def _set(script: Script, store: Store) -> Iterator[Found]:
    name, value = store.name, store.value
    if store.by_key or name is None:
        return
    if name == "__class__":
        yield Found(store.node, "The model becomes one of another class only for scoring.", _REMEDY)
    elif name in _MODES or any(b.kind == "def" for b in script.scopes.members.get(name, ())):
        if is_code(script, value) and not is_same(script, store.base, name, value):
            yield Found(store.node, f"`{name}` is replaced only for scoring.", _REMEDY)
    elif _is_number(script, value) and not SETTING.search(name) and _is_read(script, name):
        usual = [b.node for b in script.scopes.members.get(name, ()) if b.node is not value]
        if not any(script.values.constant(one) == script.values.constant(value) for one in usual):
            yield Found(store.node, f"`{name}`, which the model computes with, is set only for scoring.", _REMEDY)


def _is_number(script: Script, value: cst.BaseExpression | None) -> bool:
    """Tell whether a value is a number, or a tensor of written-out numbers."""
    known = script.values.constant(value)
    if known is not UNKNOWN:
        return isinstance(known, int | float) and not isinstance(known, bool)
    if not isinstance(value, cst.Call) or not any(path in _MAKERS for path in script.path_of(value)):
        return False
    return all(script.values.constant(a.value) is not UNKNOWN or _is_number(script, a.value) for a in value.args[:2])


def _is_read(script: Script, name: str) -> bool:
    """Tell whether the model reads something of this name."""
    return any(script.modelled.runs(node) for node in script.mentions.get(name, ()))


def _filled(script: Script, only: frozenset[int]) -> Iterator[Found]:
    """Find `globals().update(CAP=3)`, which sets names of the module as an assignment does."""
    for _, call in script.calling(("builtins.globals().update", "builtins.vars().update")):
        names = [arg.keyword.value for arg in call.args if arg.keyword is not None]
        for name in names if id(script.scopes.function_of(call)) in only else ():
            if _is_read(script, name):
                yield Found(call, f"`{name}`, which the model reads, is set only for scoring.", _REMEDY)


def _globals(script: Script, only: frozenset[int]) -> Iterator[Found]:
    """Find names of the module that are set for scoring and that the model computes with."""
    names = script.scopes.module.names
    for assign in script.tree.both(cst.Assign, cst.AugAssign):
        if id(script.scopes.function_of(assign)) not in only:
            continue
        targets = [t.target for t in assign.targets] if isinstance(assign, cst.Assign) else [assign.target]
        for target in targets:
            root: cst.CSTNode = target
            while isinstance(root, cst.Subscript):
                root = root.value
            if not isinstance(root, cst.Name):
                continue
            declared = root is not target or root.value in script.scopes.of(assign).outer
            shared = script.scopes.of(assign).find(root.value) is names.get(root.value)
            if declared and (shared or root.value in script.scopes.of(assign).outer) and _is_read(script, root.value):
                yield Found(assign, f"`{root.value}`, which the model reads, is set only for scoring.", _REMEDY)
