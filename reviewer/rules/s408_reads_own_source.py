"""S408 reads-own-source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from reviewer.found import Found
from reviewer.matchers.own_text import find_own_reads
from reviewer.rules.base import Rule
from reviewer.script import Script


class ReadsOwnSource(Rule):
    """Notes where a script reads its own text.

    What it looks for
        `open(__file__)`, `Path(__file__).read_text()`, the same with `sys.argv[0]` or `train.py`, `inspect.getsource`
        of what stands in the file or cannot be told, `linecache`, and `__loader__.get_source`.

    Why it is refused
        It is not: many scripts log their own text. It is noted because a text that is read can also be counted,
        changed or run, and whoever reviews the file should see where. Where long comments or docstrings would be data
        for whoever reads them, D306 says so.

    Do instead
        Nothing. The platform keeps the exact text of each run anyway.
    """

    code = "S408"

    VALID: ClassVar = (
        "print(__file__)\nname = __file__.rsplit('/', 1)[-1]\n",
        "import os\nhere = os.path.dirname(os.path.abspath(__file__))\nopen(os.path.join(here, 'out', 'log.txt'))\n",
        "open('out/log.txt').read()\nopen('data.bin', 'rb')\n",
        "from pathlib import Path\nPath('out').mkdir()\nPath('out/a').read_text()\nx = Path(__file__).name\n",
        "import inspect, torch\ninspect.signature(f)\ninspect.getsource(torch)\n",
        "open(__file__, 'w')\n",
        "import linecache\nlinecache.clearcache()\nlinecache.checkcache()\n",
        "class A:\n    def get_source(self):\n        return 1\nA().get_source()\n",
        "import sys\nprint(sys.argv[0], sys.argv)\nopen(sys.argv[1])\n",
        "source = 'train.py'\nprint(source)\n",
        "import os\nos.path.getsize(__file__)\nos.path.exists('train.py')\n",
        "def f(path):\n    return open(path)\nf('out/a')\n",
    )
    INVALID: ClassVar = (
        "code = open(__file__).read()  # !\n",
        "with open(__file__, 'r', encoding='utf-8') as f:  # !\n    code = f.read()\n",
        "from pathlib import Path\ncode = Path(__file__).read_text(encoding='utf-8')  # !\n",
        "from pathlib import Path as P\ncode = P(__file__).resolve().read_bytes()  # !\nf = P(__file__).open()  # !\n",
        "import sys\ncode = open(sys.argv[0]).read()  # !\n",
        "import os\ncode = open(os.path.abspath(__file__), 'rb').read()  # !\n",
        "me = __file__\ncode = open(me).read()  # !\n",
        "code = open('train.py').read()  # !\n",
        "import inspect, sys\ncode = inspect.getsource(sys.modules[__name__])  # !\n",
        "import inspect\ndef f():\n    pass\nprint(inspect.getsource(f))  # !\nprint(inspect.getsourcelines(x))  # !\n",
        "import linecache\ncode = linecache.getlines(__file__)  # !\n",
        "code = __loader__.get_source(__name__)  # !\ncode = __spec__.loader.get_source('train')  # !\n",
        "def read(path):\n    return open(path).read()\nread(__file__)  # !\nread('out/a')\n",
        "import io\nread = io.open\ncode = read(__file__).read()  # !\n",
        "import __main__\ncode = open(__main__.__file__).read()  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        for node in find_own_reads(script):
            yield Found(node, "The script reads its own text here.", "Nothing to do.", "info")
