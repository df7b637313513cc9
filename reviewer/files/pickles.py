"""What reads pickles, and whether the file itself carries what is read."""

from __future__ import annotations

import libcst as cst

from reviewer.packed.running import DECODERS
from reviewer.script import Script

_MODULES = ("pickle", "_pickle", "cPickle", "dill", "cloudpickle", "torch.serialization.pickle")
_NAMES = ("load", "loads", "Unpickler", "_load", "_loads", "_Unpickler")
_OTHERS = (
    "shelve.open shelve.Shelf joblib.load torch.jit.load torch.package.PackageImporter pandas.read_pickle "
    "pandas.io.pickle.read_pickle multiprocessing.reduction.ForkingPickler.loads yaml.unsafe_load yaml.unsafe_load_all "
    "torch.serialization._load torch.serialization._legacy_load torch.export.load torch.export.serde.load"
)
UNPICKLERS = frozenset([*(f"{m}.{n}" for m in _MODULES for n in _NAMES), *_OTHERS.split()])


def is_carried(script: Script, call: cst.Call) -> bool:
    """Tell whether the bytes that a call reads stand in the script, packed or not."""
    todo = [(arg.value, False) for arg in call.args[:1]]
    while todo:
        node, inside = todo.pop()
        constant = script.values.constant(node)
        if isinstance(constant, bytes) or (inside and isinstance(constant, str)):
            return True  # a plain text is the name of a file
        if isinstance(node, cst.Call) and any(p.startswith((*DECODERS, "io.BytesIO")) for p in script.path_of(node)):
            todo.extend((arg.value, True) for arg in node.args[:1])
    return False
