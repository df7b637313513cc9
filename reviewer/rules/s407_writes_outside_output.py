"""S407 writes-outside-output."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import ClassVar

from reviewer.files.ownfile import whose_file
from reviewer.files.pathflow import Paths
from reviewer.files.paths import HOLE, OUT, WORK, leads_outside, shown
from reviewer.files.writing import Write, writes
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.wording import clip

_OUTPUT = "out"
_SCRATCH = ("/tmp/", "/dev/null")  # noqa: S108 - private to a run
_CODE = (".py", ".pyc", ".pyi", ".so", ".pth", ".egg-link")
_NO_NAME = re.compile(r"[-+\d.e]+|True|False|None|\s*")  # a setting that came through the same helper as a name
_REMEDY = "Write to `out/…`, which is kept, or below `/tmp`, which is not."


class WritesOutsideOutput(Rule):
    """Refuses to change what lies beside the output folder.

    What it looks for
        Files that are written, moved, linked, given other modes or removed, and folders that are made, below the
        folder of the run but not in `out/`: by `open`, `os`, `shutil`, `pathlib`, `torch.save`, numpy and the like,
        with paths followed through names, helpers and f-strings. Refused are the kit (`prepare.py`,
        `constants.json`), the script itself (`train.py`, `__file__`) and whatever Python would import from there. Any
        other relative path, as `logs/run.txt`, is a warning. Paths that lead out of the run's folder are another
        rule's, and `/tmp` is free.

    Why it is refused
        What stands beside the script is what everybody was given; a run must not leave another kit, script or module
        for what comes after it. The folder is read-only but for `out/`, so such a line ends the run with an error.

    Do instead
        Write everything that is kept below `out/`, and use `tempfile` or `/tmp` for the rest.
    """

    code = "S407"

    VALID: ClassVar = (
        "import torch, os\nos.makedirs('out', exist_ok=True)\ntorch.save(m, 'out/final.pt')\n",
        "import os\nwith open('./out/log.txt', 'a') as f:\n    f.write('x')\nos.replace('out/a', 'out/b')\n",
        "open('prepare.py').read()\nopen('train.py', 'rb')\nopen(__file__)\n",
        "import tempfile, os\nd = tempfile.mkdtemp()\nopen(os.path.join(d, 'prepare.py'), 'w')\n"
        "open('/tmp/a.py', 'w')\n",
        "from pathlib import Path\np = Path('out') / 'logs'\np.mkdir()\n(p / 'a.txt').write_text('x')\n",
        "from pathlib import Path\nhere = Path(__file__).resolve().parent / 'out'\n(here / 'x').write_bytes(b'')\n",
        "import os\nos.remove('/etc/passwd')\nopen('../a', 'w')\n",
        "def save(path):\n    with open(path, 'w') as f:\n        f.write('x')\nsave('out/a')\n",
        "import torch, io\nb = io.BytesIO()\ntorch.save(m, b)\nx = 'a.py'.replace('.py', '.txt')\n",
        "import os\nos.chdir('out')\nopen('log.txt', 'w')\n",
        "class A:\n    def open(self, name, mode):\n        pass\n    def rename(self, x):\n        pass\n"
        "A().open('prepare.py', 'w')\n",
        "import os\nopen('/dev/null', 'w')\nos.path.exists('prepare.py')\nopen(f'out/{name}.py', 'w')\n",
        "import numpy as np\nnp.memmap('prepare.py', dtype='u1', mode='r')\nopen(unknown, 'w')\n",
        "import shutil\nshutil.copy(__file__, 'out/train.py')\nshutil.copy('prepare.py', 'out')\n",
        "import os\nO = os.path.join(os.getcwd(), 'out')\nopen(os.path.join(O, 'a'), 'w')\n"
        "os.open('train.py', os.O_RDONLY)\n",
    )
    INVALID: ClassVar = (
        "open('prepare.py', 'w').write('x')  # !\n",
        "open(__file__, 'a')  # !\nwith open('train.py', mode='r+') as f:  # !\n    pass\n",
        "from pathlib import Path\nPath(__file__).write_text('x')  # !\nPath('prepare.py').unlink()  # !\n",
        "import prepare\nopen(prepare.__file__, 'w')  # !\n",
        "import os\nos.replace('out/a.py', 'prepare.py')  # !\nos.rename('train.py', 'out/b.py')  # !\n",
        "import os\nos.symlink('out/a', './prepare.py')  # !\nos.chmod('prepare.py', 0o777)  # !\n"
        "os.remove('constants.json')  # !\n",
        "import shutil as s\ns.copyfile('out/a', 'train.py')  # !\ns.move('prepare.py', 'out/x')  # !\n",
        "def put(name, text):\n    with open(name, 'w') as f:\n        f.write(text)\nput('out/a', 'x')\n"
        "put('prepare.py', 'x')  # !\n",
        "import os\nhere = os.path.dirname(os.path.abspath(__file__))\n"
        "open(os.path.join(here, 'torch.py'), 'w')  # !\n",
        "import os\nopen(os.path.join(os.getcwd(), 'time.py'), 'w')  # !\nopen('sitecustomize' + '.py', 'x')  # !\n",
        "P = 'prepare' + '.py'\nw = open\nw(P, 'wb')  # !\n",
        "class C:\n    path = 'prepare.py'\n    def f(self):\n        open(self.path, 'w')  # !\n",
        "import os\nfd = os.open('prepare.py', os.O_WRONLY | os.O_TRUNC)  # !\n",
        "import torch\ntorch.save(m, 'prepare.py')  # !\n",
        "open('/holdout/constants.json', 'w')  # !\n",
        "open('out/../prepare.py', 'w')  # !\n",
        "import os\nos.makedirs('logs', exist_ok=True)  # ! warn\n"
        "with open(f'logs/{run}.txt', 'w') as f:  # ! warn\n    pass\n",
        "import torch\ntorch.save(m, 'final_model.pt')  # ! warn\n",
        "from pathlib import Path\nd = Path('runs')\nd.mkdir()  # ! warn\n(d / 'a.txt').write_text('x')  # ! warn\n",
        "import logging\nlogging.basicConfig(filename='train.log')  # ! warn\n"
        "h = logging.FileHandler('x.log')  # ! warn\n",
        "import mlx.core as mx\nmx.savez('x.npz', **a)  # ! warn\n",
        "import numpy as np\nnp.save('x.npy', a)  # ! warn\nm = np.memmap('cache.bin', 'u1', 'w+')  # ! warn\n",
        "import gzip\ng = gzip.open('x.gz', 'wt')  # ! warn\n"
        "import zipfile\nz = zipfile.ZipFile('a.zip', 'w')  # ! warn\n",
        "import sys\nopen(sys.argv[0], 'w')  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        paths = script.paths
        moved = "os.chdir" in script.called
        seen: set[int] = set()
        for write in writes(script):
            for found in _judged(script, paths, write, moved):
                if id(found.node) not in seen:
                    seen.add(id(found.node))
                    yield found


def _judged(script: Script, paths: Paths, write: Write, moved: bool) -> Iterator[Found]:
    if whose := whose_file(script, write.path):
        yield Found(write.path, f"{whose} is {write.what} here, and everybody was given the same.", _REMEDY)
        return
    failing = ""
    for text, given in paths.of(write.path):
        place = given or write.path
        name = clip(shown(text), 80)
        if text == "/holdout/constants.json":
            yield Found(place, f"`{name}` is the kit's, and is {write.what} here.", _REMEDY)
        inside = _below_work(text, script)
        if inside is None or inside.startswith(f"{_OUTPUT}/") or inside == _OUTPUT:
            continue
        if inside in ("prepare.py", "train.py", "constants.json", "prepare", "train"):
            yield Found(place, f"`{name}` is {write.what} here, and everybody was given the same.", _REMEDY)
        elif inside.endswith(_CODE) and "/" not in inside and not (inside.endswith(".pth") and not write.text):
            yield Found(place, f"`{name}` is {write.what} here, and Python would import it from then on.", _REMEDY)
        elif not _NO_NAME.fullmatch(inside):
            failing = failing or name
    if failing and not moved:
        what = f"`{failing}` is {write.what} here, and in a run only `out/` and `/tmp` can be written: it fails there."
        yield Found(write.path, what, _REMEDY, "warn")


def _below_work(text: str, script: Script) -> str | None:
    """Return a path as it is from the run's folder; None where it begins elsewhere, or nobody knows where."""
    if text.startswith(("/", OUT, HOLE)) or not text or leads_outside(text, script.policy) or "://" in text:
        return None
    plain = posixpath.normpath(text.removeprefix(WORK).lstrip("/") or ".")
    return None if plain == "." or plain.startswith(HOLE) else plain
