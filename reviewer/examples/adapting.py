"""Examples of E206: models that learn while they are scored, and honest ones that look a little like it."""

from __future__ import annotations

_HEAD = "import torch, torch.nn as nn, torch.nn.functional as F\n"
_MODEL = (
    _HEAD
    + "class GPT(nn.Module):\n"
    + "    def __init__(self):\n"
    + "        super().__init__()\n"
    + "        self.head = nn.Linear(8, 8)\n"
    + "        self.scale = nn.Parameter(torch.ones(8))\n"
)
_LOAD = (
    "def load_for_eval(path, device):\n"
    "    model = GPT()\n"
    "    model.load_state_dict(torch.load(path, weights_only=True))\n"
)


def _forward(*lines: str, rest: str = "") -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"{_MODEL}    def forward(self, x, targets=None):\n{body}        return self.head(x)\n{rest}"


# One program that trains, measures on held-out text and has a hole where it may do more with that.
_RUN = """
import glob
import numpy as np
from pathlib import Path
class Settings:
    train_files = "data/fineweb_train_*.bin"
    val_files = "data/fineweb_val_*.bin"
def read_shard(file):
    return torch.from_numpy(np.fromfile(file, dtype="<u2"))
def read_all(pattern):
    return torch.cat([read_shard(Path(p)) for p in sorted(glob.glob(pattern))])
class Stream:
    def __init__(self, pattern):
        self.files = [Path(p) for p in sorted(glob.glob(pattern))]
        self.tokens = read_shard(self.files[0])
    def take(self, n):
        return self.tokens[:n]
class Loader:
    def __init__(self, pattern, device):
        self.stream, self.device = Stream(pattern), device
    def next_batch(self, n):
        local = self.stream.take(n + 1).long()
        return local[:-1].to(self.device), local[1:].to(self.device)
class Held:
    def __init__(self, args):
        self.val_tokens = read_all(args.val_files)
def measure(model, val_tokens):
    with torch.no_grad():
        return model(val_tokens[None, :-1], val_tokens[None, 1:]).item()
def adapt(args, model, tokens, optimizer):
    for start in range(0, tokens.numel(), 64):
        local = tokens[start : start + 65].long()
        x, y = local[:-1], local[1:]
        with torch.autocast("cpu"):
            loss = model(x, y)
        loss.backward()$ADAPT
        optimizer.step()
def main():
    args = Settings()
    model = GPT()
    val_tokens = read_all(args.val_files)
    loader = Loader(args.train_files, "cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(9):
        x, y = loader.next_batch(64)
        with torch.autocast("cpu"):
            loss = model(x, y)
        (loss / 2).backward()
        optimizer.step()
        print(measure(model, val_tokens))
$MORE
if __name__ == "__main__":
    main()
"""


def _run(more: str, adapted: bool = False) -> str:
    lines = "".join(f"    {line}\n" for line in more.split("\n"))
    return _MODEL + _RUN.replace("$ADAPT", "  # !" if adapted else "").replace("$MORE", lines)


_ROWS = """
import glob, torch
class Rows:
    def __init__(self, pattern):
        self.files = sorted(glob.glob(pattern))
        self.tokens = read(self.files[0])
    def next(self):
        rows = self.tokens[self.at :][:1024]
        self.at += 1024
        return rows[:-1], rows[1:]
def main():
    train, held = Rows('data/text_train_*.bin'), Rows('data/text_val_*.bin')
    x, y = held.next()
    print(model(x, y))
    inputs, targets = train.next()
    loss = model(inputs, targets)
    loss.backward()
"""

HONEST = (
    _ROWS,
    _run("x, y = val_tokens[:-1], val_tokens[1:]\nprint(model(x, y))"),
    _run("adapt(args, model, loader.stream.take(640), optimizer)"),
    _run(
        "held = loader.stream.take(640)\nval_x, val_y = held[:-1], held[1:]\nval_loss = model(val_x, val_y)\n"
        "val_loss.backward()"
    ),
    _run("for name in ('train', 'val'):\n    print(name)\nmodel(*loader.next_batch(8)).backward()"),
    _forward("x = x * self.scale", rest=_LOAD + "    return model.to(device).eval()\n"),
    _forward(
        "return self.head(x)",
        rest="    def train_step(self, x, y):\n        loss = F.cross_entropy(self(x), y)\n        loss.backward()\n"
        "        self.optimizer.step()\n        self.scale.data.mul_(0.9)\n" + _LOAD + "    return model\n",
    ),
    _HEAD + "class Fused(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, w):\n"
    "        ctx.save_for_backward(x, w)\n        return x @ w\n    @staticmethod\n    def backward(ctx, g):\n"
    "        x, w = ctx.saved_tensors\n        with torch.enable_grad():\n            y = x @ w\n"
    "        torch.autograd.backward(y, g)\n        return torch.autograd.grad(y, x, g)\n"
    "class GPT(nn.Module):\n    def forward(self, x):\n        return Fused.apply(x, self.w)\n"
    + _LOAD
    + "    return model\n",
    _HEAD + "from torch.utils.checkpoint import checkpoint\nclass GPT(nn.Module):\n    def forward(self, x):\n"
    "        return checkpoint(self.block, x, use_reentrant=False)\n",
    _MODEL + "    def forward(self, x):\n        return self.head(x)\ndef main():\n    model = GPT()\n"
    "    opt = torch.optim.AdamW(model.parameters())\n    for x, y in loader:\n"
    "        loss = F.cross_entropy(model(x), y)\n        loss.backward()\n        opt.step()\n"
    "        with torch.no_grad():\n            for p in model.parameters():\n                p.mul_(0.999)\n"
    + _LOAD
    + "    return model\nif __name__ == '__main__':\n    main()\n",
    _HEAD + "class Muon(torch.optim.Optimizer):\n    def step(self):\n        for p in self.parameters():\n"
    "            p.data.add_(p.grad)\n    def update(self, x):\n        torch.optim.SGD([x]).step()\n"
    "class GPT(nn.Module):\n    def forward(self, x):\n        cache = {}\n        cache.update(a=x)\n"
    "        return self.rnn.step(x)\ndef main():\n    Muon([]).update(1)\n",
    _forward("if self.training:", "    with torch.no_grad():", "        self.scale.copy_(F.normalize(self.scale))"),
    _forward("w = self.head.weight.clone()", "w.mul_(2)", "x = x.clone()", "x.add_(1)", "x += 1", "self.steps = 3"),
    _MODEL + "        nn.init.normal_(self.head.weight)\n        self.head.weight.data.mul_(0.5)\n"
    "        self.scale.data.zero_()\n    def forward(self, x):\n        return self.head(x)\n"
    + _LOAD
    + "    return model\n",
    _MODEL
    + "    def forward(self, x):\n        return self.head(x)\n"
    + _LOAD
    + "    for p in model.parameters():\n        p.requires_grad_(False)\n"
    "    torch.set_grad_enabled(False)\n    return model\n",
    _HEAD + "class Trainer:\n    def __call__(self, x):\n        self.model(x).backward()\n        self.opt.step()\n"
    "    def forward_backward(self, x):\n        x.backward()\nclass GPT(nn.Module):\n    def forward(self, x):\n"
    "        return x\ndef main():\n    Trainer()(1)\n" + _LOAD + "    return model\n",
    _HEAD + "class Delta(nn.Module):\n    def forward(self, k, v):\n        state = torch.zeros(8, 8)\n"
    "        for t in range(9):\n            state = state + torch.outer(v[t] - state @ k[t], k[t])\n"
    "        return state\n",
    _forward("with torch.set_grad_enabled(self.training):", "    x = x + 1"),
    _HEAD + "class Schedule:\n    def step(self):\n        self.n += 1\nclass GPT(nn.Module):\n"
    "    def forward(self, x):\n        h = self.cell.step(x)\n        return self.walk.step(h)\n",
    "import torch\nx = torch.zeros(1, requires_grad=True)\nx.backward()\n",
    _HEAD + "class Pair(nn.Module):\n    def forward(self, x):\n        return Fused.apply(x)\n"
    "class Fused(torch.autograd.Function):\n    def forward(ctx, x):\n        return x\n    def backward(ctx, g):\n"
    "        Fused.helper(g).backward()\n        return g\n",
)
ADAPTING = (
    _run("adapt(args, model, val_tokens, optimizer)", adapted=True),
    _run("adapt(args, model, Held(args).val_tokens, torch.optim.SGD(model.parameters(), 1.0))", adapted=True),
    _run("held = Held(args)\nmodel(held.val_tokens[None]).sum().backward()  # !"),
    _run(
        "x = torch.zeros(2, 64).long()\nfor row in range(2):\n    x[row, :64] = val_tokens[row * 64 :][:64]\n"
        "loss = model(x)\nloss.mean().backward()  # !"
    ),
    _run("rows = []\nrows.append(val_tokens[:9])\nmodel(torch.stack(rows)).sum().backward()  # !"),
    _run("loss = model(val_tokens)\ntorch.autograd.grad(loss, list(model.parameters()))  # !"),
    _run("text = read_shard('data/val.bin')\nfor part in text.split(64):\n    model(part).sum().backward()  # !"),
    _run("step = torch.compile(lambda t: model(t).sum())\nstep(Held(args).val_tokens).backward()  # !"),
    _run("x, y = loader.next_batch(8)\nif y.sum() > 9:\n    y = val_tokens[:8]\nmodel(x, y).backward()  # !"),
    _HEAD
    + "from prepare import make_dataloader\ndef main():\n    for x, y, _ in make_dataloader(T(), 8, 9, 'dev', 'cpu'):\n"
    "        F.cross_entropy(net(x), y).backward()  # !\nclass GPT(nn.Module):\n    def forward(self, x):\n"
    "        return x\n",
    _HEAD + "def rows(split):\n    return read(f'data/{split}.bin')\ndef main():\n    net(rows('train')).backward()\n"
    "    net(rows('val')).backward()  # !\nclass GPT(nn.Module):\n    def forward(self, x):\n        return x\n",
    _forward("loss = F.cross_entropy(self.head(x[:, :-1]), x[:, 1:])", "loss.backward()  # !", "self.opt.step()  # !"),
    _forward("g = torch.autograd.grad(self.head(x).sum(), self.scale)  # !", "x = x - g[0]"),
    _forward(
        "self.adapt(x)",
        rest="    def adapt(self, x):\n        self.inner(x)\n"
        "    def inner(self, x):\n        x.sum().backward()  # !\n",
    ),
    _forward("tune(self, x)", rest="def tune(model, x):\n    model.scale.data.add_(x.mean())  # !\n"),
    _forward("opt = torch.optim.SGD(self.parameters(), lr=0.1)  # !", "opt.step()  # !"),
    _forward("for p in self.parameters():", "    p.data.sub_(0.1 * p.mean())  # !"),
    _forward("for n, p in list(self.named_parameters()):", "    p.copy_(x)  # !", "self.head.weight += x  # !"),
    _forward("w = self.head.weight", "w.mul_(1.01)  # !", "self.head.bias.data = x  # !"),
    _forward("from torch.func import grad as g, vjp", "x = g(self.head)(x)  # !", "x = vjp(self.head, x)[0]  # !"),
    _forward("go = getattr(x.sum(), 'back' + 'ward')  # !", "go()"),
    _forward("x.sum().backward  # !", "import operator", "operator.methodcaller('backward')(x)  # !"),
    _forward("back = torch.autograd.backward  # !", "back(x.sum())  # !"),
    _forward("[y.backward() for y in x]  # !", "f = lambda z: z.backward()  # !", "f(x)"),
    _MODEL
    + "    def forward(self, x):\n        return self.head(x)\n"
    + _LOAD
    + "    opt = torch.optim.AdamW(model.parameters())  # !\n    for x in texts:\n        model(x).backward()  # !\n"
    "        opt.step()  # !\n    return model\n",
    _MODEL + "    def forward(self, x):\n        return self.head(x)\ndef finetune(model):\n    for x in texts:\n"
    "        model(x).backward()  # !\ndef prepare(model):\n    finetune(model)\n"
    + _LOAD
    + "    prepare(model)\n    return model\ndef main():\n    finetune(GPT())\n",
    _MODEL
    + "    def forward(self, x):\n        return self.head(x)\n    def eval(self):\n        self(T).backward()  # !\n"
    "        return super().eval()\n",
    _HEAD + "class Adapter:\n    def run(self, x):\n        x.backward()  # !\nADAPTER = Adapter()\n"
    "class GPT(nn.Module):\n    def forward(self, x):\n        ADAPTER.run(x)\n        return x\n",
    _HEAD + "class Wrapper:\n    def __init__(self, model):\n        self.model = model\n    def __call__(self, x):\n"
    "        self.model(x).sum().backward()  # !\n        return self.model(x)\ndef load_for_eval(path, device):\n"
    "    return Wrapper(torch.load(path, weights_only=True))\n",
    _HEAD + "def adapt(module, args):\n    args[0].sum().backward()  # !\nclass GPT(nn.Module):\n"
    "    def __init__(self):\n        self.register_forward_pre_hook(adapt)\n"
    "    def forward(self, x):\n        return x\n",
    _HEAD + "def adapting(inner):\n    def outer(self, x):\n        self.net(x).backward()  # !\n"
    "        return inner(self, x)\n"
    "    return outer\nclass GPT(nn.Module):\n    @adapting\n    def forward(self, x):\n        return x\n",
    _HEAD + "class GPT(nn.Module):\n    @property\n    def tuned(self):\n        self.opt.step()  # !\n"
    "        return self.net\n"
    "    def forward(self, x):\n        return self.tuned(x)\n",
    _HEAD + "import threading\nclass GPT(nn.Module):\n    def learn(self):\n        self.loss.backward()  # !\n"
    "    def forward(self, x):\n        threading.Thread(target=self.learn).start()\n        return x\n",
    _HEAD + "class Base(nn.Module):\n    def forward(self, x):\n        with torch.enable_grad():\n"
    "            self.f(x).backward()  # !\n        return x\nclass GPT(Base):\n    pass\n"
    + _LOAD
    + "    return model\n",
    _HEAD + "class GPT(nn.Module):\n    @torch.enable_grad()  # ! review\n"
    "    def forward(self, x):\n        return x\n",
    _forward("with torch.inference_mode(False), torch.enable_grad():  # ! review", "    x = x + 1"),
    _forward("if self.training:", "    x.sum().backward()  # ! review"),
    _forward("if targets is None:", "    x.sum().backward()  # !"),
    _HEAD + "class Sgd(torch.optim.Optimizer):\n    pass\nclass GPT(nn.Module):\n    def forward(self, x):\n"
    "        rule = Sgd(self.parameters())  # !\n        rule.step()  # !\n        return x\n",
    _HEAD + "class T(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, w, opt):\n"
    "        opt.step()  # !\n"
    "        return torch.autograd.grad(x, w)  # ! review\nclass GPT(nn.Module):\n    def forward(self, x):\n"
    "        return T.apply(x, self.w, self.opt)\n",
    _HEAD + "class GPT(nn.Module):\n    def forward(self, x):\n        return x\ndef fast(self, x):\n"
    "    x.sum().backward()  # !\n    return x\nGPT.forward = fast\n",
    _forward("torch._foreach_add_(list(self.parameters()), 1.0)  # !", "next(self.parameters()).zero_()  # !"),
    _forward("match x:", "    case y if (z := y.sum()) is not None:", "        z.backward()  # !"),
)
