"""Examples of E201: what differs between training and scoring, and what only looks like it."""

from __future__ import annotations

from reviewer.examples.kernel import ALIKE, APART
from reviewer.examples.question import QUESTIONS

_HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
"""

ONE_MODEL = (
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        x = self.norm(self.blocks(self.wte(idx)))
        logits = 15 * torch.tanh(self.head(x).float() / 15)
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
""",
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            if self.training:
                loss = loss + 0.1 * self.aux(idx).mean()
        return logits, loss
""",
    _HEAD
    + """
class QuantLinear(nn.Linear):
    def forward(self, x):
        w = self.weight
        if self.training and self.noisy:
            w = w + (fake_quant(w) - w).detach()
        return F.linear(x, w)
""",
    _HEAD
    + """
from torch.utils.checkpoint import checkpoint
class Block(nn.Module):
    def forward(self, x):
        if self.training:
            x = x + checkpoint(self.mlp, self.norm(x), use_reentrant=False)
        else:
            x = x + self.mlp(self.norm(x))
        return F.dropout(x, p=0.1, training=self.training)
""",
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        x = self.norm(self.wte(idx))
        if self.training:
            return fused_softcapped_loss(x.flatten(0, 1), self.head.weight, targets)
        logits = 15 * torch.tanh(self.head(x) / 15)
        return logits if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
""",
    _HEAD
    + """
import os, time
QUIET = False
class GPT(nn.Module):
    qat = False
    def forward(self, idx, targets=None):
        start = time.time()
        w = self.head.weight
        if self.qat and w.requires_grad:
            w = w + (fake_quant(w) - w).detach()
        try:
            flops = os.stat('/proc/stat')
        except OSError:
            flops = None
        logits = F.linear(self.wte(idx), w)
        if not QUIET:
            print(time.time() - start, flops, idx.take(0))
        return logits if targets is None else F.cross_entropy(logits, targets)
class Loader:
    def take(self, n):
        return torch.frombuffer(open(self.file, 'rb').read(), dtype=torch.uint16)[:n]
def read_blob(path):
    return open(path, 'rb').read()
def load_for_eval(path, device):
    model = GPT()
    model.load_state_dict(read_blob(path))
    return model.to(device).eval()
def main():
    global QUIET
    QUIET = True
    GPT.qat = True
    GPT()(Loader().take(8))
if __name__ == '__main__':
    main()
""",
    _HEAD
    + """
class Turns(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer('speed', 1.0 / 1e4 ** (torch.arange(0, dim, 2) / dim), persistent=False)
        self._length, self._cos, self._sin = 0, None, None
    def forward(self, length, device):
        if self._cos is None or self._length < length or self._cos.device != device or self._cos.is_inference():
            with torch.no_grad():
                angles = torch.outer(torch.arange(length, device=device), self.speed)
                self._cos = angles.cos()[None, :, None]
                self._sin = angles.sin()[None, :, None]
            self._length = length
        return self._cos[:, :length], self._sin[:, :length]
class GPT(nn.Module):
    def forward(self, idx):
        return self.head(turned(self.wte(idx), self.turns(idx.size(1), idx.device)))
""",
    _HEAD
    + """
class SoftRounded(nn.Linear):
    qat, sharp, bits = False, 1.0, 6
    def forward(self, x):
        w = self.weight.to(x.dtype)
        if SoftRounded.qat and self.training and w.ndim == 2:
            wide = self.weight.float()
            step = wide.abs().amax(dim=1, keepdim=True).clamp_min(1e-6) / (31 if SoftRounded.bits == 6 else 127)
            low = (wide / step).floor()
            near = low + torch.sigmoid(SoftRounded.sharp * (wide / step - low - 0.5))
            w = (near.clamp(-31, 31) * step).to(x.dtype)
        return F.linear(x, w)
def main():
    SoftRounded.qat, SoftRounded.bits = True, 8
if __name__ == '__main__':
    main()
""",
    """
import os
def main():
    if os.path.exists('out/final.pt'):
        x = 1
if __name__ == '__main__':
    main()
""",
    *ALIKE,
)

TWO_MODELS = (
    *APART,
    _HEAD
    + """
class Turns(nn.Module):
    def forward(self, length):
        if self._cos is None or self._cos.is_inference():  # ! review
            self._cos = self.angles(length).cos() * self.gain
            self.gain = 2
        return self._cos[:length]
class GPT(nn.Module):
    def forward(self, idx):
        return self.head(self.wte(idx) * self.turns(idx.size(1)))
""",
    _HEAD
    + """
FIRST = None
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        x = x + torch.roll(x, 1, 1) * (idx != FIRST)[..., None]  # !
        return self.head(x)
def rows(tokens):
    global FIRST
    if FIRST is None:
        FIRST = 1
    return tokens
if __name__ == '__main__':
    rows(1)
""",
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        if self.training:  # !
            return self.head(x)
        return self.other_head(self.extra(x))
""",
    _HEAD
    + """
class Block(nn.Module):
    def forward(self, x):
        return self.attn(x) if torch.is_grad_enabled() else self.memory(x)  # !
""",
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        x = self.wte(idx)
        if targets is None:  # !
            x = self.second(x)
        logits = self.head(x)
        return logits if targets is None else F.cross_entropy(logits, targets)
""",
    _HEAD
    + """
SCORING = __name__ != '__main__'  # !
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        if SCORING:
            x = self.second(x)
        return self.head(x)
""",
    _HEAD
    + """
class GPT(nn.Module):
    @property
    def served(self):
        return not self.training
    def forward(self, idx):
        x = self.wte(idx)
        served = self.served
        if served:
            x = self.second(x)
        return self.head(x)
""".replace("return not self.training", "return not self.training  # !"),
    _HEAD
    + """
import os
class GPT(nn.Module):
    def trunk(self, x):
        if os.path.exists('/work/out/final.pt'):  # !
            x = self.second(x)
        return self.norm(x)
    def forward(self, idx):
        return self.head(self.trunk(self.wte(idx)))
""",
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx, inference=False):
        x = self.wte(idx)
        if inference:
            x = self.second(x)
        return self.head(x)
""".replace("inference=False):", "inference=False):  # !"),
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        if self.deep:  # !
            x = self.second(x)
        return self.head(x)
def load_for_eval(path, device):
    model = GPT()
    model.deep = True
    return model
""",
    _HEAD
    + """
import sys
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        if len(sys.argv) > 1:  # !
            x = self.second(x)
        return self.head(x)
""",
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        if not self.training and targets is None:  # !
            return self.head(self.second(self.wte(idx)))
        return self.head(self.wte(idx))
""",
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        x = self.wte(idx)
        if self.training:  # !
            x = self.second(x)
        logits = self.head(x)
        return logits if targets is None else F.cross_entropy(logits, targets)
""",
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        x = self.wte(idx)
        try:  # !
            open('/holdout/dev.bin').close()
        except OSError:
            x = self.second(x)
        logits = self.head(x)
        return logits if targets is None else F.cross_entropy(logits, targets)
""",
    _HEAD
    + """
import contextlib, os
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        with contextlib.suppress(OSError):  # !
            os.stat('/holdout/dev.bin')
            x = self.second(x)
        return self.head(x)
""",
    _HEAD
    + """
DEEP = [1]
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        if DEEP:  # !
            x = self.second(x)
        return self.head(x)
if __name__ == '__main__':
    DEEP.clear()
""",
    _HEAD
    + """
DEEP = True
class GPT(nn.Module):
    def forward(self, idx):
        return self.head(self.second(self.wte(idx)) if DEEP else self.wte(idx))  # !
def main():
    global DEEP
    DEEP = False
if __name__ == '__main__':
    main()
""",
    _HEAD
    + """
class GPT(nn.Module):
    deep = False
    def train(self, mode=True):
        self.deep = not mode
        return super().train(mode)
    def forward(self, idx):
        x = self.wte(idx)
        if self.deep:  # !
            x = self.second(x)
        return self.head(x)
""",
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        return self.head(x + self.gate * self.second(x))  # !
def _open(model):
    model.gate.fill_(1.0)
def load_for_eval(path, device):
    model = GPT()
    _open(model)
    return model
def main():
    model = GPT()
if __name__ == '__main__':
    main()
""",
    _HEAD
    + """
class GPT(nn.Module):
    def __init__(self):
        self.p = nn.Dropout(1.0)
    def forward(self, idx):
        x = self.wte(idx)
        return self.head(x + self.p(torch.ones(1)) * self.second(x))  # !
""",
    *(
        f"""import inspect, glob, operator, os, pathlib, sys, threading, time, torch, torch.nn as nn
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        if {question}:  # !
            x = self.second(x)
        return self.head(x)
def load_for_eval(path, device):
    model = GPT()
    setattr(model, 'deep', True)
    return model
"""
        for question in QUESTIONS
    ),
)
