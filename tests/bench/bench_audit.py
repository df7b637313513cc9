"""The audit against `libcst.parse_module` of the same text, in one process and one run, on a script made here."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

import libcst

from reviewer import review

LAYER = '''

class Layer{i}(nn.Module):
    """One block: attention with rotary positions, then a gated unit. Number {i}."""

    def __init__(self, width: int, heads: int = {heads}) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.qkv = nn.Linear(width, 3 * width, bias=False)  # one product for all three
        self.out = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
        self.scale = nn.Parameter(torch.full((heads,), {i} / 10.0))
        nn.init.zeros_(self.out.weight)

    def attend(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, self.heads, width // self.heads).unbind(dim=2)
        q, k = turn{i}(F.rms_norm(q, (q.size(-1),)), cos, sin), turn{i}(F.rms_norm(k, (k.size(-1),)), cos, sin)
        q = q * self.scale.to(q.dtype)[None, None, :, None]
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.out(y.transpose(1, 2).reshape(rows, length, width))

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(F.rms_norm(x, (x.size(-1),)), cos, sin)
        hidden = F.relu(self.up(F.rms_norm(x, (x.size(-1),)))).square()
        if self.training and self.width > {i}:
            hidden = F.dropout(hidden, p=0.0{i})
        return x + self.down(hidden)


def turn{i}(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).type_as(x)


def schedule{i}(step: int, total: int, warm: float = 0.0{i}, cool: float = 0.5) -> float:
    done = step / max(total, 1)
    if done < warm:
        return done / warm
    table = {{"start": 1.0, "middle": 0.5 + 0.0{i}, "end": 0.0}}
    return table["start"] if done < 1 - cool else max(table["end"], (1 - done) / cool * table["middle"])
'''

KNOB = 'KNOB_{i} = float(os.environ.get("KNOB_{i}", "{i}.5"))\n'


def script(layers: int = 46, knobs: int = 40) -> str:
    """Return a script of about 2,000 lines with the shapes of real ones, and as many environment reads."""
    head = "import os\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"
    body = "".join(LAYER.format(i=i, heads=2 + i % 4) for i in range(1, layers + 1))
    tail = "\n\ndef load_for_eval(checkpoint_path, device):\n    return nn.Sequential().to(device).eval()\n"
    return head + "".join(KNOB.format(i=i) for i in range(knobs)) + body + tail


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def ratios(text: str, rounds: int) -> list[float]:
    """Return audit / parse of alternating pairs. Collection is off for both, as it is in the audit's process."""
    found = []
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        try:
            parse = seconds(lambda: libcst.parse_module(text))
            found.append(seconds(lambda: review(text, isolated=False)) / parse)
        finally:
            gc.enable()
    return found


def run() -> list[tuple[str, float, str]]:
    """Measure a script full of findings and one without any."""
    review("x = 1\n", isolated=False)  # imports the rules
    rows = []
    for name, knobs in (("audit, 40 findings / parse_module", 40), ("audit, clean / parse_module", 0)):
        text = script(knobs=knobs)
        note = f"median of 7, {text.count(chr(10)):,} lines, limit 1.5"
        rows.append((name, statistics.median(ratios(text, 7)), note))
    return rows
