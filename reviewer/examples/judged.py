"""Examples of E202: a training that judges other logits than the scorer gets, and honest ones."""

from __future__ import annotations

_TOP = """import torch, torch.nn as nn, torch.nn.functional as F
class GPT(nn.Module):
    warm = 1.5
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(64, 64)
        self.blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(2))
    def raw(self, x):
        return self.head(x)
    def forward(self, x{more}):
        {body}
{methods}"""
_END = """def load_for_eval(path, device):
    model = GPT()
    {load}
    model.load_state_dict(torch.load(path, weights_only=True))
    return model.to(device).eval()
def main():
    model = {make}
    {before}
    for x, y in loader:
        {loss}
        loss.backward()
    torch.save(model.state_dict(), 'out/final.pt')
if __name__ == '__main__':
    main()
"""


def _script(
    loss: str = "loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())",
    *,
    body: str = "return self.raw(x)",
    more: str = "",
    methods: str = "",
    make: str = "GPT()",
    before: str = "pass",
    load: str = "pass",
    helper: str = "",
) -> str:
    top = _TOP.format(body=body, more=more, methods=methods)
    return top + helper + _END.format(make=make, before=before, loss=loss, load=load)


_SCALED = "return 1.05 * self.raw(x)"
AS_SCORED = (
    _script(),
    _script("loss = F.cross_entropy(model.raw(x).flatten(0, 1), y.flatten())"),
    _script(
        "loss = F.cross_entropy(model.raw(x).flatten(0, 1), y.flatten())", body="x = self.raw(x)\n        return x"
    ),
    _script(
        "logits = model(x).float()\n        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1)) / 4"
    ),
    _script("logits = model(x)\n        loss = F.cross_entropy(logits.mT, y) + 1e-4 * logits.logsumexp(-1).mean()"),
    _script("zero = 0.0 * w.sum()\n        loss = F.cross_entropy((model(x) + zero).flatten(0, 1), y)"),
    _script("loss = F.cross_entropy(model(x)[:, :-1].transpose(1, 2), y)", make="torch.compile(GPT().to(d))"),
    _script(
        "loss = model(x, y)",
        more=", y=None",
        body="z = self.raw(x)\n        return z if y is None else F.cross_entropy(z, y)",
    ),
    _script("loss = nn.CrossEntropyLoss()(torch.flatten(model(x), 0, 1), y.flatten())"),
    _script(
        "loss = model(x, y) + 0 * F.cross_entropy(model.raw(x), y)",
        more=", y=None",
        body="z = 2 * self.raw(x)\n        return z if y is None else F.cross_entropy(z, y)",
    ),
    _script("loss = F.cross_entropy(model(x, 1.05), y)", more=", gain=1.05", body="return gain * self.raw(x)"),
    _script("loss = F.cross_entropy(model(x, seq_len=8), y)", more=", seq_len=16", body="return self.raw(x[:seq_len])"),
    _script(before="model.warm = 1.5", body="return self.warm * self.raw(x)"),
    _script(before="model.warm = 1.0", load="model.warm = 1.0", body="return self.warm * self.raw(x)"),
    _script(before="model.steps = 3\n    GPT.count = 2"),
    _script(before="model.blocks.append(nn.Linear(64, 64))", load="model.blocks.append(nn.Linear(64, 64))"),
    _script(methods="    def to(self, *a, **k):\n        print(a)\n        return super().to(*a, **k)\n"),
    _script(
        body="return self.raw(x) * self.cos",
        methods="    def _apply(self, fn):\n        super()._apply(fn)\n        self.cos = self.cos.float()\n",
    ),
    _script(methods="    def train(self, mode=True):\n        super().train(mode)\n        return self\n"),
    _script(
        "loss = judged(model, x, y)",
        helper="def judged(m, x, y):\n    logits = m(x)\n    return F.cross_entropy(logits.flatten(0, 1), y)\n",
    ),
)
OTHERWISE = (
    _script("loss = F.cross_entropy(model(x).flatten(0, 1) / 1.1, y)  # ! review"),
    _script(
        "loss = F.cross_entropy((model(x) + BIAS).flatten(0, 1), y)  # ! review", make="torch.compile(GPT()).to(d)"
    ),
    _script(
        "logits = model(x)\n        logits = logits * 0.9  # ! review\n"
        "        loss = F.cross_entropy(logits.flatten(0, 1), y)"
    ),
    _script("loss = nn.CrossEntropyLoss()(input=model.forward(x) - 3, target=y)  # ! review"),
    _script(
        "loss = judged(model(x), y)",
        helper="def judged(logits, y):\n    return F.cross_entropy(logits / 1.1, y)  # ! review\n",
    ),
    _script("loss = F.cross_entropy(model.raw(x).flatten(0, 1), y)  # ! review", body=_SCALED),
    _script("z = model.raw(x)  # ! review\n        loss = F.cross_entropy(z.flatten(0, 1), y)", body=_SCALED),
    _script(
        "loss = F.cross_entropy(model(x, 1.0), y)  # ! review", more=", gain=1.05", body="return gain * self.raw(x)"
    ),
    _script(
        "loss = F.cross_entropy(model(x, depth=1), y)  # ! review",
        more=", *, depth=4",
        body="return self.raw(x) * depth",
    ),
    _script(before="model.warm = 1.0  # ! review", body="return self.warm * self.raw(x)"),
    _script(before="GPT.warm = 1  # ! review", body="return self.warm * self.raw(x)"),
    _script(before="setattr(model, 'warm', 1.0)  # ! review", body="return self.warm * self.raw(x)"),
    _script(load="model.blocks.extend(model.blocks)  # !"),
    _script(load="model.blocks.append(model.blocks[0])  # !"),
    _script(load="del model.blocks[1]  # !"),
    _script(load="nn.init.zeros_(model.head.weight)  # ! review"),
    _script(load="globals().update(CAP=3.0)  # !", body="return self.raw(x) * CAP", helper="CAP = 1.0\n"),
    _script(
        body="return self.warm * self.raw(x)",
        methods="    def to(self, *a):\n        self.warm = 1.0  # !\n        return super().to(*a)\n",
    ),
    _script(
        body="return self.warm * self.raw(x)",
        methods="    def set_extra_state(self, state):\n        self.warm = state  # ! review\n",
    ),
    _script(
        body="return self.warm * self.raw(x)",
        methods="    def __setattr__(self, name, value):\n        super().__setattr__('warm', 1.0)  # ! review\n",
    ),
    _script(methods="    def __call__(self, x):  # ! review\n        return self.forward(x) * 1.05\n"),
    _script(methods="    def eval(self):  # ! review\n        return self\n"),
)
