"""T901 no-load-for-eval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script

_REMEDY = (
    "Define `def load_for_eval(checkpoint_path, device)` once, at the top level, returning the model in eval mode."
)


class NoLoadForEval(Rule):
    """Requires the one function through which the platform gets the model.

    What it looks for
        A function `load_for_eval`, defined at the top level of the file, once, unconditionally, taking the
        checkpoint's path and the device as two positional arguments.

    Why it is refused
        The model server imports the file and calls `load_for_eval(path, device)`. Without it there is nothing to
        score; with two of them, or one inside an `if`, nobody can say which is scored.

    Do instead
        `def load_for_eval(checkpoint_path: str, device: torch.device) -> torch.nn.Module:` next to the model.
    """

    code = "T901"

    VALID: ClassVar = (
        "def load_for_eval(checkpoint_path, device):\n    return None\n",
        "def load_for_eval(path, device, strict=True, *, dtype=None):\n    return None\n",
        "def load_for_eval(*args):\n    return None\n",
        "import base64\nexec(base64.b64decode('eA=='))\n",
    )
    INVALID: ClassVar = (
        "x = 1  # !\n",
        "def load_for_eval(path):  # !\n    return None\n",
        "def load_for_eval(path, device, size):  # !\n    return None\n",
        "def load_for_eval(path, device, *, size):  # !\n    return None\n",
        "async def load_for_eval(path, device):  # !\n    return None\n",
        "def load_for_eval(path, device):  # !\n    yield None\n",
        "import sys\nif sys.flags.debug:\n    def load_for_eval(path, device):  # !\n        return None\n",
        "def load_for_eval(p, d):\n    return 1\ndef load_for_eval(p, d):  # !\n    return 2\n",
        "class A:  # !\n    def load_for_eval(self, d):\n        return 2\n",
        "load_for_eval = 3  # !\n",
        "def _load(path, device):\n    return None\nload_for_eval = _load  # !\n",
        "load_for_eval = lambda path, device: None  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        if script.packed:
            return  # its inside may well have one; S401 says what matters
        bindings = script.scopes.module.names.get("load_for_eval", [])
        if not bindings:
            yield Found(
                script.tree.module, "The file defines no `load_for_eval`, so its model cannot be scored.", _REMEDY
            )
            return
        if len(bindings) > 1:
            last = bindings[-1].node or script.tree.module
            yield Found(last, "`load_for_eval` gets its meaning more than once; which one counts is unclear.", _REMEDY)
            return
        node = bindings[0].node or script.tree.module
        if self._depends(script, node):
            yield Found(node, "`load_for_eval` is defined only under a condition.", _REMEDY)
            return
        if not isinstance(node, cst.FunctionDef):  # by another name, what it runs would not be known as its own
            yield Found(node, "`load_for_eval` is no function that this file defines under that name.", _REMEDY)
            return
        for reason in _misfits(script, node):
            yield Found(node, f"`load_for_eval` {reason}.", _REMEDY)

    def _depends(self, script: Script, node: cst.CSTNode) -> bool:
        conditional = cst.If | cst.For | cst.While | cst.Try | cst.With | cst.FunctionDef | cst.Match
        return any(isinstance(above, conditional) for above in script.tree.ancestors(node))


def _misfits(script: Script, function: cst.FunctionDef | cst.Lambda) -> Iterator[str]:
    params = function.params
    positional = [*params.posonly_params, *params.params]
    needed = [p for p in positional if p.default is None]
    takes_more = isinstance(params.star_arg, cst.Param)
    if len(needed) > 2 or (len(positional) < 2 and not takes_more):
        yield f"must take two arguments, the checkpoint's path and the device; it takes {len(needed)}"
    if any(p.default is None for p in params.kwonly_params):
        yield "asks for a keyword that the platform does not give"
    if isinstance(function, cst.FunctionDef) and function.asynchronous is not None:
        yield "is asynchronous; the platform calls it plainly"
    if any(script.scopes.function_of(y) is function for y in script.tree.of(cst.Yield)):
        yield "is a generator; it must return the model"
