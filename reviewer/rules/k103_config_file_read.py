"""K103 config-file-read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.sources import is_of_checkpoint, sources
from reviewer.environment.typed_in import find_typed
from reviewer.files.reads import ARRAYS, Read, find_reads
from reviewer.files.siblings import find_siblings, gives_values, is_settings
from reviewer.found import Found
from reviewer.matchers.unlisted import find_unlisted, is_listed
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.wording import clip

_YAML = "load load_all safe_load safe_load_all full_load full_load_all unsafe_load unsafe_load_all"
# These make settings of a text; where the text comes from a file that has no known name, a person looks.
_PARSERS = frozenset(
    [f"yaml.{name}" for name in _YAML.split()]
    + [
        f"{m}.{n}"
        for m in ("toml", "tomllib", "tomli", "json", "json5", "hjson", "plistlib")
        for n in ("load", "loads")
    ]
    + ["ruamel.yaml.YAML().load", "tomlkit.load", "tomlkit.parse", "ast.literal_eval", "csv.DictReader"]
    + [f"configparser.{c}().{n}" for c in ("ConfigParser", "RawConfigParser") for n in ("read_file", "read_string")]
)
_WHOLE = frozenset([
    "hydra.main", "hydra.compose", "hydra.initialize", "hydra.initialize_config_dir", "hydra.initialize_config_module",
    "confuse.Configuration", "dynaconf.Dynaconf", "anyconfig.load", "ml_collections.config_flags.DEFINE_config_file",
])  # fmt: skip
_RESOURCES = ("importlib.resources.", "importlib_resources.", "pkgutil.get_data", "pkg_resources.resource_")
_PROGRAMS = frozenset({
    "importlib.util.spec_from_file_location", "importlib.machinery.SourceFileLoader", "runpy.run_path",
    "runpy.run_module", "zipimport.zipimporter", "imp.load_source", "numpy.lib.npyio.DataSource",
})  # fmt: skip
_REMEDY = "Write the values in the file; what a run has written itself it may read again from `out/…`."


class ConfigFileRead(Rule):
    """Refuses settings that come from another file.

    What it looks for
        Files below the folder of the run that are read and that the run has not written: JSON, YAML, TOML, INI, `.env`,
        pickles, arrays named like settings, plain text; by `open`, `Path.read_text`, `numpy.load`, `configparser`,
        OmegaConf, `pandas`, `linecache` and the like, through names, helpers and `os.path.join`. Modules beside the
        script (`import config`), files that are run or loaded as modules, resources of packages, what is typed or piped
        in, what stands open under a number, shared memory and connections of other processes. Weights and other binary
        files go to a person, and so does a parser whose file has no known name, a file's size or time, and an unknown
        module that is used for its values alone. Where the competition lists the only modules that may be imported,
        any other one that is neither Python's nor the kit's.

    Why it is refused
        The scored model must be in the file. Settings in another one can change while the text that was audited stays
        the same, and a result cannot be traced to a script.

    Do instead
        Write the values where they are used. Not findings: what stands in `out/`, in `/tmp` or was written under
        the same name, the path that `load_for_eval` is given and what lies beside it, what the kit hands out, the
        files of a tokenizer, the script's own text. Training data are the business of D304.
    """

    code = "K103"

    VALID: ClassVar = (
        (
            "from pathlib import Path\nlogfile = None\nif rank == 0:\n    logfile = Path('logs') / f'{run}.txt'\n"
            "    with logfile.open('w') as f:\n        print(1, file=f)\ndef say(x):\n"
            "    with logfile.open('a') as f:\n        print(x, file=f)\n"
        ),
        "import json\nlog = json.load(open('out/log.json'))\n",
        "import json\nc = json.load(open('/holdout/constants.json'))\n",
        "import torch\ndef load_for_eval(path, device):\n    return torch.load(path, weights_only=True)\n",
        (
            "import json, os\ndef load_for_eval(checkpoint_path, device):\n"
            "    with open(os.path.join(os.path.dirname(checkpoint_path), 'config.json')) as f:\n"
            "        return json.load(f)\n"
        ),
        (
            "import json\nfrom pathlib import Path\ndef read(p):\n"
            "    return json.loads((Path(p) / 'config.json').read_text())\n"
            "def load_for_eval(checkpoint_path, device):\n    return read(checkpoint_path)\n"
        ),
        "import json\njson.dump({}, open('state.json', 'w'))\ns = json.load(open('state.json'))\n",
        "with open(__file__) as f:\n    print(f.read())\nimport sys\nprint(open(sys.argv[0]).read())\n",
        "from pathlib import Path\ncode = Path(__file__).read_text()\nopen('train.py').read()\n",
        "from prepare import ensure_tokenizer, make_dataloader\nt = ensure_tokenizer()\n",
        (
            "import sentencepiece as s\np = s.SentencePieceProcessor(model_file='t.model')\n"
            "open('tokenizer.json').read()\n"
        ),
        "import yaml\nc = yaml.safe_load('lr: 1')\nprint(yaml.dump(c))\n",
        "import json\nc = json.loads('{}')\nd = json.loads(text)\nimport ast\nx = ast.literal_eval('[1]')\n",
        "import numpy as np\nx = np.memmap('data/train_000.bin', mode='r')\ny = np.load('shards/train.npy')\n",
        "import torch, numpy, flash_attn, prepare\nfrom torch._inductor import config\nimport torch._dynamo.config\n",
        "import my_kernels\ny = my_kernels.attention(q, k)\n",
        "open('out/a', 'w').write('x')\nopen('notes.txt', 'a').write('x')\n",
        "class C:\n    def open(self, x):\n        return x\nC().open('config.json')\nzipped.open('a')\n",
        "def input(x):\n    return x\ny = input(3)\nf(input=1, stdin=2)\n",
        "import torch\ntorch.save({}, 'ckpt.pt')\nw = torch.load('ckpt.pt', weights_only=True)\n",
        "text = \"open('config.json')\"  # open('config.json')\n",
        "import configparser\nc = configparser.ConfigParser()\nc['a'] = {}\n",
        "import os\nn = os.path.getsize('out/final.pt')\n",
        "import sys\nprint(sys.stdin.isatty())\nsys.stdin.close()\nimport os\nos.fdopen(1, 'w')\nopen(2, 'w')\n",
        "import os, tempfile\nfd, name = tempfile.mkstemp()\nos.read(fd, 9)\nr, w = os.pipe()\nos.fdopen(r)\n",
        "import mmap\nm = mmap.mmap(-1, 4096)\nimport subprocess, sys\nsubprocess.Popen(['ls'], stdin=sys.stdin)\n",
        (
            "from multiprocessing.shared_memory import SharedMemory as S\na = S('rows', create=True, size=9)\n"
            "b = S(name='rows')\nc = S(name=a.name)\n"
        ),
        "import fileinput\nfor line in fileinput.input('out/log.txt'):\n    print(line)\n",
        "class N(nn.Module):\n    def forward(self, input):\n        return self.f(input)\nlist(map(f, input_ids))\n",
        "import select\nselect.select([server], [], [], 1)\n",
    )
    INVALID: ClassVar = (
        "import json\nc = json.load(open('config.json'))  # !\n",
        "import json as j\nwith open('conf/a.json') as f:  # !\n    c = j.load(f)\n",
        "import yaml\nc = yaml.safe_load(open('hp.yaml'))  # !\n",
        "import tomllib\nwith open('pyproject.toml', 'rb') as f:  # !\n    c = tomllib.load(f)\n",
        "import configparser\nc = configparser.ConfigParser()\nc.read('run.ini')  # !\n",
        "from configparser import ConfigParser as P\np = P()\np.read(filenames='a.cfg')  # !\n",
        "from omegaconf import OmegaConf as O\nc = O.load('base.yaml')  # !\n",
        "import hydra\n@hydra.main(config_path='conf')  # !\ndef main(c):\n    pass\n",
        "import pickle\nc = pickle.load(open('hparams.pkl', 'rb'))  # !\n",
        "import runpy\nc = runpy.run_path('settings.py')  # !\n",
        "exec(open('config.py').read())  # !\n",
        "for line in open('.env'):  # !\n    print(line)\n",
        "import numpy as np\nlr = np.load('hparams.npy')[0]  # !\n",
        "import ast\nc = ast.literal_eval(open('c.txt').read())  # !\n",
        "lr = float(open('lr').read())  # !\n",
        (
            "from pathlib import Path\nlr = float(Path('lr.txt').read_text())  # !\n"
            "b = (Path('a') / 'b').read_bytes()  # ! review\n"
        ),
        "from pathlib import Path\nc = Path(__file__).parent / 'config.json'\nwith c.open() as f:  # !\n    pass\n",
        "import os\nhere = os.path.dirname(os.path.abspath(__file__))\nopen(os.path.join(here, 'conf.txt'))  # !\n",
        "import config  # !\nlr = config.lr\n",
        "from settings import LR  # !\nfrom .hparams import *  # !\nfrom . import knobs  # !\n",
        "import importlib\nc = importlib.import_module('my_config')  # !\nd = __import__('params')  # !\n",
        "try:\n    import local_settings as s  # !\nexcept ImportError:\n    s = None\n",
        "import values  # ! review\nlr, wd = values.LR, values.WD\n",
        "from importlib import resources\nt = resources.files('a').joinpath('b').read_text()  # !\n",
        "import pkgutil\nd = pkgutil.get_data('a', 'b.json')  # !\n",
        "import importlib.util as u\ns = u.spec_from_file_location('c', 'c.py')  # !\n",
        "lr = float(input())  # !\nimport sys\nwd = sys.stdin.readline()  # !\nx = open(0).read()  # !\n",
        "def read(p):\n    return open(p).read()\nlr = read('lr.txt')  # !\nlog = read('out/a')\n",
        "def a(p):\n    return open(p)\ndef b(p):\n    return a(p)\nc = b('c.json')  # !\n",
        "import functools\nf = functools.partial(open, 'c.json')  # !\n",
        "g = lambda p: open(p).read()\nx = g('c.yaml')  # !\n",
        "class C:\n    path = 'c.json'\n    def read(self):\n        return open(self.path)  # !\n",
        "class C:\n    def path(self):\n        return 'c.json'\nopen(C().path())  # !\n",
        "class C:\n    @property\n    def path(self):\n        return 'c.json'\nopen(C().path)  # !\n",
        "if (f := open('c.json')):  # !\n    pass\n",
        "xs = [open(p).read() for p in ('a.json', 'b.json')]  # !\n",
        "import io\ngetattr(io, 'op' + 'en')('c.json')  # !\n",
        "o = open\nE = '.json'\nx = o(f'c{E}')  # !\n",
        "def outer():\n    def inner():\n        return open('c.json')  # !\n    return inner()\n",
        "import torch\nw = torch.load('init.pt', weights_only=True)  # ! review\n",
        "import json, sys\ndef f(p):\n    with open(p) as g:\n        return json.load(g)  # ! review\n",
        "import os\nlr = os.path.getsize('lr') / 100  # ! review\nx = os.readlink('lr')  # ! review\n",
        "import pandas as pd\nd = pd.read_csv('sweep.csv')  # !\n",
        "import linecache\nlr = linecache.getline('lr.txt', 1)  # !\n",
        "match open('c.json').read():  # !\n    case 'a':\n        x = 1\n",
        "list(map(open, ['c.json']))  # !\n",
        "import sys\nfor line in sys.stdin:  # !\n    print(line)\n",
        "import sys, json\nc = json.load(sys.stdin)  # !\nlr = next(iter(sys.__stdin__))  # !\n",
        "from sys import stdin as s\nlr = float(s.buffer.read())  # !\n",
        "import os\nlr = float(os.read(0, 9))  # !\nwd = os.fdopen(3).read()  # !\nx = os.dup(4)  # !\n",
        "import fileinput\nlr = float(next(iter(fileinput.input())))  # !\n",
        "lr = [float(x) for x in iter(input, '')]  # !\n",
        "import mmap\nm = mmap.mmap(3, 4096)  # !\n",
        "from multiprocessing import shared_memory\nm = shared_memory.SharedMemory(name='cap')  # !\n",
        "from multiprocessing import shared_memory as s\nm = s.ShareableList(name='caps')  # !\n",
        "from multiprocessing.connection import Client\nlr = Client('/tmp/x').recv()  # !\n",
        "import select, sys\nfast = select.select([0], [], [], 0)[0]  # !\n",
        "import click\nlr = click.prompt('lr')  # !\n",
        "import json, os\nd = os.path.join(root, 'config.json')\nc = json.load(open(d))  # ! review\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        said: set[int] = set()
        for one in self._everything(script):
            if id(one.node) not in said:
                said.add(id(one.node))
                yield one

    def _everything(self, script: Script) -> Iterator[Found]:
        for node, module in find_unlisted(script):
            what = f"`{clip(module, 60)}` is not on the list of modules that this competition lets scripts import."
            yield Found(node, what, "Do without it, or with a module of the list; the rules' page has it.")
        reads = find_reads(script)
        for read in reads:
            yield from _read(script, read)
        if unknown := {id(r.call): r for r in reads if not r.name and r.kind != "about"}:
            yield from _parsed(script, unknown)
        for path, calls in script.called.items():
            if path in _WHOLE:
                yield from (_found(call, f"`{path}` reads settings from files") for call in calls)
            elif path in _PROGRAMS:
                yield from (_found(call, f"`{path}` takes code from another file") for call in calls)
            elif path.startswith(_RESOURCES):
                yield from (_found(call, f"`{clip(path, 60)}` reads a file of a package") for call in calls)
        for node, what in find_typed(script):
            yield _found(node, what)
        for node, module, names in find_siblings(script):
            if not is_listed(script, module):
                yield _sibling(script, node, module, names)


def _found(node: cst.CSTNode, what: str, at_most: Severity = "reject") -> Found:
    return Found(node, f"{what}, which is outside the file.", _REMEDY, at_most)


def _read(script: Script, read: Read) -> Iterator[Found]:
    if not read.name or read.is_data or read.is_program or read.is_tokenizer or read.path in ARRAYS:
        return
    if not read.whole and (not read.is_setting or _is_known(script, read)):
        return
    name = clip(read.name, 80)
    if read.kind == "about":
        yield _found(read.node, f"The size, time or target of `{name}` decides here", "review")
    elif not read.whole:
        yield _found(read.node, f"`{name}` is read", "review")
    else:
        weights = not read.is_setting and (read.kind == "binary" or read.name.endswith((".py", ".pt", ".pth")))
        yield _found(read.node, f"`{name}` is read", "review" if weights else "reject")


def _is_known(script: Script, read: Read) -> bool:
    return is_of_checkpoint(script, read.given)


def _parsed(script: Script, unknown: dict[int, Read]) -> Iterator[Found]:
    """Find where a file without a known name is read as settings."""
    for path, call in script.calling(sorted(_PARSERS)):
        if path == "json.loads" and "read" not in script.tree.code(call):
            continue  # one message or line of many
        parts = sources(script, call.args[0].value) if call.args else ()
        if any(id(part) in unknown and not _is_known(script, unknown[id(part)]) for part in parts):
            yield _found(call, f"`{path}` makes settings of a file that only the run knows", "review")


def _sibling(script: Script, node: cst.CSTNode, module: str, names: list[str]) -> Found:
    if is_settings(module):
        return _found(node, f"`{module}` holds settings")
    if gives_values(script, names) or (isinstance(node, cst.ImportFrom) and isinstance(node.names, cst.ImportStar)):
        return _found(node, f"`{module}` is no package known here, and the script takes values from it", "review")
    what = f"`{module}` is neither Python's nor the kit's, and no package that is known here."
    return Found(node, what, "Nothing to do, if the sandbox has it.", "info")
