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


HONEST = (
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
    _HEAD + "class GPT(nn.Module):\n    @torch.enable_grad()  # !\n    def forward(self, x):\n        return x\n",
    _forward("with torch.inference_mode(False), torch.enable_grad():  # !", "    x = x + 1"),
    _forward("if self.training:", "    x.sum().backward()  # !"),
    _forward("if targets is None:", "    x.sum().backward()  # !"),
    _HEAD + "class Sgd(torch.optim.Optimizer):\n    pass\nclass GPT(nn.Module):\n    def forward(self, x):\n"
    "        rule = Sgd(self.parameters())  # !\n        rule.step()  # !\n        return x\n",
    _HEAD + "class T(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, w, opt):\n"
    "        opt.step()  # !\n"
    "        return torch.autograd.grad(x, w)  # !\nclass GPT(nn.Module):\n    def forward(self, x):\n"
    "        return T.apply(x, self.w, self.opt)\n",
    _HEAD + "class GPT(nn.Module):\n    def forward(self, x):\n        return x\ndef fast(self, x):\n"
    "    x.sum().backward()  # !\n    return x\nGPT.forward = fast\n",
    _forward("torch._foreach_add_(list(self.parameters()), 1.0)  # !", "next(self.parameters()).zero_()  # !"),
    _forward("match x:", "    case y if (z := y.sum()) is not None:", "        z.backward()  # !"),
)
