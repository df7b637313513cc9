"""Follows what the machine, the clock or chance says to where a model is made of it, trained by it or scored with it.

A test that it decides is one thing, and easy to see. A number needs none: `CAP = 15.0 + os.getuid()` is another model
for another user. So a value is followed through names, fields, parameters and arithmetic, until it meets something that
makes a difference: what the scored model runs, a layer, an optimizer, the kit's loader, a tensor that is changed in
place, the learning rate of a group. Where it ends in a line of the log, a name of a file, a number of workers, a device
or a measured time, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import libcst as cst

from reviewer.budget import TooMuch
from reviewer.dataflow.branches import onwards, read_in
from reviewer.dataflow.endings import statements
from reviewer.fold import UNKNOWN
from reviewer.script import Script

_MOST = 160  # places that one value is followed to
# Of what torch and numpy have, these make no other model: they say where, how fast and how loud it runs.
_QUIET = (
    "torch.set_num_", "torch.cuda.", "torch.distributed.", "torch.multiprocessing.", "torch.utils.", "torch.save",
    "torch.device", "torch.profiler.", "torch.backends.", "torch._dynamo.", "torch.set_printoptions", "torch.load",
    "torch.manual_seed", "torch.Generator", "torch.autocast", "torch.compile", "torch.autograd.profiler", "torch.cpu.",
    "torch.random.", "torch.version", "torch.__", "torch.get_", "torch.mps.", "torch.xpu.", "torch._inductor.",
    "torch.hub.", "torch.jit.", "torch.is_", "numpy.random.", "numpy.save", "numpy.load", "numpy.memmap",
)  # fmt: skip
_LOUD = ("torch.", "numpy.", "prepare.make_dataloader")
_LAYERS = ("torch.nn.", "torch.optim.")
_HYPER = frozenset({"lr", "weight_decay", "betas", "momentum", "eps", "initial_lr", "beta1", "beta2", "nesterov"})
_PLUMBING = re.compile(r"worker|thread|device|dtype|rank|world|prefetch|pin_memory|timeout|generator|seed|name$|path$")
_SAYING = frozenset(
    {"print", "print0", "log", "info", "debug", "warning", "error", "write", "append", "format", "join"}
)
_OF_A_FILE = frozenset({"read_text", "read_bytes", "open", "parent", "parents", "glob", "iterdir"})
_TENSOR = re.compile(r"[a-z]\w*[a-z0-9]_\Z")  # `mul_`, which changes a tensor in place
_TIMES = ("time.time", "time.perf_counter", "time.monotonic", "time.process_time", "timeit.", "time.clock_gettime")

_PROCESSORS = ("cpu_count", "sched_getaffinity", "get_num_threads", "get_num_interop_threads", "device_count")

Stop = Callable[[cst.CSTNode, cst.CSTNode], bool]


def is_counted(script: Script, start: cst.CSTNode, stop: Stop) -> bool:
    """Tell whether a value makes a difference to what is trained or scored; `stop(below, above)` ends a way."""
    following = _Following(script, script.path_of(start) if isinstance(start, cst.Call) else ())
    todo, seen = [start], {id(start)}
    for node in todo:
        if len(seen) > _MOST:
            return False
        below: cst.CSTNode = node
        above = script.tree.parent(below)
        while above is not None and not stop(below, above) and not following.ends(below, above):
            script.budget.spend()
            if following.matters(below, above):
                return True
            more = _chosen(script, below, above)
            if more is None:
                more = onwards(script, below, above)
            if more is None:
                below, above = above, script.tree.parent(above)
                continue
            todo += [one for one in more if id(one) not in seen]
            seen.update(map(id, more))
            break
    return False


class _Following:
    """What makes a difference to one value: a time that only says when, and how many processors there are, less."""

    def __init__(self, script: Script, said_by: Sequence[str]) -> None:
        self.script = script
        self.is_time = any(path.startswith(_TIMES) for path in said_by)
        self.is_object = "builtins.id" in said_by
        self.is_parts = any(path.endswith(_PROCESSORS) for path in said_by)

    def ends(self, below: cst.CSTNode, above: cst.CSTNode) -> bool:
        """Tell whether what is made here no longer says it: the text of a file, what is kept for an object."""
        if isinstance(above, cst.Attribute):
            return above.attr.value in _OF_A_FILE
        key = isinstance(above, cst.SubscriptElement | cst.DictElement | cst.DictComp)
        return self.is_object and (key or isinstance(above, cst.Comparison))

    def matters(self, below: cst.CSTNode, above: cst.CSTNode) -> bool:
        """Tell whether the value meets something here that trains or is scored."""
        script = self.script
        match above:
            case cst.BinaryOperation(left=left, right=right):
                return not (_is_text(script, left) or _is_text(script, right)) and _is_run(script, above)
            case cst.Attribute(attr=cst.Name(value="backward")):
                return True
            case cst.Assign(targets=targets):
                return any(_sets_the_rate(script, t.target) for t in targets)
            case cst.AugAssign(target=target) if below is not target:
                return _sets_the_rate(script, target)
            case cst.Arg(keyword=cst.Name(value=word)) if _PLUMBING.search(word):
                return False
            case cst.Arg():
                call = script.tree.parent(above)
                return isinstance(call, cst.Call) and self._takes(call, above)
        return False

    def _takes(self, call: cst.Call, arg: cst.Arg) -> bool:
        """Tell whether a call makes a difference of what it is given."""
        script = self.script
        paths = [p for p in script.path_of(call) if not (p.startswith("builtins.") and p.count(".") > 1)]
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if not paths and _TENSOR.match(method):
            return True
        if not paths and method and method not in _SAYING and arg.keyword is None and _is_run(script, call):
            return not script.values.of(call.func)  # `x.clamp(CAP)` in a forward
        for path in paths:
            if path == "builtins.range":
                return not (self.is_time or self.is_parts)
            if path.startswith(_LOUD) and not path.startswith(_QUIET):
                return path.startswith(_LAYERS) or not self.is_time
        return False


def _sets_the_rate(script: Script, target: cst.CSTNode) -> bool:
    """Tell whether this is `group["lr"]` or its like."""
    if not isinstance(target, cst.Subscript) or len(target.slice) != 1:
        return False
    index = target.slice[0].slice
    return isinstance(index, cst.Index) and script.values.text(index.value) in _HYPER


def _is_run(script: Script, node: cst.CSTNode) -> bool:
    try:
        return script.modelled.runs(node)
    except TooMuch:
        return False  # the rules about what a model runs say that it cannot be followed


def _is_text(script: Script, node: cst.CSTNode) -> bool:
    text = isinstance(node, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString)
    return text or isinstance(script.values.constant(node), str)


def _chosen(script: Script, below: cst.CSTNode, above: cst.CSTNode) -> list[cst.CSTNode] | None:
    """Return where a number is met that a test chooses: of `15.0 if test else 30.0`, or set in one arm of an `if`."""
    match above:
        case cst.IfExp(test=test, body=one, orelse=other) if test is below:
            return [above] if _are_numbers(script, one, other) else []
        case cst.If(test=test) if test is below:
            found: list[cst.CSTNode] = []
            arms = [above.body, above.orelse.body if isinstance(above.orelse, cst.Else) else above.body]
            for statement in (s for arm in arms for s in statements(arm)):
                if isinstance(statement, cst.Assign) and _are_numbers(script, statement.value):
                    found += [m for t in statement.targets for m in read_in(script, t.target)]
            return found
        case cst.Arg():
            call = script.tree.parent(above)
            if isinstance(call, cst.Call) and "builtins.setattr" in script.path_of(call) and call.args[-1] is above:
                name = script.values.constant(call.args[1].value) if len(call.args) == 3 else UNKNOWN
                return _named(script, name)
    return None


def _named(script: Script, name: object) -> list[cst.CSTNode]:
    mentions = script.mentions.get(name, ())[:24] if isinstance(name, str) else ()
    holders = (script.tree.parent(m) for m in mentions)
    return [h for h in holders if isinstance(h, cst.Attribute) and h.attr.value == name]


def _are_numbers(script: Script, *nodes: cst.BaseExpression) -> bool:
    values = [script.values.constant(node) for node in nodes]
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
