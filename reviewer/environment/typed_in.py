"""What comes in without a name of a file: typed, piped, left in memory by another process, sent through a connection.

An open file is a number, and 0 is what the launch command was given. Numbers of files that the script has opened
itself are not known here and say nothing; a number that is written out was opened by somebody else.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from reviewer.script import Script

_ASKING = frozenset({
    "builtins.input", "getpass.getpass", "click.prompt", "click.confirm", "typer.prompt", "typer.confirm",
    "prompt_toolkit.prompt", "rich.prompt.Prompt.ask", "rich.prompt.IntPrompt.ask", "rich.prompt.FloatPrompt.ask",
    "rich.prompt.Confirm.ask", "click.get_text_stream", "click.get_binary_stream",
})  # fmt: skip
_STREAMS = ("sys.stdin", "sys.__stdin__")
_QUIET = frozenset({"isatty", "close", "fileno", "closed", "reconfigure", "encoding", "name"})
_NUMBERED = frozenset({
    "builtins.open", "io.open", "io.FileIO", "os.fdopen", "os.read", "os.readv", "os.pread", "os.preadv", "os.dup",
    "mmap.mmap", "socket.fromfd", "socket.socket", "numpy.fromfile", "numpy.memmap", "os.sendfile", "os.splice",
})  # fmt: skip
_WAITING = ("select.select", "select.poll().register", "select.epoll().register")
_LISTED = frozenset({"fileinput.input", "fileinput.FileInput"})
_MEMORY = ("multiprocessing.shared_memory.SharedMemory", "multiprocessing.shared_memory.ShareableList")
_SENT = frozenset({
    "multiprocessing.connection.Client", "multiprocessing.managers.BaseManager().connect", "_posixshmem.shm_open",
    "multiprocessing.managers.SyncManager().connect", "torch.distributed.TCPStore().get",
})  # fmt: skip
_TYPED = "What is typed in decides here"


def find_typed(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield each place with the beginning of a sentence about it."""
    yield from ((call, _TYPED) for _, call in script.calling(sorted(_ASKING)))
    yield from ((node, _TYPED) for _, node in script.handing_on({"builtins.input"}))
    for word in sorted({"stdin", "__stdin__", *(name for name, path in script.imports if path in _STREAMS)}):
        for mention in script.mentions.get(word, ()):
            yield from _stream(script, mention)
    for path, call in script.calling(sorted(_NUMBERED)):
        number = script.values.constant(call.args[0].value) if call.args else None
        # 1 and 2 are what the script prints to, and -1 is no file at all
        if type(number) is int and (number == 0 or number > 2) and not _writes(script, call):
            yield call, _TYPED if number == 0 else f"`{path}` reads what was opened before the script began"
    for path, call in script.calling(sorted(_LISTED)):
        if not any(a.keyword is None or a.keyword.value == "files" for a in call.args):
            yield call, f"`{path}` reads what the launch command names, or what is typed in"
    for path, call in script.calling(_WAITING):
        if call.args and 0 in _elements(script, call.args[0].value):
            yield call, f"`{path}` tells whether something is typed in"
    yield from _memory(script)
    for path, call in script.calling(sorted(_SENT)):
        yield call, f"`{path}` takes what another process has"


def _stream(script: Script, mention: cst.Name) -> Iterator[tuple[cst.CSTNode, str]]:
    above = script.tree.parent(mention)
    node = above if isinstance(above, cst.Attribute) and above.attr is mention else mention
    above = script.tree.parent(node)
    if isinstance(above, cst.ImportAlias | cst.AssignTarget | cst.AsName | cst.Expr):
        return
    if isinstance(above, cst.Arg) and (above.keyword is mention or _is_a_child(above)):
        return  # `Popen(command, stdin=sys.stdin)`
    if isinstance(above, cst.Attribute) and above.attr.value in _QUIET:
        return
    if any(path in _STREAMS for path in script.values.paths(node)):
        call = script.tree.parent(above) if isinstance(above, cst.Attribute) else None
        yield (call if isinstance(call, cst.Call) and call.func is above else node), _TYPED


def _is_a_child(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == "stdin"


def _writes(script: Script, call: cst.Call) -> bool:
    named = next((a.value for a in call.args if a.keyword is not None and a.keyword.value == "mode"), None)
    plain = [a.value for a in call.args if a.keyword is None]
    mode = script.values.constant(named or (plain[1] if len(plain) > 1 else None))
    return isinstance(mode, str) and mode[:1] in ("w", "a", "x")


def _elements(script: Script, node: cst.BaseExpression) -> list[object]:
    every = [e.value for e in node.elements] if isinstance(node, cst.List | cst.Tuple) else [node]
    return [script.values.constant(one) for one in every]


def _memory(script: Script) -> Iterator[tuple[cst.CSTNode, str]]:
    """Find memory that is opened by a name that nothing here makes."""
    calls = [call for _, call in script.calling(_MEMORY)]
    opened: list[tuple[cst.Call, object]] = []
    made: set[object] = set()
    for call in calls:
        given = {a.keyword.value: script.values.constant(a.value) for a in call.args if a.keyword is not None}
        plain = [script.values.constant(a.value) for a in call.args if a.keyword is None]
        is_list = script.path_of(call) == [_MEMORY[1]]
        name = given.get("name", plain[0] if plain and not is_list else None)
        makes = bool(plain) if is_list else given.get("create", plain[1] if len(plain) > 1 else False) is True
        if makes:
            made |= {name} if isinstance(name, str) else set()
        elif isinstance(name, str):
            opened.append((call, name))
    for call, name in opened:
        if name not in made:
            yield call, f"The shared memory {name!r} is read, which the script does not make"
