"""O602 unreadable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from reviewer.found import Found
from reviewer.matchers.legible import signs
from reviewer.rules.base import Rule
from reviewer.script import Script

_REMEDY = "Send the text that you work with; its size in bytes is no criterion here."
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BARE = "".join(f"def {a}(x):\n    y = x\n    return y\n" for a in _LETTERS[:12])
_DENSE = (
    "class Attention:\n    def forward(self, x):\n        B, T, D = x.shape\n        q, k, v = self.c(x).split(D, 2)\n"
    "        a = q @ k.T\n        return a @ v\n\n\ndef newton_schulz(G, steps):\n    a, b, c = 3.4, -4.7, 2.0\n"
    "    X = G / 2\n    for _ in range(steps):\n        A = X @ X.T\n"
    "        X = a * X + (b * A + c * A @ A) @ X\n    return X\n"
)


class Unreadable(Rule):
    """Refuses a file that no person can read.

    What it looks for
        Proportions over the whole file: four fifths of the names, or of the functions and classes, with one or two
        characters; a fifth of the names made of `l`, `I`, `1`, `O`, `0`, of underscores or of hex; a quarter of the
        texts spelled by escapes or `chr`; lambdas nested eight deep. Less of it, and a file of which half the
        statements share their lines or which stands in lines of 500 characters, is a warning. Of a packed script, the
        text inside is measured.

    Why it is refused
        A result counts because others can see how it was reached. What nobody reads, nobody has checked.

    Do instead
        Send the text that you work with. Short names of tensors, dense formulas and long lines are as welcome as in any
        paper; minifying wins nothing, since bytes of the script are not scored.
    """

    code = "O602"

    VALID: ClassVar = (
        _DENSE,
        _DENSE * 6,
        "x = 1; y = 2; z = 3\n",
        "a = b = c = 1\ndef f(x):\n    return x\n",
        "".join(f"layer_{i} = make({i})\n" for i in range(80)),
        "f = lambda g: lambda x: g(x)\nh = lambda: lambda: lambda: 1\n",
        "NEWLINE = '\\x0a'\nESC = '\\x1b[31m'\nmagic = b'\\x93NUMPY'\nbyte = chr(27)\n",
        "def byte_table():\n    return [chr(b) for b in range(33, 127)] + [chr(161), chr(162)]\n",
        "l, I, O = 1, 2, 3\nllm = 4\nOOM = 5\n",
        "K = '''" + "a kernel as text; with many; statements; in a line\n" * 40 + "'''\n",
        "import torch.nn.functional as F, numpy as np\n"
        + "".join(f"w{i}_name = np.{n}\n" for i, n in enumerate(_LETTERS)),
        "for _ in range(3):\n    pass\n_, __ = 1, 2\n",
    )
    INVALID: ClassVar = (
        "# !\n" + _BARE,
        "# !\n"
        + "".join(f"{a}{b} = {i}\n" for i, (a, b) in enumerate(zip(_LETTERS * 3, "q" * 26 + "z" * 52, strict=False))),
        "# !\n" + "".join(f"class {a}:\n    def {a}{a}(self):\n        self.x = 1\n" for a in _LETTERS[:12]),
        "x = 1  # !\n" + "".join(f"{n} = 1\n" for n in ("lIl", "llI", "IIl", "lII", "IlI", "O0O0")),
        "# !\n" + "".join(f"{'_' * n} = {n}\n" for n in range(2, 12)),
        "# !\n" + "".join(f"_0x{n:04x} = {n}\n" for n in range(4000, 4012)),
        "lIlI = 1  # ! warn\nlIIl = 2\nIIll = 3\n" + "".join(f"layer_{i} = {i}\n" for i in range(60)),
        "# !\n" + "".join(f"a{n}_name = '\\x6f\\x73\\x2e\\x65'\n" for n in range(9)),
        "# !\n" + "".join(f"a{n}_name = '\\157\\163\\145'\n" for n in range(9)),
        "# !\nname = chr(111) + chr(115) + chr(46) + chr(101) + chr(110) + chr(118) + chr(105) + chr(114) + chr(111)\n",
        "# ! warn\n" + "".join(f"name_{n} = ''.join(map(chr, [111, 115]))\n" for n in range(4)),
        "f = " + "lambda x: " * 9 + "x  # !\n",
        "f = " + "(lambda g: " * 5 + "1" + ")" * 5 + "  # ! warn\n",
        "# ! warn\n" + "alpha = 1; beta = 2; gamma = 3; delta = 4\n" * 20,
        "# ! warn\n" + "".join("value_%d = [%s]\n" % (i, ", ".join(f"item_{j}" for j in range(90))) for i in range(50)),  # noqa: UP031
    )

    def check(self, script: Script) -> Iterator[Found]:
        for sign in signs(script):
            yield Found(script.tree.module, f"{sign.what}, so people cannot read the file.", _REMEDY, sign.at_most)
