"""What starts other programs, and which of them only ask about devices."""

from __future__ import annotations

import re

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.script import Script

_ASKING = frozenset({"nvidia-smi", "neuron-ls"})  # programs that say what devices there are, and do nothing else
# What they may be asked: their other options write files, set clocks, reset devices.
_QUESTION = re.compile(
    r"-[Lqxidhajwtvms]|-l|-lms|--(?:id|format|display|loop|loop-ms|query(?:-[a-z-]+)?)(?:=[\w.,:+-]*)?"
    r"|--(?:list-gpus|xml-format|help|version|json-output|topology|wide|show-all-procs)"
    r"|(?!(?:daemon|replay|drain)\Z)\w[\w.,:+-]*"
)
_WHICH_ONE = re.compile(r"--(?:id|format|display|query-[a-z-]+)=")
_SHELL = frozenset(";&|$`<>(){}\n\\")
TAKE_A_COMMAND = frozenset(
    [
        "asyncio.create_subprocess_exec",
        "os.popen",
        "os.system",
        *(f"subprocess.{f}" for f in ("run", "call", "check_call", "check_output", "Popen")),
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
    ]
)
_SHELLS = frozenset({"os.popen", "os.system", "subprocess.getoutput", "subprocess.getstatusoutput"})
_BY_NAME = (
    "os.fork os.startfile pty.spawn pty.fork pexpect.spawn pexpect.run spawn.spawn ccompiler.new_compiler "
    "unixccompiler.UnixCCompiler webbrowser.get webbrowser.open webbrowser.open_new webbrowser.open_new_tab "
    "webbrowser.register webbrowser.GenericBrowser webbrowser.BackgroundBrowser ensurepip.bootstrap pip.main "
    "venv.create venv.EnvBuilder pydoc.pipepager pydoc.tempfilepager exec_command.exec_command f2py.compile "
    "collect_env.run collect_env.run_and_read_all collect_env.run_and_parse_first_match collect_env.main "
    "collect_env.run_and_return_first_line collect_env.get_env_info collect_env.get_pretty_env_info "
    "script_helper.spawn_python script_helper.run_python_until_end script_helper.assert_python_ok"
)
OTHERS = frozenset(_BY_NAME.split())
_LAUNCHERS = frozenset(
    [f"torch.distributed.{m}.{f}" for m in ("run", "launch") for f in ("main", "run")]
    + [f"torch.distributed.{m}.{f}" for m in ("launcher", "launcher.api") for f in ("launch_agent", "elastic_launch")]
    + ["distutils.core.setup", "distutils.core.run_setup", "setuptools.setup", "ensurepip._bootstrap"]
    + ["pip._internal.main", "pip._internal.cli.main.main"]
)
# Nothing else is called like this, whatever it is a part of.
UNMISTAKABLE = frozenset(
    ["Popen", "check_call", "check_output", "getstatusoutput", "forkpty", "fork_exec", "_fork_exec", "spawnv_passfds"]
    + ["posix_spawn", "posix_spawnp", "create_subprocess_exec", "create_subprocess_shell"]
    + ["subprocess_exec", "subprocess_shell", "set_executable"]
    + [f"exec{ending}" for ending in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")]
    + [f"spawn{ending}" for ending in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")]
)


def spawning(path: str) -> str:
    """Return the usual name of what starts programs, `os.system` for `shutil.os.system`; empty for all else."""
    module, _, name = path.rpartition(".")
    if name in UNMISTAKABLE:
        return f"{module.rpartition('.')[2].lstrip('_')}.{name}".removeprefix("builtins.")
    module = module.rpartition(".")[2].lstrip("_")
    usual = f"{'os' if module in ('posix', 'nt') else module}.{name}"
    if usual in TAKE_A_COMMAND:
        return usual
    return usual if usual in OTHERS or path in _LAUNCHERS else ""


def only_asks(script: Script, call: cst.Call, path: str, command: cst.BaseExpression | None) -> bool:
    """Tell whether a command certainly runs nothing but a program that says what devices there are."""
    keywords = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    if {"executable", "preexec_fn", "env"} & set(keywords) or any(a.star for a in call.args):
        return False
    if any(script.values.constant(s) == "PATH" for s in script.tree.of(cst.SimpleString) if "PATH" in s.value):
        return False  # which program has that name may be the script's choice
    shell = path in _SHELLS or ("shell" in keywords and script.values.constant(keywords["shell"]) is not False)
    whole = script.values.constant(command)
    if isinstance(whole, str) and _SHELL & set(whole):
        return False
    listed = isinstance(command, cst.List | cst.Tuple) or isinstance(whole, list)
    if (shell and listed) or program_of(script, command) not in _ASKING:
        return False
    if isinstance(whole, str | list):
        return all(isinstance(word, str) and _QUESTION.fullmatch(word) for word in _words(whole)[1:])
    return isinstance(command, cst.List | cst.Tuple) and _only_questions(script, command)


def _words(command: str | list[object]) -> list[object]:
    return [*command.split()] if isinstance(command, str) else command


def _only_questions(script: Script, command: cst.List | cst.Tuple) -> bool:
    """Tell whether what only the run knows in a command is no more than which device is asked about, and what."""
    before: object = ""
    for element in command.elements[1:]:
        word = script.values.constant(element.value)
        if word is UNKNOWN:
            start = element.value.parts[0] if isinstance(element.value, cst.FormattedString) else None
            is_which = isinstance(start, cst.FormattedStringText) and _WHICH_ONE.match(start.value)
            if isinstance(element, cst.StarredElement) or not (is_which or before in ("-i", "--id")):
                return False
        elif not isinstance(word, str) or not _QUESTION.fullmatch(word):
            return False
        before = word
    return True


def program_of(script: Script, command: cst.BaseExpression | None) -> str:
    """Return the constant first word of a command, or an empty text."""
    whole = script.values.constant(command)
    if whole is UNKNOWN and isinstance(command, cst.List | cst.Tuple) and command.elements:
        whole = script.values.constant(command.elements[0].value)
        return whole if isinstance(whole, str) else ""
    if isinstance(whole, list):
        return whole[0] if whole and isinstance(whole[0], str) else ""
    return (whole.split() or [""])[0] if isinstance(whole, str) else ""
