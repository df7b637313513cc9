"""S402 process-spawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.helpers import where_given
from reviewer.found import Found
from reviewer.matchers.programs import OTHERS, TAKE_A_COMMAND, UNMISTAKABLE, only_asks, program_of, spawning
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.values import ATTRGETTER, METHODCALLER

_ON_SOMETHING = UNMISTAKABLE | {"system", "popen", "fork"}


class ProcessSpawn(Rule):
    """Refuses to start other programs.

    What it looks for
        `subprocess`, `os.system`, `os.popen`, `os.exec…`, `os.spawn…`, `os.fork`, `pty`, asyncio's subprocesses and
        torch's launchers, compilers, installers and browsers, called or handed on under any name; through a helper,
        the finding stands where the helper is called. A constant `nvidia-smi` or `neuron-ls` that only asks is only
        noted. Workers of a data loader, and processes and threads of `multiprocessing`, run functions of this file and
        are no finding.

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
        "import subprocess\nsubprocess.run(['nvidia-smi', 'topo', '-m'])\n"
        "subprocess.run(['nvidia-smi', f'--id={i}', '--query-gpu=name,clocks.sm', '--format=csv,noheader'])\n",
        "import os\nos.system('neuron-ls --json-output')\nos.system('nvidia-smi -q -d MEMORY,UTILIZATION -i 0,1')\n",
        "import torch.multiprocessing as mp\nmp.spawn(f, args=(2,), nprocs=2)\nmp.Process(target=f).start()\n",
        "import torch\nloader = torch.utils.data.DataLoader(d, num_workers=2)\n",
        "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor() as p:\n    p.map(f, x)\n",
        "import platform\nprint(platform.system())\nclass A:\n    def system(self):\n        return 1\nA().system()\n",
        "def run(c):\n    return c\nrun('ls')\ndef call(x):\n    return x\ncall(2)\n",
        "from subprocess import CalledProcessError, PIPE\n",
        "import threading\nthreading.Thread(target=f).start()\n",
        "import operator, platform\nprint(operator.methodcaller('system')(platform))\n",
        "import operator\nrows = sorted(rows, key=operator.attrgetter('loss'))\n",
    )
    INVALID: ClassVar = (
        "import subprocess\nsubprocess.run(['git', 'rev-parse', 'HEAD'])  # !\n",
        "import os\nos.system('ls')  # !\nx = os.popen('ls').read()  # !\n",
        "import os as o\nf = o.system\nf('ls')  # !\n",
        "from subprocess import Popen as P\nP('nvidia-smi; ls', shell=True)  # !\n",
        "import subprocess\nsubprocess.run('nvidia-smi > out/x', shell=True)  # !\n",
        "import subprocess\nsubprocess.run(['nvidia-smi'], executable='/bin/sh')  # !\n",
        "import os\nos.environ['PATH'] = 'out'\nos.system('nvidia-smi')  # !\n",
        "import subprocess\nsubprocess.run(['nvidia-smi'], env={'A': 'b'})  # !\n",
        "import subprocess\nsubprocess.run(['./nvidia-smi'])  # !\nsubprocess.run(command)  # !\n",
        "import subprocess\ndef sh(c):\n    return subprocess.run(c)\nsh(['nvidia-smi'])\nsh(['ls'])  # !\n",
        "import subprocess\ndef sh(c):\n    return subprocess.run(c)  # !\nsh(['nvidia-smi'])\nlist(map(sh, cs))\n",
        "import subprocess as s\ns.run(['nvidia-smi', '-f', 'prepare.py'])  # !\ns.run(['nvidia-smi', '-fx'])  # !\n",
        "import subprocess as s\ns.run(['nvidia-smi', '-q', '--filename=a'])  # !\ns.run(['nvidia-smi', x])  # !\n",
        "import os\nos.system('nvidia-smi -f prepare.py')  # !\nos.system('nvidia-smi \\'-f\\' a')  # !\n",
        "import subprocess as s\ns.run(['nvidia-smi', '-i', '0', '-r'])  # !\ns.run(['nvidia-smi', *words])  # !\n",
        "from torch.utils import collect_env as c\nc.run('ls')  # !\nc.run_and_read_all(f, 'ls')  # !\n",
        "from distutils.ccompiler import new_compiler as n\nn().compile(['out/a.c'])  # !\n",
        "import webbrowser as w\nw.get('ls %s').open('x')  # !\nw.open('x')  # !\n",
        "import ensurepip, pydoc\nensurepip.bootstrap()  # !\npydoc.pipepager('x', 'sh')  # !\n",
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
        "import os\nm = {'a': os}\nm['a'].system('ls')  # ! review\nm['a'].execv('ls', [])  # !\n",
        "import operator, os\noperator.methodcaller('system', 'ls')(os)  # !\n",
        "import os\nfrom operator import methodcaller as m\nf = m('execv', 'ls', [])  # !\nf(os)  # !\n",
        "import operator, os\nlist(map(operator.methodcaller('sys' + 'tem', 'ls'), [os]))  # ! review\n",
        "import operator, os\ng = operator.attrgetter('system')  # ! review\ng(os)('ls')  # !\n",
        "import torch.distributed.run as r\nr.main(['train.py'])  # !\n",
        "import multiprocessing as mp\nmp.set_executable('/bin/sh')  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        for path, calls in script.called.items():
            if usual := spawning(path):
                for call in calls:
                    yield from self._call(script, call, usual)
        yield from _on_something(script)
        yield from _by_name(script)
        for node in _handed_on(script):
            what = f"`{script.tree.code(node)}` is handed on, and what it starts is known only during the run."
            yield Found(node, what, _REMEDY)

    def _call(self, script: Script, call: cst.Call, path: str) -> Iterator[Found]:
        first = next((a.value for a in call.args if a.keyword is None or a.keyword.value in ("args", "cmd")), None)
        for place, command in where_given(script, call, first):
            if path in TAKE_A_COMMAND and only_asks(script, call, path, command):
                yield Found(place, "A program is asked about the devices here.", "Nothing to do.", "info")
            else:
                program = program_of(script, command)
                what = f"`{path}` starts {f'the program `{program}`' if program else 'another program'} here."
                yield Found(place, what, _REMEDY)


_REMEDY = "Do it in Python, in the file, or leave it out; the receipt says what devices there were."


def _on_something(script: Script) -> Iterator[Found]:
    """Find calls of such a name on an object that cannot be followed."""
    for attribute in script.tree.of(cst.Attribute):
        name = attribute.attr.value
        if name in _ON_SOMETHING and not script.values.of(attribute):
            call = script.tree.parent(attribute)
            if isinstance(call, cst.Call) and call.func is attribute:
                what = f"`.{name}` of something that is known only during the run seems to start a program."
                yield Found(call, what, _REMEDY, "reject" if name in UNMISTAKABLE else "review")


def _by_name(script: Script) -> Iterator[Found]:
    """Find a getter of such a name that is not called on something known at once."""
    for _, call in script.calling((ATTRGETTER, METHODCALLER)):
        name = script.values.text(call.args[0].value) if call.args else None
        above = script.tree.parent(call)
        known = isinstance(above, cst.Call) and above.func is call and bool(script.values.of(above))
        if name in _ON_SOMETHING and not known:
            what = f"`.{name}` of something that is known only during the run seems to start a program."
            yield Found(call, what, _REMEDY, "reject" if name in UNMISTAKABLE else "review")


def _handed_on(script: Script) -> Iterator[cst.CSTNode]:
    """Find such functions that are no call's function, but an argument or part of a list."""
    names = {p.rpartition(".")[2] for p in (*TAKE_A_COMMAND, *OTHERS)} | UNMISTAKABLE
    bound = {name for name, path in script.imports if spawning(path)}
    found: list[cst.CSTNode] = [a for a in script.tree.of(cst.Attribute) if a.attr.value in names]
    found += [n for n in script.tree.of(cst.Name) if n.value in bound] if bound else []
    for node in found:
        above = script.tree.parent(node)
        is_part = isinstance(above, cst.Element | cst.DictElement | cst.StarredElement)
        is_part |= isinstance(above, cst.Arg) and above.keyword is not node
        if is_part and any(spawning(p) for p in script.values.paths(node)):
            yield node
