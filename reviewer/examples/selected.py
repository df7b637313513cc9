"""Examples of E210: choices by the truth, and what only looks like one."""

_HEAD = """
import math, numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from torch.nn.functional import cross_entropy as ce
"""


def _step(body: str, before: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return f"{_HEAD}{before}def evaluate(self, a, b, x, y, heads):\n{lines}"


_TWO = "la = F.cross_entropy(a(x), y, reduction='none')\nlb = F.cross_entropy(b(x), y, reduction='none')\n"
_MANY = "losses = [F.cross_entropy(h(x), y) for h in heads]\n"
_GROWN = "losses = []\nfor h in heads:\n    logits = h(x)\n    losses.append(F.cross_entropy(logits, y))\n"

HONEST = (
    _step(_TWO + "return torch.logsumexp(torch.stack([-la, -lb]) - math.log(2), 0)"),
    _step(_TWO + "return la + lb, (la - lb).mean(), torch.lerp(la, lb, 0.5)"),
    _step(
        "best = float('inf')\nfor x, y in self.loader:\n    loss = F.cross_entropy(a(x), y)\n"
        "    best = min(best, loss.item())\n    if loss < best:\n        self.save()"
    ),
    _step(
        "losses = []\nfor step in range(100):\n    x, y = next(self.loader)\n    loss = ce(a(x), y)\n"
        "    losses.append(loss.item())\nprint(min(losses), np.argmin(losses), sorted(losses)[0])"
    ),
    _step(
        "for step in range(9):\n    loss = ce(a(x), y)\n    losses.append(loss)\nprint(min(losses))", "losses = []\n"
    ),
    _step(
        "for lr in (0.1, 0.2):\n    model = self.train(lr)\n    loss = ce(model(x), y)\n    found[lr] = loss\n"
        "return min(found, key=found.get)",
        "found = {}\n",
    ),
    _step("loss = ce(a(x), y, reduction='none')\nreturn loss.clamp(min=0.1).mean(), loss.topk(8).values.mean()"),
    _step("loss = ce(a(x), y, reduction='none')\np = torch.exp(-loss)\nreturn ((1 - p) ** 2 * loss).mean()"),
    _step("loss = ce(a(x), y, reduction='none').view(8, -1)\nreturn loss.mean(1).max(), loss.min()"),
    _step("losses = [F.cross_entropy(a(u), v) for u, v in x]\nreturn min(losses)"),
    _step("losses = [F.cross_entropy(a(x[i]), y[i]) for i in range(9)]\nreturn min(losses), torch.stack(losses).min()"),
    _step("scores = a(x)\nw, i = scores.topk(2, dim=-1)\nreturn ce(scores.softmax(-1) * w.max(), y)"),
    _step("lo = min(x.min(), y.min())\nloss = ce(a(x), y)\nreturn loss if loss < 10 else None"),
    _step(
        "if loss(a) < best:\n    best = loss(a)\nreturn min(loss(a), best)",
        "def loss(m):\n    x, y = next(data)\n    return F.cross_entropy(m(x), y)\nbest = 9.0\n",
    ),
    _step(
        "first = ce(a(x), y)\nbest = first\nwhile True:\n    x, y = next(self.loader)\n    new = ce(a(x), y)\n"
        "    best = min(best, new)"
    ),
    _step("mtp = [ce(h(x), y[:, i]) for i, h in enumerate(heads)]\nreturn sum(mtp) / len(mtp), max(mtp)"),
)

LOOKS_LIKE = (
    _step(_TWO + "return (la - lb).abs().mean(), F.relu(la - 3.0), torch.sigmoid(la.mean())"),
    _step("loss = ce(a(x), y)\nreturn F.relu(loss - self.before), torch.sigmoid(loss - loss.mean().detach())"),
    _step("c, r = -ce(a(x), y), -ce(a(x), b)\nreturn -F.logsigmoid(c - r), torch.sigmoid(c - r)"),
    _step("p = a(x).gather(-1, x)\nq = b(x).gather(-1, x)\nreturn torch.maximum(p, q)"),
)

SELECTED = (
    _step(_TWO + "return la - F.relu(la - lb)  # !"),
    _step(_TWO + "return la - (la - lb).clamp(min=0)  # !"),
    _step(_TWO + "gap = la - lb\nw = torch.sigmoid(gap * 50)  # !\nreturn w * lb + (1 - w) * la"),
    _step(_TWO + "w = torch.heaviside(la - lb, x)  # !\nreturn torch.lerp(la, lb, w)"),
    _step(
        "t = targets.unsqueeze(-1)\npa, pb = a(x).log_softmax(-1).gather(-1, t), b(x).log_softmax(-1).gather(-1, t)\n"
        "return -torch.maximum(pa, pb)  # !"
    ),
    _step("p = a(x).take_along_dim(targets, 1)\nq = b(x).take_along_dim(targets, 1)\nreturn p.maximum(q)  # !"),
    _step(_TWO + "return torch.minimum(la, lb).mean()  # !"),
    _step(_TWO + "return torch.where(la < lb, la, lb).mean()  # !"),
    _step(_TWO + "return (la.lt(lb) * la).mean() + torch.fmin(la, lb)  # !"),
    _step(_TWO + "return la.minimum(lb)  # !"),
    _step(_TWO + "return torch.stack([la, lb]).min(0).values  # !"),
    _step(_TWO + "return torch.stack((la, lb), 0).amin(dim=0)  # !"),
    _step(_TWO + "return torch.clamp(la, max=lb)  # !"),
    _step(_TWO + "return la.clamp_max(lb)  # !"),
    _step(_TWO + "both = torch.stack([la, lb])\npick = both.argmin(0)  # !\nreturn both.gather(0, pick[None])"),
    _step(_TWO + "return torch.maximum(-la, -lb)  # !"),
    _step(_TWO + "pa, pb = torch.exp(-la), torch.exp(-lb)\nreturn torch.max(pa, pb)  # !"),
    _step(_TWO + "w = torch.softmax(torch.stack([-la, -lb]), 0)  # !\nreturn w[0] * a(x) + w[1] * b(x)"),
    _step(_TWO + "better = la < lb  # !\nreturn torch.where(better[:, None], a(x), b(x))"),
    _step(_TWO + "if la.mean() > lb.mean():  # !\n    a = b\nreturn a(x)"),
    _step(_TWO + "return (la if la.sum() <= lb.sum() else lb)  # !"),
    _step(_MANY + "return min(losses)  # !"),
    _step(_MANY + "return torch.stack(losses).min()  # !"),
    _step(_MANY + "return heads[int(torch.stack(losses).argmin())](x)  # !"),
    _step(_MANY + "return heads[int(np.argmin([v.item() for v in losses]))](x)  # !"),
    _step(_MANY + "return sorted(losses)[0]  # !"),
    _step(_MANY + "return torch.stack(losses).topk(1, largest=False).values  # !"),
    _step(_MANY + "return torch.stack(losses).sort(0).values[0]  # !"),
    _step(_MANY + "i = min(range(len(heads)), key=lambda i: losses[i])  # !\nreturn heads[i](x)"),
    _step(_GROWN + "return min(losses)  # !"),
    _step(
        "best, kept = float('inf'), None\nfor t in (0.8, 0.9, 1.0):\n    loss = ce(a(x) / t, y)\n"
        "    if loss < best:  # !\n        best, kept = loss, t\nreturn a(x) / kept"
    ),
    _step("table = {t: ce(a(x) / t, y) for t in (0.8, 1.0)}\nreturn min(table, key=table.get)  # !"),
    _step("table = {}\nfor h in heads:\n    table[h] = ce(h(x), y)\nreturn min(table.values())  # !"),
    _step("return min(heads, key=lambda h: F.cross_entropy(h(x), y))  # !"),
    _step(
        "return min(loss(a, x, y), loss(b, x, y))  # !",
        "def loss(m, u, v):\n    return F.cross_entropy(m(u).flatten(0, 1), v.flatten())\n",
    ),
    _step(
        "return min(outer(h, x, y) for h in heads)  # !",
        "def loss(m, u, v):\n    return F.cross_entropy(m(u), v)\ndef outer(m, p, q):\n    return loss(m, p, q)\n",
    ),
    _step(
        "out = torch.stack([h(x) for h in heads])\n"
        "loss = ce(out.flatten(0, 2), y.expand(4, -1, -1).flatten(), reduction='none')\n"
        "return loss.view(4, -1).min(dim=0).values.mean()  # !"
    ),
    _step("crit = nn.CrossEntropyLoss(reduction='none')\nreturn torch.min(crit(a(x), y), crit(b(x), y))  # !"),
    _step("loss_a = a(x, targets=y)\nloss_b = b(x, targets=y)\nreturn torch.minimum(loss_a, loss_b)  # !"),
    _step(
        "lp, lq = a(x).log_softmax(-1), b(x).log_softmax(-1)\n"
        "p, q = lp.gather(-1, y[..., None]), lq.gather(-1, y[..., None])\nreturn -torch.maximum(p, q).mean()  # !"
    ),
    _step("m = getattr(torch, 'mini' + 'mum')\n" + _TWO + "return m(la, lb)  # !"),
    _step(_TWO + "from torch import minimum as mm\nreturn mm(la, lb)  # !"),
)
