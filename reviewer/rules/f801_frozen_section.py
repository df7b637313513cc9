"""F801 frozen-section."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.baselines.constants import changed_constants
from reviewer.baselines.frozen import Accepted, Frozen
from reviewer.baselines.rebinding import Inside
from reviewer.found import Found
from reviewer.policy import Policy
from reviewer.rules.base import Rule
from reviewer.script import Script

_REMEDY = "Put the section back as an accepted baseline has it, and write what is yours outside of it."
_CONSTANT = "Leave it as the accepted baseline has it, or tell the organizer why it may differ."
_READ = "Use the section as it is, or tell the organizer why this leaves it what it was."

_LOAD = "def load(n):\n    return list(range(n))\n"
_GPT = "class GPT(nn.Module):\n    def forward(self, x):\n        return F.relu(x)"
_TEXT = _LOAD + _GPT
_USES = (("F", "torch.nn.functional"), ("nn", "torch.nn"))
_TOP = "import torch.nn as nn\nimport torch.nn.functional as F\n"
_RULE = "#" * 20 + "\n"
_BANNER = _RULE + "#      Model       #\n" + _RULE
_NEXT = _RULE + "#      Train       #\n" + _RULE + "print(GPT(), load(2))\n"
_WHOLE = _TOP + _BANNER + _TEXT + "\n" + _NEXT
_MISSING = _TOP.replace("nn\n", "nn  # !\n", 1)
_FIRST = _TOP + _BANNER + _TEXT.replace("\n", "  # !\n", 1) + "\n" + _NEXT


class FrozenSection(Rule):
    """Holds the parts of a script that a phase has frozen to their accepted baselines.

    What it looks for
        Each section that the phase names, found by its banner (a comment such as `Dataloader` between rules of dashes
        or hash signs; it ends at the next banner of the same style) or by the names that it defines. It must be, byte
        for byte or but for comments and blank space, one of the accepted baselines. Docstrings count as code. A
        section that is missing, inside of another block or there twice is changed; so is one whose names are defined,
        imported, assigned, deleted or declared global again, whose classes or constants something is put into, or into
        what an object of its classes got from it (a method, a layer, a hook), whose imports or built-ins mean something
        else here, or beside which the module's names are written by text. That nothing uses a section, that a class
        is derived from one of its classes, or that a constant which it uses has another value than in the accepted
        baseline, is for an organizer to read.

    Why it is refused
        In such a phase scripts compete in what is left free. A record that also changes the data loader or the
        architecture says nothing about the rest.

    Do instead
        Copy the section from a baseline of the competition's page, and leave its names alone.
    """

    code = "F801"
    inherits = False  # that a changed section begins with a line of the kit's baseline excuses nothing

    POLICY: ClassVar = Policy(
        sections=(Frozen("Model", "Model", (), (Accepted("2026-01", "2026-01-01", _TEXT, _USES),)),)
    )

    VALID: ClassVar = (
        _WHOLE,
        _WHOLE.replace("    return list", "    # all of them\n    return list"),
        _WHOLE.replace("F.relu(x)", "F.relu( x )"),
        _WHOLE.replace("#      Model       #", "# model"),
        _WHOLE.replace(_RULE, "# --------------\n"),
        _WHOLE.replace(_BANNER, "# ---- Model ----\n").replace(
            _RULE + "#      Train       #\n" + _RULE, "# -- x\n# ---- T ----\n"
        ),
        _WHOLE.replace("\n", "\r\n"),
        _TOP + _BANNER + _TEXT + "\n\n\n" + _NEXT,
        "import os\n" + _WHOLE + "def fit():\n    load = 3\n    return load\n",
        _WHOLE + "class Other:\n    def load(self, n):\n        return n\n",
        _WHOLE + "import torch.nn as nn\n",
        _WHOLE + "model = GPT()\nmodel.scale = 3\n",
        _WHOLE + "model = GPT()\nmodel.eval()\nfor p in model.parameters():\n    p.grad = None\n",
        _WHOLE + "class Loader:\n    def __init__(self):\n        self.forward = []\n        self.forward.append(1)\n",
        _WHOLE + "print(sorted(globals()), 'x' in globals(), globals().items())\n",
        _WHOLE + "exec('y = 1')\n",
        _WHOLE + "import sys\nm = sys.modules['torch']\n",
        _WHOLE + "def fit(GPT_width, range):\n    return range\n",
    )
    INVALID: ClassVar = (
        "import torch  # !\n",
        _FIRST.replace("F.relu", "F.gelu"),
        _FIRST.replace("range(n)", "range(n + 1)"),
        _FIRST.replace("def load(n):", "import os  # !\ndef load(n):").replace("(n):  # !", "(n):"),
        _FIRST.replace("return F", "'Doc.'\n        return F"),
        # the banner has moved: code slips in, or out
        _TOP + _BANNER + "k = 1  # !\n" + _TEXT + "\n" + _NEXT,
        _TOP + _LOAD + _BANNER + _GPT.replace(":", ":  # !", 1) + "\n" + _NEXT,
        (_TOP + _BANNER + _TEXT + "\nk = 1\n" + _NEXT).replace("def load(n):", "def load(n):  # !"),
        # the section stands where it does not run
        _TOP.replace("nn\n", "nn  # !\n", 1) + "T = '''\n" + _BANNER + _TEXT + "\n'''\n" + _NEXT,
        _MISSING + "if 0:\n" + _BANNER + "    " + _TEXT.replace("\n", "\n    ") + "\n" + _NEXT,
        # twice
        _WHOLE + _BANNER + "def load(n):  # !\n    return [n]\n",
        # something else takes its name
        _WHOLE + "def load(n):  # !\n    return []\n",
        _WHOLE + "class GPT(nn.Module):  # !\n    pass\n",
        _WHOLE + "GPT = nn.Linear  # !\n",
        _WHOLE + "GPT, k = nn.Linear, 1  # !\n",
        _WHOLE + "import other as load  # !\n",
        _WHOLE + "from other import GPT  # !\n",
        _WHOLE + "from other import *  # !\n",
        _WHOLE + "del GPT  # !\n",
        _WHOLE + "def swap():\n    global GPT\n    GPT = nn.Linear  # !\n",
        _WHOLE + "def swap():\n    global load\n    from other import load  # !\n",
        _WHOLE + "for GPT in [nn.Linear]:  # !\n    pass\n",
        _WHOLE + "if (load := 3):  # !\n    pass\n",
        _WHOLE + "try:\n    import other as GPT  # !\nexcept ImportError:\n    pass\n",
        _WHOLE + "exec('GPT = 3')  # !\n",
        _WHOLE + "exec(open('x').read())  # !\n",
        _WHOLE + "globals()['GPT'] = 3  # !\n",
        _WHOLE + "globals().update(GPT=3)  # !\n",
        _WHOLE + "import sys\nsys.modules[__name__].GPT = 3  # !\n",
        _WHOLE + "import __main__  # !\n",
        _WHOLE + "GPT.forward = lambda self, x: x  # !\n",
        _WHOLE + "setattr(GPT, 'forward', None)  # !\n",
        _WHOLE + "del GPT.forward  # !\n",
        _WHOLE + "def main():\n    class GPT:  # !\n        pass\n    return GPT()\n",
        _WHOLE + "def main():\n    from other import load  # !\n    return load(3)\n",
        _WHOLE + "def main(GPT=nn.Linear):  # !\n    return GPT(2, 3)\n",
        _WHOLE + "Mine = GPT\nMine.forward = None  # !\n",
        _WHOLE + "model = GPT()\ntype(model).forward = None  # !\nmodel.__class__.forward = None  # !\n",
        _WHOLE + "model = GPT().to(d)\nmodel.forward = print  # !\nsetattr(model, 'forward', print)  # !\n",
        _WHOLE + "def main():\n    fit(GPT())\ndef fit(m):\n    m.blocks.append(nn.Linear(1, 1))  # !\n",
        _WHOLE + "model = GPT()\nmodel.head.register_forward_hook(print)  # !\nmodel.add_module('a', b)\n",
        # what it uses means something else
        _WHOLE.replace("torch.nn.functional as F", "other as F").replace("other as F\n", "other as F  # !\n"),
        _WHOLE.replace("import torch.nn.functional as F", "F = object()  # !"),
        _WHOLE + "def range(n):  # !\n    return [n]\n",
        # read by an organizer
        _FIRST.replace("# !", "# ! review").replace("print(GPT(), load(2))", "def f(m: GPT) -> None:\n"
        "    torch.load(m)"),
        _FIRST.replace("# !", "# ! review").replace("GPT(), load(2)", "1"),
        _WHOLE + "class Mine(GPT):  # ! review\n    pass\n",
    )  # fmt: skip

    def check(self, script: Script) -> Iterator[Found]:
        for frozen, each in zip(script.policy.sections, script.sections, strict=True):
            for node, why in each.changes:
                yield Found(node, why, _REMEDY)
            if not each.changes:
                yield from _other_constants(script, frozen, each.section.baseline)
            if each.inside is not None and not each.changes:
                yield from _beside(script, each.section.name, each.inside)


def _other_constants(script: Script, frozen: Frozen, baseline: str) -> Iterator[Found]:
    """Say which constants a section uses that are not those of its baseline, or of another one with the same text."""
    text = next(one.text for one in frozen.accepted if one.name == baseline)
    every = [(one, list(changed_constants(script, one))) for one in frozen.accepted if one.text == text]
    accepted, changed = min(reversed(every), key=lambda pair: len(pair[1]))
    for node, name, there, here in changed:
        place = node if script.tree.parent(node) is not None else script.tree.module
        what = (
            f"The frozen section `{frozen.name}` uses `{name}`, which is {there} in `{accepted.name}` and {here} here."
        )
        yield Found(place, what, _CONSTANT, at_most="review")


def _beside(script: Script, name: str, inside: Inside) -> Iterator[Found]:
    """Say what leaves a section as it is and may make it idle."""
    own = {id(node) for node in inside.statements}
    made = inside.classes | inside.functions
    mentions = (m for n in sorted(made) for m in script.mentions.get(n, ()) if not _within(script, m, own))
    used = [m for m in mentions if not _says_only(script, m)]
    if made and not used:
        what = f"Nothing outside of the frozen section `{name}` uses what it defines."
        yield Found(inside.statements[0], what, _READ, at_most="review")
    for mention in used:
        base = script.tree.parent(mention)
        derived = script.tree.parent(base) if isinstance(base, cst.Arg) else None
        if isinstance(derived, cst.ClassDef) and any(base is each for each in derived.bases):
            what = f"`{derived.name.value}` is derived from `{mention.value}` of the frozen section `{name}`."
            yield Found(derived, f"{what} It may be another model.", _READ, at_most="review")


def _says_only(script: Script, mention: cst.Name) -> bool:
    """Tell whether a name is a type, which runs nothing, or somebody else's attribute: `nn.Linear`."""
    above = script.tree.parent(mention)
    other = isinstance(above, cst.Attribute) and above.attr is mention
    return other or script.tree.enclosing(mention, cst.Annotation) is not None


def _within(script: Script, node: cst.CSTNode, own: set[int]) -> bool:
    return any(id(above) in own for above in script.tree.ancestors(node))
