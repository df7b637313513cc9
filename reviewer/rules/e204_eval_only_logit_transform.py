"""E204 eval-only-logit-transform."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from reviewer.examples import hidden_question, in_place, likelihood, ways_round
from reviewer.found import Found
from reviewer.repairs.arms import unified
from reviewer.rules.base import Rule
from reviewer.script import Script

_HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
"""


class EvalOnlyLogitTransform(Rule):
    """Refuses a scale, temperature, bias or cap that the logits get on one path only.

    What it looks for
        Logits that are returned for scoring and are those that the loss was computed of, with something put on top:
        a factor, a temperature, a bias, a soft cap, a call, a change in place under any name that shares the memory.
        And the other way round, also where a helper computes the loss.

    Why it is refused
        The loss trained one distribution and another one is scored. Such a factor is fitted to held-out text or to
        the score itself, and the file's own loss curve does not show it.

    Do instead
        Apply it before the loss as well, as part of the model, or leave it out.
    """

    code = "E204"

    VALID: ClassVar = (
        *in_place.ALIKE,
        *hidden_question.ALIKE,
        *ways_round.ALIKE,
        *likelihood.ALIKE,
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx)) * self.scale
        logits = 30.0 * torch.tanh(logits / 30.0)
        if targets is not None:
            return F.cross_entropy(logits.float().view(-1, 8), targets.view(-1))
        return logits
""",
        _HEAD
        + """
class GPT(nn.Module):
    def logits(self, idx):
        return self.head(self.wte(idx)) + self.bias
    def forward(self, idx, targets=None):
        if targets is None:
            return self.logits(idx)
        return F.cross_entropy(self.logits(idx).transpose(1, 2), targets)
""".replace(".transpose(1, 2)", ".flatten(0, 1)"),
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets, train_mode=False):
        logits = self.head(self.wte(idx)).flatten(0, 1).float()
        flat = targets.flatten()[:, None]
        if not train_mode:
            return (torch.logsumexp(logits, dim=-1) - logits.gather(1, flat)[:, 0]).mean()
        lse = torch.logsumexp(logits, dim=-1)
        return (lse - logits.gather(1, flat).squeeze(1)).mean() + 1e-4 * (lse ** 2).mean()
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None, training=False):
        logits = self.head(self.wte(idx))
        if training:
            return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return -F.log_softmax(logits, -1).gather(-1, targets[..., None])
""",
        _HEAD
        + """
def evaluate(model, x, temperature=1.0):
    return model(x) / temperature
""",
    )
    INVALID: ClassVar = (
        *in_place.TRANSFORMS,
        *hidden_question.TRANSFORMS,
        *ways_round.TRANSFORMS,
        *likelihood.TRANSFORMS,
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets, temperature=None, *, train_mode=False):
        x = self.blocks(self.wte(idx))
        if not train_mode:
            logits = self.head(x)
            if temperature is not None and temperature != 1.0:
                logits = logits / temperature  # !
            flat = logits.flatten(0, 1).float()
            return (torch.logsumexp(flat, dim=-1) - flat.gather(1, targets.flatten()[:, None]).squeeze(1)).mean()
        flat = self.head(x).flatten(0, 1).float()
        lse = torch.logsumexp(flat, dim=-1)
        return (lse - flat.gather(1, targets.flatten()[:, None]).squeeze(1)).mean() + 1e-4 * (lse ** 2).mean()
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets, training=False):
        logits = self.head(self.wte(idx))
        if training:
            return -torch.gather(logits.log_softmax(-1), -1, targets[..., None]).mean()
        return -torch.take_along_dim((logits * 1.05).log_softmax(-1), targets[..., None], -1)  # !
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if targets is None:
            return logits * 1.05  # !
        return F.cross_entropy(logits.view(-1, 8), targets.view(-1))
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if not self.training:
            logits = logits / self.temperature  # !
        loss = None if targets is None else F.cross_entropy(logits, targets)
        return logits, loss
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if not self.training:
            logits.mul_(1.05)  # !
        return logits
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if targets is not None:
            return F.cross_entropy(15 * torch.tanh(logits / 15), targets)  # !
        return logits
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx):
        logits = self.head(self.wte(idx))
        return logits + (0.0 if self.training else self.bias)  # !
""",
        _HEAD
        + """
class GPT(nn.Module):
    def finish(self, logits):
        scale = 1.0 if torch.is_grad_enabled() else 1.1
        return logits * scale  # !
    def forward(self, idx):
        return self.finish(self.head(self.wte(idx)))
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if targets is None:
            return self.sharpen(logits)  # !
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        logits = logits * (1 + 0.1 * (not self.training))  # !
        return logits if targets is None else F.cross_entropy(logits, targets)
""",
        _HEAD
        + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if targets is None:
            return logits + (0.05 * logits).detach()  # !
        return F.cross_entropy(logits, targets)
""",
    )

    FIXED: ClassVar = (
        (
            _HEAD
            + """
SCALE = 1.05
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if targets is None:
            return logits * SCALE  # sharper
        return F.cross_entropy(logits.view(-1, 8), targets.view(-1))
""",
            _HEAD
            + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if targets is None:
            return logits  # sharper
        return F.cross_entropy(logits.view(-1, 8), targets.view(-1))
""",
        ),
        (
            _HEAD
            + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if not self.training:
            logits = logits / self.temperature
        loss = None if targets is None else F.cross_entropy(logits, targets)
        return logits, loss
""",
            _HEAD
            + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        loss = None if targets is None else F.cross_entropy(logits, targets)
        return logits, loss
""",
        ),
        (
            _HEAD
            + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if targets is not None:
            return F.cross_entropy(15 * torch.tanh(logits / 15), targets)
        return logits
""",
            _HEAD
            + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        logits = self.head(self.wte(idx))
        if targets is not None:
            return F.cross_entropy(15 * torch.tanh(logits / 15), targets)
        return 15 * torch.tanh(logits / 15)
""",
        ),
        (
            _HEAD
            + """
class GPT(nn.Module):
    def forward(self, idx):
        logits = self.head(self.wte(idx))
        return logits + (0.0 if self.training else self.bias)
""",
            _HEAD
            + """
class GPT(nn.Module):
    def forward(self, idx):
        logits = self.head(self.wte(idx))
        return logits + 0.0
""",
        ),
    )

    def check(self, script: Script) -> Iterator[Found]:
        for fork in script.forks:
            if fork.kind == "transform":
                what = f"`{fork.function}` changes its logits on one path only: what is scored was not trained."
                remedy = "Apply it on both paths, before the loss, or remove it."
                yield Found(fork.where, what, remedy, fix=unified(script, fork))
