"""Examples of E202: `load_for_eval` that returns another model than was trained, and honest ones."""

from __future__ import annotations

_TOP = """import torch, torch.nn as nn, torch.nn.functional as F
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)
    def forward(self, x):
        return x + self.mix(x)
class GPT(nn.Module):
    def __init__(self, softcap=15.0, width=64, deep=False):
        super().__init__()
        self.softcap, self.deep, self.scale = softcap, deep, 1.0
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.head = nn.Linear(width, 64)
    def forward(self, x, targets=None):
        for block in self.blocks:
            x = block(x)
        logits = self.softcap * torch.tanh(self.head(x) / self.softcap) * self.scale
        return logits if targets is None else F.cross_entropy(logits, targets)
"""
_MAIN = """def main():
    model = GPT()
    torch.save(model.state_dict(), 'out/final.pt')
if __name__ == '__main__':
    main()
"""


def _load(*lines: str, before: str = "", make: str = "GPT()", main: str = _MAIN) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return (
        f"{_TOP}{before}def load_for_eval(path, device):\n    state = torch.load(path, weights_only=True)\n"
        f"    model = {make}\n{body}{main}"
    )


_END = ("model.load_state_dict(state)", "return model.to(device).eval()")
_PICK = """class Picked(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, tokens):
"""
_SHARP = """class Sharp(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, tokens):
"""
_QUANTISING = """def quantize(w):
    scale = w.abs().amax(1) / 127
    return torch.round(w / scale[:, None]).to(torch.int8), scale
def dequantize(state):
    out = {}
    for name in state['q']:
        out[name] = state['q'][name].float() * state['scale'][name][:, None]
    return out
"""

_AHEAD = """import torch, torch.nn as nn, torch.nn.functional as F
class GPT(nn.Module):
    def __init__(self, ahead=0):
        super().__init__()
        self.head = nn.Linear(64, 64)
        self.ahead_heads = nn.ModuleList(nn.Linear(64, 64) for _ in range(ahead))
    def forward(self, x, targets=None):
        logits = self.head(x)
        LOGITS
        loss = F.cross_entropy(logits, targets)
        if self.training and len(self.ahead_heads) > 0:
            for k, head in enumerate(self.ahead_heads, 1):
                loss = loss + 0.1 * F.cross_entropy(head(x[:-k]), targets[k:])
        return loss
def load_for_eval(path, device):
    model = GPT()BUILT
    model.load_state_dict(torch.load(path, weights_only=True))
    return model.to(device).eval()
def main():
    model = GPT(ahead=2)
    model(x, y).backward()
    torch.save({k: v for k, v in model.state_dict().items() if 'ahead' not in k}, 'out/final.pt')
if __name__ == '__main__':
    main()
"""

SAME = (
    _AHEAD.replace("BUILT", "").replace("LOGITS", "if targets is None:\n            return logits"),
    _load(*_END),
    _load("model.load_state_dict(state)", "model.half().eval()", "model.requires_grad_(False)", "return model"),
    _load("model = model.to(device=device, dtype=torch.bfloat16)", *_END),
    _load("model.load_state_dict(state)", "return torch.compile(model.eval(), dynamic=False)"),
    _load("state = {k.removeprefix('_orig_mod.'): v for k, v in state.items()}", *_END),
    _load("state = {'module.' + k: v.float() for k, v in state.items()}", *_END),
    _load("for k in list(state):", "    state[k.replace('module.', '')] = state.pop(k)", *_END),
    _load("for p in model.parameters():", "    p.requires_grad_(False)", *_END),
    _load("for n, p in model.named_parameters():", "    p.data.copy_(state[n].to(p.dtype))", "return model"),
    _load("depth = state['config']['depth'] * 2 + 1", "print(depth, state['step'] / 10)", *_END),
    _load("n = 1 + max(int(k.split('.')[1]) for k in state)", "w = state['head.weight'].shape[0] * 2", *_END),
    _load(
        "model.load_state_dict(state['model'])",
        "return Picked(model)",
        before=_PICK + "        return self.inner(tokens)\n",
    ),
    _load(*_END[:1], "return Picked(model)", before=_PICK + "        return self.inner(tokens.long())[0]\n"),
    _load(
        *_END[:1],
        "return Picked(model)",
        before=_PICK
        + "        out = self.inner(tokens, None)\n        return out[0] if isinstance(out, tuple) else out\n",
    ),
    _load(*_END[:1], "return Picked(model)", before=_PICK + "        return self.inner(tokens).logits.float()\n"),
    _load(
        *_END[:1],
        "return Picked(model)",
        before=_PICK + "        logits, _ = self.inner(tokens)\n        return logits\n",
    ),
    _load(
        *_END, make="Named()", before="class Named(GPT):\n    def generate(self, x):\n        return self(x).argmax()\n"
    ),
    _load(*_END, make="GPT(15.0, deep=False)"),
    _load(
        *_END,
        make="build()",
        before="def build():\n    return GPT(softcap=20)\n",
        main=_MAIN.replace("GPT()", "build()"),
    ),
    _load(*_END, make="GPT(width=state['config']['width'])"),
    _load("model.head.weight = model.blocks[0].mix.weight", *_END),
    _load("model.forward = torch.compile(model.forward)", *_END),
    _load("model.note = 3", "model.deep = False", "model.max_seq_len = 9", *_END),
    _load("model.scale = 1.0", *_END),
    _load("model.scale = 2.0", *_END, main=_MAIN.replace("GPT()\n", "GPT()\n    model.scale = 2.0\n")),
    _load("model.table = state['table']", "model.load_state_dict(state, strict=True)", "return model"),
    _TOP + _QUANTISING + "def load_for_eval(path, device):\n    model = GPT()\n"
    "    model.load_state_dict(dequantize(torch.load(path, weights_only=True)))\n    return model\ndef main():\n"
    "    model = GPT()\n    model.load_state_dict(dequantize(quantize(model.head.weight)))\n"
    "    torch.save(quantize(model.head.weight), 'out/final.pt')\nif __name__ == '__main__':\n    main()\n",
    _load("with torch.inference_mode():", "    model.load_state_dict(state)", "return model"),
    _load("model = nn.DataParallel(model)", *_END),
    "import torch\nclass Small(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n",
)
CHANGED = (
    _AHEAD.replace("BUILT", "  # !").replace("LOGITS", "logits = logits + sum(head(x) for head in self.ahead_heads)"),
    _AHEAD.replace("BUILT", "  # !").replace("LOGITS", "logits = logits + getattr(self, 'ahead' + '_heads')[0](x)"),
    _load(
        *_END, make="Other()  # !", before="class Other(GPT):\n    def forward(self, x):\n        return self.head(x)\n"
    ),
    _load(
        *_END, make="Deep()  # !", before="class Deep(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
    ),
    _load(*_END[:1], "return Sharp(model)  # !", before=_SHARP + "        return self.inner(tokens) * 1.1\n"),
    _load(
        *_END[:1],
        "return Sharp(model)  # !",
        before=_SHARP + "        x = self.inner(tokens)\n        x.mul_(1.1)\n        return x\n",
    ),
    _load(
        *_END[:1],
        "return Sharp(model)  # !",
        before=_SHARP + "        return (self.inner(tokens) + self.inner(tokens.flip(1))) / 2\n",
    ),
    _load(*_END[:1], "return Sharp(model)  # !", before=_SHARP + "        return self.inner(tokens + 1)\n"),
    _load(
        "class Inner(GPT):",
        "    def forward(self, x):",
        "        return super().forward(x) / 0.9",
        "model = Inner()  # !",
        *_END,
    ),
    _load(
        *_END[:1],
        "return helper(model)",
        before=_SHARP + "        return -self.inner(tokens)\ndef helper(m):\n    return Sharp(m)  # !\n",
    ),
    _load("model.load_state_dict(state)", "return nn.Sequential(model, nn.Softmax(-1))  # !").replace(
        "nn.Softmax(-1)", "model"
    ),
    _load("model.load_state_dict(state)", "return lambda x: model(x) * 1.1  # !"),
    _load("def run(x):", "    return model(x) / 0.9", "return run  # !"),
    _load("model.forward = lambda x: x  # !", *_END),
    _load("setattr(model, 'for' + 'ward', fast)  # !", *_END, before="def fast(x):\n    return x\n"),
    _load(
        "from types import MethodType as M",
        "model.forward = M(fast, model)  # !",
        *_END,
        before="def fast(m, x):\n    return x\n",
    ),
    _load("model.__class__ = Other  # !", *_END, before="class Other(GPT):\n    pass\n"),
    _load("vars(model)['forward'] = fast  # !", *_END, before="def fast(x):\n    return x\n"),
    _load("GPT.forward = fast  # !", *_END, before="def fast(m, x):\n    return x\n"),
    _load("model.register_forward_hook(lambda m, a, out: out * 1.1)  # !", *_END),
    _load("hook = getattr(model.head, 'register_forward_pre_hook')  # !", "hook(print)", *_END),
    _load(
        "[m.register_forward_hook(scale) for m in model.blocks]  # !",
        *_END,
        before="def scale(m, a, o):\n    return o * 2\n",
    ),
    _load("model.scale = 1.1  # !", *_END),
    _load("setattr(model, 'scale', torch.tensor(1.1))  # !", *_END),
    _load("sharpen(model)", *_END, before="def sharpen(m):\n    m.softcap = 20.0  # !\n"),
    _load("for m in model.modules():", "    m.softcap = 20  # !", *_END),
    _load("model.head.weight.data *= 1.1  # !", *_END),
    _load("model.head.weight.data.mul_(1.1)  # !", *_END),
    _load(
        "for p in model.parameters():",
        "    p.mul_(1.01)  # !",
        "with torch.no_grad():",
        "    model.head.bias.add_(0.1)  # !",
        *_END,
    ),
    _load("state['head.weight'] = state['head.weight'] * 1.1  # !", *_END),
    _load("state = {k: v * 1.1 for k, v in state.items()}  # !", *_END),
    _load("state = {k: torch.mul(v, 1.1) for k, v in state.items()}  # !", *_END),
    _load("for k, v in state.items():", "    v.mul_(1.1)  # !", "    state[k] /= 2  # !", *_END),
    _load(
        "model.load_state_dict(bigger(state))",
        "return model",
        before="def bigger(s):\n    return {k: v + v for k, v in s.items()}  # ! review\n",
    ),
    _load("model.head.weight = nn.Parameter(model.head.weight * 1.1)  # !", *_END),
    _load("model.head.bias.data = torch.zeros(64)  # !", *_END),
    _load("model = torch.ao.quantization.quantize_dynamic(model)  # !", *_END),
    _load(*_END, make="GPT(softcap=20)  # !"),
    _load(*_END, make="GPT(20, deep=True)  # ! review"),
    _load(*_END, make="GPT(deep=True)  # ! review"),
    _load(*_END, make="GPT(softcap=CAP)  # !", before="CAP = 20.0\n"),
    _load(
        *_END,
        make="GPT(Config(cap=20))  # !",
        before="import dataclasses\n@dataclasses.dataclass\nclass Config:\n    cap: float = 15.0\n    width: int = 4\n",
        main=_MAIN.replace("GPT()", "GPT(Config())"),
    ),
    _load(
        "global SCALE",
        "SCALE = 1.1  # !",
        *_END,
        before="SCALE = 1.0\nclass Bent(GPT):\n    def forward(self, x):\n        return super().forward(x) * SCALE\n",
        main=_MAIN.replace("GPT()", "Bent()"),
    ).replace("model = GPT()\n    global", "model = Bent()\n    global"),
    _load("torch.nn.utils.parametrize.register_parametrization(model.head, 'weight', print)  # !", *_END),
    _load("model.head.forward = model.blocks[0].forward  # !", *_END),
    _load("w = state['head.weight']", "w = w * state['gain']  # ! review", "state['head.weight'] = w", *_END),
    _load("model = type('X', (GPT,), {'forward': print})()  # !", *_END),
    _load(
        *_END,
        main=_MAIN.replace("    torch.save", "    load_for_eval('out/final.pt', 'cpu')\n    torch.save"),
        make="Deep()  # !",
        before="class Deep(nn.Module):\n    def forward(self, x):\n        return x * 2\n",
    ),
)
