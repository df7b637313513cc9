"""Ways to the environment that do not look like reading it: through text, other processes, or every object there is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from reviewer.dataflow.pieces import joined_texts
from reviewer.fold import UNKNOWN
from reviewer.script import Script
from reviewer.values import ENVIRONMENT_NAMES

_NAMED = re.compile(r"(?:(?:os|posix|nt)[.:])?(?:environb?|getenvb?)")
_FORMATTED = re.compile(r"\{[^{}]*\.(?:environb?|getenvb?)\b")
_EXPANDING = frozenset({"os.path.expandvars", "posixpath.expandvars", "ntpath.expandvars"})
_EVERYTHING = frozenset({"gc.get_objects", "gc.get_referrers", "gc.get_referents"})
# These answer with what variables say: `COLUMNS`, `USER`, `LANG`, `PATH`, `QUERY_STRING`.
_ANSWERING = frozenset([
    "shutil.get_terminal_size", "getpass.getuser", "os.get_exec_path", "locale.getlocale", "locale.getdefaultlocale",
    "gettext.gettext", "gettext.ngettext", "gettext.find", "gettext.translation", "cgi.FieldStorage", "cgi.parse",
    "netrc.netrc", "webbrowser.get", "mimetypes.init", "urllib.request.getproxies",
])  # fmt: skip
_PROCESSES = ("run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput")
_COMMANDS = frozenset({"os.popen", "os.system", *(f"subprocess.{name}" for name in _PROCESSES)})
_TELLING_WORDS = frozenset({"env", "printenv", "export", "set", "declare", "/usr/bin/env", "/usr/bin/printenv"})
_WORD = re.compile(r"[^\s;|&()]+")


def find_detours(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield each detour with a sentence that says what it is."""
    for text in script.tree.of(cst.SimpleString):
        if "env" in text.value:
            yield from _text(script, text)
    for joined, value in joined_texts(script):
        if _names_it(value):
            yield from _unless_resolved(script, joined)
    for pattern in script.tree.of(cst.MatchKeywordElement):
        if pattern.key.value in ENVIRONMENT_NAMES:
            yield pattern.key, "A pattern takes the environment out of a module here."
    for _, call in script.calling(_EXPANDING):
        yield call, "`expandvars` puts variables of the environment into a text."
    for path, call in script.calling(_EVERYTHING):
        yield call, f"`{path}` hands out every object of the process, the environment among them."
    for _, call in script.calling(_COMMANDS):
        if call.args and _reads_it(script.values.constant(call.args[0].value)):
            yield call, "Another process is asked for the environment here."


def find_answers(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield the calls of functions that look at a variable on their own account, which may be all that is wanted."""
    for path, call in script.calling(_ANSWERING):
        if not isinstance(script.tree.parent(call), cst.Expr):
            yield call, f"`{path}` answers with what a variable of the environment says."


def _text(script: Script, node: cst.SimpleString) -> Iterator[tuple[cst.CSTNode, str]]:
    if "environ" in node.value and node.value.strip("\"'").startswith("/proc/"):
        yield node, f"{node.value} holds the whole environment, so any setting may come from outside the file."
        return
    value = script.values.constant(node)
    parent = script.tree.parent(node)
    if _names_it(value):
        yield from _unless_resolved(script, node)
    elif isinstance(value, str) and _FORMATTED.search(value) and isinstance(parent, cst.Attribute | cst.Arg):
        yield node, "A text is filled in with the environment of a module here."


def _names_it(value: object) -> bool:
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return isinstance(value, str) and _NAMED.fullmatch(value) is not None


def _unless_resolved(script: Script, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield a text that is the name of the environment, where it is not part of a look-up that is followed anyway."""
    for above in script.tree.ancestors(node):
        if isinstance(above, cst.Call | cst.Subscript) and script.values.of(above) and not _only_named(script, above):
            return
        if isinstance(above, cst.Assign | cst.AnnAssign | cst.Expr) and script.tree.parent(node) is above:
            return  # a plain constant is harmless until somebody uses it
        if isinstance(above, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            yield node, f"`{script.tree.code(node)}` names the environment, to be looked up where nobody sees it."
            return


def _only_named(script: Script, node: cst.Call | cst.Subscript) -> bool:
    """Tell whether a call is resolved to its own name alone, so that nobody knows what it gives."""
    return isinstance(node, cst.Call) and all(p.endswith("()") for p in script.values.paths(node))


def _reads_it(command: object) -> bool:
    if command is UNKNOWN:
        return False
    words = command if isinstance(command, list) else _WORD.findall(command) if isinstance(command, str) else []
    words = [word for word in words if isinstance(word, str)]
    text = " ".join(words)
    return "$" in text or "environ" in text or any(w in _TELLING_WORDS for w in words[:3])
