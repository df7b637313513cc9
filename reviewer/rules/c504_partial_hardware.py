"""C504 partial-hardware."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from reviewer.dataflow.helpers import where_given
from reviewer.environment.variables import set_variables
from reviewer.fold import UNKNOWN
from reviewer.found import Found
from reviewer.report import Severity
from reviewer.rules.base import Rule
from reviewer.script import Script

_VISIBLE = (
    "CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES NEURON_RT_VISIBLE_CORES "
    "NEURON_RT_NUM_CORES NEURON_VISIBLE_DEVICES ZE_AFFINITY_MASK TPU_VISIBLE_DEVICES TPU_VISIBLE_CHIPS "
    "ASCEND_RT_VISIBLE_DEVICES XPU_VISIBLE_DEVICES GPU_DEVICE_ORDINAL"
)
_DEVICES = frozenset(_VISIBLE.split())
_COUNTS = frozenset({"NEURON_RT_NUM_CORES"})
_THREADS = frozenset({"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"})
_CHOOSING = tuple(f"torch.{name}" for name in ("cuda.set_device", "xpu.set_device", "accelerator.set_device_index"))
_FEWER_THREADS = ("torch.set_num_threads", "torch.set_num_interop_threads", "threadpoolctl.threadpool_limits")
_AFFINITY = ("os.sched_setaffinity",)
_GROUPS = ("torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group")
_RANGE = re.compile(r"(\d+)-(\d+)")
_REMEDY = "Leave it out: a run sees the devices of its lease and no others, and each process takes its own."


class PartialHardware(Rule):
    """Refuses to use fewer devices than the run has leased.

    What it looks for
        `CUDA_VISIBLE_DEVICES`, `NEURON_RT_VISIBLE_CORES` and their like set to a constant that does not name at least
        as many devices as the launch command has processes; under a launch of several processes, one and the same
        `torch.cuda.set_device` for all of them, and a world size that is set to fewer; CPUs chosen by
        `os.sched_setaffinity`. Fewer threads (`torch.set_num_threads`, `OMP_NUM_THREADS`) are only noted: the budget
        is counted in seconds of the whole lease, so they slow down nobody but the script itself.

    Why it is refused
        All entries of a phase are compared on one and the same hardware, and the whole lease is paid for. A run on a
        part of it cannot be compared, and what it seems to save is what others could not use.

    Do instead
        Take the devices that are there: `torch.cuda.set_device(local_rank)`, with `get_dist_info` of the kit.
    """

    code = "C504"

    VALID: ClassVar = (
        "import torch\nfrom prepare import get_dist_info\n_, rank, local_rank, world = get_dist_info()\n"
        "torch.cuda.set_device(local_rank)\n",
        "import torch\ntorch.cuda.set_device(0)\n",
        "# launch: python 1\nimport torch\ntorch.cuda.set_device(0)\ndevice = torch.device('cuda', 0)\n",
        "# launch: torchrun 8\nimport torch\ndevice = torch.device('cuda', local_rank)\n"
        "torch.cuda.set_device(device)\n",
        "# launch: torchrun 4\nimport torch\ntorch.cuda.set_device(f'cuda:{rank}')\ntorch.cuda.set_device(rank % 8)\n",
        "# launch: torchrun 4\nimport os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0,1,2,3'\n",
        "# launch: torchrun 8\nimport os\nos.environ['NEURON_RT_VISIBLE_CORES'] = '0-7'\n",
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = str(local_rank)\n"
        "print(os.environ.get('CUDA_VISIBLE_DEVICES'))\n",
        "import os\nos.environ['CUDA_DEVICE_MAX_CONNECTIONS'] = '1'\nos.environ['CUDA_LAUNCH_BLOCKING'] = '0'\n",
        "import torch\ntorch.set_num_threads(1)\n",
        "import os\nos.environ['OMP_NUM_THREADS'] = '1'\n",
        "# launch: torchrun 2\nimport torch.distributed as d\n"
        "d.init_process_group('nccl', rank=rank, world_size=world)\n",
        "# launch: python 1\nimport torch.distributed as d\nd.init_process_group('gloo', rank=0, world_size=1)\n",
        "import os\nos.environ.setdefault('WORLD_SIZE', '1')\nos.environ.setdefault('RANK', '0')\n",
        "import os\nos.environ.pop('CUDA_VISIBLE_DEVICES', None)\nos.sched_getaffinity(0)\n",
        "class C:\n    def set_device(self, n):\n        pass\nC().set_device(0)\n",
    )
    INVALID: ClassVar = (
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'  # !\n",
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''  # !\nos.environ['HIP_VISIBLE_DEVICES'] = str(0)  # !\n",
        "# launch: torchrun 8\nimport os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0,1'  # !\n",
        "import os\nos.environ.setdefault('CUDA_' + 'VISIBLE_DEVICES', '1')  # !\n"
        "os.putenv('CUDA_VISIBLE_DEVICES', '0')  # !\n",
        "import os\nos.environ.update(CUDA_VISIBLE_DEVICES='0')  # !\n"
        "os.environ.update({'NEURON_RT_NUM_CORES': '1'})  # !\n",
        "from os import environ as e\nDEVICE = '0'\ne['CUDA_VISIBLE_DEVICES'] = DEVICE  # !\n",
        "import os\ndef put(k, v):\n    os.environ[k] = v\nput('CUDA_VISIBLE_DEVICES', '0')  # !\nput('A', 'b')\n",
        "import os\nos.environ['NEURON_RT_VISIBLE_CORES'] = '0-1'  # !\nos.environ['NEURON_RT_NUM_CORES'] = '2'  # !\n",
        "# launch: torchrun 8\nimport torch\ntorch.cuda.set_device(0)  # !\n",
        "# launch: torchrun 2\nfrom torch.cuda import set_device as s\ns('cuda:0')  # !\n",
        "# launch: torchrun 2\nimport torch\ntorch.cuda.set_device(torch.device('cuda', 0))  # !\n",
        "# launch: torchrun 2\nimport torch\ndef use(n):\n    torch.cuda.set_device(n)\nuse(1)  # !\nuse(local_rank)\n",
        "# launch: torchrun 4\nimport os\nos.environ['WORLD_SIZE'] = '1'  # !\n",
        "# launch: torchrun 4\nimport torch.distributed as d\n"
        "d.init_process_group('nccl', rank=0, world_size=1)  # !\n",
        "import os\nos.sched_setaffinity(0, {0})  # !\n",
        "import os\nclass C:\n    def f(self):\n        if x:\n"
        "            os.environ['CUDA_VISIBLE_DEVICES'] = '0'  # !\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        processes = script.launch.processes if script.launch is not None else 1
        for place, name, value in set_variables(script):
            constant = script.values.constant(value)
            if name in _DEVICES and constant is not UNKNOWN and not 1 < processes <= _count(name, constant):
                yield _found(place, f"`{name}` is set to `{constant}`, so the run may not use all that it has leased")
            elif name == "WORLD_SIZE" and _is_fewer(constant, processes) and not _is_default(script, place):
                yield _found(place, f"{processes} processes are started, and this makes each of them believe in fewer")
            elif name in _THREADS and constant is not UNKNOWN:
                yield _found(place, "The number of threads is a constant here; a run is charged by the clock", "info")
        for _, call in script.calling(_FEWER_THREADS):
            yield _found(call, "The number of threads is set here; a run is charged by the clock", "info")
        for _, call in script.calling(_AFFINITY):
            yield _found(call, "Which CPUs are used is chosen here, and the lease is for all of them")
        if processes > 1:
            yield from _together(script, processes)


def _together(script: Script, processes: int) -> Iterator[Found]:
    """Find what all of several processes do alike, and each should do for itself."""
    for path, call in script.calling(_CHOOSING):
        for place, device in where_given(script, call, call.args[0].value if call.args else None):
            if device is not None and _is_constant_device(script, device):
                yield _found(place, f"All {processes} processes take the same device by this `{path}`")
    for _, call in script.calling(_GROUPS):
        for arg in call.args:
            named = arg.keyword is not None and arg.keyword.value == "world_size"
            if named and _is_fewer(script.values.constant(arg.value), processes):
                yield _found(call, f"{processes} processes are started, and this group is for fewer")


def _is_constant_device(script: Script, device: cst.BaseExpression) -> bool:
    if isinstance(device, cst.Call) and "torch.device" in script.path_of(device):
        parts = [script.values.constant(arg.value) for arg in device.args]
        return bool(parts) and UNKNOWN not in parts and (len(parts) > 1 or ":" in str(parts[0]))
    return script.values.constant(device) is not UNKNOWN


def _is_fewer(value: object, processes: int) -> bool:
    return str(value).isdigit() and int(str(value)) < processes


def _is_default(script: Script, place: cst.CSTNode) -> bool:
    return isinstance(place, cst.Call) and "os.environ.setdefault" in script.path_of(place)


def _count(name: str, value: object) -> int:
    """Return how many devices a variable names: `0,1` and `0-1` two, and as a number that many."""
    text = str(value).strip()
    if name in _COUNTS:
        return int(text) if text.isdigit() else 0
    parts = [part for part in text.split(",") if part.strip() and part.strip() != "-1"]
    ranges = [_RANGE.fullmatch(part.strip()) for part in parts]
    return sum(max(0, int(m[2]) - int(m[1]) + 1) if m is not None else 1 for m in ranges)


def _found(node: cst.CSTNode, what: str, at_most: Severity = "reject") -> Found:
    return Found(node, f"{what}.", _REMEDY if at_most == "reject" else "Nothing to do.", at_most)
