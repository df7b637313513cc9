"""Where a script reads its own text: by its file, by `inspect`, through what loaded it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.dataflow.uses import used
from reviewer.files.ownfile import is_own_file
from reviewer.files.writing import writes
from reviewer.matchers.inspected import read_sources
from reviewer.script import Script

_OPENING = ("builtins.open", "io.open", "codecs.open", "io.open_code", "tokenize.open", "io.FileIO", "os.open")
_LINES = frozenset({"linecache.getline", "linecache.getlines", "pkgutil.get_data", "linecache.updatecache"})
_METHODS = frozenset({"read_text", "read_bytes", "open"})
_LOADERS = frozenset({"get_source", "get_data", "get_code"})


def find_own_reads(script: Script) -> Iterator[cst.CSTNode]:
    """Yield each place once."""
    seen: set[int] = set()
    for node in _places(script):
        if id(node) not in seen:
            seen.add(id(node))
            yield node


def _places(script: Script) -> Iterator[cst.CSTNode]:
    written = {id(write.call) for write in writes(script)} if "__file__" in script.mentions else set()
    for _, call in script.calling(_OPENING):
        if call.args and id(call) not in written:
            yield from is_own_file(script, call, call.args[0].value)
    for word in sorted(_METHODS & script.mentions.keys()):
        for name in script.mentions[word]:
            method = script.tree.parent(name)
            call_ = script.tree.parent(method) if isinstance(method, cst.Attribute) else None
            called = isinstance(call_, cst.Call) and call_.func is method and id(call_) not in written
            if called and isinstance(method, cst.Attribute) and isinstance(call_, cst.Call):
                yield from is_own_file(script, call_, method.value)
    for whose, node in read_sources(script):
        if whose != "foreign":
            yield node
    for _, node in used(script, _LINES):
        yield node
    for word in sorted(_LOADERS & script.mentions.keys()):
        for name in script.mentions[word]:
            method = script.tree.parent(name)
            if isinstance(method, cst.Attribute) and "loader" in script.tree.code(method.value).lower():
                yield method
