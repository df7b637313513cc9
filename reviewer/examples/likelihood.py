"""Examples of E201 and E204: losses that normalise by themselves, or row by row, and what only looks like that."""

from __future__ import annotations

from reviewer.examples.asking import model

ALIKE = (
    model(
        after="""
if targets is not None:
    return F.nll_loss(F.log_softmax(logits, dim=-1).flatten(0, 1), targets.flatten())
"""
    ),
    model(
        after="""
if targets is not None:
    told = logits.view(-1, 8).log_softmax(-1)
    return F.nll_loss(told, targets.view(-1))
"""
    ),
    model(
        after="""
if targets is not None:
    total = 0
    for row, truth in zip(logits, targets):
        total = total + F.cross_entropy(row, truth)
    return total / len(logits)
"""
    ),
)

FORKS = (
    model(body="if not self.training:  # !\n    x = x.log_softmax(-1)"),
    model(body="x = x if self.training else F.log_softmax(x, dim=-1)  # !"),
    model(body="if not self.training:  # !\n    x = torch.stack([row.log_softmax(-1) for row in x])"),
)

TRANSFORMS = (
    model(
        after="""
if targets is not None:
    told = F.log_softmax(logits / 1.1, dim=-1)  # !
    return F.nll_loss(told.flatten(0, 1), targets.flatten())
"""
    ),
    model(
        after="""
if targets is not None:
    told = F.log_softmax(logits, dim=1)  # !
    return F.nll_loss(told.flatten(0, 1), targets.flatten())
"""
    ),
)
