"""The launch grammar: a command line becomes data, and no shell ever sees it.

    command  = { NAME=value } launcher train.py { flag }
    launcher = "python" | "torchrun" [ "--standalone" ] [ "--nproc_per_node=N" ]

Names, values, launchers, process counts and trailing flags are the phase's to allow. The platform builds its own
argument list from the result; the text itself is only shown.
"""

import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn, TypedDict

from leaderboard.core.errors import Refusal

if TYPE_CHECKING:
    from leaderboard.competitions.spec import Launch

SCRIPT = "train.py"
MAX_CHARACTERS = 500
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_SHELL = frozenset(";&|<>$`\\\n\r(){}*?!~#\0")
_NPROC = re.compile(r"--nproc[_-]per[_-]node(?:=(.*))?")


class LaunchSpec(TypedDict):
    """A parsed launch command."""

    launcher: str
    processes: int
    env: dict[str, str]
    args: list[str]


def parse(text: str, grammar: "Launch") -> LaunchSpec:
    """Return the parts of a launch command that the phase's grammar allows.

    Raises Refusal("bad_launch") with a sentence that says what is allowed.
    """
    words = _words(text, grammar)
    env = _env(words, grammar)
    launcher = words.pop(0) if words else ""
    if launcher not in grammar.launchers:
        _refuse(f"The command must start with {_one_of(grammar.launchers)}, not {launcher!r}.", grammar)
    processes = _processes(words, grammar) if launcher == "torchrun" else 1
    if processes not in grammar.processes:
        allowed = _one_of(str(count) for count in grammar.processes)
        _refuse(f"This phase allows {allowed} processes, and the command asks for {processes}.", grammar)
    if not words or words[0] != SCRIPT:
        _refuse(f"After the launcher comes `{SCRIPT}`, not {words[0] if words else 'the end'!r}.", grammar)
    args = words[1:]
    if args and not grammar.trailing:
        _refuse(f"Nothing may follow `{SCRIPT}` in this phase; write {args[0]!r} into the file.", grammar)
    return {"launcher": launcher, "processes": processes, "env": env, "args": args}


def default_launch(grammar: "Launch") -> str:
    """Return the spelling of the command that starts a script when its team names none."""
    return spell(parse(grammar.default, grammar))


def spell(spec: LaunchSpec) -> str:
    """Return the one spelling of a launch: commands that start the same processes are the same text."""
    env = [f"{name}={value}" for name, value in sorted(spec["env"].items())]
    torchrun = ["--standalone", f"--nproc_per_node={spec['processes']}"] if spec["launcher"] == "torchrun" else []
    return shlex.join([*env, spec["launcher"], *torchrun, SCRIPT, *spec["args"]])


def _words(text: str, grammar: "Launch") -> list[str]:
    if len(text) > MAX_CHARACTERS:
        _refuse(f"The launch command is longer than {MAX_CHARACTERS} characters.", grammar)
    shell = sorted(_SHELL.intersection(text))
    if shell:
        _refuse(f"The launch command is not read by a shell, so it may not contain {shell[0]!r}.", grammar)
    if not text.isprintable():
        _refuse("The launch command holds a character that cannot be printed.", grammar)
    try:
        return shlex.split(text)
    except ValueError:
        _refuse("The launch command opens a quotation mark and does not close it.", grammar)


def _env(words: list[str], grammar: "Launch") -> dict[str, str]:
    """Take the `NAME=value` prefix off `words`."""
    env: dict[str, str] = {}
    while words and (match := _ASSIGNMENT.fullmatch(words[0])):
        name, value = match.groups()
        if name not in grammar.env:
            known = f"only {_one_of(grammar.env)}" if grammar.env else "no variable"
            _refuse(f"The command may set {known}; {name!r} is not allowed.", grammar)
        if name in env:
            _refuse(f"{name} is set twice.", grammar)
        if value not in grammar.env[name]:
            _refuse(f"{name} may be {_one_of(grammar.env[name])}, not {value!r}.", grammar)
        env[name] = value
        words.pop(0)
    return env


def _processes(words: list[str], grammar: "Launch") -> int:
    """Take torchrun's own options off `words` and return the number of processes."""
    counts: list[int] = []
    while words and words[0].startswith("-"):
        word = words.pop(0)
        match = _NPROC.fullmatch(word)
        if match:
            count = match[1] if match[1] is not None else (words.pop(0) if words else "")
            if not re.fullmatch(r"[1-9][0-9]{0,5}", count):
                _refuse(f"The number of processes must be a plain number, not {count!r}.", grammar)
            counts.append(int(count))
        elif word != "--standalone":
            _refuse(f"torchrun takes `--standalone` and `--nproc_per_node=N` here, not {word!r}.", grammar)
    if len(counts) > 1:
        _refuse("The number of processes is given twice.", grammar)
    return counts[0] if counts else 1


def _one_of(words: Iterable[object]) -> str:
    names = [str(word) for word in words]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _refuse(sentence: str, grammar: "Launch") -> NoReturn:
    raise Refusal("bad_launch", f"{sentence} For example: {grammar.default}", example=grammar.default)
