"""C505 compiler-flags-differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

from reviewer.environment.switches import COMPILE, Switch, switches
from reviewer.evaluation.sides import Sides
from reviewer.found import Found
from reviewer.rules.base import Rule
from reviewer.script import Script

_MOST_NAMED = 4  # other flags that one sentence names
_REMEDY = "Set it once, at the top of the file, where training and `load_for_eval` both see it."


class CompilerFlagsDiffer(Rule):
    """Sends settings of compilers and of arithmetic that differ between training and evaluation to a person.

    What it looks for
        `NEURON_CC_FLAGS`, `XLA_FLAGS`, `TORCHINDUCTOR_…` and the like, `torch.backends…`, `torch._inductor.config…`,
        `torch.set_float32_matmul_precision`, deterministic algorithms, the default type, and the mode, backend and
        options of `torch.compile`: set to one value where the training runs and to another where `load_for_eval` or
        `forward` run, or set only for those. Set at the top of the file, both see it, and nothing is said. What is set
        only for the training, as in most scripts, is noted together.

    Why it is refused
        One model has one arithmetic. Other flags round otherwise, and what was trained under the ones is then scored
        under the others; the difference can be chosen by looking at scores.

    Do instead
        Set flags at the top of the file, as constants.
    """

    code = "C505"

    VALID: ClassVar = (
        "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\ntorch.set_float32_matmul_precision('high')\n"
        "def load_for_eval(path, device):\n    return GPT()\n",
        "import torch\ndef main():\n    torch.set_float32_matmul_precision('high')\nif __name__ == '__main__':\n"
        "    main()\n",
        "import torch\ndef setup():\n    torch.backends.cudnn.allow_tf32 = True\ndef main():\n    setup()\n"
        "def load_for_eval(path, device):\n    setup()\nif __name__ == '__main__':\n    main()\n",
        "import torch\ndef main():\n    torch.set_float32_matmul_precision('high')\n"
        "def load_for_eval(path, device):\n"
        "    torch.set_float32_matmul_precision('high')\nif __name__ == '__main__':\n    main()\n",
        "import os\nos.environ['NEURON_CC_FLAGS'] = '-O1'\nos.environ['XLA_FLAGS'] = '--a'\nimport torch\n",
        "import torch\nmodel = torch.compile(f, mode='max-autotune')\n@torch.compile\ndef g(x):\n    return x\n",
        "import torch\ndef main():\n    m = torch.compile(GPT(), mode='max-autotune')\n    z = torch.compile(f)\n"
        "def load_for_eval(path, device):\n    return torch.compile(GPT())\nif __name__ == '__main__':\n    main()\n",
        "import torch\ndef main():\n    m = torch.compile(GPT(), dynamic=False)\ndef load_for_eval(path, device):\n"
        "    return GPT()\nif __name__ == '__main__':\n    main()\n",
        "import torch\nclass GPT(torch.nn.Module):\n    def forward(self, x):\n"
        "        torch.backends.cuda.enable_flash_sdp(True)\n"
        "        return x\ndef main():\n    GPT()(x)\ndef load_for_eval(p, d):\n    return GPT()\n"
        "if __name__ == '__main__':\n    main()\n",
        "import torch\ndef load_for_eval(path, device):\n    torch.backends.cudnn.benchmark = True\n    return GPT()\n",
        "import torch, os\ndef load_for_eval(path, device):\n    os.environ['TOKENIZERS_PARALLELISM'] = 'false'\n"
        "    torch._dynamo.config.recompile_limit = 64\n    return GPT()\n",
        "import torch\n@torch.compile(dynamic=False)\ndef f(x):\n    return x\ndef main():\n"
        "    m = torch.compile(GPT(), mode='max-autotune')\ndef load_for_eval(path, device):\n    return GPT()\n"
        "if __name__ == '__main__':\n    main()\n",
        "import torch\ndef never():\n    torch.backends.cudnn.allow_tf32 = True\n",
    )
    INVALID: ClassVar = (
        "import torch\ndef load_for_eval(path, device):\n    torch.backends.cuda.matmul.allow_tf32 = False  # !\n"
        "    return GPT()\n",
        "import torch\ndef main():\n    torch.set_float32_matmul_precision('medium')\n"
        "def load_for_eval(path, device):\n"
        "    torch.set_float32_matmul_precision('highest')  # !\n    return GPT()\nif __name__ == '__main__':\n"
        "    main()\n",
        "import torch\ntorch.set_float32_matmul_precision('high')\ndef load_for_eval(path, device):\n"
        "    torch.set_float32_matmul_precision('highest')  # !\n    return GPT()\n",
        "import torch\ntorch.backends.cudnn.allow_tf32 = True\nif __name__ == '__main__':\n"
        "    torch.backends.cudnn.allow_tf32 = False  # !\n    train()\n",
        "import os\ndef main():\n    os.environ['NEURON_CC_FLAGS'] = '-O1'\ndef load_for_eval(path, device):\n"
        "    os.environ['NEURON_CC_FLAGS'] = '-O3'  # !\n    return GPT()\nif __name__ == '__main__':\n    main()\n",
        "import os\ndef flags(v):\n    os.environ['XLA_FLAGS'] = v  # !\ndef load_for_eval(path, device):\n"
        "    flags('--b')\n",
        "import os\ndef load_for_eval(path, device):\n    os.environ.update(TORCHINDUCTOR_MAX_AUTOTUNE='1')  # !\n"
        "    return GPT()\n",
        "import torch._inductor.config as c\ndef prepare_eval():\n    c.coordinate_descent_tuning = True  # !\n"
        "def load_for_eval(path, device):\n    prepare_eval()\n    return GPT()\n",
        "import torch\ndef load_for_eval(path, device):\n"
        "    setattr(torch.backends.cuda.matmul, 'allow_' + 'tf32', True)  # !\n",
        "import torch\ndef main():\n    m = torch.compile(GPT(), mode='default')\ndef load_for_eval(path, device):\n"
        "    return torch.compile(GPT(), mode='max-autotune')  # !\nif __name__ == '__main__':\n    main()\n",
        "import torch\ndef load_for_eval(path, device):\n    torch.use_deterministic_algorithms(True)  # !\n"
        "    return GPT()\n",
        "from torch.backends.cuda import enable_math_sdp as e\ndef main():\n    e(False)\n"
        "def load_for_eval(path, device):\n"
        "    e(True)  # !\nif __name__ == '__main__':\n    main()\n",
        "import torch\ndef load_for_eval(path, device):\n    torch.set_default_dtype(torch.float64)  # !\n"
        "    return GPT()\n",
    )

    def check(self, script: Script) -> Iterator[Found]:
        found: dict[str, list[Switch]] = defaultdict(list)
        for switch in switches(script):
            found[switch.name].append(switch)
        if not found:
            return
        sides = Sides(script)
        forgotten: list[tuple[str, Switch]] = []  # what scoring does without, told of together
        for name, settings in found.items():
            told = [(sides.of(one.node), one) for one in settings]
            both = [one for side, one in told if side == "both"]
            train = [one for side, one in told if side == "train"] or both
            scored = [one for side, one in told if side == "eval"]
            if name == COMPILE:  # it speaks of one function, and not of all that follows
                train = train + both
            else:
                scored = scored or both
            if scored and train and (other := _first_other(scored, train, both)) is not None:
                what = f"`{name}` has one value where the model is trained and another where it is scored."
                yield Found(other.node, what, _REMEDY, "review")
            elif scored and not train:
                yield Found(scored[0].node, f"`{name}` is set only where the model is scored.", _REMEDY, "review")
            elif train and not scored and name != COMPILE:
                forgotten.append((name, train[0]))
        if forgotten:
            yield Found(forgotten[0][1].node, _without([name for name, _ in forgotten]), _REMEDY, "info")


def _without(names: list[str]) -> str:
    """Say what scoring does without."""
    if len(names) == 1:
        return f"`{names[0]}` is set only for the training, so the model is scored with the default."
    others = [f"`{'.'.join(name.split('.')[-2:])}`" for name in names[1 : _MOST_NAMED + 1]]
    shown = ", ".join(others) + (", …" if len(names) > _MOST_NAMED + 1 else "")
    many = f"{len(names) - 1} other flags" if len(names) > 2 else "one other flag"
    return f"`{names[0]}` and {many} ({shown}) are set only for the training, so the model is scored with the defaults."


def _first_other(scored: list[Switch], train: list[Switch], both: list[Switch]) -> Switch | None:
    """Return a setting of one side whose value the other side does not have."""
    known = {one.value for one in train}
    other = next((one for one in scored if one.value not in known), None)
    if other is None or scored is not both:
        return other
    return next((one for one in train if one.value not in {b.value for b in both}), other)
