"""K102 cli-flag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.environment.argv import find_words
from reviewer.environment.flag import Flag, default_of
from reviewer.environment.flag_values import find_more
from reviewer.environment.flags import find_flags
from reviewer.environment.launched import give
from reviewer.fold import UNKNOWN
from reviewer.found import Found, Setting
from reviewer.repairs.unflagging import Unflagging
from reviewer.report import Constant
from reviewer.rules.base import Rule
from reviewer.script import Script


class CliFlag(Rule):
    """Shows an organizer the settings that come from the launch command.

    What it looks for
        Flags of argparse, click, typer, fire, tyro, absl and their like, each with its default and the value that it
        has here, and uses of `sys.argv`; parsers that read their words from files, and words that no flag takes, where
        the script uses them. Not a finding: `sys.argv[0]`, which is always the file's name, words that are
        only printed (a log of the command changes nothing), a parser that is given constant words, as in
        `parse_args([])`, and flags that the competition allows, which only stand among the settings: each under names
        that are allowed, a short one aside, and with one plain value. One that takes several words, or whose type reads
        a file or a dict, is a finding all the same.

    Why it is refused
        The scored model must be in the file. A flag can give it another shape from launch to launch, and the model
        server, which imports the file to load the model, gives none.

    Do instead
        Write the value where it is used: `LR = 0.02`. Where nothing may follow the file's name in the launch command,
        every flag has its default anyway.
    """

    code = "K102"

    VALID: ClassVar = (
        "import sys\nwith open(sys.argv[0]) as f:\n    code = f.read()\n",
        "import sys\nprint(sys.argv)\nprint('started as', ' '.join(sys.argv))\nprint(f'{sys.argv!r}')\n",
        "import argparse\nparser = argparse.ArgumentParser()\n",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr')\na = p.parse_args([])\n",
        "argv = [1]\nx = argv[0]\nclass A:\n    argv = 2\ny = A().argv\n",
        "class P:\n    def add_argument(self, name):\n        return name\nimport argparse\nP().add_argument('--lr')\n",
        "import logging, sys\nlogging.info('command %s', sys.argv)\n",
        "import sys\nsys.argv = ['train.py']\n",
        "import argparse\np = argparse.ArgumentParser(fromfile_prefix_chars=None)\na, _ = p.parse_known_args()\n",
        (
            "import argparse\np = argparse.ArgumentParser()\na, rest = p.parse_known_args()\nif rest:\n"
            "    p.error(f'what is {rest}')\n"
        ),
    )
    INVALID: ClassVar = (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.02)  # !\n",
        "from argparse import ArgumentParser as A\np = A()\ng = p.add_argument_group('m')\ng.add_argument('n')  # !\n",
        "import argparse\ndef flags(p):\n    p.add_argument('--a')  # !\nflags(argparse.ArgumentParser())\n",
        (
            "import argparse\np = argparse.ArgumentParser()\ndef add(name, default):\n"
            "    p.add_argument('--' + name, default=default)\nadd('lr', 0.1)  # !\nadd('wd', 0)  # !\n"
        ),
        "import argparse\np = argparse.ArgumentParser()\nfor k in ks:\n    p.add_argument(f'--{k}')  # !\n",
        "import click\n@click.command()\n@click.option('--lr', default=0.1)  # !\ndef main(lr):\n    pass\n",
        "import click as c\n@c.argument('size')  # !\ndef main(size):\n    pass\n",
        "import typer\ndef main(lr: float = typer.Option(0.1)):  # !\n    pass\ntyper.run(main)\n",
        "import typer\ndef main(lr: float = 0.1):  # !\n    pass\ntyper.run(main)\n",
        "import typer\napp = typer.Typer()\n@app.command()\ndef main(lr: float = 0.1):  # !\n    pass\napp()\n",
        "import fire\ndef main(lr=0.1):  # !\n    pass\nfire.Fire(main)\n",
        "from fire import Fire as F\nF()  # !\n",
        (
            "import tyro\nfrom dataclasses import dataclass\n@dataclass\nclass C:\n"
            "    lr: float = 0.1  # !\n    wd: float = 0.0  # !\nc = tyro.cli(C)\n"
        ),
        "from absl import flags\nflags.DEFINE_float('lr', 0.1, 'rate')  # !\n",
        "import hydra\n@hydra.main(config_name='a')  # !\ndef main(c):\n    pass\n",
        "import getopt, sys\no, _ = getopt.getopt(sys.argv[1:], 'l:')  # !\n",
        "from docopt import docopt\na = docopt(__doc__)  # !\n",
        "from tap import Tap\nclass A(Tap):  # !\n    lr: float = 0.1\n",
        "__import__('argparse').ArgumentParser().add_argument('--lr')  # !\n",
        "import sys\nlr = float(sys.argv[1])  # !\n",
        "import sys\nif len(sys.argv) > 1:  # !\n    fast = True\n",
        "import sys\nif '--fast' in sys.argv:  # !\n    fast = True\n",
        "from sys import argv as a\nx = a[1]  # !\n",
        "import sys as s\na = s.argv  # !\nx = a[1]\n",
        "import sys\nx = getattr(sys, 'ar' + 'gv')[1]  # !\ny = vars(sys)['argv']  # !\n",
        "import sys\nx = print(sys.argv) or len(sys.orig_argv)  # !\n",
        "import sys\nf(print=sys.argv[1])  # !\n",
        "import argparse\np = argparse.ArgumentParser(fromfile_prefix_chars='@')  # !\np.add_argument('--n')  # !\n",
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n')  # !\n"
            "a, rest = p.parse_known_args()  # !\nlr = float(rest[1])\n"
        ),
        "import argparse as a\np = a.ArgumentParser()\np.add_argument('--n')  # !\nx = p.parse_known_args()[1]  # !\n",
        "import sys\ndef log(words):\n    kept.append(words)\nlog(sys.argv)  # !\n",
    )

    FIXED: ClassVar = (
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.02)\n"
            "p.add_argument('--fast', action='store_true')\nargs = p.parse_args()\n"
            "rate = args.lr * 2  # rate\nif args.fast:\n    print(1)\nprint(rate)\n",
            "rate = 0.02 * 2  # rate\nprint(rate)\n",
        ),
        (
            "# launch: python 1 --lr 0.5\nimport argparse\n\n\ndef main():\n    p = argparse.ArgumentParser()\n"
            "    p.add_argument('--lr', type=float, default=0.02)\n    args = p.parse_args()\n    print(args.lr)\n",
            "# launch: python 1 --lr 0.5\n\n\ndef main():\n    print(0.5)\n",
        ),
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.02)\n"
            "train(p.parse_args())\n",
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.02)\n"
            "train(p.parse_args([]))\n",
        ),
    )

    def check(self, script: Script) -> Iterator[Found | Setting]:
        flags = find_flags(script)
        args = script.launch.args if script.launch is not None else ()
        given = give(flags, args)
        unflagging = Unflagging(script, flags, given)
        allowed = {id(flag) for flag in flags if not flag.more and _is_allowed(script, flag)}
        for flag in flags:
            for item in self._flag(flag, given.values, None if allowed else unflagging):  # a repair takes them all
                if isinstance(item, Setting) or id(flag) not in allowed:
                    yield item
        for node, what in find_more(script) if flags or script.policy.allow_flags else ():
            yield Found(node, what, "Write the values in the file.")
        read: set[int] = set()  # `int(sys.argv[1]) if len(sys.argv) > 1 else 3` is one reading
        for node in find_words(script):
            line = next((a for a in script.tree.ancestors(node) if isinstance(a, cst.BaseSmallStatement)), None)
            if line is None or id(line) not in read:
                read.add(id(line))
                what = "The words of the launch command are read here."
                yield Found(node, what, "Write the value itself in the file.")

    def _flag(
        self, flag: Flag, values: dict[int, Constant], unflagging: Unflagging | None
    ) -> Iterator[Found | Setting]:
        if flag.whole:
            what = f"`{flag.key}` makes a command line of the script, so any setting may come from outside the file."
            yield Found(flag.node, what, "Write the values in the file.")
            return
        if not flag.key:
            what = "A flag is declared here under a name that only the run knows."
            yield Found(flag.node, what, "Write the value itself in the file.")
            return
        default = default_of(flag)
        value = values.get(id(flag), default)
        is_known = id(flag) in values or flag.default is not UNKNOWN
        yield Setting(flag.node, flag.key, default, value)
        if id(flag) in values:
            what = f"The launch command gives `{flag.key}` the value {value!r}."
        elif is_known:
            what = f"`{flag.key}` comes from the launch command; without it, it is {value!r}."
        else:
            what = f"`{flag.key}` comes from the launch command."
        if flag.more:
            what += f" It {flag.more}, so that one flag gives many settings."
        name = flag.key.lstrip("-").replace("-", "_")
        remedy = f"Write the value there, as in `{name} = {value!r}`." if is_known else "Write the value in the file."
        yield Found(flag.node, what, remedy, fix=unflagging.edits if unflagging and unflagging.can else None)


def _is_allowed(script: Script, flag: Flag) -> bool:
    """Tell whether the competition allows a flag under each of its names; a short one (`-n`) may stand beside it."""
    names = {name for name in (flag.key, *flag.spellings) if not name.startswith("--no")}
    listed = script.policy.allow_flags & names
    long = {name for name in names if name.startswith("--")}
    if any(name.startswith("--") for name in listed):
        return {n.replace("_", "-") for n in long} <= {n.replace("_", "-") for n in listed}
    return script.policy.allows_flag(names) and len({n.replace("_", "-") for n in long}) < 2
