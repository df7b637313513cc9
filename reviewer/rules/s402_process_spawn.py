"""S402 process-spawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.fold import UNKNOWN
from reviewer.rules.base import Found, Rule
from reviewer.rules.helpers import where_given
from reviewer.script import Script

_ASKING = frozenset({"nvidia-smi", "neuron-ls"})  # programs that say what devices there are, and do nothing else
_SHELL = frozenset(";&|$`<>(){}\n\\")
_TAKE_A_COMMAND = frozenset(
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
_OTHERS = frozenset(["os.fork", "os.startfile", "pty.spawn", "pty.fork", "pexpect.spawn", "pexpect.run", "spawn.spawn"])
_LAUNCHERS = frozenset(
    [f"torch.distributed.{m}.{f}" for m in ("run", "launch") for f in ("main", "run")]
    + [f"torch.distributed.{m}.{f}" for m in ("launcher", "launcher.api") for f in ("launch_agent", "elastic_launch")]
)
# Nothing else is called like this, whatever it is a part of.
_UNMISTAKABLE = frozenset(
    ["Popen", "check_call", "check_output", "getstatusoutput", "forkpty", "fork_exec", "_fork_exec", "spawnv_passfds"]
    + ["posix_spawn", "posix_spawnp", "create_subprocess_exec", "create_subprocess_shell"]
    + ["subprocess_exec", "subprocess_shell", "set_executable"]
    + [f"exec{ending}" for ending in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")]
    + [f"spawn{ending}" for ending in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")]
)
_ON_SOMETHING = _UNMISTAKABLE | {"system", "popen", "fork"}


class ProcessSpawn(Rule):
    """Refuses to start other programs.

    What it looks for
        `subprocess`, `os.system`, `os.popen`, `os.exec…`, `os.spawn…`, `os.fork`, `pty`, asyncio's subprocesses and
        torch's launchers, called or handed on under any name; through a helper, the finding stands where the helper is
        called. A constant `nvidia-smi` or `neuron-ls` is only noted. Workers of a data loader, and processes and
        threads of `multiprocessing`, run functions of this file and are no finding.

    Why it is refused
        Another program is not in the file, so nobody has audited what it does: a shell reads the environment, a
        compiler makes code, an interpreter runs text.

    Do instead
        Do it in Python, in the file. What the run was and on which devices stands in its receipt.
    """

    code = "S402"

    VALID: ClassVar = (
        "import subprocess\nprint(subprocess.run(['nvidia-smi'], capture_output=True, text=True).stdout)\n",
        "import subprocess as s\ns.check_output('nvidia-smi --query-gpu=name --format=csv', shell=True)\n",
        "import os\nos.system('nvidia-smi')\nx = os.popen('neuron-ls').read()\n",
        "from subprocess import run\ndef gpu(i):\n    return run(['nvidia-smi', '-i', str(i)])\n",
        "import subprocess\ndef sh(c):\n    return subprocess.run(c)\nsh(['nvidia-smi'])\n",
        "import torch.multiprocessing as mp\nmp.spawn(f, args=(2,), nprocs=2)\nmp.Process(target=f).start()\n",
        "import torch\nloader = torch.utils.data.DataLoader(d, num_workers=2)\n",
        "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor() as p:\n    p.map(f, x)\n",
        "import platform\nprint(platform.system())\nclass A:\n    def system(self):\n        return 1\nA().system()\n",
        "def run(c):\n    return c\nrun('ls')\ndef call(x):\n    return x\ncall(2)\n",
        "from subprocess import CalledProcessError, PIPE\n",
        "import threading\nthreading.Thread(target=f).start()\n",
    )
    INVALID: ClassVar = (
        "import subprocess\nsubprocess.run(['git', 'rev-parse', 'HEAD'])  # !\n",
        "import os\nos.system('ls')  # !\nx = os.popen('ls').read()  # !\n",
        "import os as o\nf = o.system\nf('ls')  # !\n",
        "from subprocess import Popen as P\nP('nvidia-smi; ls', shell=True)  # !\n",
        "import subprocess\nsubprocess.run('nvidia-smi > out/x', shell=True)  # !\n",
        "import subprocess\nsubprocess.run(['nvidia-smi'], executable='/bin/sh')  # !\n",
        "import subprocess\nsubprocess.run(['./nvidia-smi'])  # !\nsubprocess.run(command)  # !\n",
        "import subprocess\ndef sh(c):\n    return subprocess.run(c)\nsh(['nvidia-smi'])\nsh(['ls'])  # !\n",
        "import subprocess\ndef sh(c):\n    return subprocess.run(c)  # !\nsh(['nvidia-smi'])\nlist(map(sh, cs))\n",
        "import os\nif os.fork() == 0:  # !\n    pass\n",
        "import os\nos.execvp('python', ['python'])  # !\nos.spawnlp(os.P_WAIT, 'ls', 'ls')  # !\n",
        "import os\nos.posix_spawn('/bin/ls', ['ls'], {})  # !\n",
        "import os\ngetattr(os, 'sys' + 'tem')('ls')  # !\n",
        "__import__('subprocess').check_output(['ls'])  # !\n",
        "import importlib\nimportlib.import_module('subprocess').run('ls')  # !\n",
        "from os import *\nsystem('ls')  # !\n",
        "import tempfile\ntempfile._os.system('ls')  # !\n",
        "import shutil\nshutil.os.popen('ls')  # !\n",
        "import pty\npty.spawn('/bin/sh')  # !\n",
        "import asyncio\nasync def f():\n    await asyncio.create_subprocess_shell('ls')  # !\n",
        "import asyncio\nasyncio.get_event_loop().subprocess_exec(p, 'ls')  # !\n",
        "import subprocess\nfrom functools import partial\np = partial(subprocess.run, ['ls'])  # !\np()  # !\n",
        "import os\nlist(map(os.system, ['ls']))  # !\nfs = [os.system]  # !\n",
        "import subprocess, threading\nthreading.Thread(target=subprocess.run, args=(['ls'],)).start()  # !\n",
        "from os import system as s\nlist(map(s, ['ls']))  # !\n",
        "import os\nm = {'a': os}\nm['a'].system('ls')  # !\nm['a'].execv('ls', [])  # !\n",
        "import torch.distributed.run as r\nr.main(['train.py'])  # !\n",
        "import multiprocessing as mp\nmp.set_executable('/bin/sh')  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        for path, calls in script.called.items():
            if spawning := _spawning(path):
                for call in calls:
                    yield from self._call(script, call, spawning)
        yield from _on_something(script)
        for node in _handed_on(script):
            what = f"`{script.tree.code(node)}` is handed on, and what it starts is known only during the run."
            yield Found(node, what, _REMEDY)

    def _call(self, script: Script, call: cst.Call, path: str) -> Iterator[Found]:
        first = next((a.value for a in call.args if a.keyword is None or a.keyword.value in ("args", "cmd")), None)
        for place, command in where_given(script, call, first):
            if path in _TAKE_A_COMMAND and _only_asks(script, call, path, command):
                yield Found(place, "A program is asked about the devices here.", "Nothing to do.", "info")
            else:
                program = _program(script, command)
                what = f"`{path}` starts {f'the program `{program}`' if program else 'another program'} here."
                yield Found(place, what, _REMEDY)


_REMEDY = "Do it in Python, in the file, or leave it out; the receipt says what devices there were."


def _spawning(path: str) -> str:
    """Return the usual name of what starts programs, `os.system` for `shutil.os.system`; empty for all else."""
    module, _, name = path.rpartition(".")
    if name in _UNMISTAKABLE:
        return f"{module.rpartition('.')[2].lstrip('_')}.{name}".removeprefix("builtins.")
    module = module.rpartition(".")[2].lstrip("_")
    usual = f"{'os' if module in ('posix', 'nt') else module}.{name}"
    if usual in _TAKE_A_COMMAND:
        return usual
    return usual if usual in _OTHERS or path in _LAUNCHERS else ""


def _only_asks(script: Script, call: cst.Call, path: str, command: cst.BaseExpression | None) -> bool:
    keywords = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    if {"executable", "preexec_fn"} & set(keywords) or any(a.star for a in call.args):
        return False
    shell = path in _SHELLS or ("shell" in keywords and script.values.constant(keywords["shell"]) is not False)
    whole = script.values.constant(command)
    if isinstance(whole, str) and _SHELL & set(whole):
        return False
    listed = isinstance(command, cst.List | cst.Tuple) or isinstance(whole, list)
    return not (shell and listed) and _program(script, command) in _ASKING


def _program(script: Script, command: cst.BaseExpression | None) -> str:
    """Return the constant first word of a command, or an empty text."""
    whole = script.values.constant(command)
    if whole is UNKNOWN and isinstance(command, cst.List | cst.Tuple) and command.elements:
        whole = script.values.constant(command.elements[0].value)
        return whole if isinstance(whole, str) else ""
    if isinstance(whole, list):
        return whole[0] if whole and isinstance(whole[0], str) else ""
    return (whole.split() or [""])[0] if isinstance(whole, str) else ""


def _on_something(script: Script) -> Iterator[Found]:
    """Find calls of such a name on an object that cannot be followed."""
    for attribute in script.tree.of(cst.Attribute):
        name = attribute.attr.value
        if name in _ON_SOMETHING and not script.values.of(attribute):
            call = script.tree.parent(attribute)
            if isinstance(call, cst.Call) and call.func is attribute:
                what = f"`.{name}` of something that is known only during the run seems to start a program."
                yield Found(call, what, _REMEDY, "reject" if name in _UNMISTAKABLE else "review")


def _handed_on(script: Script) -> Iterator[cst.CSTNode]:
    """Find such functions that are no call's function, but an argument or part of a list."""
    names = {p.rpartition(".")[2] for p in (*_TAKE_A_COMMAND, *_OTHERS)} | _UNMISTAKABLE
    bound = {name for name, path in script.imports if _spawning(path)}
    found: list[cst.CSTNode] = [a for a in script.tree.of(cst.Attribute) if a.attr.value in names]
    found += [n for n in script.tree.of(cst.Name) if n.value in bound] if bound else []
    for node in found:
        above = script.tree.parent(node)
        is_part = isinstance(above, cst.Element | cst.DictElement | cst.StarredElement)
        is_part |= isinstance(above, cst.Arg) and above.keyword is not node
        if is_part and any(_spawning(p) for p in script.values.paths(node)):
            yield node
