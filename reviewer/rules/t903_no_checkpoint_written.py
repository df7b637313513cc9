"""T903 no-checkpoint-written."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.certain import is_dead
from reviewer.files.written import find_writes
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script

CHECKPOINT = "out/final.pt"

_LOADER = "load_for_eval"


class NoCheckpointWritten(Rule):
    """Asks a person to look at a script that seems to leave no checkpoint.

    What it looks for
        A call that writes a file (`torch.save`, safetensors, numpy, a file opened for writing, a rename) and that the
        training can reach, to a name that is, or may be, `out/final.pt`. Names are put together from constants,
        `os.path.join` and `Path`; one that only the run knows is believed, unless the file is opened for text.

    Why it is refused
        The platform loads `out/final.pt` when the run is over. Without it there is nothing to score, and the quota is
        spent.

    Do instead
        `torch.save(model.state_dict(), "out/final.pt")` at the end, and now and then before: SIGTERM comes shortly
        before the time is up.
    """

    code = "T903"

    VALID: ClassVar = (
        "import torch\ntorch.save(m.state_dict(), 'out/final.pt')\n",
        "import torch\ndef go():\n    torch.save(obj=m, f='./out/final.pt')\nif __name__ == '__main__':\n    go()\n",
        "from pathlib import Path\nwith Path(chosen).open('wb') as f:\n    f.write(b'')\n",
        "import json\nwith open('out/final.pt', 'w') as f:\n    json.dump(weights, f)\n",
        "import torch\nP = 'out/final.pt'\ntorch.save(m, P + '.part')\n__import__('os').replace(P + '.part', P)\n",
        "import os, torch\nD = 'out'\ntorch.save(m, os.path.join(D, 'final.pt'))\n",
        "import torch\nfrom pathlib import Path\nout = Path('out')\ntorch.save(m, out / 'final.pt')\n",
        "import torch\ndef save(path):\n    torch.save(m, path)\nsave('out/final.pt')\n",
        "import torch\nclass T:\n    def keep(self):\n        torch.save(m, 'out/final.pt')\nT().keep()\n",
        "import torch, signal\ndef keep(*_):\n    torch.save(m, 'out/final.pt')\nsignal.signal(15, keep)\n",
        "from torch import save as s\ns(m, '/work/out/final.pt')\n",
        "import io, torch\nb = io.BytesIO()\ntorch.save(m, b)\nopen('out/final.pt', 'wb').write(b.getvalue())\n",
        "import os, torch\nos.chdir('out')\ntorch.save(m, 'final.pt')\n",
        "from safetensors.torch import save_file\nsave_file(m, f'{folder}/final.pt')\n",
        "import torch\nSAVE = True\nif SAVE:\n    torch.save(m, 'out/final.pt')\n",
        "import base64\nexec(base64.b64decode('eA=='))\n",
    )
    INVALID: ClassVar = (
        "import torch  # !\ndef main():\n    train()\nmain()\n",
        "import torch\ntorch.save(m, 'model.pt')  # !\n",
        "import torch\ntorch.save(m, 'out/step1000.pt')  # !\ntorch.save(m, 'out/last.pt')\n",
        "import torch\ndef keep():\n    torch.save(m, 'out/final.pt')  # !\ndef main():\n    train()\nmain()\n",
        "import torch\ndef load_for_eval(p, d):\n    torch.save(m, 'out/final.pt')  # !\n",
        "import torch\nfrom pathlib import Path\ntorch.save(m, Path('runs') / 'final.pt')  # !\n",
        "x = open('a').read()  # !\nprint(open('b', 'r'))\n",
        "import sys  # !\nlog = open(sys.argv[0] + '.txt', 'a')\nprint('step', file=log)\n",
        "from pathlib import Path  # !\nimport time\nlog = (Path('l') / str(time.time())).open('w')\nlog.write('a')\n",
        "text = 'torch.save(m, out/final.pt)'  # !\n",
        "import torch\nif False:\n    torch.save(m, 'out/final.pt')  # !\n",
        "import torch\nKEEP = 0\nif not KEEP:\n    pass\nelse:\n    torch.save(m, 'out/final.pt')  # !\n",
        "import torch\ndef main():\n    return\n    torch.save(m, 'out/final.pt')  # !\nmain()\n",
        "import torch\nFalse and torch.save(m, 'out/final.pt')  # !\nwhile 0:\n    torch.save(m, 'out/final.pt')\n",
        "log = open('out/log.txt', 'w')  # !\nlog.write('done'.replace('d', 'D'))\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        if script.packed:
            return  # its inside may well write one
        writes = list(find_writes(script))
        remedy = f'Write it where the training ends: `torch.save(model.state_dict(), "{CHECKPOINT}")`.'
        if not writes:
            what = f"Nothing in the file writes a checkpoint, and the platform takes `{CHECKPOINT}`."
            yield Found(script.tree.module, what, remedy)
            return
        running = _reached(script)
        holders = [(script.scopes.function_of(call), call, path) for call, path in writes if not is_dead(script, call)]
        reached = [(call, path) for holder, call, path in holders if holder is None or id(holder) in running]
        moved = "os.chdir" in script.called
        fitting = [call for call, path in reached if path is None or moved or _is_checkpoint(path)]
        if not reached:
            what = "A checkpoint is written only here, and nothing that the training runs comes here."
            yield Found(writes[0][0], what, remedy)
        elif not fitting:
            call, path = reached[0]
            yield Found(call, f"What is kept is written to `{path}`, and the platform takes `{CHECKPOINT}`.", remedy)


def _is_checkpoint(path: str) -> bool:
    path = posixpath.normpath(path)
    return path == CHECKPOINT or path.endswith(f"/{CHECKPOINT}")


def _reached(script: Script) -> set[int]:
    """Return the ids of the functions that can run when the file is started, also those that others are handed."""
    functions = script.tree.of(cst.FunctionDef)
    starts: list[cst.CSTNode] = [script.tree.module]
    starts += [f for f in functions if f.name.value in script.handed_on and f.name.value != _LOADER]
    starts += [f for f in script.tree.of(cst.Lambda) if script.scopes.function_of(f) is None]
    return script.calls.reachable(starts)
