"""F802 kinship."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from reviewer import gate
from reviewer.context import Context
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.similarity import same_code

_BEFORE = "import torch\nlr = 0.1\ndef f(x, n=3):\n    if x > n:\n        return torch.relu(x) * lr\n    return x\n"


class Kinship(Rule):
    """Tells where a script comes from.

    What it looks for
        The platform compares a script with every other of its competition: the same bytes; the same code but for names
        and constants; and a good part of the same code in small pieces, however they are renamed and moved around.
        What the kit's baseline and the frozen sections have as well is not counted. Organizers alone read the outcome,
        as a chain of descent. The report itself, which the team reads, compares with the team's own previous version
        only, and says where nothing but names and constants has changed.

    Why it is refused
        It is not refused: to build on others is how a contest moves on. But when a script is disqualified, what was
        made from it has to be looked at again, also under other names.

    Do instead
        Nothing. Where you build on somebody's script, name it in the method note.
    """

    code = "F802"

    CONTEXT: ClassVar = Context(previous=_BEFORE)

    VALID: ClassVar = (
        "x = 1\n",
        _BEFORE,  # the same text once more, which another launch command may want
        _BEFORE.replace("x > n", "x < n"),
        _BEFORE + "f(lr)\n",
        _BEFORE.replace("torch.relu(x)", "torch.relu(x, n)"),
        _BEFORE.replace("    return x\n", "    return x, n\n"),
    )
    INVALID: ClassVar = (
        _BEFORE.replace("\n", "  # !\n", 1),
        _BEFORE.replace("0.1", "0.2").replace("n=3", "n=4").replace("torch\n", "torch  # !\n", 1),
        _BEFORE.replace("x", "value").replace("lr", "rate").replace("torch\n", "torch  # !\n", 1),
        "# of another name  # !\n" + _BEFORE.replace("def f", "def g"),
    )

    def check(self, script: Script) -> Iterator[Found]:
        previous = script.context.previous
        if (
            previous is None
            or previous == script.text
            or gate.check(previous.encode("utf-8", "surrogatepass"), script.policy.max_bytes)
        ):
            return
        try:
            before = gate.syntax_of(previous)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        if same_code(before, script.tree.syntax()):
            what = "Apart from names and constants this is the code of your team's previous version."
            remedy = "Nothing to do; where you only tune a number, the method note can say so."
            yield Found(script.tree.module, what, remedy, at_most="info")
