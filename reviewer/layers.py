"""From a shell to the text it carries, as a script that the rules can judge like any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from reviewer import gate
from reviewer.report import Finding
from reviewer.scope import Binding
from reviewer.script import Script
from reviewer.unwrap import Ref, Unpacked


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
    compiled = gate.compile_text(text)
    if isinstance(compiled, Finding):
        return replace(compiled, view="unpacked")
    try:
        script = Script(text, shell.policy, compiled, shell.launch, layer=shell.layer + 1)
    except cst.ParserSyntaxError as error:
        return replace(gate.unparsed(error.raw_line), view="unpacked")
    module = script.scopes.module
    for name, meaning in unpacked.names.items():  # the shell's names are the inner text's, too
        if isinstance(meaning, Ref):
            module.names[name].append(Binding("ref", None, module, meaning.path))
        else:
            literal = cst.parse_expression(repr(meaning))
            module.names[name].append(Binding("expr", literal, module))
    return script
