"""A small model with room for whatever an example puts into it: at its top, in its class, before and after its head."""

from __future__ import annotations

from textwrap import dedent, indent

_MODEL = """import contextlib, functools, math, operator, torch, torch.nn as nn, torch.nn.functional as F
from functools import partial
TOP
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.mlp, self.head = nn.Embedding(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.scale = 1.1
INIT
METHODS
    def forward(self, idx, targets=None):
        x = self.wte(idx)
        x = x + self.mlp(x)
BODY
        logits = self.head(x)
AFTER
        if targets is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
def load_for_eval(path, device):
    model = GPT()
    model.load_state_dict(torch.load(path, weights_only=True))
    return model.to(device).eval()
def main():
    model = GPT()
    x = torch.randint(8, (2, 8))
    model(x, x).backward()
    torch.save(model.state_dict(), 'out/final.pt')
if __name__ == '__main__':
    main()
"""


def model(body: str = "", after: str = "", top: str = "", methods: str = "", init: str = "") -> str:
    """Return the model with these lines before its head, after it, at the top, in the class and in `__init__`."""
    found = _MODEL
    for slot, lines, depth in (
        ("TOP", top, 0), ("INIT", init, 8), ("METHODS", methods, 4), ("BODY", body, 8), ("AFTER", after, 8)
    ):  # fmt: skip
        found = found.replace(f"\n{slot}\n", "\n" + indent(dedent(lines).strip("\n"), " " * depth) + "\n", 1)
    return found
