"""Examples of E201 and E204: changes in place on one path only, under whatever name and by whatever means."""

from __future__ import annotations

from reviewer.examples.asking import model

ALIKE = (
    model(after="if self.training:\n    self.last = logits.detach()"),
    model(after="if not self.training:\n    print(logits.shape)"),
    model(
        init="self.register_buffer('count', torch.zeros(1))",
        body="if self.training:\n    with torch.no_grad():\n        self.count.add_(1)",
    ),
    model(init="self.norms = []", body="if self.training:\n    self.norms.append(x.norm().item())"),
    model(body="if not self.training:\n    print('eval', x.norm().item())"),
    model(init="self.steps = 0", body="if self.training:\n    self.steps += 1"),
    model(body="if self.training and x.requires_grad:\n    x.register_hook(lambda g: g.clamp(-1, 1))"),
    model(body="if self.training:\n    torch._dynamo.mark_dynamic(idx, 0)"),
    model(
        init="self.aux = []",
        body="if self.training:\n    self.aux.append(x.square().mean())",
        after="""
aux = sum(self.aux) if self.training else 0
if targets is not None:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten()) + 0.01 * aux
""",
    ),
    model(body="if not self.training:\n    torch._check(x.size(0) > 0)"),
    model(body="if not self.training:\n    torch.cuda.empty_cache()"),
    model(
        top="@torch.compiler.disable\ndef note(m, x):\n    m.seen = float(x.norm())",
        body="if self.training:\n    note(self, x)",
    ),
    model(
        after="""
if targets is not None:
    t = targets.clone()
    t[:, 0] = -1
    return F.cross_entropy(logits.flatten(0, 1), t.flatten(), ignore_index=-1)
"""
    ),
    model(
        after="""
losses = []
if targets is not None:
    losses.append(F.cross_entropy(logits.flatten(0, 1), targets.flatten()))
    return sum(losses)
return logits
"""
    ),
)

FORKS = (
    model(top="def sharpen(t):\n    t.mul_(1.3)", after="if not self.training:  # ! review\n    sharpen(logits)"),
    model(
        methods="def sharpen(self, t):\n    t *= 1.3",
        after="if not self.training:  # ! review\n    self.sharpen(logits)",
    ),
    model(body="if not self.training:  # !\n    setattr(self, 'gain', 1.1)\nx = x * self.gain"),
    model(body="if not self.training:  # ! review\n    self.head.weight.data.mul_(1.1)"),
    model(
        methods="def tune(self):\n    self.head.weight.data.mul_(1.1)",
        body="if not self.training:  # ! review\n    self.tune()",
    ),
    model(body="d = {'s': 1.0}\nif not self.training:  # !\n    d.update(s=1.1)\nx = x * d['s']"),
    model(body="d = [1.0]\nif not self.training:  # !\n    d.append(1.1)\nx = x * d[-1]"),
    model(after="if not self.training:  # ! review\n    list(map(lambda t: t.mul_(1.3), [logits]))"),
    model(body="g = self.gains\nif not self.training:  # !\n    del g[0]\nx = x * g[0]"),
    model(
        methods="def mode(self):\n    self.gain = 1.1",
        body="if not self.training:  # ! review\n    self.mode()\nx = x * self.gain",
    ),
    model(
        methods="def note(self, store):\n    store['s'] = 1.1",
        body="d = {'s': 1.0}\nif not self.training:  # ! review\n    self.note(d)\nx = x * d['s']",
    ),
    model(
        body="""
box = [1.0]
def put():
    box[0] = 1.1
if not self.training:  # ! review
    put()
x = x * box[0]
"""
    ),
    model(
        body="""
box = [1.0]
if not self.training:  # ! review
    list(map(box.append, [1.1]))
x = x * box[-1]
"""
    ),
    model(body="if not self.training:  # ! review\n    self.head, self.mlp = self.mlp, self.head"),
    model(body="if not self.training:  # ! review\n    self.head.load_state_dict(self.mlp.state_dict())"),
    model(
        body="""
if not self.training:  # ! review
    self.head.register_forward_hook(lambda m, i, o: o * 1.1)
"""
    ),
    model(after="if not self.training:  # ! review\n    torch.utils.swap_tensors(logits, logits * 2)"),
    model(body="if not self.training:  # ! review\n    self.mlp.train()\nx = self.mlp(x)"),
    model(body="if not self.training:  # ! review\n    torch.set_default_dtype(torch.float16)"),
)

TRANSFORMS = (
    model(after="if not self.training:\n    torch.mul(logits, 1.3, out=logits)  # !"),
    model(after="if not self.training:\n    logits.data.mul_(1.3)  # !"),
    model(after="if not self.training:\n    logits[:].mul_(1.3)  # !"),
    model(after="if not self.training:\n    z = logits\n    z.mul_(1.3)  # !"),
    model(after="if not self.training:\n    logits.copy_(logits * 1.3)  # !"),
    model(after="if not self.training:\n    setattr(logits, 'data', logits * 1.3)  # !"),
    model(after="if not self.training:\n    logits[:] *= 1.3  # !"),
    model(after="if not self.training:\n    logits.data = logits.data * 1.3  # !"),
    model(after="v = logits.view(-1)\nif not self.training:\n    v.mul_(1.3)  # !"),
    model(after="if not self.training:\n    with torch.no_grad():\n        logits.mul_(1.3)  # !"),
    model(after="if not self.training:\n    torch._foreach_mul_([logits], 1.3)  # !"),
    model(after="if not self.training:\n    operator.imul(logits, 1.3)  # !"),
    model(after="if not self.training:\n    logits.__setitem__(slice(None), logits * 1.3)  # !"),
    model(after="if not self.training:\n    _ = logits.mul_(1.3)  # !"),
    model(after="if not self.training:\n    logits.mul_(1.1).add_(0.2)  # !"),
    model(after="if not self.training:  # !\n    for row in logits:\n        row.mul_(1.3)"),
    model(after="if not self.training:  # !\n    for row in logits.unbind(0):\n        row *= 1.3"),
    model(after="if not self.training:\n    getattr(logits, 'mul_')(1.3)  # !"),
    model(after="if not self.training:\n    torch.Tensor.mul_(logits, 1.3)  # !"),
    model(after="if not self.training:\n    logits.numpy()[:] *= 1.3  # !"),
    model(after="a, b = logits, 1\nif not self.training:\n    a.mul_(1.3)  # !"),
    model(after="a, b = logits.chunk(2, -1)\nif not self.training:\n    a.mul_(1.3)  # !"),
)
