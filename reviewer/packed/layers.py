"""From a shell to the text it carries, as a script that the rules can judge like any other."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import libcst as cst

from reviewer import gate
from reviewer.packed.shellvalues import Ref, Unpacked
from reviewer.report import Finding
from reviewer.scope import Binding
from reviewer.script import Script


def inner_texts(script: Script) -> Iterator[Script | Finding]:
    """Yield the script inside a shell, the one inside that, and so on; a Finding where one cannot be read."""
    while isinstance(unpacked := script.unpacked, Unpacked):
        inner = _read(unpacked, script)
        yield inner
        if isinstance(inner, Finding):
            return
        script = inner


def _read(unpacked: Unpacked, shell: Script) -> Script | Finding:
    """Pass a text through the gate and the compiler, as if it had been sent as it is."""
    if refused := gate.check(unpacked.data, shell.policy.max_bytes):
        return replace(refused, view="unpacked")
    text = unpacked.data.decode("utf-8")
    if refused := gate.uncompiled(text):
        return replace(refused, view="unpacked")
    try:
        outside = [*shell.tree.outside, *_binding(shell, unpacked.others)]
        script = Script(text, shell.policy, shell.launch, shell.layer + 1, outside, shell.context)
    except cst.ParserSyntaxError as error:
        return replace(gate.unparsed(error.raw_line), view="unpacked")
    module = script.scopes.module
    script.handed = {n: v for n, v in shell.handed.items() if n not in unpacked.others} | unpacked.names
    for name, meaning in script.handed.items():  # the shell's names are the inner text's, too
        if isinstance(meaning, Ref):
            module.names[name].append(Binding("ref", None, module, meaning.path))
        else:
            literal = cst.parse_expression(repr(meaning))
            module.names[name].append(Binding("expr", literal, module))
    return script


def _binding(shell: Script, names: Collection[str]) -> Iterator[cst.CSTNode]:
    """Yield the statements of a shell that bind one of these names."""
    for statement in shell.tree.module.body:
        small = statement.body if isinstance(statement, cst.SimpleStatementLine) else (statement,)
        for one in small:
            match one:
                case cst.FunctionDef(name=cst.Name(value=name)) if name in names:
                    yield one
                case cst.Assign(targets=targets) if any(_name(t.target) in names for t in targets):
                    yield one
                case cst.AnnAssign(target=target) | cst.AugAssign(target=target) if _name(target) in names:
                    yield one


def _name(node: cst.CSTNode) -> str:
    return node.value if isinstance(node, cst.Name) else ""
