"""D305 unsafe-load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

import libcst as cst

from reviewer.files.checked import is_checked
from reviewer.files.pickles import UNPICKLERS, is_carried
from reviewer.found import Edit, Found
from reviewer.rules.base import Rule
from reviewer.script import Script

_LOADS = frozenset({"torch.load", "torch.serialization.load"})
_ALLOWING = frozenset({"torch.serialization.add_safe_globals", "torch.serialization.safe_globals"})
_ARRAYS = frozenset({"numpy.load", "numpy.lib.format.read_array", "numpy.lib.npyio.load", "numpy.lib.npyio.NpzFile"})
_STRICT = "load_state_dict"

Fix = Callable[[], Sequence[Edit]]


class UnsafeLoad(Rule):
    """Sends loads that can run code, or that leave weights out, to a person.

    What it looks for
        `torch.load` without `weights_only=True`, pickles read in any other way (`pickle`, `joblib`, `shelve`, `dill`,
        `numpy.load` with `allow_pickle`, `torch.jit.load`, `torch.export.load`), and `load_state_dict` with
        `strict=False`, unless the next line raises where anything was missing or unexpected.

    Why it is refused
        A pickle may run any code when it is read, and nobody has audited that code. With `strict=False` the scored
        model can have other weights than the checkpoint's, and no error says so.

    Do instead
        Write `torch.load(path, weights_only=True)` and `load_state_dict(state)`. For anything but tensors use JSON.
    """

    code = "D305"

    VALID: ClassVar = (
        "import torch\ndef f(path, device):\n    return torch.load(path, map_location=device, weights_only=True)\n",
        "import torch\nSAFE = True\nw = torch.load('out/a', weights_only=SAFE)\nm.load_state_dict(w, True)\n",
        "import numpy as np\nx = np.load('out/a.npy')\ny = np.load('out/a.npz', allow_pickle=False)\n",
        "import pickle\nb = pickle.dumps(1)\nfor a, b in zip(c, d, strict=False):\n    pass\n",
        "import torch, functools\nread = functools.partial(torch.load, weights_only=True)\nw = read('out/a')\n",
        "a, b = m.load_state_dict(s, strict=False)\nassert not a and not b\n",
        "r = m.load_state_dict(s, strict=False)\nassert not (r.missing_keys or r.unexpected_keys), r\n",
        "a, b = m.load_state_dict(s, strict=False)\nif a or len(b) > 0:\n    raise ValueError(a)\n",
        "a, b = m.load_state_dict(s, strict=False)\nassert len(a) == 0\nassert b == []\n",
        "class A:\n    def load_state_dict(self, state, strict=True):\n"
        "        self.inner.load_state_dict(state, strict=strict)\n",
    )
    INVALID: ClassVar = (
        "import torch\nm = torch.export.load('out/m.pt2').module()  # !\n",
        "import torch\nw = torch.load('out/a')  # !\nv = torch.load('out/a', weights_only=False)  # !\n",
        "from torch import load as get\nw = get('out/a', None, weights_only=not True)  # !\n",
        "import torch\ndef f(o):\n    return torch.load('out/a', **o)  # !\n",
        "import torch\ndef f(safe):\n    return torch.load('out/a', weights_only=safe)  # !\n",
        "import torch\nload = torch.load\nw = load('out/a')  # !\n",
        "import torch\nws = list(map(torch.load, ['out/a']))  # !\nL = {'a': torch.load}  # !\n",
        "from torch import load as l\ndef f(g):\n    return g('out/a')\nf(l)  # !\n",
        "import torch\nfrom functools import partial\nf = partial(torch.load, weights_only=False)\nf('out/a')  # !\n",
        "import torch, os\ntorch.serialization.add_safe_globals([os.system])  # !\n",
        "import pickle as p, io\nx = p.load(open('out/a', 'rb'))  # !\ny = p.Unpickler(io.BytesIO(z)).load()  # !\n",
        "import pickle\nclass Mine(pickle.Unpickler):  # !\n    pass\n",
        "import joblib, shelve, dill\njoblib.load('out/a')  # !\nshelve.open('out/b')  # !\ndill.loads(x)  # !\n",
        "import numpy as np\nx = np.load('out/a.npy', allow_pickle=True)  # !\ny = np.load('out/a', None, True)  # !\n",
        "m.load_state_dict(s, strict=False)  # !\nm.load_state_dict(s, False)  # !\nm.load_state_dict(s, **o)  # !\n",
        "a, b = m.load_state_dict(s, strict=False)  # !\nassert not a\n",
        "a, b = m.load_state_dict(s, strict=False)  # !\nassert not a or not b\n",
        "a, b = m.load_state_dict(s, strict=False)  # !\na = b = []\nassert not a and not b\n",
        "a, b = m.load_state_dict(s, strict=False)  # !\nif a or b:\n    print(a)\n",
        "a, b = m.load_state_dict(s, strict=False)  # !\nif a and b:\n    raise ValueError\n",
        "r = m.load_state_dict(s, strict=False)  # !\nassert not r.missing_keys and not r.missing_keys\n",
        "import torch\nf = m.load_state_dict\nf(s, strict=0)  # !\ntorch.nn.Module.load_state_dict(m, s, False)  # !\n",
        "import torch, operator\nx = operator.methodcaller('load', 'a')(torch)  # !\n",
        "getattr(m, 'load_' + 'state_dict')(s, strict=LATER)  # !\n",
    )

    FIXED: ClassVar = (
        (
            "import torch\nw = torch.load('out/a')  # all\nv = torch.load(\n    'out/b',\n    map_location='cpu',\n)\n",
            "import torch\nw = torch.load('out/a', weights_only=True)  # all\n"
            "v = torch.load(\n    'out/b',\n    map_location='cpu',\n    weights_only=True,\n)\n",
        ),
        (
            "import torch\nfrom torch import load as get\ntorch.save({'m': m.state_dict(), 'step': 3}, 'out/a')\n"
            "w = get('out/a', weights_only=False)\n",
            "import torch\nfrom torch import load as get\ntorch.save({'m': m.state_dict(), 'step': 3}, 'out/a')\n"
            "w = get('out/a', weights_only=True)\n",
        ),
    )

    def check(self, script: Script) -> Iterator[Found]:
        seen: set[int] = set()
        for found in self._everything(script):
            if id(found.node) not in seen:
                seen.add(id(found.node))
                yield found

    def _everything(self, script: Script) -> Iterator[Found]:
        for path, call in script.calling(_LOADS):
            told = _given(script, call, "weights_only")
            if not _is_true(script, told):
                unsafe = told is not None and script.values.constant(told) is False
                why = "is False" if unsafe else "is not known to be True"
                fix = partial(_guarded, script, call) if _can_be_guarded(script, call) else None
                remedy = "Add `weights_only=True`." if told is None else "Write `weights_only=True`."
                yield _found(call, f"`{path}` may run what the file says, since `weights_only` {why}", remedy, fix)
        for _, call in script.calling(UNPICKLERS):
            if not is_carried(script, call):
                yield _found(call, "A pickle can run any code when it is read", "Save tensors, or use JSON.")
        for _, call in script.calling(_ALLOWING):
            what = "More than tensors is let into loads with `weights_only`"
            yield _found(call, what, "Save tensors and plain containers, which need no exception.")
        for path, call in script.calling(_ARRAYS):
            if _is_set(script, call, "allow_pickle", 2 if path == "numpy.load" else 1):
                yield _found(call, "With `allow_pickle`, an array may run any code when it is read", "Leave it out.")
        if any(name in script.text for name in ("pickle", "Unpickler", "dill")):
            yield from _subclasses(script)
        for _, node in script.handing_on(UNPICKLERS | _LOADS):
            if not isinstance(above := script.tree.parent(node), cst.Arg) or not _fixes(script, above):
                yield _found(node, "A load that can run code is handed on", "Call it with `weights_only=True`.")
        if "strict" in script.text or _STRICT in script.text:
            yield from _lenient(script)


def _found(node: cst.CSTNode, what: str, remedy: str, fix: Fix | None = None) -> Found:
    return Found(node, f"{what}.", remedy, "review", fix)


def _can_be_guarded(script: Script, call: cst.Call) -> bool:
    """Tell whether a load reads the same with `weights_only`: it does, or it raises, unless it is told how to read."""
    names = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    told = names.get("weights_only")
    if not call.args or any(a.star for a in call.args) or "pickle_module" in names:
        return False
    if told is None:
        return _given(script, call, "weights_only") is None
    return script.values.constant(told) is False and _saves_plainly(script)


def _saves_plainly(script: Script) -> bool:
    """Tell whether everything that the script saves is weights, or tables of weights, numbers and texts."""
    saved = [call.args[0].value for _, call in script.calling(("torch.save",)) if call.args]
    return bool(saved) and all(_is_plain(script, value) for value in saved)


def _is_plain(script: Script, value: cst.BaseExpression, hops: int = 0) -> bool:
    match value:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="state_dict"))):
            return True
        case cst.Dict(elements=elements):
            return all(isinstance(e, cst.DictElement) and _is_plain(script, e.value, hops) for e in elements)
        case cst.Name(value=name) if hops < 4:
            bindings = script.scopes.of(value).find(name)
            made = bindings[0].node if len(bindings) == 1 and bindings[0].kind == "expr" else None
            return isinstance(made, cst.BaseExpression) and _is_plain(script, made, hops + 1)
    return isinstance(value, cst.Integer | cst.Float | cst.SimpleString)


def _guarded(script: Script, call: cst.Call) -> list[Edit]:
    why = "The load takes tensors alone and runs nothing."
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "weights_only":
            return [Edit(arg.value, "True", why)]
    last, layout = call.args[-1], script.layout
    start = layout.whole(last)[0]
    indent = script.text[layout.line_start(start) : start]
    between = " " if indent.strip() else f"{script.tree.module.default_newline}{indent}"
    return [Edit(last.value, f"{layout.source(last.value)},{between}weights_only=True", why)]


def _given(script: Script, call: cst.Call, keyword: str) -> cst.BaseExpression | None:
    """Return what a call, or the partial that made the called function, gives for a keyword."""
    todo, seen = [call], set()
    while todo:
        one = todo.pop()
        for arg in one.args:
            if arg.keyword is not None and arg.keyword.value == keyword:
                return arg.value
        seen.add(id(one))
        func = one.func
        bindings = script.scopes.of(func).find(func.value) if isinstance(func, cst.Name) else ()
        makers = [b.node for b in bindings] if len(bindings) == 1 else [func]
        todo += (m for m in makers if isinstance(m, cst.Call) and id(m) not in seen)
    return None


def _is_true(script: Script, value: cst.BaseExpression | None) -> bool:
    return value is not None and script.values.constant(value) is True


def _is_set(script: Script, call: cst.Call, keyword: str, position: int) -> bool:
    """Tell whether an argument that is False when left out may be anything else."""
    positional = [a.value for a in call.args if a.keyword is None and not a.star]
    value = positional[position] if len(positional) > position else _given(script, call, keyword)
    unknown = any(arg.star == "**" for arg in call.args)
    return unknown or (value is not None and script.values.constant(value) is not False)


def _fixes(script: Script, arg: cst.Arg) -> bool:
    """Tell whether this is what a partial is made of; then the calls of the partial are looked at."""
    call = script.tree.parent(arg)
    return isinstance(call, cst.Call) and "functools.partial" in script.path_of(call)


def _subclasses(script: Script) -> Iterator[Found]:
    for cls in script.tree.of(cst.ClassDef):
        if any(path in UNPICKLERS for base in cls.bases for path in script.values.paths(base.value)):
            yield _found(cls, "A reader of pickles of your own can run any code that it reads", "Use JSON.")


def _lenient(script: Script) -> Iterator[Found]:
    """Find loads of weights that may leave some out."""
    aliases = {
        target.target.value
        for assign in script.tree.of(cst.Assign)
        if _is_state_loader(script, assign.value)
        for target in assign.targets
        if isinstance(target.target, cst.Name)
    }
    for call in script.tree.of(cst.Call):
        kind = type(call.func)
        aliased = kind is cst.Name and call.func.value in aliases  # type: ignore[attr-defined]
        if not aliased and (kind is cst.Name or not _is_state_loader(script, call.func)):
            continue
        positional = [a.value for a in call.args if a.keyword is None and not a.star]
        at = 2 if any(path.endswith(f"Module.{_STRICT}") for path in script.path_of(call)) else 1
        strict = positional[at] if len(positional) > at else _given(script, call, "strict")
        hidden = any(arg.star == "**" for arg in call.args)
        lenient = strict is not None and script.values.constant(strict) not in (True, 1)
        if not hidden and lenient and is_checked(script, call):
            continue
        if hidden or (lenient and strict is not None and not _passed_on(script, strict)):
            what = "With `strict=False` weights can be missing from the model, and nothing says so"
            yield _found(call, what, "Leave it out, and save the checkpoint under the names that the model has.")


def _is_state_loader(script: Script, node: cst.CSTNode) -> bool:
    """Tell whether this is the `load_state_dict` of something, also by `getattr` or as a partial."""
    if type(node) is cst.Attribute:
        return node.attr.value == _STRICT
    if type(node) is not cst.Call or not node.args:
        return False
    if "functools.partial" in script.path_of(node):
        return _is_state_loader(script, node.args[0].value)
    named = isinstance(node.func, cst.Name) and node.func.value == "getattr" and len(node.args) > 1
    return named and script.values.constant(node.args[1].value) == _STRICT


def _passed_on(script: Script, strict: cst.BaseExpression) -> bool:
    """Tell whether a `load_state_dict` of the script passes its own argument on; its callers are looked at."""
    function = script.scopes.function_of(strict)
    own = isinstance(function, cst.FunctionDef) and function.name.value == _STRICT
    return own and isinstance(strict, cst.Name) and strict.value == "strict"
