"""D304 bypasses-kit-loader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.sources import is_of_checkpoint
from reviewer.files.paths import HOLE
from reviewer.files.reads import ARRAYS, DATA_END, Read, find_reads
from reviewer.files.splits import is_file, is_own
from reviewer.fold import names_in
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.wording import clip

# The kit's own readers, which its loader stands on: they know nothing of ranks and of what is shown when.
_INNER = frozenset({"prepare._read_tokens", "prepare._rows", "prepare._files", "prepare._path"})
_KEYS = ("data_dir", "train_files")
_LOADING = frozenset({"datasets.load_dataset", "datasets.load_from_disk", "datasets.Dataset.from_file"})
_LISTING = frozenset({"glob.glob", "glob.iglob"})
# Words of a function that makes numbers of bytes.
_DECODING = frozenset(
    {"frombuffer", "readinto", "unpack", "unpack_from", "fromfile", "from_buffer", "iter_unpack", "mmap"}
)
_STEPS = 200  # what it costs to look through a function
_REMEDY = "Take rows from `make_dataloader(tokenizer, batch_size, seq_len, 'train', device)`; it never ends."


class BypassesKitLoader(Rule):
    """Sends a script that reads its data without the kit's loader to a person.

    What it looks for
        Files named like tokens, text or tables that are read (`numpy.memmap`, `numpy.fromfile`, `torch.from_file`,
        `open(…, "rb")`, parquet and JSONL readers), a glob of them, `datasets.load_dataset`; bytes of a file without a
        known name that are made into numbers; the kit's inner functions and the keys of its training files. The same
        files are told of once, those that E205 tells of not at all, and a glob that is only counted is none.

    Why it is refused
        It is not, a person looks. The loader gives every rank its rows and shows what the clock allows; another reader
        may read other text, held-out text too, or the same text more often than it says.

    Do instead
        Use `make_dataloader`, from a thread of your own if you like: a table counted from what it yields is as free as
        a gradient. Files in `out/` and what `load_for_eval` is given may be read in any way.
    """

    code = "D304"

    VALID: ClassVar = (
        "from prepare import make_dataloader\nl = make_dataloader(t, 8, 256, 'train', 'cpu')\n",
        (
            "import threading\nfrom prepare import make_dataloader, ensure_tokenizer\ndef count(table):\n"
            "    for x, y, _ in make_dataloader(ensure_tokenizer(), 8, 256, 'train', 'cpu'):\n        table[x] += 1\n"
            "threading.Thread(target=count).start()\n"
        ),
        "import torch\nfor b in torch.utils.data.DataLoader([1, 2], num_workers=2):\n    pass\n",
        "import numpy as np\nx = np.memmap('out/table.bin', mode='r')\ny = np.fromfile('/tmp/a.bin')\n",
        "import numpy as np\ndef load_for_eval(path, device):\n    return np.fromfile(path + '.bin')\n",
        "import numpy as np\nx.tofile('table.bin')\nnp.frombuffer(b'abc')\n",
        "import glob, os\nfs = glob.glob('out/*.bin')\nos.listdir('out')\nglob.glob('*.py')\n",
        (
            "import struct\nx = struct.unpack('<i', b'abcd')\nwith open('out/a', 'rb') as f:\n"
            "    y = struct.unpack('<i', f.read())\n"
        ),
        "import zlib\nwith open(__file__, 'rb') as f:\n    n = len(zlib.compress(f.read()))\n",
        "import torch\nw = torch.load('data.pt', weights_only=True)\n",
        "import json\nc = json.load(open('config.json'))\n",
        "data_dir = 'a'\nd = {'train': 1}\nx = d['train']\n",
        "import torch\ndef batches(tokens):\n    i = torch.randint(len(tokens), (8,))\n    return tokens[i]\n",
        "text = \"np.memmap('train.bin')\"  # np.memmap('train.bin')\n",
        "import glob\nfrom pathlib import Path\nprint(len(list(Path('data').glob('train_*.bin'))))\n"
        "n = len(sorted(glob.glob('data/train_*.bin')))\n",
        "import glob, numpy as np\ndef read(pattern):\n    return [np.fromfile(f) for f in glob.glob(pattern)]\n"
        "x = read('data/shard_val_*.bin')\n",  # E205 says it
    )
    INVALID: ClassVar = (
        "import numpy as np\nx = np.memmap('data/train.bin', dtype='u2', mode='r')  # !\n",
        "import numpy as np\nx = np.fromfile('w', dtype='f4')  # !\n",
        "from numpy import fromfile as f\nx = f('weights.bin')  # !\n",
        "import torch\nx = torch.from_file('train_0.bin', False, 9)  # !\n",
        "with open('shards/train_0.bin', 'rb') as f:  # !\n    x = f.read()\n",
        (
            "import numpy as np\ndef shard(name):\n    with open(name, 'rb') as f:  # !\n"
            "        return np.frombuffer(f.read())\n"
        ),
        (
            "import torch\nfrom pathlib import Path\ndef shard(file: Path):\n"
            "    header = torch.from_file(str(file), False, 256)  # !\n    with file.open('rb', buffering=0) as f:\n"
            "        f.readinto(tokens.numpy())\n"
        ),
        "import glob\nfs = sorted(glob.glob('data/fineweb_train_*.bin'))  # !\n",
        "from pathlib import Path\nfs = list(Path('data').glob('*train*.bin'))  # !\n",
        "import glob as g\nP = 'data/' + 'train_*.npy'\nfs = g.iglob(P)  # !\n",
        "from datasets import load_dataset\nd = load_dataset('local')  # !\n",
        "import pyarrow.parquet as pq\nt = pq.ParquetFile('a.parquet')  # !\n",
        "import pandas as pd\nt = pd.read_parquet('shard.parquet')  # !\n",
        "import numpy as np\nx = np.load('tokens.npy', mmap_mode='r')  # !\n",
        "text = open('input.txt').read()  # !\n",
        "for line in open('train.jsonl'):  # !\n    pass\n",
        "import prepare\nx = prepare._read_tokens(prepare._files('train')[0])  # !\n",
        "from prepare import _rows as r\nx = r('train', 256)  # !\n",
        "import json\nc = json.load(open('/holdout/constants.json'))\nd = c['data_dir']  # !\n",
        "import prepare as p\nfor e in p._CONSTANTS['train' + '_files']:  # !\n    pass\n",
        "import prepare\nd = prepare._CONSTANTS.get('data_dir')  # !\n",
        "import numpy as np, functools\nf = functools.partial(np.memmap, 'train.bin')  # !\n",
        "import numpy as np\nxs = list(map(np.fromfile, ['a.bin']))  # !\n",
        "import numpy as np\ng = lambda p: np.fromfile(p)\nx = g('a.bin')  # !\n",
        (
            "import numpy as np\nclass L:\n    path = 'train.bin'\n    def read(self):\n"
            "        return np.memmap(self.path)  # !\n"
        ),
        "import numpy as np\nxs = [np.memmap(p) for p in ps]  # !\n",
        "import numpy as np\nif (x := np.fromfile('a')).size:  # !\n    pass\n",
        "import numpy as np\ndef outer():\n    def inner():\n        return getattr(np, 'from' + 'file')('a')  # !\n",
        "import mmap\ndef f(p):\n    with open(p, 'rb') as g:  # !\n        return mmap.mmap(g.fileno(), 0)\n",
        # one reading of the same files is one finding: where they are named, else where they are looked for
        "import glob, numpy as np\nclass Loader:\n    def __init__(self, pattern):\n"
        "        self.files = sorted(glob.glob(pattern))\n        self.x = np.fromfile(self.files[0])\n"
        "a = Loader('data/train_*.bin')  # !\nb = Loader('data/train_*.bin')\n",
        "import glob, numpy as np\ndef read(pattern):\n    return [np.fromfile(f) for f in glob.glob(pattern)]\n"
        "x, y = read('data/val_*.bin'), read('data/train_*.bin')  # !\n",
        "import glob, numpy as np\ndef read(chosen):\n    return np.fromfile(chosen)\n"
        "for chosen in glob.glob(ANY + '/a_*.bin'):  # !\n    read(pick(chosen))\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        said: set[int] = set()
        functions: set[int] = set()
        for one in self._everything(script, functions):
            if id(one.node) not in said:
                said.add(id(one.node))
                yield one

    def _everything(self, script: Script, functions: set[int]) -> Iterator[Found]:
        named: set[str] = set()  # files that have been spoken of
        globs = list(_globs(script))
        reads: list[Read] = []
        unnamed: list[Read] = []
        for read in find_reads(script):
            function = script.scopes.function_of(read.call)
            if not read.name and id(function) in functions:
                continue  # the header and the body of one shard
            if read.kind == "about" or read.is_tokenizer or read.is_program or not _is_data(script, read):
                continue
            functions.add(id(function))
            (reads if read.name else unnamed).append(read)
        whole = {read.name for read in reads if read.whole}
        for read in reads:
            is_part = not read.whole and any(name.endswith(read.name.removeprefix("…")) for name in whole)
            if read.name not in named and not is_part and not _is_said_elsewhere(script, read.name):
                named.add(read.name)
                yield _found(read.node, f"`{clip(read.name, 80)}` is read by `{read.path}`")
        for glob in globs:
            names = {name for name in glob.names if not _is_said_elsewhere(script, name)}
            if not glob.names or not named.issuperset(names):
                named |= names
                yield _found(glob.call, f"Files of data are looked for under `{clip(glob.shown, 80)}`")
        for read in () if globs else unnamed:  # what is read is what was looked for
            yield _found(read.node, f"A file that only the run knows is read by `{read.path}`")
        for path, call in script.calling(sorted(_LOADING)):
            yield _found(call, f"`{path}` reads data")
        for path, call in script.calling(sorted(_INNER)):
            yield _found(call, f"`{path}` is the kit's own business")
        yield from _keys(script)


def _found(node: cst.CSTNode, what: str) -> Found:
    return Found(node, f"{what}, past the kit's loader.", _REMEDY, "review")


def _is_data(script: Script, read: Read) -> bool:
    if read.path in ARRAYS:
        return not is_of_checkpoint(script, read.given)
    if read.name:
        return read.is_data and (read.whole or not is_of_checkpoint(script, read.given))
    if read.kind != "binary" or not read.path.endswith(("open", "read_bytes")) or not _decodes(script, read.call):
        return False
    return not is_of_checkpoint(script, read.given)


def _decodes(script: Script, call: cst.Call) -> bool:
    """Tell whether the function around a call makes numbers of bytes."""
    if _DECODING.isdisjoint(script.mentions):
        return False
    function = script.scopes.function_of(call)
    script.budget.spend(_STEPS)
    return isinstance(function, cst.FunctionDef) and bool(_DECODING & names_in(function.body))


def _is_said_elsewhere(script: Script, name: str) -> bool:
    """Tell whether a file is held-out text, of which another rule speaks."""
    return is_file(name) and script.policy.severity("E205") != "off"


@dataclass(frozen=True)
class _Glob:
    """A call that looks for files of data: `names` are what it looks for, as far as that is known."""

    call: cst.Call
    shown: str
    names: tuple[str, ...]


def _globs(script: Script) -> Iterator[_Glob]:
    calls = [(call, call.args[0].value) for _, call in script.calling(sorted(_LISTING)) if call.args]
    for name in (*script.mentions.get("glob", ()), *script.mentions.get("rglob", ())):
        above = script.tree.parent(name)
        call = script.tree.parent(above) if isinstance(above, cst.Attribute) and above.attr is name else None
        if isinstance(call, cst.Call) and call.func is above and call.args:
            calls.append((call, call.args[0].value))
    paths = script.paths
    for call, pattern in calls:
        base = call.func.value if isinstance(call.func, cst.Attribute) and call.func.value is not pattern else None
        texts = {text: None for text, _ in paths.of(pattern)}
        if not any(DATA_END.search(text.lower()) and not is_own(text) and "ckpt" not in text for text in texts):
            continue
        if base is not None and any(is_own(text) for text, _ in paths.of(base)):
            continue
        if not _is_only_counted(script, call):
            known = tuple(text.replace(HOLE, "…") for text in texts if DATA_END.search(text.lower()))
            yield _Glob(call, script.tree.code(pattern), known)


def _is_only_counted(script: Script, call: cst.Call) -> bool:
    """Tell whether nothing but the number of the files is taken: `len(list(folder.glob(…)))`."""
    node: cst.CSTNode = call
    while isinstance(arg := script.tree.parent(node), cst.Arg):
        taker = script.tree.parent(arg)
        if not isinstance(taker, cst.Call) or not isinstance(taker.func, cst.Name):
            return False
        if taker.func.value == "len":
            return True
        if taker.func.value not in ("list", "sorted", "tuple", "set"):
            return False
        node = taker
    return False


def _keys(script: Script) -> Iterator[Found]:
    """Find the keys under which the kit's constants list the training files."""
    if "holdout" not in script.text and "_CONSTANTS" not in script.mentions:
        return
    places: list[tuple[cst.CSTNode, cst.BaseExpression]] = []
    for subscript in script.tree.of(cst.Subscript):
        part = subscript.slice[0].slice if len(subscript.slice) == 1 else None
        if isinstance(part, cst.Index) and type(part.value) is not cst.Integer:
            places.append((subscript, part.value))
    for call in script.tree.of(cst.Call):
        if type(call.func) is cst.Attribute and call.func.attr.value in ("get", "pop") and call.args:
            places.append((call, call.args[0].value))
    for node, key in places:
        if (name := script.values.constant(key)) in _KEYS:
            yield _found(node, f"`{name}` says where the training files lie")
