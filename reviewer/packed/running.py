"""What runs text, and whether that text comes out of a decoder: then the script is a shell around another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from reviewer.nodes import children

if TYPE_CHECKING:
    from reviewer.script import Script

DECODERS = ("base64.", "zlib.", "lzma.", "gzip.", "bz2.", "marshal.", "binascii.", "codecs.")
RUNNERS = frozenset(
    [
        "builtins.exec",
        "builtins.eval",
        "builtins.compile",
        "builtins.execfile",
        "builtins.breakpoint",
        "sys.breakpointhook",
        "types.FunctionType",
        "types.CodeType",
        "typing.get_type_hints",
        "typing._eval_type",
        "typing.ForwardRef()._evaluate",
        "typing.evaluate_forward_ref",
        "typing_extensions.get_type_hints",
        "runpy.run_path",
        "runpy.run_module",
        "code.InteractiveInterpreter",
        "code.InteractiveConsole",
        "marshal.loads",
        "marshal.load",
        "code.interact",
        "codeop.compile_command",
        "doctest.run_docstring_examples",
        "doctest.testfile",
        "doctest.testmod",
        "cProfile.run",
        "cProfile.runctx",
        "logging.config.fileConfig",
        "logging.config.listen",
        "pdb.run",
        "pdb.runeval",
        "profile.run",
        "profile.runctx",
        "torch.jit.CompilationUnit",
        "importlib.util.spec_from_file_location",
        "importlib.util.module_from_spec",
        "importlib.machinery.SourceFileLoader",
        "importlib.machinery.SourcelessFileLoader",
        "imp.load_source",
        # of libraries: each takes a text
        "bdb.Bdb().run",
        "bdb.Bdb().runeval",
        "numexpr.evaluate",
        "numpy.f2py.compile",
        "numpy.testing.measure",
        "numpy.testing.rundocs",
        "numpy.testing.runstring",
        "pandas.eval",
        "rlcompleter.Completer",
        "sympy.lambdify",
        "sympy.parse_expr",
        "sympy.sympify",
        "torch._inductor.codecache.PyCodeCache.load",
        "torch._inductor.codecache.PyCodeCache.load_by_key_path",
        "torch.utils.benchmark.Timer",
        "torch.utils.collect_env.run",
        "trace.Trace().run",
        "trace.Trace().runctx",
        "_testcapi.run_in_subinterp",
        "_xxsubinterpreters.run_string",
        "_interpreters.exec",
        "_interpreters.run_string",
    ]
)


def is_packed(script: Script) -> bool:
    """Tell whether a text executes, somewhere, what it decodes."""
    return any(runs_decoded(script, call) for _, call in script.calling(RUNNERS))


def runs_decoded(script: Script, call: cst.Call) -> bool:
    """Tell whether a call executes something that comes out of a decoder, directly or through names."""
    runs = bool(call.args) and any(p in RUNNERS for p in script.path_of(call))
    return runs and is_decoded(script, call.args[0].value)


def is_decoded(script: Script, payload: cst.CSTNode) -> bool:
    """Tell whether a value comes out of a decoder, directly or through names, from what the file carries."""
    todo: list[cst.CSTNode] = [payload]
    seen: set[int] = set()
    while todo and len(seen) < 200:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, cst.Call) and any(p.startswith(DECODERS) for p in script.path_of(node)):
            return True
        if isinstance(node, cst.Name):
            bindings = script.scopes.of(node).find(node.value)
            todo.extend(b.node for b in bindings if b.node is not None and b.kind in ("expr", "drawn"))
        todo.extend(children(node))
    return False
