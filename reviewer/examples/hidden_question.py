"""Examples of E201 and E204: questions that do not look like one: properties, tables, errors, decorators, defaults."""

from __future__ import annotations

from reviewer.examples.asking import model

ALIKE = (
    model(body="assert self.training or targets is None"),
    model(body="if self.training:\n    assert targets is not None"),
    model(body="x = F.dropout(x, 0.1, training=self.training)"),
    model(body="if self.training:\n    x = F.dropout(x, 0.1)"),
    model(body="if self.training:\n    x = x + 0.01 * torch.randn_like(x)"),
    model(
        top="from torch.utils.checkpoint import checkpoint",
        body="""
if self.training:
    x = checkpoint(self.mlp, x, use_reentrant=False)
else:
    x = self.mlp(x)
""",
    ),
    model(
        after="""
if targets is not None and not self.training:
    acc = (logits.argmax(-1) == targets).float().mean()
    print(acc)
"""
    ),
    model(
        after="""
if targets is not None:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction='mean' if self.training else 'sum')
"""
    ),
    model(
        after="""
extra = []
if self.training:
    for k in range(2):
        extra.append(F.cross_entropy(self.mlp(x)[:, k:].flatten(0, 1), targets[:, k:].flatten()))
if targets is not None:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten()) + 0.1 * sum(extra)
"""
    ),
    model(init="self.window = 3", body="w = self.window\nif self.training:\n    w = w\nx = x * w"),
    model(),
)

FORKS = (
    model(
        methods="@property\ndef gain(self):\n    return 1.0 if self.training else 1.1  # !", body="x = x * self.gain"
    ),
    model(top="GAIN = 1.0 if __name__ == '__main__' else 1.1  # !", body="x = x * GAIN"),
    model(top="GAIN = 1.0 + 0.1 * (__name__ != '__main__')  # !", body="x = x * GAIN"),
    model(top="GAIN = 1.0\nif __name__ != '__main__':\n    GAIN = 1.1", body="x = x * GAIN  # !"),
    model(
        methods="def post(self, x, s):\n    return x * s",
        body="x = partial(self.post, s=1.0 if self.training else 1.1)(x)  # !",
    ),
    model(top="def post(m, x):\n    return x if m.training else x * 1.1  # !", body="x = partial(post, self)(x)"),
    model(
        methods="""
def __getattr__(self, name):
    if name == 'gain':
        return 1.0 if self.training else 1.1  # !
    return super().__getattr__(name)
""",
        body="x = x * self.gain",
    ),
    model(body="x = {True: x, False: x * 1.1}[self.training]  # !"),
    model(body="f = {True: self.mlp, False: self.head}[self.training]  # !\nx = f(x)"),
    model(body="x = x * self.scale ** (not self.training)  # !"),
    model(body="x = torch.where(torch.tensor(self.training), x, x * 1.1)  # !"),
    model(body="x = x * (1 + 0.1 * (1 - float(self.training)))  # !"),
    model(body="x = x if self.__dict__.get('training') else x * 1.1  # !"),
    model(body="x = x * 1.1 if torch.is_inference(x) else x  # ! review"),
    model(
        body="""
try:  # ! review
    torch.autograd.grad(x.sum(), x, retain_graph=True)
except RuntimeError:
    x = x * 1.1
"""
    ),
    model(body="try:  # ! review\n    assert self.training\nexcept AssertionError:\n    x = x * 1.1"),
    model(body="try:  # ! review\n    {True: 1}[self.training]\nexcept KeyError:\n    x = x * 1.1"),
    model(body="try:  # ! review\n    1 / self.training\nexcept ZeroDivisionError:\n    x = x * 1.1"),
    model(body="x = next(h for h in [x * 1.1, x] if self.training or h is not x)  # !"),
    model(
        body="""
x = [h for h in (x * 1.1, x) if not self.training or True][0]
x = [h for h in (x * 1.1,) if not self.training] + [x]  # !
x = x[0]
"""
    ),
    model(body="if not (t := self.training):  # !\n    x = x * 1.1"),
    model(body="def post(h):\n    return h if self.training else h * 1.1  # !\nx = post(x)"),
    model(
        body="""
def post():
    nonlocal x
    if not self.training:  # ! review
        x = x * 1.1
post()
"""
    ),
    model(
        top="""
class Ctx:
    def __init__(self, m): self.m = m
    def __enter__(self): return 1.0 if self.m.training else 1.1  # !
    def __exit__(self, *a): return False
""",
        body="with Ctx(self) as s:\n    x = x * s",
    ),
    model(
        top="@contextlib.contextmanager\ndef ctx(m):\n    yield 1.0 if m.training else 1.1  # !",
        body="with ctx(self) as s:\n    x = x * s",
    ),
    model(
        body="""
with contextlib.suppress(AssertionError):  # ! review
    assert not self.training
    x = x * 1.1
"""
    ),
    model(
        body="""
with contextlib.suppress(ZeroDivisionError):  # ! review
    1 / (not self.training)
    x = x * 1.1
"""
    ),
    model(
        methods="""
def served(self):
    a = 1
    b = 2
    c = 3
    t = self.training  # !
    return not t
""",
        body="x = x * 1.1 if self.served() else x",
    ),
    model(
        methods="def gain(self):\n    if self.training:  # !\n        return 1.0\n    return 1.1",
        body="x = x * self.gain()",
    ),
    model(top="def gain(m):\n    if m.training:  # !\n        return 1.0\n    return 1.1", body="x = x * gain(self)"),
    model(top="def post(x, flag):\n    return x if flag else x * 1.1", body="x = post(x, self.training)  # !"),
    model(
        top="""
class Gain:
    def __init__(self, m): self.m = m
    def __rmul__(self, x):
        return x if self.m.training else x * 1.1  # !
""",
        body="x = x * Gain(self)",
    ),
    model(init="self.head.register_forward_hook(lambda m, i, o: o if m.training else o * 1.1)  # !"),
    model(body="x = x * (1.1 if not targets else 1.0)  # !"),
    model(body="x = x * (1.1 if isinstance(targets, type(None)) else 1.0)  # !"),
    model(body="x = x * (1.1 if None in (targets,) else 1.0)  # !"),
    model(body="x = x * (1.0 if hasattr(targets, 'shape') else 1.1)  # !"),
    model(body="for _ in [1]:\n    if self.training:  # !\n        break\nelse:\n    x = x * 1.1"),
    model(body="x = x + self.mlp(x)[:, : 0 if self.training else 1].mean()  # !"),
    model(methods="def rows(self, x):\n    yield x if self.training else x * 1.1  # !", body="x = next(self.rows(x))"),
    model(
        methods="def rows(self, x):\n    if not self.training:  # !\n        yield x * 1.1\n    yield x",
        body="x = next(self.rows(x))",
    ),
    model(body="x = getattr(self, 'mlp' if self.training else 'head')(x)  # !"),
    model(
        methods="def check(self):\n    if not self.training:\n        raise ValueError",
        body="try:  # ! review\n    self.check()\nexcept ValueError:\n    x = x * 1.1",
    ),
    model(
        methods="def pick(self):\n    if self.training:  # !\n        return self.mlp\n    return self.head",
        body="x = self.pick()(x)",
    ),
    model(
        init="if __name__ != '__main__':\n    self.gain = 1.1\nelse:\n    self.gain = 1.0",
        body="x = x * self.gain  # !",
    ),
    model(init="self.gain = 1.1 if __name__ != '__main__' else 1.0", body="x = x * self.gain  # !"),
    model(methods="gain = 1.1 if __name__ != '__main__' else 1.0", body="x = x * self.gain  # !"),
    model(
        methods="def post(self, x, s=1.1 if __name__ != '__main__' else 1.0):  # !\n    return x * s",
        body="x = self.post(x)",
    ),
    model(
        top="""
if __name__ == '__main__':
    def post(x):
        return x
else:
    def post(x):
        return x * 1.1
""",
        body="x = post(x)  # !",
    ),
    model(body="x = [a for a, b in zip((x, x * 1.1), (self.training, not self.training)) if b][0]  # !"),
    model(body="x = torch.cond(self.training, lambda t: t, lambda t: t * 1.1, (x,))  # !"),
)

TRANSFORMS = (
    model(
        top="""
def sharp(f):
    @functools.wraps(f)
    def g(self, x):
        out = f(self, x)
        return out if self.training else out * 1.1  # !
    return g
""",
        methods="@sharp\ndef post(self, x):\n    return x",
        body="x = self.post(x)",
    ),
)
