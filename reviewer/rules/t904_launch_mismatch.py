"""T904 launch-mismatch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.certain import ending_early, is_certain
from reviewer.environment.argv import find_words
from reviewer.environment.flags import find_flags
from reviewer.environment.launched import give
from reviewer.found import Found
from reviewer.launch import LaunchFacts
from reviewer.policy import LAUNCHER_VARIABLES
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.values import ENVIRON

_FILES = frozenset({"train.py", "prepare.py"})  # the sources that lie in the folder of a run
_SHARING = (
    "accelerate.", "deepspeed.", "horovod.", "lightning.", "prepare.get_dist_info", "pytorch_lightning.",
    "torch.distributed", "torch_xla.",
)  # fmt: skip
_RANKS = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"})
_OPENERS = ("builtins.open", "io.open", "pathlib.Path")


class LaunchMismatch(Rule):
    """Asks a person to look where script and launch command do not fit each other.

    What it looks for
        More than one process for a script that never asks which of them it is; a script that needs torchrun's
        variables under plain `python`; flags in the command that no parser of the script takes, or flags that it
        requires and the command does not give; reading its own source under another name than `train.py`.

    Why it is refused
        Such a run ends at once or trains something else than was meant, and its quota is spent. Two processes that do
        not know of each other train the same model twice and write one checkpoint.

    Do instead
        Change the launch command, or the script: `torchrun --nproc_per_node=N` for scripts that join a process group,
        `python train.py` for the others. Without a launch command, as in `submit --check`, nothing is said.
    """

    code = "T904"

    VALID: ClassVar = (
        "import torch\ntrain()\n",
        "# launch: python 1\nimport torch\ntrain()\nopen(__file__)\nopen('train.py')\n",
        "# launch: torchrun 2\nimport torch.distributed as dist\ndist.init_process_group('gloo')\n",
        "# launch: torchrun 2\nfrom prepare import get_dist_info\n_, rank, _, n = get_dist_info()\n",
        "# launch: torchrun 2\nimport os\nrank = int(os.environ['RANK'])\n",
        "# launch: python 1\nimport os\nrank = int(os.environ['RANK']) if 'RANK' in os.environ else 0\n",
        "# launch: python 1\nimport os\nos.environ['RANK'] = '0'\nrank = int(os.environ['RANK'])\n",
        "# launch: python 1\nimport os\ndef join():\n    return os.environ['RANK']\nif many:\n    join()\n",
        "# launch: python 1\nimport os\ndef f():\n    if one:\n        return 0\n    return os.environ['RANK']\nf()\n",
        (
            "# launch: python 1 --lr 0.1 --no-compile -n3 --st=4 x\nimport argparse\np = argparse.ArgumentParser()\n"
            "p.add_argument('--lr')\np.add_argument('--compile', action=argparse.BooleanOptionalAction)\n"
            "p.add_argument('-n')\np.add_argument('--steps')\np.add_argument('name')\n"
        ),
        "# launch: python 1 --lr 0.1\nimport sys\nlr = sys.argv[2]\n",
        "# launch: python 1 --lr 0.1\nimport fire\nfire.Fire()\n",
        "# launch: python 1\nimport argparse\nargparse.ArgumentParser().add_argument('n', nargs='?')\n",
        "# launch: python 1 --lr -0.5\nimport click\n@click.option('--lr', required=True)\ndef f(lr):\n    pass\n",
    )
    INVALID: ClassVar = (
        "# launch: torchrun 2  # !\nimport torch\ntrain()\n",
        "# launch: python 1\nimport os\nrank = int(os.environ['RANK'])  # !\n",
        "# launch: python 1\nfrom os import environ as e\ndef join():\n    return e['LOCAL_RANK']  # !\njoin()\n",
        (
            "# launch: python 1\nimport torch.distributed as d\n"
            "if __name__ == '__main__':\n    d.init_process_group('nccl')  # !\n"
        ),
        "# launch: python 1 --lr 0.1  # !\nimport torch\n",
        (
            "# launch: python 1 --rl 0.1  # !\nimport argparse\np = argparse.ArgumentParser()\n"
            "p.add_argument('--lr')\np.parse_args()\n"
        ),
        (
            "# launch: python 1 --lr 1  # !\nimport argparse\np = argparse.ArgumentParser()\n"
            "p.add_argument('--lr')\np.parse_args([])\n"
        ),
        "# launch: python 1\nimport argparse\nargparse.ArgumentParser().add_argument('n')  # !\n",
        (
            "# launch: python 1\nimport argparse\np = argparse.ArgumentParser()\n"
            "p.add_argument('--n', required=True)  # !\np.parse_args()\n"
        ),
        "# launch: python 1\ncode = open('train_gpt.py').read()  # !\n",
        "# launch: python 1\nfrom pathlib import Path\ncode = Path('train_gpt.py').read_text()  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        launch = script.launch
        if launch is None or script.packed:
            return
        if launch.processes > 1 and not _shares(script):
            yield Found(
                script.tree.module,
                f"The launch command starts {launch.processes} processes, and nothing here tells one from another.",
                "Launch it with `python train.py`, or share the work through torch.distributed.",
            )
        if launch.launcher == "python":
            yield from _needs_torchrun(script)
        yield from _flags(script, launch)
        yield from _names(script)


def _shares(script: Script) -> bool:
    paths = (*script.called, *(path for _, path in script.imports))
    if any(path.startswith(_SHARING) for path in paths):
        return True
    return any(text.value[1:-1] in _RANKS for text in script.tree.of(cst.SimpleString))


def _needs_torchrun(script: Script) -> Iterator[Found]:
    """Find what fails where torchrun has not set its variables, and happens on every way through the script."""
    remedy = "Launch it with torchrun, or read it with a default, as `get_dist_info` of the kit does."
    written = _written(script)
    early = ending_early(script)
    for subscript in script.tree.of(cst.Subscript):
        index = subscript.slice[0].slice if len(subscript.slice) == 1 else None
        if not isinstance(index, cst.Index) or ENVIRON not in script.values.paths(subscript.value):
            continue
        key = script.values.constant(index.value)
        if key in LAUNCHER_VARIABLES - written and is_certain(script, subscript, early):
            yield Found(
                subscript, f"`{key}` is set by torchrun alone, and the launch command is plain `python`.", remedy
            )
    for _, call in script.calling(("torch.distributed.init_process_group",)):
        elsewhere = any(a.star or (a.keyword and a.keyword.value in ("init_method", "store")) for a in call.args)
        if not elsewhere and not written and is_certain(script, call, early):
            what = "Only torchrun prepares this process group, and the launch command is plain `python`."
            yield Found(call, what, remedy)


def _written(script: Script) -> frozenset[str]:
    """Return the launcher's variables that the script sets itself."""
    if any(script.called.get(f"{ENVIRON}.{method}") for method in ("setdefault", "update")):
        return LAUNCHER_VARIABLES
    keys = set()
    for target in script.tree.of(cst.AssignTarget):
        if isinstance(target.target, cst.Subscript) and ENVIRON in script.values.paths(target.target.value):
            index = target.target.slice[0].slice
            keys.add(script.values.constant(index.value) if isinstance(index, cst.Index) else None)
    return frozenset(key for key in keys if key in LAUNCHER_VARIABLES)


def _flags(script: Script, launch: LaunchFacts) -> Iterator[Found]:
    flags = find_flags(script)
    if any(flag.whole or not flag.key for flag in flags) or next(find_words(script), None) is not None:
        return  # nobody can say what it takes
    given = give(flags, launch.args)
    for word in given.unknown:
        what = f"The launch command gives `{word}`, and nothing in the file takes it."
        yield Found(script.tree.module, what, "Leave it out, and write the value in the file.")
    if any(a.attr.value == "add_subparsers" for a in script.tree.of(cst.Attribute)):
        return  # what is required depends on the command that is chosen
    for flag in given.missing:
        what = f"`{flag.key}` must be given, and the launch command does not give it."
        yield Found(flag.node, what, "Give it a default, or write the value in the file.")


def _names(script: Script) -> Iterator[Found]:
    for _, call in script.calling(_OPENERS):
        name = script.values.constant(call.args[0].value) if call.args else None
        mode = script.values.constant(call.args[1].value) if len(call.args) > 1 else "r"
        source = name.rpartition("/")[2] if isinstance(name, str) and mode in ("r", "rb", "rt") else ""
        if source.endswith(".py") and source not in _FILES:
            what = f"`{name}` is read here, and a run has the script as `train.py`."
            yield Found(call, what, "Use `__file__`.")
