"""Examples of E208: rows that know of each other, and rows that do not."""

_HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
from torch import einsum
"""


def _model(body: str, before: str = "", args: str = "self, idx", init: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    made = f"    def __init__(self):\n        {init}\n" if init else ""
    return f"{_HEAD}{before}class GPT(nn.Module):\n{made}    def forward({args}):\n{lines}"


_X = "B, T = idx.shape\nx = self.wte(idx)\n"

_LAYERS = _X + "for block in self.blocks:\n    x = block(x, T)\n"
_CAP = "def cap(x):\n    return 15 * torch.tanh(x / 15)\n"

HONEST = (
    _model("if idx.dtype != torch.long:\n    idx = idx.long()\nreturn self.head(self.wte(idx))"),
    _model(_X + "if T != self.length or T > 512 or T == 1:\n    self.fill(T)\nreturn self.head(x)"),
    _model(
        _X + "if T == 2048:\n    raise ValueError(T)\nassert idx.dtype == torch.int64 and T != 9\nreturn self.head(x)"
    ),
    _model(_X + "if self.training and T == 2048:\n    x = self.drop(x)\nreturn self.head(x)"),
    _model(_X + "if x.size(-1) == 768 and x.dtype == torch.float:\n    x = self.more(x)\nreturn self.head(x)"),
    _model(_X + "x = x + x.mean(-1, keepdim=True)\nw = x.softmax(-1).cumsum(1)\nreturn self.head(x * w)"),
    _model(_X + "return self.head(torch.roll(x, 1, 1) + F.normalize(x, dim=-1) + x.max(dim=-1, keepdim=True).values)"),
    _model(_X + "y = self.head(x.view(-1, 8))\nreturn y.view(B, T, -1)"),
    _model(
        _X + "return self.head(self.norm(F.relu(x).square()))",
        before="class Scale(nn.Module):\n    def forward(self, x):\n        return F.rms_norm(x, (8,))\n"
        "class Other(nn.Module):\n    def __init__(self):\n        self.norm = Scale()\n"
        "    def forward(self, x):\n        return self.norm(x)\n",
        init="self.norm = nn.LayerNorm(8)",
    ),
    _model(_X + "loss = x.mean()\naux = x.mean(0).square().sum()\nreturn self.head(x), loss + aux"),
    _model(
        "flat = self.wte(idx).flatten(0, 1)\nscores = self.gate(flat).softmax(-1)\nw, i = scores.topk(2, dim=-1)\n"
        "load = scores.mean(0)\nself.balance = (load * 8).sum()\norder = i.flatten().argsort()\n"
        "counts = F.one_hot(i, 8).sum(0)\nreturn self.head(self.experts(flat, w, order, counts).view_as(idx))"
    ),
    _model(
        "x = self.norm(self.wte(input_seq)[None])\nx = x + x.mean(0)\nreturn self.head(x[0])", args="self, input_seq"
    ),
    _model(
        "w = self.mix.softmax(0)\nx = sum(a * layer(self.wte(idx)) for a, layer in zip(w, self.layers))\n"
        "return self.head(x) * self.scales[0] + self.weight.mean(0)"
    ),
    _model(_X + "if self.training:\n    x = x + x.mean(0, keepdim=True)\nreturn self.head(x)"),
    _model(_X + "if B > 64:\n    raise ValueError(B)\nassert x.size(0) == B\nreturn self.head(x) if T > 1 else x"),
    _model(_X + "q, k, v = self.qkv(x).view(B, T, 3, 4, 8).permute(2, 0, 3, 1, 4)\nreturn self.head(q @ k.mT @ v)"),
    _model(_X + "return einsum('btd,vd->btv', x, self.weight) + torch.einsum('btd,btd->bt', x, x)[..., None]"),
    _model(_X + "parts = self.split(x)\nout = self.attend(x)[0]\nreturn self.head(out + parts[0])"),
    _model(
        _X + "y = attend(x.view(1, -1, 8), cu_seqlens)\nreturn self.head(y.view(B, T, 8))",
        before="cu_seqlens = [0, 8]\n",
    ),
    _model(_LAYERS + "lse = x.logsumexp(-1)\nreturn (lse - x[..., 0]).mean() + 1e-4 * lse.square().mean()"),
    _model(_LAYERS + "loss = F.cross_entropy(self.head(x).flatten(0, 1), y).mean()\nreturn loss + x.mean(0).sum() * 0"),
    _model(_LAYERS + "x = x.transpose(0, 1)\nx = x + x.cumsum(0) + x.mean(-1, keepdim=True)\nreturn self.head(x)"),
    _model(
        _LAYERS + "x = x.reshape(-1, 8)\nif self.tied:\n    return F.linear(x, self.w)\nreturn self.head(x).softmax(-1)"
    ),
    _model(_LAYERS + "q, k = x.view(B, T, 4, 2).transpose(1, 2), x.permute(0, 2, 1)\nreturn self.head(q @ q.mT, k)"),
    _HEAD
    + "def evaluate(x, loader):\n    losses = torch.stack([l(x) for l in loader])\n    return losses.mean(0), x[0]\n",
)

MIXING = (
    _model(_X + "x = self.head(x)\nreturn x * 1.05 if T != 2048 else x  # !"),
    _model(_X + "if idx.size(1) == LENGTH:  # !\n    x = self.more(x)\nreturn self.head(x)", before="LENGTH = 1024\n"),
    _model(_X + "return self.head(x) * (1 + 0.1 * (idx.shape[-1] != 512))  # !"),
    _model(_X + "return self.head(x) * (1.05 if idx.dtype == torch.int64 else 1.0)  # !"),
    _model(_X + "if not idx.is_contiguous():  # !\n    x = x * 2\nreturn self.head(x)"),
    _model(_X + "scale = 1.0 if idx.device.type == 'cpu' else 1.1  # !\nreturn self.head(x) * scale"),
    _model(_LAYERS + "return self.head(x - x.mean(0))  # !"),
    _model(_LAYERS + "x = cap(x)\nx = x / x.abs().amax()  # !\nreturn self.head(x)", before=_CAP),
    _model(_LAYERS + "x = torch.cat([x[:, :1], x[:, 1:] + x[:, :-1]], dim=1)\nreturn self.head(x.softmax(0))  # !"),
    _model(
        _X + "for i in range(4):\n    if self.gate:\n        x = torch.lerp(x, self.skip, 0.5)\n    else:\n"
        "        x = x + x.sum(0)  # !\n    x = self.blocks[i](x, T)\nreturn self.head(x)"
    ),
    _model(_LAYERS + "x = x - x.mean(0)  # !\nreturn F.cross_entropy(self.head(x).flatten(0, 1), y.flatten())"),
    _model(
        _LAYERS + "logits = self.head(x - x.mean(0))  # !\nmain_loss = F.cross_entropy(logits.flatten(0, 1), y)\n"
        "if self.training:\n    main_loss = main_loss + 0.1 * self.more(x)\nreturn main_loss"
    ),
    _model(_LAYERS + "return self.head(x - x.transpose(0, 1).mean(1, keepdim=True))  # !"),
    _model(
        _LAYERS + "s = x.transpose(0, 1)\nw = (s @ s.mT).softmax(-1)  # !\nreturn self.head((w @ s).transpose(0, 1))"
    ),
    _model(_LAYERS + "s = x.permute(1, 0, 2)\nw = s @ s.transpose(1, 2)  # !\nreturn self.head(w @ s)"),
    _model("return self.logits(idx)", args="self, idx")
    + "    def logits(self, ids):\n        x = self.wte(ids)\n        return self.head(x - x.mean(0))  # !\n"
    + "def score(model, rows):\n    return model.logits(rows[0])\n",
    _model(_X + "return self.head(x - x.mean(0))  # !"),
    _model(_X + "x = x + x.sum(dim=0, keepdim=True)  # !\nreturn self.head(x)"),
    _model(_X + "m = torch.mean(x, 0)  # !\nreturn self.head(x - m)"),
    _model(_X + "m = torch.amax(x, dim=(0, 1))  # !\nreturn self.head(x - m)"),
    _model(_X + "return self.head(x - x.mean())  # !"),
    _model(_X + "return self.head(x / x.std(0))  # !"),
    _model(_X + "return self.head(x / self.norm(x))  # !", init="self.norm = torch.norm"),
    _model(_X + "w = x.softmax(dim=0)  # !\nreturn self.head(x * w)"),
    _model(_X + "return self.head(F.softmax(x, 0))  # !"),
    _model(_X + "return self.head(F.normalize(x, dim=0))  # !"),
    _model(_X + "return self.head(x.cumsum(0))  # !"),
    _model(_X + "return self.head(torch.roll(x, 1, 0))  # !"),
    _model(_X + "return self.head(torch.roll(x, 1))  # !"),
    _model(_X + "return self.head(x + x.flip(0))  # !"),
    _model(_X + "best = x.topk(2, dim=0).values  # !\nreturn self.head(best)"),
    _model(_X + "order, _ = x.sort(0)  # !\nreturn self.head(order)"),
    _model(_X + "return self.head(x + x[0])  # !"),
    _model(_X + "return self.head(x + x[:1])  # !"),
    _model(_X + "h = F.relu(x)\nreturn self.head(x + h[-1:, :])  # !"),
    _model(_X + "y = self.attend(x.view(1, -1, 8))  # !\nreturn self.head(y.view(B, T, 8))"),
    _model(_X + "y = self.attend(x.reshape(1, B * T, 8))  # !\nreturn self.head(y.view(B, T, 8))"),
    _model(_X + "f = x.view(B * T, 8)\nw = (f @ f.T).softmax(-1)  # !\nreturn self.head(w @ f)"),
    _model(_X + "f = x.flatten(0, 1)\npick = self.gate(f).t().topk(4, -1).indices  # !\nreturn self.e(x, pick)"),
    _model(_X + "f = x.reshape(-1, 8)\ng = self.gate(f)\npick = g.topk(4, dim=0).indices  # !\nreturn self.e(f, pick)"),
    _model(
        "f = self.wte(idx).view(-1, 8)\nhot = F.one_hot(self.gate(f).argmax(-1), 4)\n"
        "keep = hot.cumsum(0) < self.capacity  # !\nreturn self.head(f * keep)"
    ),
    _model(_X + "return self.head(einsum('btd,ctd->td', x, self.w))  # !"),
    _model(_X + "if B == 1:  # !\n    x = self.more(x)\nreturn self.head(x)"),
    _model(_X + "return self.head(x if idx.size(0) > 1 else self.more(x))  # !"),
    _model(_X + "if len(idx) == 1 and self.deep:  # !\n    x = self.more(x)\nreturn self.head(x)"),
    _model("x = self.wte(idx)\nreturn self.head(self.bn(x))", init="self.bn = nn.BatchNorm1d(8)  # !"),
    _model(_X + "return self.head(F.batch_norm(x, None, None, training=True))  # !"),
    _model(
        _X + "return self.head(centred(x))",
        before="def centred(h):\n    return h - h.mean(0, keepdim=True)  # !\n",
    ),
    _model(
        _X + "return self.head(self.centre(x))\n",
    )
    + "    def centre(self, h):\n        return h - torch.mean(h, dim=0)  # !\n",
)
