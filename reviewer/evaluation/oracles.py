"""What can tell a model, while it runs, whether it is being trained or scored.

Some of these answer yes or no and are *questions* (`self.training`, `torch.is_grad_enabled()`). The others are
*oracles*: a value that is one thing here and another there, such as the caller's name, the files that can be seen, the
clock, or whether a tensor wants a gradient. Whatever is computed of an oracle is an oracle too. Only code that a model
can run is searched for oracles: a loader may look at files as it likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.evaluation.at_evaluation import only_for_scoring
from reviewer.evaluation.started_as import attributes as asked_attributes
from reviewer.evaluation.started_as import defined, under_main
from reviewer.fold import UNKNOWN, names_in
from reviewer.scope import dotted
from reviewer.script import Script
from reviewer.values import Own

# Modules about the process and its surroundings, not about numbers: what they say to a model tells where it runs.
_SURROUNDINGS = (
    "builtins.open", "builtins.globals", "builtins.__file__", "builtins.__spec__", "builtins.__loader__",
    "builtins.__package__", "ctypes.",
    "datetime.", "gc.", "getpass.", "glob.", "inspect.", "io.", "multiprocessing.", "os.", "pathlib.", "platform.",
    "psutil.", "resource.", "shutil.", "signal.", "socket.", "subprocess.", "sys.", "tempfile.", "threading.", "time.",
    "traceback.", "torch.get_num_threads", "torch.get_num_interop_threads", "torch.is_autocast_enabled",
    "torch.is_inference", "torch.get_default_dtype", "torch.initial_seed", "torch.are_deterministic_algorithms_enabled",
    "warnings.filters", "builtins.vars", "builtins.dir", "torch.compiler.is_", "torch._dynamo.is_", "torch.jit.is_",
    "torch.distributed.is_initialized",
)  # fmt: skip
_SAID_BY_OTHERS = ("os.environ", "os.getenv", "sys.float_info", "sys.maxsize", "sys.version")  # other rules, or nobody
# These are no proof: a model may be compiled, and run by several processes, when it is scored as well.
MAYBE = ("torch.compiler.is_", "torch._dynamo.is_", "torch.jit.is_", "torch.distributed.is_initialized")
_METHODS = frozenset({"is_inference", "__getstate__", "getEffectiveLevel", "isEnabledFor"})
_ATTRIBUTES = frozenset(
    [
        "__module__",
        "_backward_hooks",
        "_version",
        "argv",
        "f_back",
        "f_code",
        "grad",
        "grad_fn",
        "is_leaf",
        "requires_grad",
    ]
)
# Layers that do one thing in training and another in evaluation. On data that is their purpose; on a constant, or with
# all of it dropped, they are a switch.
_SWITCHES = ("dropout", "batchnorm", "batch_norm", "instancenorm", "rrelu")
_SWITCHING = frozenset(["dropout", "alpha_dropout", "feature_alpha_dropout", "batch_norm", "instance_norm", "rrelu"])
_CONSTANTS = frozenset(["ones", "zeros", "full", "tensor", "ones_like", "zeros_like", "full_like", "arange", "eye"])

FILES = frozenset({"exists", "isfile", "isdir", "is_file", "is_dir", "lexists"})
FLAGS = frozenset({"is_grad_enabled", "is_inference_mode_enabled"})
_MAKING = frozenset({"__init__", "eval", "train", "load_for_eval"})
# What a block that may fail on one path only has in it.
FAILING = frozenset(["open", "os", "sys", "pathlib", "Path", "glob", "io", "socket", "inspect", "__file__", "globals"])
# What a block that may fail has in it if it asks the model in which mode it is.
ASKING = FLAGS | {"training", "requires_grad", "grad_fn", "grad", "is_leaf", "is_inference", "backward", "__name__"}
# A function that has none of these words asks nothing.
WORDS = (
    FILES | FLAGS | _METHODS | _ATTRIBUTES | _SWITCHING
    | {p.split(".")[0] for p in _SURROUNDINGS if not p.startswith(("builtins.", "torch."))}
    | {p.split(".")[1] for p in _SURROUNDINGS if p.startswith(("builtins.", "torch."))}
    | {"training", "__name__", "getattr", "vars", "__dict__", "attrgetter", "__getattribute__"}
)  # fmt: skip

# What the layers of each name drop: every function that uses one asks.
_MADE_WITH: WeakKeyDictionary[Script, dict[str, list[Any]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Watched:
    """What of one script differs between training and scoring beside what is listed here."""

    attributes: dict[str, object] = field(default_factory=dict)  # set for evaluation alone, with constant values
    restored: frozenset[str] = frozenset()  # those of these attributes that the training sets to the same value
    names: frozenset[str] = frozenset()  # of the module, changed by the training alone
    raising: frozenset[str] = frozenset()  # functions that ask, and may raise
    oracles: bool = True  # whether oracles count, or questions only


def is_oracle(script: Script, node: cst.Name | cst.Attribute | cst.Call) -> bool:
    """Tell whether an expression says by itself where it is evaluated."""
    if isinstance(node, cst.Attribute) and node.attr.value in _ATTRIBUTES:
        return True
    called = node.func if isinstance(node, cst.Call) else node
    if isinstance(node, cst.Call) and isinstance(called, cst.Attribute) and called.attr.value in _METHODS:
        return True
    paths = script.values.paths(called)
    return any(p.startswith(_SURROUNDINGS) and not p.startswith(_SAID_BY_OTHERS) and "." in p for p in paths)


def is_oracle_name(attribute: str) -> bool:
    """Tell whether an attribute of this name is an oracle on any object."""
    return attribute in _ATTRIBUTES


def is_switch(script: Script, node: cst.Call, on_data: bool) -> bool:
    """Tell whether a layer that behaves differently in training is used to find out about training."""
    paths = [p.removesuffix("()").rsplit(".", 1)[-1].lower() for p in script.values.paths(node.func)]
    own = node.func.attr.value.lower() if isinstance(node.func, cst.Attribute) else ""
    if not any(word in p for p in (*paths, own) for word in _SWITCHES):
        return False
    if node.args and not on_data:
        return True
    return any(isinstance(p, int | float) and 0.9 <= p <= 1 for p in _shares(script, node))


def switches(script: Script) -> Iterator[str]:
    """Yield the attributes that hold a layer which behaves differently in training."""
    for name, bindings in script.scopes.members.items():
        for binding in bindings:
            if binding.kind == "expr" and isinstance(binding.node, cst.Call):
                made = dotted(binding.node.func).rsplit(".", 1)[-1].lower()
                if any(word in made for word in _SWITCHES):
                    yield name


def says_no_more(script: Script, arg: cst.Arg) -> bool:
    """Tell whether an argument of a kernel sizes its buffers, or is a dropout that scoring switches off."""
    word = arg.keyword.value if arg.keyword is not None else ""
    match arg.value:
        case cst.IfExp(test=cst.Attribute(attr=cst.Name("training")), orelse=scored) if word == "dropout_p":
            return bool(script.values.constant(scored) == 0)
    return word.startswith("max_seqlen")


def is_constant_maker(name: str) -> bool:
    """Tell whether a function of this name makes a tensor without looking at the values of another."""
    return name.rsplit(".", 1)[-1] in _CONSTANTS


def _shares(script: Script, node: cst.Call) -> Iterator[Any]:
    """Yield what share a dropout drops: where it is called, and where its layer is made."""
    yield from _given_share(script, node, 1)
    if isinstance(node.func, cst.Attribute):
        name, known = node.func.attr.value, _MADE_WITH.setdefault(script, {})
        if name not in known:
            calls = (b.node for b in script.scopes.members.get(name, ()) if isinstance(b.node, cst.Call))
            known[name] = [share for made in calls for share in _given_share(script, made, 0)]
        yield from known[name]


def _given_share(script: Script, call: cst.Call, position: int) -> Iterator[Any]:
    for place, arg in enumerate(call.args):
        keyword = arg.keyword.value if arg.keyword is not None else ""
        if keyword == "p" or (not keyword and place == position):
            value = script.values.constant(arg.value)
            if value is not UNKNOWN and not isinstance(value, bool):
                yield value


def watched(script: Script) -> Watched:
    """Collect what a script sets for evaluation alone, and what it changes in training alone."""
    attributes = {**dict.fromkeys(asked_attributes(script)), **dict(_attributes(script))}
    return Watched(
        attributes,
        frozenset(_restored(script, attributes)),
        frozenset((*_changed_in_training(script), *defined(script))),
    )


def _attributes(script: Script) -> Iterator[tuple[str, object]]:
    """Yield the attributes that are set on the way to scoring: in `load_for_eval`, and in a model's own `eval`."""
    scored = set(only_for_scoring(script))
    for function in script.tree.of(cst.FunctionDef):
        if isinstance(script.scopes.of(function).node, cst.ClassDef) and function.name.value in ("eval", "train"):
            scored.add(id(function))
    for assign in script.tree.of(cst.Assign):
        names = [t.target.attr.value for t in assign.targets if isinstance(t.target, cst.Attribute)]
        if any(name != "training" for name in names) and id(script.scopes.function_of(assign)) in scored:
            yield from ((name, _known(script, assign.value)) for name in names if name != "training")
    for call in _setting(script):
        if id(script.scopes.function_of(call)) in scored:
            yield from _set_by_call(script, call)


def _restored(script: Script, attributes: dict[str, object]) -> Iterator[str]:
    """Yield the attributes that the training sets as well, so that scoring starts from what the training came to."""
    if not any(value is not None for value in attributes.values()):
        return
    scored = only_for_scoring(script)
    trained = script.calls.reachable([script.tree.module])
    for assign in script.tree.of(cst.Assign):
        for target in assign.targets:
            name = target.target.attr.value if isinstance(target.target, cst.Attribute) else ""
            value = attributes.get(name)
            if value is None or _known(script, assign.value) != value:
                continue
            function = script.scopes.function_of(assign)
            made = isinstance(function, cst.FunctionDef) and function.name.value in _MAKING
            if function is not None and id(function) in trained - scored and not made:
                yield name


def _setting(script: Script) -> Iterator[cst.Call]:
    """Yield the calls that may set an attribute; there are few, and the function of each has to be looked for."""
    yield from (call for _, call in script.calling(("builtins.setattr",)))
    for word in ("register_buffer", "__setattr__", "fill_", "zero_"):
        for name in script.mentions.get(word, ()):
            attribute = script.tree.parent(name)
            call = script.tree.parent(attribute) if isinstance(attribute, cst.Attribute) else None
            if isinstance(call, cst.Call) and call.func is attribute:
                yield call


def _set_by_call(script: Script, call: cst.Call) -> Iterator[tuple[str, object]]:
    args = [script.values.constant(a.value) for a in call.args]
    if "builtins.setattr" in script.path_of(call) and len(args) == 3 and isinstance(args[1], str):
        yield args[1], None if args[2] is UNKNOWN else args[2]
    if isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Attribute):
        method, attribute = call.func.attr.value, call.func.value.attr.value
        if method in ("register_buffer", "__setattr__") and args and isinstance(args[0], str):
            yield args[0], None
        elif method in ("fill_", "zero_") and attribute not in ("data", "weight", "bias") and UNKNOWN not in args:
            yield attribute, None


def _known(script: Script, node: cst.CSTNode) -> object:
    value = script.values.constant(node)
    return None if value is UNKNOWN else value


def _changed_in_training(script: Script) -> Iterator[str]:
    """Yield the names of the module that only code outside the model and outside the import changes."""
    shared = script.calls.reachable([*script.forwards, *_called_on_import(script)])
    bound = {n for n, bs in script.scopes.module.names.items() if any(b.kind in ("expr", "drawn") for b in bs)}
    for name, node in _changes(script, bound):
        root = name.split(".")[0]
        if root not in bound or script.scopes.of(node).find(root) is not script.scopes.module.names[root]:
            continue
        function = script.scopes.function_of(node)
        if id(function) not in shared if function is not None else under_main(script, node):
            yield name


def _changes(script: Script, roots: set[str]) -> Iterator[tuple[str, cst.CSTNode]]:
    """Yield names, `a` or `a.b`, that begin with some, with the statements that change them or what they hold."""
    targets: list[tuple[cst.CSTNode, cst.CSTNode]] = [
        (t.target, a) for a in script.tree.of(cst.Assign) for t in a.targets
    ]
    targets += [(a.target, a) for a in script.tree.of(cst.AugAssign)]
    targets += [(d.target, d) for d in script.tree.of(cst.Del)]
    for target, statement in targets:
        if isinstance(target, cst.Subscript | cst.Attribute) and (name := _of_module(script, target)):
            yield name, statement
        while isinstance(target, cst.Subscript):
            target = target.value
        if _root(target) in roots:
            yield dotted(target), statement
    for _, filling in script.calling(("builtins.globals().update", "builtins.vars().update")):
        yield from ((arg.keyword.value, filling) for arg in filling.args if arg.keyword is not None)
    for expression in script.tree.of(cst.Expr):
        call = expression.value
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and _root(call.func.value) in roots:
            yield dotted(call.func.value), expression


def _root(node: cst.CSTNode) -> str:
    """Return the name that a chain of attributes begins with."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def _of_module(script: Script, target: cst.CSTNode) -> str:
    """Return the name that `globals()["a"] = …` or `sys.modules[__name__].a = …` sets."""
    match target:
        case cst.Subscript(value=cst.Call() as table, slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            known = {"builtins.globals", "builtins.vars"}.intersection(script.path_of(table)) and not table.args
            name = script.values.constant(key) if known else None
            return name if isinstance(name, str) else ""
        case cst.Attribute(
            value=cst.Subscript(value=cst.Attribute(attr=cst.Name(value="modules"))) as module, attr=name
        ):
            own = [n for s in module.slice for n in names_in(s)]
            return name.value if "__name__" in own else ""
    return ""


def _called_on_import(script: Script) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []
    running = {id(s) for s in script.on_import()}
    for call in script.tree.of(cst.Call):
        if script.scopes.function_of(call) is None and any(id(a) in running for a in script.tree.ancestors(call)):
            found.extend(v.node for v in script.values.of(call.func) if isinstance(v, Own))
    return found
