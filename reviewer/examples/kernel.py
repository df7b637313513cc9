"""Examples of E201: one product by two kernels, logits by parts, arms behind a setting, states set for scoring."""

_HEAD = """
import torch, torch.nn as nn, torch.nn.functional as F
"""
_MODEL = (
    _HEAD
    + """
class GPT(nn.Module):
    def forward(self, idx, targets=None):
        x = self.norm(self.blocks(self.wte(idx)))
"""
)

_LAYER = """
class Wide(nn.Module):
    def forward(self, x, up, down):
        h = F.rms_norm(x, (x.size(-1),))
        if self.training and self.use_fused:ASKED
            return x + FusedSquare(h, up.to(x.dtype), down.to(x.dtype))
        return x + SCORED
class GPT(nn.Module):
    def forward(self, idx):
        return self.head(self.wide(self.wte(idx), self.up, self.down))
"""

ALIKE = (
    _HEAD
    + _LAYER.replace("ASKED", "").replace(
        "SCORED", "F.linear(F.relu(F.linear(h, up.to(x.dtype))).square(), down.to(x.dtype))"
    ),
    _HEAD
    + """
class Narrow(nn.Linear):
    def forward(self, x):
        if self.use_fp8 and self.training:
            rows = torch.ops.mine.product(x.flatten(0, -2), self.weight, x_s=self.x_s)[0]
            return rows.reshape(*x.shape[:-1], -1)
        return F.linear(x, self.weight.type_as(x))
""",
    _MODEL
    + """
        logits = head_fp8(x, self.head.weight) if self.training else self.head(x)
        logits = 30 * torch.sigmoid(logits.float() / 7.5)
        return logits if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
""",
    _MODEL
    + """
        x, targets = x.flatten(end_dim=1), targets.flatten()
        if self.training:
            return F.cross_entropy(self.head(x), targets)
        loss = 0
        for i in range(4):
            loss += F.cross_entropy(self.head(x.chunk(4)[i]).float(), targets.chunk(4)[i]) / 4
        return loss
""",
    _MODEL
    + """
        x = x.flatten(0, 1)
        if targets is not None:
            return F.cross_entropy(self.head(x), targets.flatten())
        return torch.cat([self.head(part) for part in x.split(1024)])
""",
    _MODEL
    + """
        x = x.flatten(0, 1)
        if targets is not None:
            losses = [F.cross_entropy(self.head(a), b) for a, b in zip(x.split(64), targets.split(64))]
            return torch.stack(losses).mean()
        rows = []
        for start in range(0, x.size(0), 1024):
            rows.append(self.head(x[start : start + 1024]))
        return torch.cat(rows)
""",
    _MODEL
    + """
        loss = F.cross_entropy(self.head(x), targets)
        if self.ahead and self.training:
            return loss + F.cross_entropy(self.next(x), targets)
        return loss
""",
)

_SPLIT = (
    _HEAD
    + """
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.split = False
    def forward(self, idx):
        x = self.embed(idx) if self.split else F.embedding(idx, self.head.weight)  # !
        return self.head(self.norm(x))
def load_for_eval(path, device):
    model = GPT()
    model.split = True
    return model
def main():
    model = GPT()
    for step in range(100):
        model.split = STATE
if __name__ == '__main__':
    main()
"""
)

APART = (
    _HEAD + _LAYER.replace("ASKED", "  # ! review").replace("SCORED", "self.more(F.linear(F.linear(h, up), down))"),
    _HEAD
    + _LAYER.replace("ASKED", "  # ! review").replace("SCORED", "F.linear(F.linear(h, up), down) @ self.other.weight"),
    _SPLIT.replace("STATE", "step > 50"),  # the same in the end, perhaps
    _SPLIT.replace("STATE", "False"),
    _SPLIT.replace("STATE", "True").replace("# !", "# ! warn"),  # told, and stops nothing
    _MODEL
    + """
        if self.quick and self.training:  # !
            return self.head(x)
        return self.head(self.second(x))
""",
    _MODEL
    + """
        if self.training and DEPTH > 2:  # !
            return F.cross_entropy(self.head(x), targets)
        return F.cross_entropy(self.head(self.second(x)), targets)
""",
    _HEAD
    + """
class Narrow(nn.Linear):
    def forward(self, x):
        if self.use_fp8 and self.training:  # ! review
            return torch.ops.mine.product(x, self.weight)[0]
        return self.other(x) * 7
""",
    _MODEL
    + """
        bank = self.bank[:768] if self.training else self.bank[768:]  # !
        return F.linear(x, bank)
""",
    _MODEL
    + """
        logits = self.head(x) if self.training else head_fp8(x, self.second.weight)  # ! review
        return logits if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
""",
    _MODEL
    + """
        if self.training:  # !
            return F.cross_entropy(self.head(x), targets)
        return self.head(x.chunk(2, dim=-1)[0])
""",
    _MODEL
    + """
        if self.training:  # ! review
            return F.cross_entropy(self.head(x), targets)
        return torch.cat([self.second(part) for part in x.split(64)])
""",
)
