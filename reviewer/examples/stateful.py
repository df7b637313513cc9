"""Examples of E207: what models keep from call to call, and what only looks like it."""

_HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
"""


def _model(forward: str, before: str = "", init: str = "", args: str = "self, x", after: str = "") -> str:
    body = "".join(f"        {line}\n" for line in forward.strip("\n").split("\n"))
    start = "".join(f"        {line}\n" for line in init.strip("\n").split("\n") if line)
    made = f"    def __init__(self):\n        super().__init__()\n{start}"
    return f"{_HEAD}{before}class GPT(nn.Module):\n{made}    def forward({args}):\n{body}{after}"


_TURNS = """
class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return x @ w
class Turns(nn.Module):
    def apply(self, old, new):
        self.speed *= old / new
    def rotate(self, x):
        return x * self.speed
"""

HONEST = (
    _model("return Fused.apply(self.turns.rotate(x), self.head.weight)", before=_TURNS),
    _model("times = Fused.apply\nreturn times(self.turns.rotate(x), self.head.weight)", before=_TURNS),
    _model(
        "narrow = self.training and self.bits == 8\nif narrow:\n    self.range.copy_(self.step).mul_(x.abs().amax())\n"
        "    x = rounded(x, self.range)\nreturn self.head(x)"
    ),
    _model("seen = []\nfor block in self.blocks:\n    x = block(x)\n    seen.append(x)\nreturn self.head(sum(seen))"),
    _model("y = torch.zeros_like(x)\ny[:, 1:] = x[:, :-1]\ny.mul_(2)\ny += x\nreturn self.head(y)"),
    _model("if self.training:\n    self.mean.lerp_(x.mean(1), 0.1)\nreturn self.head(x - self.mean)"),
    _model("self.aux_loss = self.route(x).square().mean()\nreturn self.head(x)"),
    _model("self.load.add_(self.route(x).sum(0))\nself.calls += 1\nreturn self.head(x)"),
    _model(
        "T = x.size(1)\nif self._cos is None or T > self._len or self._cos.device != x.device:\n"
        "    t = torch.arange(T, device=x.device, dtype=self.inv_freq.dtype)\n    self._cos = t.cos().to(x.dtype)\n"
        "    self._len = T\nreturn self.head(x * self._cos[:T])",
        init="self._cos, self._len = None, 0",
    ),
    _model(
        "key = (x.size(1), x.device)\nif key not in MASKS:\n"
        "    MASKS[key] = torch.ones(x.size(1), x.size(1), device=x.device).tril()\nreturn self.head(MASKS[key] @ x)",
        before="MASKS = {}\n",
    ),
    _model(
        "self.fill(x.shape[1], x.device)\nreturn self.head(x * self.cos)",
        after="    def fill(self, seq_len, device):\n        if not self.ready:\n"
        "            self.register_buffer('cos', torch.arange(seq_len, device=device).cos(), persistent=False)\n"
        "            self.ready = True\n",
    ),
    _model(
        "aux = 0\nfor block in self.blocks:\n    x = block(x)\naux = sum(b.aux for b in self.blocks)\n"
        "return self.head(x) + 0 * aux",
        before="class Block(nn.Module):\n    def forward(self, x):\n        self.aux = x.mean()\n        return x\n",
    ),
    _HEAD
    + """
class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.scale = x.abs().max()
        return x.round()
""",
    _HEAD
    + """
class Muon(torch.optim.Optimizer):
    def step(self):
        self.steps += 1
        self.momenta.append(self.steps)
class GPT(nn.Module):
    def forward(self, x):
        return self.head(x)
def main():
    LOSSES.append(1.0)
LOSSES = []
""",
    _HEAD
    + """
class Cache:
    def __init__(self):
        self.k = None
    def put(self, k):
        self.k = k if self.k is None else torch.cat([self.k, k], 1)
        return self.k
class GPT(nn.Module):
    def forward(self, x, cache=None):
        if cache is not None:
            x = cache.put(x)
        return self.head(x)
def generate(model, x):
    cache = Cache()
    return model(x, cache)
""",
    _model("def add(v):\n    parts.append(v)\n    return v\nparts = []\nadd(x)\nreturn self.head(parts[0])"),
    _model("def more():\n    nonlocal count\n    count += 1\ncount = 0\nmore()\nreturn self.head(x) * count"),
    _model("w = self.weight.clone()\nw.mul_(2)\nw[0] = 0\nreturn F.linear(x, w)"),
    _model(
        "self.last = self.norm(x)\nreturn self.head(self.last)",
    ),
    _model("if self.w.device != x.device:\n    self.w = self.w.to(x.device)\nreturn F.linear(x, self.cast)"),
)

LOOKS_LIKE = (
    _model("if self.training:\n    x = x + 0.1 * torch.randn_like(x)\nreturn self.head(x)"),
    _model(
        "w = self.weight.flatten().clone()\nw[0] = 0\nv = self.weight.float().numpy().copy()\nreturn F.linear(x, w)"
    ),
    _model("aux_loss = torch.rand(3).sum()\nself.log(aux_loss)\nreturn self.head(x)"),
    _model(
        "return self.head(x)",
        init="self.blocks = []\nlist(map(self.blocks.append, [1, 2]))\nself.add = self.blocks.append\n"
        "nn.init.normal_(self.w)\nself.table = torch.rand(4).uniform_()",
    ),
    _model(
        "y, state = self.rnn(x, None)\nreturn self.head(y)",
        before="def rows():\n    got = yield 1\n    LOADER.send(1)\n",
    ),
    _model(
        "return self.head(x + mask(x.size(1)))",
        before="import functools\n@functools.lru_cache(4)\ndef mask(n):\n    return torch.ones(n, n).tril()\n",
    ),
    _model("last = self.norm(x)\nself.last = last\nreturn self.head(self.last)"),
    _model("a, b = self.one(x), self.two(x)\nself.a, self.b = a, b\nreturn self.head(self.a + self.b)"),
    _HEAD
    + """
class Vector:
    def __init__(self, x):
        self.x = x
    def __add__(self, other):
        return Vector(self.x + other.x)
ZERO = Vector(0)
class GPT(nn.Module):
    def forward(self, x):
        return self.head((ZERO + Vector(x)).x)
def sample(model, rows):
    return torch.multinomial(model(rows).softmax(-1), 1)
""",
)

STATEFUL = (
    _model("torch.ops.aten.add_.Tensor(self.mean, x.mean(1))  # !\nreturn self.head(x - self.mean)"),
    _model("self.mean.numpy()[:] = x.mean(1)  # !\nreturn self.head(x - self.mean)"),
    _model("self.mean.flatten()[0] = x.mean()  # !\nreturn self.head(x - self.mean)"),
    _model("torch._foreach_add_([self.mean], [x.mean(1)])  # !\nreturn self.head(x - self.mean)"),
    _model("bisect.insort(self.seen, x.max())  # !\nreturn self.head(x + self.seen[0])", before="import bisect\n"),
    _model(
        "memory().append(x)  # !\nreturn self.head(x + memory()[0])",
        before="import functools\n@functools.lru_cache\ndef memory():\n    return []\n",
    ),
    _model("return self.head(x + ROWS.send(x))  # !", before="ROWS = rows()\n"),
    _model(
        "np.add.at(SEEN, [0], x.max())  # !\nreturn self.head(x + SEEN[0])", before="import numpy as np\nSEEN = f()\n"
    ),
    _model("np.copyto(SEEN, x.max())  # !\nreturn self.head(x + SEEN[0])", before="import numpy as np\nSEEN = f()\n"),
    _model(
        "y = x + SEEN.get()\nSEEN.set(x)  # !\nreturn self.head(y)",
        before="import contextvars\nSEEN = contextvars.ContextVar('s')\n",
    ),
    _model(
        "self.note(x)\nreturn self.head(x + self.seen[0])", init="self.seen = []\nself.note = self.seen.append  # !"
    ),
    _model(
        "self.note(x)\nreturn self.head(x + self.seen[0])",
        init="self.seen = []\nself.note = functools.partial(self.seen.append)  # !",
        before="import functools\n",
    ),
    _model("y, self.state = self.rnn(x, self.state)  # !\nreturn self.head(y)", init="self.state = None"),
    _model("y = x + self.__dict__.get('old', 0)\nself.old = x  # !\nreturn self.head(y)"),
    _model("y = x + vars(self)['old']\nself.old = x  # !\nreturn self.head(y)"),
    _model("return self.head(x + 0.1 * torch.randn_like(x))  # !"),
    _model("noise = torch.empty_like(x).uniform_()  # !\nreturn self.head(x - (-noise.log()).log())"),
    _model("torch.save(x, 'out/seen.pt')  # !\nreturn self.head(x + torch.load('out/seen.pt'))"),
    _HEAD
    + """
class Memory:
    def __init__(self):
        self.last = 0
    def __matmul__(self, x):
        y = x + self.last
        self.last = x  # !
        return y
MEMORY = Memory()
class GPT(nn.Module):
    def forward(self, x):
        return self.head(MEMORY @ x)
""",
    _HEAD
    + """
class Last:
    def __get__(self, one, owner):
        one.__dict__['seen'] = one.__dict__.get('seen', 0) + 1  # !
        return one.__dict__['seen']
class GPT(nn.Module):
    last = Last()
    def forward(self, x):
        return self.head(x) * self.last
""",
    _model("self.seen.append(x)  # !\nreturn self.head(x + self.seen[0])", init="self.seen = []"),
    _model("self.buf.copy_(self.step).mul_(x.amax())  # !\nreturn self.head(x + self.buf)"),
    _model(
        "self.turns.apply(x, 2)\nreturn self.head(self.turns.rotate(x))", before=_TURNS.replace("new\n", "new  # !\n")
    ),
    _model("self.buf.copy_(x.mean(1))  # !\nreturn self.head(x + self.buf)"),
    _model("y = x + self.buf\nself.buf = x.detach()  # !\nreturn self.head(y)"),
    _model("self.count += 1  # !\nreturn self.head(x) * (self.count > 3)"),
    _model("y = self.head(x) + (0 if self.first else 1)\nself.first = False  # !\nreturn y"),
    _model(
        "global LAST\ny = x if LAST is None else x + LAST\nLAST = x  # !\nreturn self.head(y)", before="LAST = None\n"
    ),
    _model("CACHE.extend(x)  # !\nreturn self.head(x) + len(CACHE)", before="CACHE = []\n"),
    _model(
        "old = TABLE.get(int(x[0, 0]), 0)\nTABLE[int(x[0, 0])] = x  # !\nreturn self.head(x + old)",
        before="TABLE = {}\n",
    ),
    _model("seen.append(x)  # !\nreturn self.head(x + seen[0])", args="self, x, seen=[]"),
    _model(
        "self.k = torch.cat([self.k, x], 1)  # !\nreturn self.head(self.attend(x, self.k))",
        init="self.k = torch.zeros(1)",
    ),
    _model("y = x + self.register_me\nself.register_buffer('register_me', x)  # !\nreturn self.head(y)"),
    _model("GPT.total += 1  # !\nreturn self.head(x) + GPT.total"),
    _model("type(self).total = type(self).total + x.sum()  # !\nreturn self.head(x) + self.total"),
    _model("self.__class__.total += x.sum()  # !\nreturn self.head(x) + self.total"),
    _model("y = x + self.old\nsetattr(self, 'o' + 'ld', x)  # !\nreturn self.head(y)"),
    _model("y = x + self.old\nobject.__setattr__(self, 'old', x)  # !\nreturn self.head(y)"),
    _model("y = x + self.old\nself.__dict__['old'] = x  # !\nreturn self.head(y)"),
    _model("y = x + self.old\nvars(self)['old'] = x  # !\nreturn self.head(y)"),
    _model("y = x + getattr(self, 'old')\nself.old = x  # !\nreturn self.head(y)"),
    _model("b = self.buf\nb.add_(x.mean(1))  # !\nreturn self.head(x + b)"),
    _model("b = self.state['k']\nb[:, 0] = x[:, 0]  # !\nreturn self.head(x + b)"),
    _model("push = self.seen.append  # !\npush(x)\nreturn self.head(x + self.seen[0])"),
    _model("for b in self.bufs:\n    b.add_(x.mean())  # !\nreturn self.head(x + self.bufs[0])"),
    _model("torch.add(self.buf, x, out=self.buf)  # !\nreturn self.head(x + self.buf)"),
    _model("torch._foreach_add_(self.bufs, x)  # !\nreturn self.head(x + self.bufs[0])"),
    _model("torch.Tensor.copy_(self.buf, x)  # !\nreturn self.head(x + self.buf)"),
    _model("y = self.head(x) + next(self.noise)  # !\nreturn y"),
    _model("return self.head(x) * next(STEPS)  # !", before="import itertools\nSTEPS = itertools.count()\n"),
    _model("return self.head(x + self.queue.pop())  # !"),
    _model("self.block.register_forward_hook(lambda m, i, o: o * 2)  # !\nreturn self.head(x)"),
    _model(
        "self.note(x)\nreturn self.head(x + self.old)",
        after="    def note(self, x):\n        self.old.lerp_(x, 0.5)  # !\n",
    ),
    _model(
        "y = x + self.old\nnote(self, x)\nreturn self.head(y)",
        before="def note(m, x):\n    keep(m, x)\ndef keep(m, x):\n    m.old = x  # !\n",
    ),
    _model(
        "return self.head(bump(x))",
        before="def bump(x):\n    bump.calls += 1  # !\n    return x * bump.calls\nbump.calls = 0\n",
    ),
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, x):
        return self.head(x)
def load_for_eval(path, device):
    model, last = GPT(), []
    def run(tokens):
        last.append(tokens)  # !
        return model(torch.cat(last))
    return run
""",
    _HEAD
    + """
def load_for_eval(path, device):
    model, last = GPT(), None
    def run(tokens):
        nonlocal last
        y = model(tokens) if last is None else model(tokens) + last
        last = y  # !
        return y
    return run
""",
    _HEAD
    + """
class Memory:
    def __init__(self):
        self.rows = {}
    def ask(self, key):
        self.rows[key] = self.rows.get(key, 0) + 1  # !
        return self.rows[key]
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = Memory()
    def forward(self, x):
        return self.head(x) * self.memory.ask(int(x[0, 0]))
""",
    _HEAD
    + """
class Wrapper:
    def __init__(self, model):
        self.model, self.before = model, None
    def __call__(self, x):
        y = self.model(x) if self.before is None else self.model(x) + self.before
        self.before = y  # !
        return y
def load_for_eval(path, device):
    return Wrapper(GPT())
""",
    _HEAD
    + """
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.block.register_forward_hook(self.watch)
    def watch(self, module, args, out):
        self.mean.mul_(0.9).add_(out.mean())  # !
        return out - self.mean
    def forward(self, x):
        return self.head(self.block(x))
""",
    _model(
        "y = x + self.child.old\nx = self.child(x)\nreturn self.head(x + y)",
        before="class Child(nn.Module):\n    def forward(self, x):\n        self.old = x  # !\n        return x * 2\n",
    ),
    _model("if (n := len(DONE)) < 3:\n    DONE[n] = x  # !\nreturn self.head(x) + DONE[0]", before="DONE = {}\n"),
    _model("globals()['LAST'] = x + LAST  # !\nreturn self.head(x + LAST)", before="LAST = 0\n"),
)
