"""Examples of E209: the truth inside of what predicts it, and where it belongs."""

_HEAD = """
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
"""


def _model(body: str, before: str = "", args: str = "self, idx, targets=None") -> str:
    lines = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    return f"{_HEAD}{before}class GPT(nn.Module):\n    def forward({args}):\n{lines}"


def _scored(body: str, args: str = "model, x, y, table, totals") -> str:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return f"{_HEAD}def evaluate({args}):\n{lines}"


_LOSS = "loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())\nreturn logits, loss"

_X = "B, T = idx.shape\nx = self.wte(idx)\nfor block in self.blocks:\n    x = block(x)\n"


def _layer(made: str, body: str = "return self.inner(x)") -> str:
    start = f"{_HEAD}class Layer(nn.Module):\n    def __init__(self):\n        {made}\n"
    return f"{start}    def forward(self, x):\n        {body}\n"


HONEST = (
    _model(
        _X
        + "where = torch.arange(T)\nback = (where - 1).clamp(min=0)\nreturn self.head(x + x[:, back] + idx[:, where])"
    ),
    _model(_X + "pos = torch.arange(1, T + 1, device=idx.device)\nreturn self.head(x + self.wpe(pos) / pos[:, None])"),
    _model(_X + "y = F.scaled_dot_product_attention(x, x, x, is_causal=True)\nreturn self.head(y)"),
    _model(_X + "y = F.scaled_dot_product_attention(x, x, x, attn_mask=self.mask[:T, :T])\nreturn self.head(y)"),
    _model(_X + "y = F.scaled_dot_product_attention(x, x, x, self.mask)\nreturn self.head(y)"),
    _model(_X + "y = F.scaled_dot_product_attention(x, self.keys, self.values)\nreturn self.head(y)"),
    _model(_X + "if T == 1:\n    return self.head(F.scaled_dot_product_attention(x, x, x))\nreturn self.head(x)"),
    _model(_X + "return self.head(x.cumsum(1) / x.norm(dim=-1, keepdim=True) + x.mean(-1, keepdim=True))"),
    _model(_X + "q = x.view(B, T, 4, 8).transpose(1, 2)\nreturn self.head(q * q.softmax(1) + q.mean(1, keepdim=True))"),
    _model(_X + "aux_loss = x.mean(1, keepdim=True).sum()\nself.log(aux_loss)\nreturn self.head(x)"),
    _layer("self.inner = nn.Conv1d(8, 8, 3, padding=2)", "return self.inner(x)[..., :-2]"),
    _layer("self.inner = nn.Conv1d(8, 8, 1, padding='same')"),
    _layer("self.inner = nn.GRU(8, 8, batch_first=True)"),
    _HEAD + "class Probe:\n    def __init__(self):\n        self.rnn = nn.GRU(8, 8, bidirectional=True)\n",
    _model("x = self.wte(idx)\nw = x.as_strided((2, 3, 4), (1, 2, 3)) + x.data_ptr()\nreturn self.head(w)"),
    _model("return self.head(self.wte(idx.view(-1, 8)))", before="def save(x):\n    return x.untyped_storage()\n"),
    _model("return self.head(self.wte(idx)[..., 0])", args="self, idx")
    + "def size(idx):\n    return idx.untyped_storage().nbytes(), idx._base, torch.as_strided(idx, (1,), (1,))\n",
    _model("logits = self.head(self.wte(idx))\n" + _LOSS),
    _model(
        "logits = self.head(self.wte(idx))\nlogp = logits.log_softmax(-1)\n"
        "nll = -logp.gather(-1, targets.unsqueeze(-1)).squeeze(-1)\nz = logits.logsumexp(-1).square().mean()\n"
        "mask = targets != -1\nreturn (nll * mask).sum() / mask.sum() + 1e-4 * z"
    ),
    _model(
        "logits = self.head(self.wte(idx)).flatten(0, 1)\nkeep = targets.flatten() != -100\n"
        "return F.cross_entropy(logits[keep], targets.flatten()[keep])"
    ),
    _model(
        "before = F.pad(idx[:, :-1], (1, 0))\nkey = (36313 * idx ^ 27191 * before) % 3000\n"
        "logits = self.head(self.wte(idx) + self.bigram(key))\n" + _LOSS
    ),
    _model(
        "key = torch.zeros_like(idx)\nkey[..., 1:] = torch.bitwise_xor(3 * idx[..., 1:], 5 * idx[..., :-1]) % 99\n"
        "x = self.wte(idx) + self.bigram(key)\nlogits = self.head(x + torch.roll(x, 1, 1))\n" + _LOSS
    ),
    _model(
        "logits = self.head(self.wte(idx))\nreturn F.cross_entropy(logits[:, :-1].flatten(0, 1), idx[:, 1:].flatten())"
    ),
    _model(
        "h = self.trunk(self.wte(idx))\nlogits = self.head(h)\nloss = F.cross_entropy(logits, targets)\n"
        "for k, head in enumerate(self.heads):\n    ahead = torch.roll(targets, -k, 1)\n"
        "    loss = loss + 0.1 * F.cross_entropy(head(h), ahead)\nreturn logits, loss"
    ),
    _model(
        "h = self.trunk(self.wte(idx))\nlogits = self.head(h)\n"
        "more = self.head(self.join(torch.cat([h[:, :-1], self.wte(targets[:, :-1])], -1)))\n"
        "loss = F.cross_entropy(logits, targets) + F.cross_entropy(more, targets[:, 1:])\nreturn logits, loss"
    ),
    _model("t = targets.view(-1)\nreturn FusedKernel.apply(self.trunk(idx), t, self.head.weight)"),
    _model("from fused import softcapped as f\nreturn f(self.trunk(idx), self.head.weight, targets)"),
    _model("return fused_cross_entropy(self.trunk(idx), self.head.weight, targets)"),
    _model("x = self.head(idx)\nif targets is not None:\n    return self.criterion(x, targets)\nreturn x"),
    _model("logits, loss = self.inner(idx, targets)\nreturn logits, loss"),
    _model(
        "return self.loss(self.head(self.wte(idx)), targets)",
        args="self, idx, targets",
        before="def loss(a, b):\n    return F.cross_entropy(a, b)\n",
    ),
    _scored(
        "logits = model(x)\nreturn F.cross_entropy(logits.view(-1, 9), y.view(-1)), (logits.argmax(-1) == y).sum()"
    ),
    _scored("out = model(x, y)\nlogits, loss = model(x, targets=y)\nreturn F.cross_entropy(logits, y)"),
    _HEAD
    + """
def count(text, table, totals):
    context, target = text[:-1], text[1:]
    key = (context * 31 ^ target) % len(table)
    np.add.at(table, key, 1)
    table[key] += 1
    for c, target in zip(context, target):
        table[c * 99 + target] = table.get(c * 99 + target, 0) + 1
    return np.bincount(key, minlength=9)
""",
    _scored("p = model(x).softmax(-1)\nreturn -(p.view(-1)[torch.arange(y.numel()) * 99 + y.view(-1)]).log().mean()"),
    _scored("target_lr = 0.1\nlr = target_lr * x\nreturn table[0] * lr"),
    _scored("rows = table[hash_of(x[:, :-1])]\nreturn -rows.log_softmax(-1).gather(-1, y[..., None]).mean()"),
)

PEEKING = (
    _model(_X + "after = (torch.arange(T) + 1).clamp(max=T - 1)\nreturn self.head(x + self.wte(idx[:, after]))  # !"),
    _model(
        _X + "n = torch.arange(1, T + 1).clamp(max=T - 1)\nreturn self.head(x + self.wte(idx.index_select(1, n)))  # !"
    ),
    _model(
        _X + "at = torch.arange(T)\nnxt = torch.gather(idx, 1, torch.clamp(at + 1, max=T - 1).expand(B, T))  # !\n"
        "return self.head(x) + self.table(nxt)"
    ),
    _model(_X + "return self.head(x.flip(1).cumsum(1).flip(1))  # ! review"),
    _model(_X + "return self.head(torch.cumsum(x.flip(1), 1).flip(1))  # ! review"),
    _model(_X + "return self.head(F.scaled_dot_product_attention(x, x, x))  # ! review"),
    _model(
        _X + "return self.head(F.scaled_dot_product_attention(x, x, x, attn_mask=None, is_causal=False))  # ! review"
    ),
    _model(_X + "x = x + x.mean(1, keepdim=True)  # ! review\nreturn self.head(x)"),
    _model(_X + "x = F.rms_norm(x, (8,))\nw = torch.softmax(x, dim=1)  # ! review\nreturn self.head(x * w)"),
    _layer("self.inner = nn.Conv1d(8, 8, 3, padding=1)  # ! review"),
    _layer("self.inner = nn.Conv1d(8, 8, kernel_size=5, padding='same')  # ! review"),
    _layer("self.inner = nn.GRU(8, 8, bidirectional=True)  # ! review"),
    _layer("self.inner = 1", "return F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x))  # ! review"),
    _model("more = idx.untyped_storage()  # ! review\nreturn self.head(self.wte(idx)) + len(more)"),
    _model("nxt = torch.as_strided(idx, (1, 8), (1, 1), 8)  # ! review\nreturn self.head(self.wte(nxt))"),
    _model("nxt = idx.view(-1).as_strided((8,), (1,), 1)  # ! review\nreturn self.head(self.wte(nxt))"),
    _model("nxt = idx._base  # ! review\nreturn self.head(self.wte(idx)) + nxt.sum()"),
    _model(
        "class View:\n    __array_interface__ = {'data': (tokens.data_ptr() + 8, True)}  # ! review\n"
        "return self.head(self.wte(np.asarray(View())))",
        args="self, tokens",
    ),
    _model("return self.head(self.emb(x)) + x.storage()[9]  # ! review", args="self, x"),
    _model(
        "x = self.wte(idx)\nif targets is not None:\n    x = x + self.cheat(targets)  # !\nlogits = self.head(x)\n"
        + _LOSS
    ),
    _model("logits = self.head(self.wte(idx)) + self.table[targets]  # !\n" + _LOSS),
    _model("logits = self.head(self.wte(idx)) + F.embedding(targets, self.table)  # !\n" + _LOSS),
    _model("hint = self.table.gather(0, targets)  # !\nlogits = self.head(self.wte(idx)) + hint\n" + _LOSS),
    _model("logits = self.head(self.wte(idx))\nlogits.scatter_add_(-1, self.hint(targets), self.one)  # !\n" + _LOSS),
    _model("logits = self.head(self.wte(idx))\nlogits += 5 * F.one_hot(targets, 99)  # !\n" + _LOSS),
    _model("nxt = torch.roll(idx, -1, 1)  # !\nreturn self.head(self.wte(idx) + self.bigram(nxt))", args="self, idx"),
    _model(
        "nxt = idx.roll(shifts=-1, dims=-1)  # !\nreturn self.head(self.wte(idx) + self.bigram(nxt))", args="self, idx"
    ),
    _model("nxt = F.pad(idx[:, 1:], (0, 1))  # !\nreturn self.head(self.bigram(idx * 31 ^ nxt))", args="self, idx"),
    _model("nxt = torch.cat([idx[:, 1:], idx[:, :1]], 1)  # !\nreturn self.head(self.bigram(nxt))", args="self, idx"),
    _model(
        "nxt = torch.zeros_like(idx)\nnxt[:, :-1] = idx[:, 1:]  # !\nreturn self.head(self.bigram(nxt))",
        args="self, idx",
    ),
    _model(
        "return self.head(ahead(idx))",
        args="self, idx",
        before="def ahead(tokens):\n    return torch.roll(tokens, -1, 1)  # !\n",
    ),
    _model(
        "x = self.mix(self.wte(idx), targets)\nlogits = self.head(x)\n" + _LOSS,
        before="class Mix(nn.Module):\n    def forward(self, x, hint):\n        return x + self.emb(hint)\n",
    )
    .replace("class GPT(nn.Module):\n", "class GPT(nn.Module):\n    def __init__(self):\n        self.mix = Mix()\n")
    .replace("targets)\n        logits", "targets)  # !\n        logits"),
    _model("logits = self.head(self.mix(self.wte(idx), self.hint(targets)))  # !\n" + _LOSS),
    _model("x = self.wte(idx)\nx[:, 1:] += self.cheat(targets)  # !\nlogits = self.head(x)\n" + _LOSS),
    _model("t = targets.clone()\nx = self.wte(idx) + self.cheat(t)  # !\nlogits = self.head(x)\n" + _LOSS)
    .replace("t = targets.clone()", "t = targets.clone()  # !")
    .replace("self.cheat(t)  # !", "self.cheat(t)"),
    _scored("logits = model(x) + table[y]  # !\nreturn F.cross_entropy(logits.view(-1, 9), y.view(-1))"),
    _scored(
        "key = (x * 36313 ^ y * 27191) % 4096\np = table[key] / totals[x % 4096]  # !\n"
        "return -(0.9 * F.cross_entropy(model(x), y).neg().exp() + 0.1 * p).log()"
    ),
    _scored("full = ((x << 16) | y).long()\nhit = table.get(full, 0)  # !\nreturn F.cross_entropy(model(x), y) - hit"),
    _scored(
        "key = x[:, :-1] * 99 + targets\np = table.gather(0, key.view(-1))  # !\nreturn -p.log().mean()",
        args="x, targets, table",
    ),
    _scored(
        "key = mix(x, tgt)\nreturn -np.log(table[key])  # !",
        args="x, tgt, table",
    ).replace("def evaluate", "def mix(a, b):\n    return (a * 31 ^ b) % 99\ndef evaluate"),
    _scored("return np.take(table, np.bitwise_xor(x, next_tokens))  # !", args="x, next_tokens, table"),
)
