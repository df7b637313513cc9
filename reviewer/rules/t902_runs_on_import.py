"""T902 runs-on-import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.found import Found
from reviewer.nodes import children
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.values import Own

_TRAINS = frozenset({"backward", "record_step_boundary"})
_OPTIMIZER_WORDS = ("opt", "adam", "muon", "sgd")
_PREPARES = frozenset({"torch.distributed.init_process_group"})
_WAKING = tuple(f"torch.{name}().backward" for name in ("empty", "zeros", "ones", "rand", "randn", "tensor", "full"))


class RunsOnImport(Rule):
    """Requires that importing the file trains nothing.

    What it looks for
        Statements outside `if __name__ == "__main__":` that call `backward`, step an optimizer, report a step
        boundary or join a process group, themselves or through the functions they call. `backward` of a tensor that
        is made there, to wake a device up, trains nothing.

    Why it is refused
        The model server imports the same text under another name, only to call `load_for_eval`. A file that trains
        on import would train a second time there, without data, and never answer.

    Do instead
        Put the training into `def main():` and call it under `if __name__ == "__main__":`.
    """

    code = "T902"

    VALID: ClassVar = (
        "def main():\n    loss.backward()\ntry:\n    if __name__ == '__main__':\n        main()\nfinally:\n    x()\n",
        "def main():\n    loss.backward()\nwith open('a') as f:\n    if __name__ == '__main__':\n        main()\n",
        "def main():\n    loss.backward()\nif __name__ == '__main__':\n    main()\n",
        "def main():\n    loss.backward()\nif '__main__' == __name__:\n    main()\nelse:\n    x = 1\n",
        "MAIN = __name__ == '__main__'\nif MAIN:\n    loss.backward()\n",
        "import torch\nw = torch.zeros(3)\nfor i in range(3):\n    w[i] = i\n",
        "class A:\n    def step(self):\n        self.optimizer.step()\na = A()\n",
        "def main():\n    loss.backward()\nif __name__ != '__main__':\n    pass\nelse:\n    main()\n",
        "import torch\ntorch.empty(1, device='cuda', requires_grad=True).backward()\n",
        "import torch\n@torch.compile\ndef f(x):\n    return x.backward()\n",
    )
    INVALID: ClassVar = (
        "def main():\n    loss.backward()\nmain()  # !\n",
        "def step():\n    opt.step()\ndef main():\n    step()\nmain()  # !\n",
        "for x in range(3):  # !\n    loss.backward()\n    opt.step()\n",
        "def main():\n    loss.backward()\nif __name__ != '__main__':\n    main()  # !\n",
        "def main():\n    loss.backward()\nif True:\n    main()  # !\n",
        "import torch.distributed as dist\ndist.init_process_group('gloo')  # !\n",
        "from prepare import record_step_boundary as r\nr(1)  # !\n",
        "class A:\n    for i in range(3):  # !\n        optimizer.step()\n",
        "import torch\ntorch.ones(1, requires_grad=True).backward()\nfor x in range(3):  # !\n    x.loss.backward()\n",
        "def main():\n    loss.backward()\n_ = [main() for _ in range(1)]  # !\n",
        "def main():\n    loss.backward()\ndef f(x=main()):  # !\n    pass\n",
        "def main():\n    loss.backward()\ndef run(f):\n    main()\n@run  # !\ndef g():\n    pass\n",
        "def main():\n    loss.backward()\ntry:\n    pass\nexcept OSError:\n    main()  # !\n",
        "def main():\n    loss.backward()\nwith open('a'):\n    main()  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        trainers = script.calls.reaching({id(script.scopes.function_of(call)) for call in _training(script)})
        for statement in script.on_import():
            call = _first_call(script, statement, trainers)
            if call is not None:
                name = script.tree.code(call.func if isinstance(call, cst.Call) else call.decorator)
                yield Found(
                    statement,
                    f"`{name}` runs when the file is imported, and the model server imports it only to load the model.",
                    'Move it under `if __name__ == "__main__":`.',
                )
                return  # a file that is written this way is so from here to its end


def _training(script: Script) -> Iterator[cst.Call]:
    """Yield the calls that train, through the names that they may have: `_trains` for each call would cost more."""
    for path, calls in script.called.items():
        if path in _PREPARES or path.rsplit(".", 1)[-1] in _TRAINS:
            yield from calls
    for attribute in script.tree.of(cst.Attribute):
        if attribute.attr.value == "step" or attribute.attr.value in _TRAINS:
            call = script.tree.parent(attribute)
            if isinstance(call, cst.Call) and call.func is attribute and _trains(script, call):
                yield call


def _trains(script: Script, call: cst.Call) -> bool:
    paths = script.path_of(call)
    if any(p.startswith(_WAKING) for p in paths):
        return False  # `torch.ones(1, requires_grad=True).backward()` wakes a device up
    if any(p in _PREPARES or p.rsplit(".", 1)[-1] in _TRAINS for p in paths):
        return True
    if not isinstance(call.func, cst.Attribute):
        return False
    method = call.func.attr.value
    if method == "step":
        return any(word in script.tree.code(call.func.value).lower() for word in _OPTIMIZER_WORDS)
    return method in _TRAINS


def _calls_one(script: Script, function: cst.BaseExpression, trainers: set[int]) -> bool:
    """Tell whether what is called here is one of these functions, or makes an object by one."""
    own = [v.node for v in script.values.of(function) if isinstance(v, Own)]
    return any(id(entered) in trainers for entered in _entered(script, own))


def _first_call(script: Script, statement: cst.CSTNode, trainers: set[int]) -> cst.Call | cst.Decorator | None:
    todo: list[cst.CSTNode] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.FunctionDef | cst.Lambda):
            continue
        if isinstance(node, cst.Call):
            if _trains(script, node) or _calls_one(script, node.func, trainers):
                return node
        elif isinstance(node, cst.Decorator) and _calls_one(script, node.decorator, trainers):
            return node
        todo.extend(children(node))
    return None


def _entered(script: Script, own: list[cst.FunctionDef | cst.Lambda | cst.ClassDef]) -> Iterator[cst.CSTNode]:
    for node in own:
        if isinstance(node, cst.ClassDef):
            names = script.scopes.scope(node).names
            yield from (b.node for m in ("__init__", "__post_init__") for b in names.get(m, ()) if b.node is not None)
        else:
            yield node
