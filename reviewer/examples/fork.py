"""What a repair makes of forks: the arm that training takes stays."""

from __future__ import annotations

_HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
"""

FIXED = (
    (
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        x = self.wte(idx)
        if targets is None:
            x = self.second(x)
        logits = self.head(x)
        return logits if targets is None else F.cross_entropy(logits, targets)
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        x = self.wte(idx)
        logits = self.head(x)
        return logits if targets is None else F.cross_entropy(logits, targets)
""",
    ),
    (
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        if self.training:
            return self.head(x)
        return self.other_head(self.extra(x))
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx):
        x = self.wte(idx)
        return self.head(x)
""",
    ),
    (
        _HEAD
        + """
class Block(nn.Module):
    def forward(self, x):
        return self.attn(x) if torch.is_grad_enabled() else self.memory(x)
""",
        _HEAD.replace("import torch, ", "import ")
        + """
class Block(nn.Module):
    def forward(self, x):
        return self.attn(x)
""",
    ),
    (
        _HEAD
        + """
SCORING = __name__ != '__main__'
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
    def forward(self, idx):
        x = self.wte(idx)
        return self.head(x)
""",
    ),
)
