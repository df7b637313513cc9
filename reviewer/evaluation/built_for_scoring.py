"""What is built only on the way to scoring: classes, layers of torch, and other arguments than those of training."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from reviewer.evaluation.at_evaluation import loaders, only_for_scoring
from reviewer.evaluation.passing_on import passed_on
from reviewer.evaluation.training_only import trains_alone
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.report import Severity
from reviewer.scope import Binding, Function, dotted, parameters
from reviewer.script import Script
from reviewer.values import Own

_QUANTISED = re.compile(r"quant|int[2-8]|ternary|binary|bitlinear|fp8", re.IGNORECASE)
_HARMLESS = frozenset(["Identity", "Module", "Parameter", "DataParallel", "DistributedDataParallel", "ModuleDict"])
# Arguments that size buffers, place a model or concern the training alone.
SETTING = re.compile(
    r"device|dtype|drop|seq_?len|max_(len|t|seq|tok|pos|batch)|block_size|context|ctx|batch|bsz|compile|checkpoint|verbose"
    r"|debug|seed|init|^lr$|learning_rate|weight_decay|path|rank|world|name|steps?$|workers|log"
)
_REMEDY = "Return the model that was trained, built as in training."


def built(script: Script) -> Iterator[Found]:
    """Yield what `load_for_eval` builds and the training does not."""
    only = only_for_scoring(script)
    trained = False
    alone: list[tuple[cst.ClassDef, list[cst.Call]]] = []
    for cls in script.tree.of(cst.ClassDef):
        sites = [call for call, _ in script.calls.sites.get(id(cls), ())]
        scored = [call for call in sites if id(script.scopes.function_of(call)) in only]
        layer = script.modelled.is_layer(cls) or "__call__" in script.scopes.scope(cls).names
        others = [call for call in sites if id(script.scopes.function_of(call)) not in only]
        trained |= script.modelled.is_layer(cls) and any(not _in_layer(script, call) for call in others)
        if scored and len(scored) == len(sites) and layer:
            alone.append((cls, [c for c in scored if not _in_layer(script, c)]))
        elif scored and (layer or _holds_settings(cls)):
            for call in scored:
                yield from _differing(script, cls, call, others)
    if not trained:
        return
    for cls, calls in alone:
        severity = _severity(script, cls)
        for call in calls if severity is not None else ():
            what = f"`{cls.name.value}` is built only for scoring: what is scored is not the class that was trained."
            yield Found(call, what, _REMEDY, severity or "reject")
    yield from _layers(script, only)
    for loader in loaders(script):
        yield from _functions(script, loader)


def _in_layer(script: Script, call: cst.Call) -> bool:
    holder = script.scopes.function_of(call)
    return holder is not None and script.modelled.is_layer(script.scopes.of(holder).node)


def _severity(script: Script, cls: cst.ClassDef) -> Severity | None:
    """Judge a class that only scoring uses: None where it adds nothing to what it inherits or wraps."""
    names = script.scopes.scope(cls).names
    own = [b.node for bindings in names.values() for b in bindings if b.kind == "def"]
    inherited = [v.node for base in cls.bases for v in script.values.of(base.value) if isinstance(v, Own)]
    known = {name for one in inherited if isinstance(one, cst.ClassDef) for name in _all_names(script, one)}
    forwards = [f for f in own if isinstance(f, cst.FunctionDef) and f.name.value in ("forward", "__call__")]
    if known and not forwards:
        changed = [f for f in own if isinstance(f, cst.FunctionDef) and f.name.value in known]
        changed = [f for f in changed if f.name.value != "__init__"]
        return "reject" if changed else None
    inner = {"super"} if known else _wrapped(script, names)
    if forwards and all(passed_on(script, f) in inner for f in forwards):
        return None
    return "review" if _QUANTISED.search(cls.name.value) else "reject"


def _wrapped(script: Script, names: dict[str, list[Binding]]) -> set[str]:
    """Return the attributes that hold what an object is made around: `.inner` of `self.inner = inner`."""
    makers = [b.node for b in names.get("__init__", ()) if isinstance(b.node, cst.FunctionDef)]
    given = {param.name.value for maker in makers for param in parameters(maker)}
    return {
        f".{target.target.attr.value}"
        for assign in script.tree.of(cst.Assign)
        if isinstance(assign.value, cst.Name) and assign.value.value in given
        for target in assign.targets
        if isinstance(target.target, cst.Attribute) and script.scopes.function_of(assign) in makers
    }


def _all_names(script: Script, cls: cst.ClassDef, hops: int = 0) -> Iterator[str]:
    yield from script.scopes.scope(cls).names
    for base in cls.bases if hops < 4 else ():
        for value in script.values.of(base.value):
            if isinstance(value, Own) and isinstance(value.node, cst.ClassDef):
                yield from _all_names(script, value.node, hops + 1)


def _layers(script: Script, only: frozenset[int]) -> Iterator[Found]:
    """Find layers of torch that are put on for scoring alone: `nn.Sequential(model, Scale())`."""
    for path, calls in script.called.items():
        last = path.rpartition(".")[2]
        if path == "builtins.type":
            for call in calls:
                if len(call.args) == 3 and id(script.scopes.function_of(call)) in only:
                    yield Found(call, "A class is made here that only scoring uses.", _REMEDY)
        if not path.startswith("torch.nn.") or not last[:1].isupper() or last in _HARMLESS:
            continue
        if last == "Sequential" and all(len(call.args) < 2 for call in calls):
            continue
        outside = [call for call in calls if id(script.scopes.function_of(call)) not in only]
        if any(not _in_layer(script, call) for call in outside):
            continue  # the training does so, too
        for call in calls:
            if id(script.scopes.function_of(call)) in only and not _in_layer(script, call):
                yield Found(call, f"A layer, `{last}`, is put on only for scoring.", _REMEDY)


def _functions(script: Script, loader: cst.FunctionDef) -> Iterator[Found]:
    """Find a function that is returned in place of the model and computes something of its own."""
    for returned in script.scopes.returns.get(id(loader), ()):
        for value in script.values.of(returned):
            if not isinstance(value, Own) or not isinstance(value.node, Function):
                continue
            nested = script.scopes.function_of(value.node) is loader
            if nested and passed_on(script, value.node) is None:
                yield Found(returned, "What is returned is not the model, but a function around it.", _REMEDY)


def _holds_settings(cls: cst.ClassDef) -> bool:
    return bool(cls.decorators) or cls.name.value.endswith(("Config", "Args", "Settings", "Params", "Hparams"))


def _differing(script: Script, cls: cst.ClassDef, call: cst.Call, others: list[cst.Call]) -> Iterator[Found]:
    """Find arguments that are one constant in training and another for scoring."""
    given = _given(script, cls, call)
    known = [table for other in others[:16] if (table := _given(script, cls, other)) is not None]
    if given is None or not known or len(known) < len(others[:16]):
        return
    for name in sorted({*given, *(key for table in known for key in table)}):
        values = [script.values.constant(table.get(name)) for table in (given, *known)]
        if SETTING.search(name) or any(v is UNKNOWN for v in values) or values[0] in values[1:]:
            continue
        if trains_alone(script, cls, name):
            continue
        is_switch = all(isinstance(v, bool) or v is None for v in values)
        what = f"`{name}` is {values[0]!r} for scoring, and {values[1]!r} in training."
        yield Found(call, what, _REMEDY, "review" if is_switch else "reject")


def _given(script: Script, cls: cst.ClassDef, call: cst.Call) -> dict[str, cst.BaseExpression] | None:
    """Map what an object is made of to what this call gives, with defaults; None where a star hides it."""
    if any(arg.star for arg in call.args):
        return None
    makers = [b.node for b in script.scopes.scope(cls).names.get("__init__", ()) if b.kind == "def"]
    order: list[str] = []
    found: dict[str, cst.BaseExpression] = {}
    if makers and isinstance(makers[0], cst.FunctionDef):
        for param in parameters(makers[0])[1:]:
            order.append(param.name.value)
            if param.default is not None:
                found[param.name.value] = param.default
    else:
        for line in cls.body.body:
            for field in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                if isinstance(field, cst.AnnAssign):
                    order.append(dotted(field.target))
                    if field.value is not None:
                        found[dotted(field.target)] = field.value
    at = 0
    for arg in call.args:
        if arg.keyword is not None:
            found[arg.keyword.value] = arg.value
        elif at < len(order):
            found[order[at]] = arg.value
            at += 1
    return found
