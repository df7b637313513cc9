"""The files that a script reads: where, by which name as far as that is known, and what kind of file the name says.

Written files are left out: what is in the output folder, in scratch, or is written by the script under the same name.
So are paths that lead out of the folder of the run, which another rule refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import libcst as cst

from reviewer.files.pathflow import Paths
from reviewer.files.paths import HOLE, OUT, WORK, leads_outside
from reviewer.files.splits import is_own
from reviewer.script import Script

_STREAMS = (
    "builtins.open io.open codecs.open os.open io.FileIO gzip.open gzip.GzipFile bz2.open bz2.BZ2File lzma.open "
    "lzma.LZMAFile tokenize.open zipfile.ZipFile tarfile.open h5py.File numpy.memmap numpy.lib.format.open_memmap"
)
_TEXTS = (
    "linecache.getline linecache.getlines fileinput.input fileinput.FileInput runpy.run_path io.open_code "
    "sqlite3.connect shelve.open dbm.open xml.etree.ElementTree.parse "
    "omegaconf.OmegaConf.load configparser.ConfigParser().read configparser.RawConfigParser().read "
    "configparser.SafeConfigParser().read pandas.read_csv pandas.read_json pandas.read_table pandas.read_excel "
    "polars.read_csv polars.read_json numpy.loadtxt numpy.genfromtxt numpy.fromregex"
)
_BINARY = (
    "numpy.load numpy.fromfile torch.from_file torch.load torch.UntypedStorage.from_file torch.serialization.load "
    "joblib.load pandas.read_pickle pandas.read_parquet polars.read_parquet polars.scan_parquet "
    "pyarrow.parquet.read_table pyarrow.parquet.ParquetFile pyarrow.memory_map safetensors.torch.load_file "
    "safetensors.safe_open datasets.load_from_disk torch.jit.load"
)
_ABOUT = "os.path.getsize os.path.getmtime os.path.getctime os.stat os.lstat os.readlink os.getxattr"
_HANDED = frozenset({"builtins.open", "io.open", "torch.load", "numpy.load", "numpy.fromfile", "numpy.memmap"})
_FUNCTIONS = frozenset([*" ".join((_STREAMS, _TEXTS, _BINARY, _ABOUT)).split(), "functools.partial", "builtins.map"])
_METHODS = frozenset({"read_text", "read_bytes", "open"})
_MODES = frozenset({"r", "rb", "rt", "r+", "r+b", "rb+", "br"})

ARRAYS = frozenset({"numpy.memmap", "numpy.fromfile", "torch.from_file", "torch.UntypedStorage.from_file"}) | {
    "numpy.lib.format.open_memmap"
}

_NOWHERE = (f"{WORK}/{HOLE}", f"./{HOLE}")  # something in the folder of the run
_FEW, MANY = 3, 6  # texts that one expression can be: so few are all meant, among so many most are not
_NAMED = re.compile(r"[^/\x00]*$")
_SETTING = re.compile(
    r"conf|cfg|sett?ing|param|hyper|knob|option|flag|overrid|args|env(?:$|[_.])|sweep|tun(?:e|ing)|schedul|(?:^|[_.])lr"
)
_SETTING_END = re.compile(r"\.(?:json5?|ya?ml|toml|ini|cfg|conf|env|properties|xml|plist|pkl|pickle|hocon|jsonnet)$")
DATA_END = re.compile(
    r"\.(?:bin|npy|npz|parquet|arrow|feather|jsonl|ndjson|tokens?|dat|idx|u16|uint16|h5|hdf5|mds|mdb|tfrecords?|"
    r"tar|zst)"
    r"(?:\.(?:gz|zst|xz|bz2))?$"
)
_DATA = re.compile(
    r"(?:^|/)(?:data|dataset|shards?|corpus)\w*/|train|shard|corpus|token|input\.txt|text8|enwik|wiki|fineweb"
)
_PROGRAM = re.compile(r"(?:^|/)(?:train|prepare)\w*\.py$")
_TOKENIZER = re.compile(r"(?:^|/)(?:tokenizer\.(?:json|model|pkl)|vocab\.(?:json|txt|bpe)|merges\.txt|[\w.-]*\.model)$")


@dataclass(frozen=True)
class Read:
    """One reading of a file. `name` is empty where nothing is known; `whole` says whether its folder is known, too."""

    node: cst.CSTNode
    call: cst.Call
    given: cst.BaseExpression | None
    path: str
    name: str
    whole: bool
    kind: str  # stream or text, binary, about a file

    @property
    def is_program(self) -> bool:
        """Whether this is the script itself or the kit's file."""
        return _PROGRAM.search(self.name) is not None

    @property
    def is_tokenizer(self) -> bool:
        """Whether this is named as the files of tokenizers are."""
        return _TOKENIZER.search(self.name) is not None

    @property
    def is_setting(self) -> bool:
        """Whether the name says settings."""
        last = self.name.rpartition("/")[2].lower()
        return not self.is_data and (_SETTING_END.search(last) or _SETTING.search(last)) is not None

    @property
    def is_data(self) -> bool:
        """Whether the name says text or tokens to train on."""
        return is_data(self.name)


def is_data(name: str) -> bool:
    """Tell whether the name of a file says text or tokens to train on."""
    name = name.lower()
    last = name.rpartition("/")[2]
    if _SETTING.search(last) or last.endswith((".yaml", ".yml", ".toml", ".ini", ".env", "token_bytes.pt")):
        return False
    return DATA_END.search(last) is not None or (_DATA.search(name) is not None and not last.endswith(".py"))


_KNOWN: WeakKeyDictionary[Script, list[Read]] = WeakKeyDictionary()
_WRITTEN: WeakKeyDictionary[Script, set[str]] = WeakKeyDictionary()


def find_reads(script: Script) -> list[Read]:
    """Return what is read of files that the run has not written; worked out once, since several rules ask."""
    if script not in _KNOWN:
        _KNOWN[script] = list(_reads(script))
    return _KNOWN[script]


def written(script: Script) -> set[str]:
    """Return the paths that the script writes under the very same name."""
    find_reads(script)
    return _WRITTEN[script]


def _reads(script: Script) -> Iterator[Read]:
    paths = script.paths
    calls = list(_calls(script, paths))
    written = _WRITTEN[script] = set()
    reading = []
    for call, path, given, kind in calls:
        mode = _mode(script, call) if kind == "stream" else ""
        if set(mode) & set("wax"):
            written |= {text for text, _ in paths.of(given)}
        else:
            reading.append((call, path, given, "binary" if "b" in mode or path.endswith("read_bytes") else kind))
    for _, call in script.calling(("torch.save", "numpy.save", "numpy.savez", "safetensors.torch.save_file")):
        for arg in call.args[:2]:
            written |= {text for text, _ in paths.of(arg.value) if text != HOLE}
    if "write_text" in script.mentions or "write_bytes" in script.mentions:
        for name in (*script.mentions.get("write_text", ()), *script.mentions.get("write_bytes", ())):
            above = script.tree.parent(name)
            if isinstance(above, cst.Attribute):
                written |= {text for text, _ in paths.of(above.value)}
    written.discard(HOLE)
    for call, path, given, kind in reading:
        found = paths.of(given)
        texts = len({text for text, _ in found})  # one name may come in by many calls
        many = texts > MANY
        for text, at in found:
            if text in written or _is_elsewhere(script, text):
                continue
            name = text.removeprefix(WORK).lstrip("/") if text.startswith(WORK) else text
            whole = not name.startswith(HOLE)
            if not whole:
                name = "…/" + name.rpartition("/")[2] if _NAMED.search(name) and name[-1:] != HOLE else ""
            if name and not _is_likely(name, many, texts < _FEW):
                continue
            yield Read(call if many else at or call, call, given, path, name.replace(HOLE, "…"), whole, kind)


def _is_likely(name: str, many: bool, few: bool) -> bool:
    """Tell whether a text is meant as the name of a file: a helper that hands out settings may return any of them."""
    if many:
        return _SETTING_END.search(name.rpartition("/")[2].lower()) is not None
    return few or "." in name or ("/" in name and not name.startswith("None"))


def _calls(script: Script, paths: Paths) -> Iterator[tuple[cst.Call, str, cst.BaseExpression | None, str]]:
    for names, kind in ((_STREAMS, "stream"), (_TEXTS, "text"), (_BINARY, "binary"), (_ABOUT, "about")):
        for path, call in script.calling(names.split()):
            args = [a.value for a in call.args if not a.star]
            given = next(
                (a.value for a in call.args if a.keyword is not None and a.keyword.value in ("file", "f")), None
            )
            yield call, path, given or (args[0] if args else None), kind
    for path, node in script.handing_on(_HANDED):  # `partial(open, "a")`, `map(open, ["a"])`
        above = script.tree.parent(node)
        taker = script.tree.parent(above) if isinstance(above, cst.Arg) else None
        if not isinstance(taker, cst.Call) or taker.args[0] is not above:
            continue
        for arg in taker.args[1:]:
            yield taker, path, arg.value, "stream" if path in _STREAMS.split() else "binary"
    for method in sorted(_METHODS & script.mentions.keys()):
        for name in script.mentions[method]:
            above = script.tree.parent(name)
            method_call = script.tree.parent(above) if isinstance(above, cst.Attribute) else None
            if not isinstance(above, cst.Attribute) or not isinstance(method_call, cst.Call):
                continue
            if above.attr is not name or method_call.func is not above:
                continue
            known = script.values.paths(above)
            if any(p in _STREAMS.split() for p in known):
                continue
            if method == "open" and not _is_path(script, method_call, known) and not _is_named(paths, above.value):
                continue
            yield method_call, f"pathlib.Path.{method}", above.value, "stream"


def _is_path(script: Script, call: cst.Call, known: list[str]) -> bool:
    """Tell whether the `open` of something is that of a path: it is one, or it is given how to open."""
    if any(p.startswith("pathlib.") for p in known):
        return True
    return bool(call.args) and script.values.text(call.args[0].value) in _MODES


def _is_named(paths: Paths, node: cst.BaseExpression) -> bool:
    return any(text.strip(HOLE + WORK + "/") for text, _ in paths.of(node))


def _mode(script: Script, call: cst.Call) -> str:
    """Return how a call opens a file, as far as that is known."""
    paths = script.path_of(call)
    method = isinstance(call.func, cst.Attribute) and _FUNCTIONS.isdisjoint(paths)
    position = 0 if method else 1 + any(p in ("functools.partial", "builtins.map") for p in paths)
    named = next((a.value for a in call.args if a.keyword is not None and a.keyword.value == "mode"), None)
    plain = [a.value for a in call.args if a.keyword is None]
    mode = script.values.constant(named or (plain[position] if len(plain) > position else None))
    return mode if isinstance(mode, str) else ""


def _is_elsewhere(script: Script, text: str) -> bool:
    """Tell whether a path is the run's own, the script itself, or is out of the folder and so another rule's."""
    if not text or text.lstrip("-").isdigit() or text.startswith((OUT, "/")):
        return True
    return leads_outside(text, script.policy) or is_own(text) or text in _NOWHERE or "://" in text
