"""Which calls change the file system, and which of their arguments says where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from reviewer.fold import UNKNOWN, names_in
from reviewer.script import Script

# Functions by what they do, each with the positions of the paths that they change, and the keyword of the last.
_WRITTEN: dict[tuple[tuple[int, ...], str], str] = {
    ((1,), "f"): "torch.save torch.serialization.save torch.jit.save torch.export.save",
    (
        (1,),
        "filename",
    ): "safetensors.torch.save_file safetensors.torch.save_model safetensors.numpy.save_file joblib.dump",
    ((0,), "file"): "numpy.save numpy.savez numpy.savez_compressed mlx.core.save mlx.core.savez",
    ((0,), "fname"): "numpy.savetxt matplotlib.pyplot.savefig",
    ((0,), "filename"): "logging.FileHandler logging.handlers.RotatingFileHandler torch.cuda.memory._dump_snapshot",
    ((), "filename"): "logging.basicConfig",
    ((0,), "log_dir"): "torch.utils.tensorboard.SummaryWriter tensorboardX.SummaryWriter",
}
_MADE = "os.mkdir os.makedirs os.mkfifo os.mknod os.mkfifo"
_REMOVED = "os.remove os.unlink os.rmdir os.removedirs shutil.rmtree"
_MARKED = "os.chmod os.lchmod os.chown os.lchown os.truncate os.utime os.setxattr os.removexattr shutil.chown"
_COPIED = "shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.copymode shutil.copystat"
_MOVED = "os.rename os.renames os.replace shutil.move"
_LINKED = "os.link os.symlink"
# These open a file; the position of the mode, where that begins with `r` if it is left out.
_FILES = (
    "builtins.open io.open io.FileIO codecs.open gzip.open bz2.open lzma.open h5py.File zipfile.ZipFile tarfile.open "
    "tarfile.TarFile gzip.GzipFile bz2.BZ2File lzma.LZMAFile shelve.open numpy.lib.format.open_memmap"
)
_OPENED = {**dict.fromkeys(_FILES.split(), 1), "numpy.memmap": 2}
_FLAGS = frozenset({"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"})
_FILE_WORDS = ("file", "filename", "name", "fileobj", "path")
_OF_PATHS = "write_text write_bytes touch mkdir unlink rmdir rename replace symlink_to hardlink_to open chmod lchmod"
_METHODS = frozenset(_OF_PATHS.split())
_TAKING_A_PATH = frozenset(
    {"tofile", "export_chrome_trace", "to_csv", "to_json", "to_parquet", "savefig", "dump_stats"}
)


@dataclass(frozen=True)
class Write:
    """A change of what stands at `path`; `text` says that it writes letters, as into a file that people can read."""

    call: cst.Call
    path: cst.BaseExpression
    what: str
    text: bool = False


def writes(script: Script) -> Iterator[Write]:
    """Yield every change of a file or folder that the script seems to make."""
    for table, what in (_WRITTEN_ALL, "written"), (_CHANGED, "changed"):
        for name, call in script.calling(table):
            positions, keyword = table[name]
            yield from (Write(call, node, what) for node in _given(call, positions, keyword))
    for name, call in script.calling(_OPENED):
        mode = _mode(script, call, _OPENED[name])
        if set(mode) & set("wax+"):
            text = "b" not in mode and name in ("builtins.open", "io.open", "codecs.open")
            yield from (Write(call, node, "written", text) for node in _given(call, (0,), "file"))
    for _, call in script.calling(("os.open", "posix.open")):
        if len(call.args) > 1 and (_FLAGS & names_in(call.args[1].value) or _is_bits(script, call.args[1].value)):
            yield from (Write(call, node, "written") for node in _given(call, (0,), "path"))
    yield from _methods(script)


def _methods(script: Script) -> Iterator[Write]:
    for word in sorted(_METHODS & script.mentions.keys()):
        for call, base in _calls_of(script, word):
            if word == "open" and not set(_mode(script, call, 0)) & set("wax+"):
                continue
            if word == "replace" and len(call.args) != 1:
                continue  # of a text
            letters = word == "write_text" or (word == "open" and "b" not in _mode(script, call, 0))
            yield Write(call, base, "written" if word.startswith("write") else "changed", letters)
            if word in ("rename", "replace"):
                yield from (Write(call, arg.value, "changed") for arg in call.args[:1])
    for word in sorted(_TAKING_A_PATH & script.mentions.keys()):
        for call, _ in _calls_of(script, word):
            yield from (Write(call, arg.value, "written") for arg in call.args[:1] if arg.keyword is None)


def _calls_of(script: Script, word: str) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Yield the calls of a method of this name, with what it is a method of, unless that is a module."""
    for name in script.mentions[word]:
        method = script.tree.parent(name)
        if isinstance(method, cst.Attribute) and method.attr is name:
            call = script.tree.parent(method)
            known = any("(" not in path for path in script.values.paths(method))
            if isinstance(call, cst.Call) and call.func is method and not known:
                yield call, method.value


def _given(call: cst.Call, positions: tuple[int, ...], keyword: str) -> Iterator[cst.BaseExpression]:
    positional = [a.value for a in call.args if a.keyword is None and not a.star]
    yield from (positional[p] for p in positions if p < len(positional))
    words = (keyword, *_FILE_WORDS) if keyword == "file" else (keyword,)
    yield from (a.value for a in call.args if a.keyword is not None and a.keyword.value in words)


def _mode(script: Script, call: cst.Call, position: int) -> str:
    """Return the mode of a call that opens a file; an unknown one is read as `r`."""
    positional = [a.value for a in call.args if a.keyword is None and not a.star]
    named = next((a.value for a in call.args if a.keyword is not None and a.keyword.value == "mode"), None)
    node = named if named is not None else positional[position] if position < len(positional) else None
    value = script.values.constant(node)
    return value if isinstance(value, str) else "r"


def _is_bits(script: Script, flags: cst.BaseExpression) -> bool:
    value = script.values.constant(flags)
    return value is not UNKNOWN and isinstance(value, int) and bool(value & 3 or value & 64)


_WRITTEN_ALL = {name: place for place, names in _WRITTEN.items() for name in names.split()}
_CHANGED: dict[str, tuple[tuple[int, ...], str]] = {
    **dict.fromkeys(f"{_MADE} {_REMOVED} {_MARKED}".split(), ((0,), "path")),
    **dict.fromkeys(_COPIED.split(), ((1,), "dst")),
    **dict.fromkeys(_LINKED.split(), ((1,), "dst")),
    **dict.fromkeys(_MOVED.split(), ((0, 1), "dst")),
}
