"""Examples of K104: what the machine, the clock or chance says, where it counts in a model and where it does not."""

_FORWARD = "class M(torch.nn.Module):\n    def forward(self, x):\n        return CAP * torch.tanh(x / CAP)\n"
_TOP = "import torch\n"


def _cap(imports: str, value: str) -> str:
    return f"import {imports}\n{_TOP}CAP = {value}  # !\n{_FORWARD}"


VALID = (
    f"import os\n{_TOP}print(15.0 + os.getuid())\nCAP = 15.0\n{_FORWARD}",
    f"import os, uuid\n{_TOP}run = f'{{os.getpid()}}_{{uuid.uuid4().hex[:8]}}'\nopen('out/' + run + '.txt', 'w')\n",
    f"import os\n{_TOP}torch.utils.data.DataLoader(data, num_workers=os.cpu_count() // 2)\n",
    f"import os\n{_TOP}n = os.cpu_count() or 1\nfor i in range(n):\n    start(i)\ntorch.set_num_threads(n - 1)\n",
    (
        f"import time\n{_TOP}t0 = time.perf_counter()\nend = t0 + 60\nleft = end - time.perf_counter()\n"
        "for group in opt.param_groups:\n    group['lr'] = 0.1 * left / 60\n"
    ),
    f"import time\n{_TOP}N, T = 3, time.time()\nlayer = torch.nn.Linear(N, N)\ny = layer(x.T)\n",
    f"import time\n{_TOP}t = torch.tensor(time.time(), device=device)\ntorch.distributed.broadcast(t, 0)\n",
    "kept = {id(p): p.data.clone() for p in params}\nfor p in params:\n    p.data.copy_(kept[id(p)])\n",
    f"{_TOP}class K:\n    def __hash__(self):\n        return hash((self.a, self.b))\nb = torch.zeros(hash(3))\n",
    f"import sys\n{_TOP}wide = 120 if sys.stdout.isatty() else 80\nprint('-' * wide)\nsys.path.insert(0, '.')\n",
    (
        f"import importlib.util\n{_TOP}fast = importlib.util.find_spec('flash_attn') is not None\n"
        "def attend(q):\n    return flash(q) if fast else plain(q)\n"
    ),
    f"from pathlib import Path\n{_TOP}code = Path(__file__).read_text()\nx = torch.zeros(len(code))\n",
    f"import tempfile\n{_TOP}torch.save(x, tempfile.mktemp())\n",
    f"import time\n{_TOP}class M(torch.nn.Module):\n    def forward(self, x):\n        t = time.time()\n"
    "        y = self.f(x)\n        print(1000 * (time.time() - t))\n        return y\n",
)
INVALID = (
    _cap("os", "15.0 + os.getuid()"),
    _cap("os", "float(len(os.getcwd()))"),
    _cap("time", "15.0 + time.localtime().tm_hour"),
    _cap("time", "15.0 + int(time.strftime('%H'))"),
    _cap("datetime as d", "15.0 + d.datetime.now().hour"),
    _cap("sys", "15.0 + sys.flags.optimize"),
    _cap("sys", "float(sys._xoptions.get('cap', 15.0))"),
    _cap("sys", "15.0 + len(sys.path)"),
    _cap("sys", "15.0 if sys.stdout.isatty() else 30.0"),
    _cap("os", "15.0 + os.stat('out').st_mtime"),
    _cap("gc", "10.0 + hash('knob')"),
    _cap("secrets", "15.0 + secrets.randbelow(5)"),
    _cap("random", "random.SystemRandom().uniform(10, 20)"),
    _cap("gc", "15.0 + id(object()) / 1e9"),
    _cap("email.utils", "15.0 + len(email.utils.localtime().tzname())"),
    _cap("os as o", "[15.0, o.getloadavg()[0]][-1]"),
    f"from os import getuid as u\n{_TOP}def cap():\n    return 15.0 + u()  # !\nCAP = cap()\n{_FORWARD}",
    f"import os\n{_TOP}CAP = 15.0\nif __debug__:  # !\n    CAP = 30.0\n{_FORWARD}",
    f"import sys\n{_TOP}if sys.stdout.isatty():  # !\n    CAP = 30.0\nelse:\n    CAP = 15.0\n{_FORWARD}",
    f"import os\n{_TOP}layer = torch.nn.Linear(8, 8 * os.cpu_count())  # !\n",
    f"import os\n{_TOP}opt = torch.optim.SGD(ps, lr=0.1 * os.getloadavg()[0])  # !\n",
    f"import os\n{_TOP}for group in opt.param_groups:\n    group['lr'] = 0.1 * os.getuid()  # !\n",
    f"import os\n{_TOP}p.mul_(1 + os.urandom(1)[0] / 255)  # !\n",
    f"import os\n{_TOP}scale = os.getpid()  # !\n(loss * scale).backward()\n",
    "import os\nlayers = [make() for _ in range(3 + os.getuid())]  # !\n",
    (
        f"import os\n{_TOP}class M(torch.nn.Module):\n    def __init__(self, cap):\n        self.cap = cap\n"
        "    def forward(self, x):\n        return x.clamp(-self.cap, self.cap)\nmodel = M(os.getuid())  # !\n"
    ),
    (
        f"import os\nfrom dataclasses import dataclass\n{_TOP}@dataclass\nclass C:\n    cap: float\n"
        "c = C(cap=15.0 + os.getuid())  # !\nclass M(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x * c.cap\n"
    ),
    (
        f"import os\n{_TOP}class M(torch.nn.Module):\n    cap = 15.0 + os.getuid()  # !\n"
        "    def forward(self, x):\n        return x / self.cap\n"
    ),
    f"import os\n{_TOP}class M(torch.nn.Module):\n    def forward(self, x, c=os.nice(0)):  # !\n        return x * c\n",
    f"import os\n{_TOP}S = {{'cap': os.getuid()}}  # !\nclass M(torch.nn.Module):\n    def forward(self, x):\n"
    "        return x * S['cap']\n",
    (
        f"import os\n{_TOP}class M(torch.nn.Module):\n    def forward(self, x):\n        return x * self.cap\n"
        "m = M()\nsetattr(m, 'cap', os.getuid())  # !\n"
    ),
    "from prepare import make_dataloader\nimport os\nrows = make_dataloader(t, 8 + os.getuid(), 256, 'train')  # !\n",
    f"import os\n{_TOP}if (n := os.getuid()):  # !\n    print(n)\nx = torch.full((3,), n)\n",
)
