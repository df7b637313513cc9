"""D306 embedded-data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from reviewer.examples import remarks
from reviewer.found import Found
from reviewer.matchers.embedded import find_data
from reviewer.rules.base import Rule
from reviewer.script import Script

_REMEDY = "Compute it from the training data during the run, or say in a comment where it comes from."
_KERNEL = "K = '''" + "__global__ void f(float* x) { x[threadIdx.x] *= 2.0f; }\n" * 30 + "'''\n"
_DOC = '"""' + "What this file does is said in plain words, and at some length.\n" * 40 + '"""\n'
_HELP = "x = 'how many steps of warm-up there are, in " + "words that a person can read and so on, " * 20 + "'\n"
_CODED = "aB3dEf7hIj1LmN0pQr5sTuVw"


class EmbeddedData(Rule):
    """Sends scripts that carry data in their text to a person.

    What it looks for
        Strings and bytes that nobody can read: one of 512 characters, or pieces from 16 characters that make up 1,024
        together (base64, hex, escapes, numbers in text); tables of 128 constants, nested ones counted as a whole (a
        key that several rows have counts once); numbers of 100 digits; numbers that make up an eighth of the file, or
        4,096 characters of numbers that have four digits and more, wherever they stand; 24,576 characters of text that
        is neither documentation nor program; comments with 256 characters in a row, or 1,024 of hex, base 64 and
        numbers together; 1,024 of blank space at the ends of lines; 24,576 of comments or docstrings in a script that
        reads its own text, 8,192 of docstrings where it reads a `__doc__`. Packed code is the business of O601.

    Why it is refused
        It is not, a person looks. Weights, text or statistics in a script were computed with more data and time than
        the run has, and held-out text can be stored in the same way.

    Do instead
        Compute tables from what the loader gives. Schedules of a few dozen values, coefficients, kernels as text,
        patterns of tokenizers, help texts and docstrings are no findings.
    """

    code = "D306"

    VALID: ClassVar = (
        *remarks.VALID,
        _DOC,
        _KERNEL,
        _HELP,
        "a, b, c = 3.4445, -4.7750, 2.0315\nLR = [0.1, 0.2, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05] * 4\n",
        "S = (" + "0.001, " * 60 + ")\n",
        'P = r"\'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*"\n',
        "x = 'data/fineweb10B_sp1024/fineweb_train_000000.bin'\ny = 'https://example.org/Some/Path-1/A2b'\n",
        "H = 0x9E3779B97F4A7C15F39CC0605CEDC834\nN = 10**1000\n",
        "import base64, zlib\nexec(zlib.decompress(base64.b85decode('" + _CODED * 60 + "')))\n",
        "B = '" + "\u2588\u2580 \u2584\u2591 " * 150 + "'\n",
        "x = '=' * 1000\nprint('-' * 80)\n",
        "NAMES = [" + ", ".join(f"'blocks.{i}.attn'" for i in range(40)) + "]\n",
        "P = {" + ", ".join(f"'w{i}': {{'optim': 'adam', 'lr': {i}, 'betas': [0.9, 0.99]}}" for i in range(20)) + "}\n",
        "def f(x):\n    return x + 1\n" * 200,
        "magic = b'\\x93NUMPY'\nheader = '<3i'\n",
        "# " + "a comment may be as long as its words are short " * 20 + "\nx = 1\n",
    )
    INVALID: ClassVar = (
        *remarks.INVALID,
        f"W = '{_CODED * 40}'  # !\n",
        f"W = b'{_CODED * 40}'  # !\n",
        "W = '" + "deadbeef0123" * 60 + "'  # !\n",
        "W = b'" + "\\x12\\xf3" * 100 + "'  # !\n",
        "W = '" + "0.12 -0.93 4.5 " * 60 + "'  # !\n",
        "W = [" + "0.12, " * 200 + "]  # !\n",
        "W = (" + "-3, " * 130 + ")  # !\n",
        "W = [" + "[1, 2, 3, 4], " * 40 + "]  # !\n",
        "W = {" + ", ".join(f"{i}: {i}.5" for i in range(80)) + "}  # !\n",
        "W = {" + ", ".join(f"'w{i}'" for i in range(150)) + "}  # !\n",
        "P = {" + ", ".join(f"'w{i}': {{'k{i}': 1, 'm{i}': {i}}}" for i in range(30)) + "}  # !\n",
        "import torch\nW = torch.tensor([" + "0.5, " * 150 + "])  # !\n",
        "f(" + "1, " * 140 + ")  # !\n",
        "W = " + "7" * 300 + "  # !\n",
        "W = 0x" + "a1" * 60 + "  # !\n",
        "A = '" + _CODED + "'  # !\n" + "".join(f"A{i} = '{_CODED}{i}'\n" for i in range(60)),
        "W = ('" + _CODED * 2 + "'  # !\n" + f"'{_CODED}'\n" * 50 + ")\n",
        "W = '" + "xyzzy plugh qwert asdfg " * 40 + "'  # !\n",
        "class C:\n    W = '" + _CODED * 30 + "'  # !\n",
        "def f(w='" + _CODED * 30 + "'):  # !\n    return w\n",
        "f = lambda: '" + _CODED * 30 + "'  # !\n",
        "def f():\n    '" + _CODED * 30 + "'  # !\n",
        "a = 0.5  # !\n" + "".join(f"a{i} = {i}.{i:05d}{i:05d}\n" for i in range(700)),
        "x = 1  # !\n#: " + "Zm9v" * 100 + "\n",
        "W = f'{x}' + '" + "\\u4e2d\\u56fd" * 100 + "'  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        if script.packed:
            return
        for data in find_data(script):
            yield Found(data.node, f"{data.what}, and no run has computed them.", _REMEDY, "review")
