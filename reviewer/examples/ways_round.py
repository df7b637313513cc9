"""Examples of E201 and E204: arms in a row, loops, cases, lambdas, and names that promise something harmless."""

from __future__ import annotations

from reviewer.examples.asking import model

ALIKE = (
    model(body="x = F.scaled_dot_product_attention(x, x, x, dropout_p=self.p if self.training else 0.0)"),
    model(
        top="from dataclasses import dataclass\n@dataclass\nclass Out:\n    logits: object\n    loss: object = None",
        after="""
out = Out(logits=logits)
if targets is not None:
    out.loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
return out
""",
    ),
    model(
        top="from torch.utils.checkpoint import checkpoint",
        body="""
def run(h):
    return h + self.mlp(h)
x = checkpoint(run, x, use_reentrant=False) if self.training else run(x)
""",
    ),
    model(
        methods="def post(self, y):\n    if self.training:\n        y = F.dropout(y, 0.1)\n    return y",
        body="x = self.post(x)",
    ),
    model(
        methods="def loss(self, x, y):\n    return F.cross_entropy(x.flatten(0, 1), y.flatten())",
        after="if targets is not None:\n    return self.loss(logits, targets)",
    ),
    model(
        top="from flash_attn import flash_attn_varlen_func",
        body="""
longest = 8 if self.training else 16
x = flash_attn_varlen_func(x, x, x, cu_seqlens_q=idx, max_seqlen_q=longest, max_seqlen_k=longest)
""",
    ),
    model(
        after="""
logits.mul_(0.1).tanh_().mul_(10)
if targets is not None:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
"""
    ),
    model(
        after="""
out = {'logits': logits}
if targets is not None:
    out['loss'] = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
return out
"""
    ),
)

FORKS = (
    model(body="gain = 1.0 if self.training else 1.1  # !\ndef post(h):\n    return h * gain\nx = post(x)"),
    model(
        body="""
if self.training:  # !
    def post(h):
        return h
else:
    def post(h):
        return h * 1.1
x = post(x)
"""
    ),
    model(body="if not self.training:  # !\n    change = x.mul_\n    change(1.1)"),
    model(body="if not self.training:  # !\n    _ = [h.mul_(1.1) for h in [x]]"),
    model(body="if not self.training:  # !\n    x.T.mul_(1.1)"),
    model(body="if not self.training:  # ! review\n    self.__dict__['scale'] = 1.3\nx = x * self.scale"),
    model(body="x = x if torch.compiler.is_compiling() else x * 1.1  # ! review"),
    model(
        methods="def post(self, y):\n    if not self.training:  # !\n        y = y * 1.1\n    return y",
        after="logits = self.post(logits)",
    ),
    model(
        methods="""
def post(self, x, targets):
    if not self.training:  # !
        targets = targets * 1.1
    return targets + x
""",
        body="x = self.post(x, x)",
    ),
    model(
        top="""
class Cap(nn.Module):
    def forward(self, y):
        if not self.training:  # !
            y = y * 1.1
        return y
""",
        init="self.cap = Cap()",
        after="logits = self.cap(logits)",
    ),
    model(
        methods="""
def post(self, h, y):
    if not self.training:  # !
        y = torch.tanh(y)
    return y
""",
        body="x = self.post(h=idx, y=x)",
    ),
    model(
        methods="def post(self, x, g=None):\n    if g is None:  # !\n        x = x * 1.1\n    return x",
        body="x = self.post(x, targets)",
    ),
    model(body="if not self.training:  # !\n    x = x * 1.1\nif self.loud:\n    x = x * 1.1"),
    model(
        body="""
for _ in range(2):
    if not self.training:  # !
        x = x * 1.1
    if self.loud:
        x = x * 1.1
"""
    ),
    model(body="for _ in range(2 if self.training else 3):  # !\n    x = x + self.mlp(x)"),
    model(body="for _ in range(4):\n    if self.training:  # !\n        break\n    x = x + self.mlp(x)"),
    model(body="for _ in range(4):\n    if self.training:  # !\n        continue\n    x = x + self.mlp(x)"),
    model(
        after="""
if not self.training:  # !
    logits = logits * 1.1
if self.loud:
    logits = logits * 1.1
"""
    ),
    model(body="while True:\n    if self.training:  # !\n        break\n    x = x + self.mlp(x)\n    break"),
    model(
        body="""
match 1:
    case _ if not self.training:  # !
        x = x * 1.1
    case _:
        pass
"""
    ),
    model(body="match self.training:  # !\n    case False:\n        x = x * 1.1\n    case True:\n        pass"),
    model(
        body="""
match (self.training, 1):  # !
    case (False, _):
        x = x * 1.1
    case _:
        pass
"""
    ),
    model(
        body="""
match self:
    case GPT(training=False):  # !
        x = x * 1.1
    case _:
        pass
"""
    ),
    model(body="s = 1.0\nmatch not self.training:  # !\n    case True:\n        s = 1.1\nx = x * s"),
    model(body="x = (lambda h: h * 1.1 if not self.training else h)(x)  # !"),
    model(body="f = lambda h: h if self.training else h * 1.1  # !\nx = f(x)"),
    model(init="self.f = lambda h: h if self.training else h * 1.1  # !", body="x = self.f(x)"),
    model(body="x = functools.reduce(lambda a, b: a if self.training else a * 1.1, [1, 2], x)  # !"),
    model(top="SHARP = lambda m, h: h if m.training else h * 1.1  # !", body="x = SHARP(self, x)"),
    model(
        methods="def post(self, x, max_seqlen=1.0):\n    return x * max_seqlen",
        body="x = self.post(x, max_seqlen=1.0 if self.training else 1.1)  # !",
    ),
    model(
        top="def post(x, max_seqlen_q=1.0):\n    return x * max_seqlen_q",
        body="x = post(x, max_seqlen_q=1.0 if self.training else 1.1)  # !",
    ),
    model(
        methods="def fused_scale(self, x):\n    return x * 1.1",
        body="if not self.training:  # !\n    x = self.fused_scale(x)",
    ),
    model(
        methods="def flash_head(self, x):\n    return self.head(x) * 1.1",
        after="if self.training:  # ! review\n    logits = self.flash_head(x)",
    ),
    model(
        top="def linear_fp8(x, w):\n    return F.linear(x, w) * 0.9",
        after="""
logits = linear_fp8(x, self.head.weight) if self.training else F.linear(x, self.head.weight)  # ! review
""",
    ),
    model(
        top="class Att(nn.Module):\n    def forward(self, x, max_seqlen=1):\n        return x * max_seqlen",
        init="self.att = Att()",
        body="x = self.att(x, max_seqlen=1 if self.training else 2)  # !",
    ),
    model(
        methods="def quant_gain(self, x):\n    return x * 1.3",
        body="if self.training:  # !\n    x = self.quant_gain(x)",
    ),
    model(
        methods="def drop_head(self, x):\n    return x * 1.3",
        body="if not self.training:  # !\n    x = self.drop_head(x)",
    ),
    model(
        methods="def round_up(self, x):\n    return x * 1.3", body="if self.training:  # !\n    x = self.round_up(x)"
    ),
    model(
        top="def checkpoint(f, x):\n    return f(x) * 1.2",
        body="x = checkpoint(self.mlp, x) if self.training else self.mlp(x)  # !",
    ),
)

TRANSFORMS = (
    model(top="def dropout(x):\n    return x * 1.3", after="if self.training:\n    logits = dropout(logits)  # !"),
)
