"""E205 reads-validation-split."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.helpers import where_given
from reviewer.dataflow.pieces import joined_texts
from reviewer.files.gathered import gathering
from reviewer.files.reads import find_reads
from reviewer.files.splits import FOLDERS, NAMES, SPLITS, constants, is_file, is_key, is_used
from reviewer.fold import names_in
from reviewer.found import Found
from reviewer.repairs.validating import removal
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.scope import parameters
from reviewer.script import Script
from reviewer.wording import clip

# The kit's readers: where their split stands, and what it is when left out.
_KIT: dict[str, tuple[int, str | None]] = {
    "prepare.make_dataloader": (3, None),
    "prepare.evaluate_bpb": (5, "dev"),
    "prepare._rows": (0, None),
    "prepare._files": (0, None),
    "prepare._eval_rows": (0, None),
    "prepare._dev_file": (99, "dev"),
    "prepare._eval_public": (99, "dev"),
}
_LOADER = re.compile(
    r"(?:^|_)(?:(?:data_?)?loaders?|datasets?|batch(?:es)?|rows|shards?|corpus|documents|reader|load_(?:data|tokens|split))(?:_|$)"
    r"|Loader|Dataset|Reader|Corpus"
)
_READERS = frozenset([
    "open", "memmap", "fromfile", "from_file", "load", "glob", "make_dataloader", "load_dataset", "read_bytes",
    "read_table", "read_parquet", "frombuffer", "read_text", "DataLoader",
])  # fmt: skip
_SHOWING = frozenset({"log", "info", "debug", "print", "print0", "update", "add_scalar", "add", "append", "record"})

_REMEDY = "Remove it with its imports; `python prepare.py eval-public` scores the dev shard on your own machine."


class ReadsValidationSplit(Rule):
    """Refuses to read a validation split inside the scored run.

    What it looks for
        The kit's `make_dataloader`, `evaluate_bpb` and their inner functions with another split than `"train"` (left
        out, `evaluate_bpb` reads dev); calls of readers with `split="val"`, `"dev"`, `"test"` and the like, through
        helpers as well; names and globs of such files, and names that come to be those of such files; imported loaders
        that are told such a split by position. A glob or a walk that takes whatever data it meets goes to a
        person. `causality_check` asks about the model alone and may stay.

    Why it is refused
        What is read there can be trained on, or can choose the step, the checkpoint or a scale: then the score says
        how well a script fits held-out text, not how well it learns. Nobody can tell from a log that the loss was only
        printed. And it is paid from the budget.

    Do instead
        Hold back training rows, if the run must know how it is doing. The dev shard is yours at home:
        `python prepare.py eval-public` scores it with the platform's arithmetic.
    """

    code = "E205"

    VALID: ClassVar = (
        "import functools as f\nfrom prepare import make_dataloader as m\n"
        "l = f.partial(m, t, 8)\nl(256, 'train', 'cpu')\n",
        "from nanoloader import token_batches\nrows = token_batches(t, 8, 256, 'train')\nlog('val', 3)\n",
        "import re, tools\nre.split('dev', text)\ntools.meter('val')\ntools.loader_of('validated', 8)\n",
        "import numpy as np\ndef rows(kind):\n    return np.memmap('data/' + kind + '.bin')\nx = rows('train')\n",
        "from prepare import make_dataloader\nl = make_dataloader(t, 8, 256, 'train', 'cpu')\n",
        "from prepare import make_dataloader\nl = make_dataloader(t, 8, 256, split='tr' + 'ain', device='cpu')\n",
        "import prepare\nprepare.evaluate_bpb(m, t, 8, 256, 'cpu', split='train')\n",
        "from prepare import causality_check, evaluate_bpb\ncausality_check(m, t, 8, 256, 'cpu')\n",
        "def log(split, loss):\n    print(split, loss)\nlog('val', 1.0)\nlogger.log(split='val')\n",
        "import torch\ntorch.save(w, 'out/val_best.pt')\nopen('out/val.txt', 'w')\nopen('/dev/null')\n",
        "x = s.split('val')\ny = 'eval' in s\nevaluation = 'dev/val/train'.split('/')\n",
        "print('val_loss: 1.0', f'val:{x}')\ncolumns = ['val', 'dev']\n",
        "def load(split):\n    return open(f'data/{split}.bin')\nload('train')\n",
        "import glob\nglob.glob('data/fineweb_train_*.bin')\ninterval = 'interval_*.bin'\n",
        "from prepare import make_dataloader as m\ndef get(s):\n    return m(t, 8, 256, s, 'cpu')\nget('train')\n",
        "import os\np = os.path.join('out', 'val')\n",
        "import torch\ntorch.save(losses, 'val_loss.pt')\nopen('val_log.json', 'w')\nopen('x/val_losses.npy', 'wb')\n",
        "import glob\nglob.glob('out/*.npy')\nglob.glob('shards/*train*.bin')\nglob.glob('*.py')\n",
        "from pathlib import Path\nOUT = Path('out')\nlist(OUT.glob('*.npz'))\nlist(Path('/tmp/x').rglob('*.bin'))\n",
        "import os\nfs = [f for f in os.listdir('data') if f.endswith('.bin') and 'train' in f]\n",
        "import os\nfor f in os.listdir('out'):\n    if f.endswith('.npy'):\n        os.remove(f)\n",
        "c = k()['train' + '_files']\n",
    )
    INVALID: ClassVar = (
        "from nanoloader import token_batches\nfor s in ('train', 'val'):\n"
        "    rows = token_batches(t, 8, 256, s)  # !\n",
        "import loaders as l\nrows = l.ShardLoader('dev', 8)  # !\nmore = l.open_rows(t, 'heldout')  # !\n",
        "from hub import dataset\nd = dataset('wiki', split='validation[:10%]')  # !\n",
        "import numpy as np\ndef rows(kind):\n    return np.memmap('data/' + kind + '.bin')\nx = rows('val')  # !\n",
        "import functools as f\nfrom prepare import make_dataloader as m\n"
        "f.partial(m, t, 8)(256, 'de' 'v', 'cpu')  # !\n",
        "import functools as f\nfrom prepare import make_dataloader as m\n"
        "l = f.partial(m, t, 8)\nl(256, 'val', 'cpu')  # !\n",
        "from prepare import make_dataloader\nl = make_dataloader(t, 8, 256, 'val', 'cpu')  # !\n",
        "import prepare as p\nl = p.make_dataloader(t, 8, 256, split='dev', device='cpu')  # !\n",
        "from prepare import evaluate_bpb as e\nprint(e(m, t, 8, 256, 'cpu'))  # !\n",
        "from prepare import *\nr = evaluate_bpb(m, t, 8, 256, 'cpu', 'd' + 'ev')  # !\n",
        "import prepare\nf = getattr(prepare, 'evaluate_' + 'bpb')\nf(m, t, 8, 256, 'cpu')  # !\n",
        "import prepare\nx = prepare._eval_rows('dev', 256, None)  # !\ny = prepare._dev_file()  # !\n",
        "import functools as f\nfrom prepare import make_dataloader as m\nf.partial(m, t, 8, 256, 'dev')  # !\n",
        "from prepare import make_dataloader as m\nfor s in ('train', 'dev'):\n    m(t, 8, 256, s, 'cpu')  # !\n",
        "from prepare import make_dataloader as m\nm(t, 8, 256, chosen(), 'cpu')  # ! review\n",
        (
            "from prepare import make_dataloader\ndef get(kind):\n    return make_dataloader(t, 8, 256, kind, 'cpu')\n"
            "a, b = get('train'), get('val')  # !\n"
        ),
        (
            "from prepare import make_dataloader\nkw = {'split': 'val'}  # !\n"
            "make_dataloader(t, 8, 256, device='cpu', **kw)  # ! review\n"
        ),
        "from prepare import evaluate_bpb\nscores = list(map(evaluate_bpb, ms))  # !\n",
        "from datasets import load_from_disk as l\nd = l('data', split='validation')  # !\n",
        "from functools import partial\nrows = {'a': partial(Rows, kind=1, split='val')}  # !\n",
        "def load(split):\n    return open(f'data/{split}.bin')\nload('val')  # !\nload(split='test')  # !\n",
        "import glob\nfs = glob.glob('data/fineweb_val_*.bin')  # !\n",
        "import glob, os\nroot = 'data/lossless_v1'\nfs = glob.glob(os.path.join(root, 'fineweb_val_*.bin'))  # !\n",
        "import numpy as np\nrows = np.fromfile('data/catalog/val.bin')  # !\n",
        "import glob\nF = 'data/fineweb_val_*.bin'  # !\ndef rows(pattern):\n    return glob.glob(pattern)\nrows(F)\n",
        "class Args:\n    val_files: str = 'data/fineweb10B/fineweb_val_000000.bin'  # !\n",
        "import numpy as np\nd = np.memmap(f'{root}/val.bin', mode='r')  # !\n",
        "import json\nc = json.load(f)\nopen(c['dev_file'])  # !\n",
        "c = k()\nopen(c['dev' + '_fil' + 'e'])  # !\nK = 'dev_' + 'file'\nopen(c[K])  # !\nopen(c.get(K))  # !\n",
        "import glob\nfs = sorted(glob.glob('shards/*.bin'))  # ! review\n"
        "gs = glob.glob(f'{d}/**/*_0*.npy')  # ! review\n",
        "from pathlib import Path\nfs = Path(d).rglob('*.bin')  # ! review\n"
        "gs = Path('data', 'x').glob('[a-z]*.bin')  # ! review\n",
        "import os\nfor d, _, fs in os.walk('.'):  # ! review\n    fs = [f for f in fs if f.endswith('.bin')]\n",
        "import os\nfs = [f for f in os.listdir(d) if f[-4:] == '.bin']  # ! review\n",
        "import os\nfs = [f for f in os.listdir(d) if f.endswith('.bin') and 'train' not in f]  # ! review\n",
        "import os\nfs = os.listdir(os.path.join(root, 'val'))  # !\n",
        "from pathlib import Path\nfs = (Path(root) / 'dev').iterdir()  # !\n",
        "text = open('val.txt').read()  # !\nfs = glob('fineweb_v' + 'al_*.bin')  # !\n",
    )

    FIXED: ClassVar = (
        (
            "from prepare import evaluate_bpb, make_dataloader\nt = 1\n"
            "for step, batch in enumerate(make_dataloader(t, 8, 256, 'train', 'cpu')):\n    if step % 100 == 0:\n"
            "        bpb = evaluate_bpb(m, t, 8, 256, 'cpu')\n        print(f'{step} {bpb:.3f}')\n    train(batch)\n",
            "from prepare import make_dataloader\nt = 1\n"
            "for step, batch in enumerate(make_dataloader(t, 8, 256, 'train', 'cpu')):\n    train(batch)\n",
        ),
        (
            "from prepare import evaluate_bpb, make_dataloader\nval = make_dataloader(t, 8, 256, 'val', 'cpu')\n"
            "print(1)\nprint(evaluate_bpb(m, t, 8, 256, 'cpu', split='dev'))\nx = 1\nprint(x)\n",
            "print(1)\nx = 1\nprint(x)\n",
        ),
    )

    def check(self, script: Script) -> Iterator[Found]:
        yield from _kit_calls(script)
        yield from _other_calls(script)
        yield from _foreign_calls(script)
        shown: list[str] = []
        for found, text in _texts(script):
            shown.append(text)
            yield found
        yield from _files(script, shown)
        yield from _keys(script)
        for node in gathering(script):
            yield _found(node, "This takes whatever data lie there, held-out text as well", "review")


def _found(node: cst.CSTNode, what: str, at_most: Severity = "reject", script: Script | None = None) -> Found:
    fix = partial(removal, script, node) if script is not None and removal(script, node) else None
    return Found(node, f"{what}, and a scored run learns from the training split alone.", _REMEDY, at_most, fix)


def _kit_calls(script: Script) -> Iterator[Found]:
    for path, call in script.calling(_KIT):
        position, default = _KIT[path]
        yield from _kit_call(script, call, path, list(call.args), position, default)
    for _, call in script.calling(("functools.partial",)):
        for path in script.values.paths(call.args[0].value) if call.args else ():
            if path in _KIT:
                for place, more in _completed(script, call):
                    yield from _kit_call(script, place, path, [*call.args[1:], *more], *_KIT[path])
    bound = {name for name, path in script.imports if path in _KIT}
    mentions: list[cst.CSTNode] = [n for n in script.tree.of(cst.Name) if n.value in bound] if bound else []
    mentions += [a for a in script.tree.of(cst.Attribute) if f"prepare.{a.attr.value}" in _KIT]
    for node in mentions:
        above = script.tree.parent(node)
        taker = script.tree.parent(above) if isinstance(above, cst.Arg) else None
        handed_on = isinstance(above, cst.Element | cst.DictElement) or isinstance(taker, cst.Call)
        if handed_on and not (isinstance(taker, cst.Call) and "functools.partial" in script.path_of(taker)):
            path = next((p for p in script.values.paths(node) if p in _KIT), "")
            if path:
                sure: Severity = "reject" if _KIT[path][1] else "review"
                yield _found(node, f"`{path}` is handed on, and the split it reads may be any", sure)


def _completed(script: Script, partial_call: cst.Call) -> list[tuple[cst.Call, list[cst.Arg]]]:
    """Return the calls of a partial with what they add, as far as they can be seen; else the partial itself."""
    above = script.tree.parent(partial_call)
    if isinstance(above, cst.Call) and above.func is partial_call:
        return [(above, [*above.args])]
    found: list[tuple[cst.Call, list[cst.Arg]]] = []
    target = above.targets[0].target if isinstance(above, cst.Assign) else None
    for name in script.mentions.get(target.value, ()) if isinstance(target, cst.Name) else ():
        user = script.tree.parent(name)
        if isinstance(user, cst.Call) and user.func is name:
            found.append((user, [*user.args]))
    return found or [(partial_call, [])]


def _kit_call(
    script: Script, call: cst.Call, path: str, args: list[cst.Arg], position: int, default: str | None
) -> Iterator[Found]:
    positional = [a.value for a in args if a.keyword is None and not a.star]
    named = next((a.value for a in args if a.keyword is not None and a.keyword.value == "split"), None)
    split = named if named is not None else positional[position] if position < len(positional) else None
    if split is None and any(a.star for a in args):
        yield _found(call, f"Which split `{path}` reads is known only during the run", "review")
    elif split is None and default is not None:
        yield _found(call, f"`{path}` reads the {default} split", script=script)
    elif split is not None:
        for place, given in where_given(script, call, split):
            words = constants(script, given)
            wrong = next((w for w in words if w != "train"), None)
            if not words:
                yield _found(place, f"Which split `{path}` reads is known only during the run", "review")
            elif wrong is not None:
                yield _found(place, f"`{path}` reads the {wrong} split", script=script)


def _other_calls(script: Script) -> Iterator[Found]:
    """Find other readers that are told which split to read: foreign ones by keyword, own ones by parameter."""
    for arg in script.tree.of(cst.Arg):
        if arg.keyword is not None and arg.keyword.value in NAMES:
            call = script.tree.parent(arg)
            if isinstance(call, cst.Call) and (split := _other_split(script, arg.value)):
                paths = script.path_of(call)
                if paths and not any(p in _KIT or p.rpartition(".")[2] in _SHOWING for p in paths):
                    reader = call.args[0].value if "functools.partial" in paths else call.func
                    yield _found(call, f"`{script.tree.code(reader)}` reads the {split} split")
    for function in script.tree.of(cst.FunctionDef):
        names = [p.name.value for p in parameters(function) if p.name.value in NAMES]
        if names and names_in(function.body) & _READERS:
            for site, own in script.calls.sites.get(id(function), ()):
                script.budget.spend()
                given = script.calls.arguments(function, site, own).get(names[0])
                if split := _other_split(script, given):
                    yield _found(site, f"`{function.name.value}` reads the {split} split")


def _foreign_calls(script: Script) -> Iterator[Found]:
    """Find imported loaders that are told by position which split to read: `loader_of(tokenizer, 8, "val")`."""
    for path, calls in script.called.items():
        if path in _KIT or path.startswith(("builtins.", "re.")) or not _LOADER.search(path.rpartition(".")[2]):
            continue
        for call in calls:
            for arg in call.args:
                if arg.keyword is None and not arg.star and isinstance(arg.value, cst.Name | cst.SimpleString):
                    word = next((w for w in constants(script, arg.value) if w.lower() in FOLDERS), "")
                    if word:
                        yield _found(call, f"`{script.tree.code(call.func)}` reads the {word} split")


def _files(script: Script, shown: list[str]) -> Iterator[Found]:
    """Find files that are read under a name that only helpers put together: `rows("val")` opens `data/val.bin`."""
    seen: set[int] = set()
    for read in find_reads(script):
        if is_file(read.name) and read.kind != "about" and id(read.node) not in seen:
            seen.add(id(read.node))
            if not any(text in read.name or read.name in text for text in shown):
                yield _found(read.node, f"`{clip(read.name, 80)}` is held-out text")


def _other_split(script: Script, node: cst.BaseExpression | None) -> str:
    return next((w for w in constants(script, node) if w.lower().partition("[")[0] in SPLITS), "")


def _keys(script: Script) -> Iterator[Found]:
    """Find keys of held-out files that are put together: `c["dev" + "_file"]`."""
    for subscript in script.tree.of(cst.Subscript):
        part = subscript.slice[0].slice if len(subscript.slice) == 1 else None
        if isinstance(part, cst.Index) and type(part.value) not in (cst.SimpleString, cst.Integer):
            value = script.values.constant(part.value)
            if is_key(value):
                yield _found(subscript, f"`{value}` is held-out text")
    for call in script.tree.of(cst.Call):
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in ("get", "pop", "__getitem__") and call.args:
            value = script.values.constant(call.args[0].value)
            if is_key(value) and not isinstance(call.args[0].value, cst.SimpleString):
                yield _found(call, f"`{value}` is held-out text")


def _texts(script: Script) -> Iterator[tuple[Found, str]]:
    """Find names of files and folders that hold such a split, and the keys under which they are known."""
    for text in script.tree.of(cst.SimpleString):
        if "v" in text.value or "h" in text.value:  # every such word has one of them
            value = script.values.constant(text)
            if isinstance(value, str) and (is_file(value) or is_used(script, text, value)):
                yield _found(text, f"`{value}` is held-out text"), value
    for joined, value in joined_texts(script):
        if is_file(value):
            yield _found(joined, f"`{value}` is held-out text"), value
    for formatted in script.tree.of(cst.FormattedString):
        value = "".join(p.value if isinstance(p, cst.FormattedStringText) else "x" for p in formatted.parts)
        if is_file(value):
            shown = "".join(p.value if isinstance(p, cst.FormattedStringText) else "" for p in formatted.parts[-1:])
            yield _found(formatted, f"`{script.tree.code(formatted)}` is held-out text"), shown
