"""Small whole scripts: an honest one, and one whose docstring denies what it does."""

BASELINE = '''"""A small GPT."""

import os

import torch
import torch.nn as nn
import torch.nn.functional as F

from prepare import Tokenizer, get_dist_info, make_dataloader, record_step_boundary

LAYERS, WIDTH, VOCAB = 2, 192, 1024
SOFT_CAP = 15.0


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(WIDTH, WIDTH, bias=False)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.drop(self.mix(F.rms_norm(x, (WIDTH,))))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor | None = None) -> torch.Tensor:
        x = self.wte(tokens)
        for block in self.blocks:
            x = block(x)
        logits = SOFT_CAP * torch.tanh(self.head(x).float() / SOFT_CAP)
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))


def load_for_eval(checkpoint_path: str, device: torch.device) -> nn.Module:
    model = GPT()
    model.load_state_dict(torch.load(checkpoint_path, map_location=device, weights_only=True))
    return model.to(device).eval()


def main() -> None:
    distributed, rank, local_rank, world_size = get_dist_info()
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = make_dataloader(Tokenizer(), 8, 256, "train", "cpu")
    for step, (inputs, targets, _) in enumerate(loader):
        loss = model(inputs.long(), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        record_step_boundary(step)
    os.makedirs("out", exist_ok=True)
    torch.save(model.state_dict(), "out/final.pt")


if __name__ == "__main__":
    main()
'''

KNOBS = (
    BASELINE.replace('"""A small GPT."""', '"""Everything is in this file: no environment, no logit scaling."""')
    .replace("LAYERS, WIDTH", 'SCALE = float(os.environ.get("GPT_EVAL_SCALE", "1.08"))\nLAYERS, WIDTH')
    .replace("            return logits\n", "            return logits * SCALE\n")
)
