"""What a read of the environment becomes when nothing is set there: the value itself, as the script would have it.

A read is folded outwards for as long as what is around it is certain: `bool(int(os.environ.get("X", "1")))` becomes
`True`, and `a if os.environ.get("X") else b` becomes `b`. What is only handed through, like a default that is computed,
stays as it was written. Where anything is in doubt there is no repair: a variable that the platform or torchrun sets,
that the script itself writes, or that has no default.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import libcst as cst

from reviewer.budget import Budget, TooMuch
from reviewer.environment.env_keys import Read
from reviewer.fold import UNKNOWN, names_in
from reviewer.found import Edit
from reviewer.repairs.bracketing import bracketed, in_brackets
from reviewer.repairs.folding import Unsure, literal
from reviewer.repairs.helping import Absent, Helping, Left
from reviewer.script import Script
from reviewer.values import ENVIRON

# Set in the sandbox, or by torchrun, or by what they start: their value is none of the script's defaults.
_SET = frozenset([
    "PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "LANG", "TZ", "PWD", "SHLVL", "GOMP_SPINCOUNT", "KMP_BLOCKTIME",
    "GLOO_SOCKET_IFNAME", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE", "VIRTUAL_ENV",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH",
    "CUDA_MODULE_LOADING", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK",
])  # fmt: skip
_SET_FAMILIES = (
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "PYTHON",
    "TORCHELASTIC_",
    "HOLDOUT_",
    "LC_",
    "NEURON_",
    "NVIDIA_",
    "GOMP_",
    "TOKENIZERS_",
)
_SETDEFAULT = f"{ENVIRON}.setdefault"
_PLAIN = (str, int, float, bool, type(None))
_WIDTH = 100
_STEPS = 100_000  # of all values of one script together
_CONVERTING = frozenset(["int", "float", "str", "bool", "tuple", "list", "sorted", "len", "abs"])


class Freezing:
    """The repairs of the reads of one script."""

    def __init__(self, script: Script, reads: Iterable[Read]) -> None:
        self._script = script
        self._written: set[str] = set()
        self._defaults: dict[str, int] = defaultdict(int)  # how often `setdefault` names a key
        self._any_may_be_written = any(path.partition(".")[0] in ("dotenv", "environs") for _, path in script.imports)
        changed = (a.target for a in script.tree.of(cst.AugAssign))  # `os.environ |= settings`
        self._any_may_be_written |= any(ENVIRON in script.values.paths(target) for target in changed)
        for read in reads:
            if read.kind == "write":
                self._writes(read)
            elif isinstance(read.node, cst.Call) and script.path_of(read.node) == [_SETDEFAULT]:
                for key in _keys(script, read) or ("",):
                    self._defaults[key] += 1
        self._fold = Helping(script, self._absent, Budget(_STEPS))
        self._values: dict[int, Any] = {}  # id(a read's node) -> what it becomes

    def _writes(self, read: Read) -> None:
        keys = _keys(self._script, read)
        self._written.update(keys)
        self._any_may_be_written |= not keys

    def _absent(self, key: str) -> bool:
        """Tell whether a variable is certainly not set where a value is read."""
        return self._unset(key) and key not in self._defaults and "" not in self._defaults

    def _unset(self, key: str) -> bool:
        """Tell whether a variable is not set by anything but a `setdefault`."""
        policy, launch = self._script.policy, self._script.launch
        return not (
            policy.allows_env(key)
            or key in _SET
            or key.startswith(_SET_FAMILIES)
            or self._any_may_be_written
            or key in self._written
            or (launch is not None and key in launch.env)
        )

    def can(self, read: Read) -> bool:
        """Tell, for little, whether there is a repair."""
        if self._sets(read):
            return True
        value = self._value(read)
        try:
            return isinstance(value, Left) or bool(literal(value))
        except Unsure:
            return isinstance(value, list | tuple | set)

    def of(self, read: Read) -> Edit | None:
        """Return what to write in the place of a read and of what surely follows from it; None where there is doubt."""
        node = read.node
        if self._sets(read):
            return self._set(node, read)
        value = self._value(read)
        if not isinstance(node, cst.BaseExpression) or value is UNKNOWN:
            return None
        try:
            if isinstance(value, Left):
                return self._fitting(Edit(node, bracketed(self._script, node, value.node)))
            return self._fitting(self._outwards(node, value))
        except Unsure:
            return None

    def shown(self, read: Read) -> str:
        """Return what a repair will write for a value, without looking for where; empty where that is no value."""
        value, node = self._value(read), read.node
        if isinstance(value, Left):
            return self._script.tree.code(value.node)
        if not isinstance(node, cst.BaseExpression) or type(value) not in _PLAIN:
            return ""
        spelled = value if isinstance(value, str) else self._named(node, value)
        try:
            while isinstance(outer := self._around(node), cst.Call) and isinstance(outer.func, cst.Name):
                new = self._fold.known(outer, {})
                if type(new) not in _PLAIN:
                    break
                node, value = outer, new
                spelled = value if isinstance(value, str) else spelled
            return literal(value, spelled)
        except (Unsure, Absent, TooMuch):
            return ""

    def _value(self, read: Read) -> Any:
        if id(read.node) not in self._values:
            self._values[id(read.node)] = self._worth(read)
        return self._values[id(read.node)]

    def _worth(self, read: Read) -> Any:
        if not isinstance(read.node, cst.BaseExpression):
            return UNKNOWN
        try:
            return self._fold.value(read.node, self._loop(read))
        except (Unsure, Absent, TooMuch):
            return UNKNOWN

    def _fitting(self, edit: Edit) -> Edit:
        """Return an edit as it can stand inside an f-string, whose quotes and backslashes are not for others."""
        around = self._script.tree.enclosing(edit.node, cst.FormattedString)
        if around is None:
            return edit
        text = edit.text
        if around.start[-1] == '"' and '"' in text and "'" not in text:
            text = text.replace('"', "'")
        if around.start[-1] in text or "\\" in text or "\n" in text:
            raise Unsure
        return Edit(edit.node, text)

    def _loop(self, read: Read) -> dict[str, Any]:
        """Bind the variable of a loop over constants, if no key of it is set: then all of them read the same."""
        name = read.key.value if isinstance(read.key, cst.Name) else ""
        drawn = drawn_keys(self._script, read)
        return {name: drawn[0]} if drawn and all(map(self._absent, drawn)) else {}

    def _sets(self, read: Read) -> bool:
        """Tell whether this is a statement `os.environ.setdefault(k, v)`."""
        match read.node, self._script.tree.parent(read.node):
            case cst.Call(
                func=cst.Attribute(), args=[cst.Arg(keyword=None), cst.Arg(keyword=None)]
            ) as call, cst.Expr():
                key = self._script.values.constant(read.key)
                by_name = self._script.path_of(call) == [_SETDEFAULT]
                return by_name and isinstance(key, str) and self._unset(key) and self._defaults == {key: 1}
        return False

    def _set(self, node: Any, read: Read) -> Edit:
        """Write what sets a variable for libraries, unless it is set, as what it does here."""
        source = self._script.layout.source
        base, key, value = (source(part) for part in (node.func.value, node.args[0].value, node.args[1].value))
        return Edit(node, f"{base}[{key}] = {value}")

    def _outwards(self, node: cst.BaseExpression, value: Any) -> Edit:
        best: tuple[cst.BaseExpression, Any] | None = None
        spelled = value if isinstance(value, str) else self._named(node, value)
        text = literal(value, spelled)
        best = (node, value)
        current, seen = node, value
        while (outer := self._around(current)) is not None:
            if (edit := self._decided(outer, current, seen)) is not None:
                return edit
            try:
                seen = self._fold.known(outer, {})
            except (Unsure, Absent, TooMuch):
                break
            current = outer
            if isinstance(seen, str):
                spelled = seen
            if not isinstance(outer, cst.GeneratorExp):
                try:
                    new = literal(seen, spelled)
                except Unsure:
                    continue
                if type(seen) in _PLAIN or self._fits(outer, new):
                    text, best = new, (outer, seen)
        if best[1] is None and self._is_converted(best[0]):
            raise Unsure  # `int(None)` is no value
        return Edit(best[0], in_brackets(self._script, best[0], text))

    def _fits(self, node: cst.BaseExpression, text: str) -> bool:
        """Tell whether a list fits into the line where it would stand; what made it stays otherwise."""
        layout = self._script.layout
        start = layout.code(node)[0]
        return start - layout.line_start(start) + len(text) <= _WIDTH

    def _named(self, node: cst.BaseExpression, value: Any) -> str:
        """Return how a helper's caller spelled the value that comes out again."""
        for arg in node.args if isinstance(node, cst.Call) else ():
            if isinstance(arg.value, cst.Integer | cst.Float | cst.UnaryOperation):
                source = self._script.tree.code(arg.value)
                if self._script.values.constant(arg.value) == value:
                    return source
        return ""

    def _is_converted(self, node: cst.BaseExpression) -> bool:
        arg = self._script.tree.parent(node)
        call = self._script.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        return isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in ("int", "float")

    def _around(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """Return the expression around one that may be certain, too."""
        parent = self._script.tree.parent
        above = parent(node)
        outer = parent(above) if above is not None else None
        match above, outer:
            case cst.Arg(star="", keyword=None), cst.Call(func=cst.Name(value=name), args=[_]) if name in _CONVERTING:
                return outer
            case cst.Attribute(), cst.Call() if outer.func is above and above.value is node:
                return outer
            case cst.Comparison(comparisons=[target]), _ if not names_in(target.comparator):
                return above
            case cst.ComparisonTarget(), cst.Comparison(left=left, comparisons=[_]) if not names_in(left):
                return outer
            case cst.UnaryOperation(operator=cst.Not()) | cst.BooleanOperation(), _:
                return above
            case cst.IfExp(), _ if above.test is node:
                return above
            case cst.Subscript(), _ if above.value is node:
                return above
            case cst.CompFor(), cst.ListComp() | cst.GeneratorExp() if above.iter is node:
                return outer
        return None

    def _decided(self, outer: cst.BaseExpression, inner: cst.BaseExpression, value: Any) -> Edit | None:
        """Return the arm that is left, where the value decides and the arm is more than a constant."""
        arm: cst.BaseExpression | None = None
        if isinstance(outer, cst.IfExp):
            arm = outer.body if value else outer.orelse
        elif isinstance(outer, cst.BooleanOperation):
            goes_on = bool(value) == isinstance(outer.operator, cst.And)
            if outer.left is inner and goes_on:
                arm = outer.right
            elif outer.right is inner and type(value) is bool and goes_on and self._is_bool(outer.left):
                arm = outer.left
        if arm is None:
            return None
        try:
            self._fold.known(arm, {})
        except (Unsure, Absent, TooMuch):
            return Edit(outer, bracketed(self._script, outer, arm))
        return None if not names_in(arm) else Edit(outer, bracketed(self._script, outer, arm))

    def _is_bool(self, node: cst.BaseExpression) -> bool:
        match node:
            case cst.Comparison() | cst.UnaryOperation(operator=cst.Not()):
                return True
            case cst.BooleanOperation(left=left, right=right):
                return self._is_bool(left) and self._is_bool(right)
        return isinstance(node, cst.Call) and self._script.path_of(node) == ["builtins.bool"]


def drawn_keys(script: Script, read: Read) -> list[str]:
    """Return the keys of a loop over constants: `for k in ("RANK", "WORLD_SIZE")`."""
    if not isinstance(read.key, cst.Name):
        return []
    bindings = script.scopes.of(read.key).find(read.key.value)
    if len(bindings) != 1 or bindings[0].kind != "drawn":
        return []
    keys = script.values.constant(bindings[0].node)
    return keys if isinstance(keys, list) and all(isinstance(k, str) for k in keys) else []


def _keys(script: Script, read: Read) -> list[str]:
    """Return the keys that a write sets, none where they are not all known."""
    match read.node:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="update")), args=args):
            keys = list(_updated(script, args))
            return [] if "" in keys else keys
        case cst.Call(args=[cst.Arg(value=first), *_]):
            key = script.values.constant(first)
        case _:
            key = script.values.constant(read.key)
    key = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
    return [key] if isinstance(key, str) and key is not UNKNOWN else drawn_keys(script, read)


def _updated(script: Script, args: Iterable[cst.Arg]) -> Iterator[str]:
    """Yield the keys of `update({...}, a=1)`; an empty one for what is not known."""
    for arg in args:
        if arg.keyword is not None:
            yield arg.keyword.value
        elif isinstance(arg.value, cst.Dict) and not arg.star:
            for element in arg.value.elements:
                key = script.values.constant(element.key) if isinstance(element, cst.DictElement) else UNKNOWN
                yield key if isinstance(key, str) else ""
        else:
            yield ""
