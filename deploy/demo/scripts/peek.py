"""The baseline with its attention mask off by one: each position also sees the token that it has to tell.

`tril(1)` stands where `tril()` was meant. No rule about text can know that, and the loss is splendid: copying is
learned in a minute. But when it is scored, rows are asked again with other text after some position; here the answers
up to that position change with it, and the run ends as a breach instead of a score.
"""

import math
import os
import time
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from prepare import (
    TOKENIZER_VOCAB_SIZE,
    TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS,
    TRAIN_STARTUP_STEPS_EXCLUDED,
    TRAIN_TERM_SECONDS,
    TRAIN_TIME_BUDGET_SECONDS,
    ensure_tokenizer,
    get_dist_info,
    make_dataloader,
    print0,
    record_step_boundary,
)
from torch import Tensor, nn

LAYERS, WIDTH, HEADS, HIDDEN = 2, 192, 3, 4 * 192
HEAD_WIDTH = WIDTH // HEADS
SOFT_CAP = 15.0
BATCH, LENGTH = 8, 256
MATRIX_LR, EMBEDDING_LR, HEAD_LR = 0.02, 0.01, 0.01
MOMENTUM = 0.85
CHECKPOINT = "out/final.pt"
# Between the last step and SIGTERM, which ends Python at once. The seconds that follow it are for scripts that save
# only when they are asked; this one has saved by then and leaves them.
MARGIN_SECONDS = 0.5


# ---------------------------------------------------------------- model


def norm(x: Tensor) -> Tensor:
    return F.rms_norm(x, (x.size(-1),))


class Linear(nn.Linear):
    """A linear map without bias: float32 weights, product in the type of its input."""

    def __init__(self, inputs: int, outputs: int, *, zero: bool = False) -> None:
        super().__init__(inputs, outputs, bias=False)
        nn.init.zeros_(self.weight) if zero else nn.init.normal_(self.weight, std=inputs**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight.to(x.dtype))


def rotary_angles(length: int) -> tuple[Tensor, Tensor]:
    """Give cos and sin [T, HEAD_WIDTH / 2] of every position's rotations."""
    speeds = 10_000.0 ** -torch.linspace(0, 1, HEAD_WIDTH // 2)
    angles = torch.outer(torch.arange(length), speeds)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos + second * sin, second * cos - first * sin], dim=-1)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.queries_keys_values = Linear(WIDTH, 3 * WIDTH)
        self.mix = Linear(WIDTH, WIDTH, zero=True)
        self.up = Linear(WIDTH, HIDDEN)
        self.down = Linear(HIDDEN, WIDTH, zero=True)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attend(norm(x), cos, sin)
        return x + self.down(F.relu(self.up(norm(x))).square())

    def attend(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = self.queries_keys_values(x).view(batch, length, 3, HEADS, HEAD_WIDTH)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # each [B, H, T, D]
        q, k = rotate(norm(q), cos, sin), rotate(norm(k), cos, sin)
        visible = torch.ones(length, length, dtype=torch.bool, device=x.device).tril(1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        return self.mix(y.transpose(1, 2).reshape(batch, length, WIDTH))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENIZER_VOCAB_SIZE, WIDTH)
        self.previous = nn.Embedding(TOKENIZER_VOCAB_SIZE, WIDTH)
        for table in (self.embedding, self.previous):
            nn.init.normal_(table.weight, std=0.3)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = Linear(WIDTH, TOKENIZER_VOCAB_SIZE, zero=True)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [B, T] to logits [B, T, V], the same in training and evaluation."""
        before = F.pad(tokens[:, :-1], (1, 0))
        x = norm(self.embedding(tokens) + self.previous(before)).bfloat16()
        cos, sin = (angles.to(x) for angles in rotary_angles(tokens.size(1)))
        for block in self.blocks:
            x = block(x, cos, sin)
        logits = self.head(norm(x)).float()
        return SOFT_CAP * torch.tanh(logits / SOFT_CAP)


# ---------------------------------------------------------------- optimizers


def orthogonalize(update: Tensor) -> Tensor:
    """Move a matrix's singular values towards one (five Newton-Schulz steps in bfloat16)."""
    x = update.bfloat16()
    if tall := x.size(0) > x.size(1):
        x = x.T
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return (x.T if tall else x).to(update.dtype)


class Muon:
    """Momentum whose steps are orthogonalized, for the matrices between embeddings and head (Jordan et al., 2024)."""

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float) -> None:
        self.matrices = list(matrices)
        self.momenta = [torch.zeros_like(matrix) for matrix in self.matrices]
        self.param_groups = [{"params": self.matrices, "lr": lr}]

    @torch.no_grad()
    def step(self) -> None:
        rate = self.param_groups[0]["lr"]
        for matrix, momentum in zip(self.matrices, self.momenta, strict=True):
            momentum.lerp_(matrix.grad, 1 - MOMENTUM)
            update = orthogonalize(matrix.grad.lerp(momentum, MOMENTUM))
            matrix.add_(update, alpha=-rate * max(1.0, matrix.size(0) / matrix.size(1)) ** 0.5)

    def zero_grad(self) -> None:
        for matrix in self.matrices:
            matrix.grad = None


def make_optimizers(model: GPT) -> list[Muon | torch.optim.AdamW]:
    groups = [
        {"params": [model.embedding.weight, model.previous.weight], "lr": EMBEDDING_LR},
        {"params": model.head.parameters(), "lr": HEAD_LR},
    ]
    return [
        Muon(model.blocks.parameters(), lr=MATRIX_LR),
        torch.optim.AdamW(groups, betas=(0.8, 0.95), eps=1e-10, weight_decay=0.0, fused=True),
    ]


# ---------------------------------------------------------------- training


class Clock:
    """Our own estimate of the time the platform charges: what lies before the first few steps is free, up to a cap."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.charged_from = math.inf
        asked_to_stop = TRAIN_TIME_BUDGET_SECONDS - TRAIN_TERM_SECONDS
        self.allowed = max(asked_to_stop - MARGIN_SECONDS, TRAIN_TIME_BUDGET_SECONDS / 2)

    def boundary(self, step: int) -> None:
        if step == TRAIN_STARTUP_STEPS_EXCLUDED:
            latest = self.started + TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS
            self.charged_from = min(time.perf_counter(), latest)

    def charged(self) -> float:
        return max(0.0, time.perf_counter() - self.charged_from)

    def per_step(self, step: int) -> float:
        return self.charged() / max(1, step - TRAIN_STARTUP_STEPS_EXCLUDED)

    def falling(self) -> float:
        """One for the first half of the time allowed, then linearly to zero."""
        return min(1.0, max(0.0, 2 - 2 * self.charged() / self.allowed))


def save(model: GPT) -> None:
    """Write the checkpoint in one step, so that there is never half a one."""
    os.makedirs(os.path.dirname(CHECKPOINT), exist_ok=True)
    torch.save(model.state_dict(), CHECKPOINT + ".part")
    os.replace(CHECKPOINT + ".part", CHECKPOINT)


def main() -> None:
    if get_dist_info()[3] > 1:
        raise SystemExit("baseline.py trains in one process: launch it with `python train.py`")
    clock = Clock()
    model = GPT()
    optimizers = make_optimizers(model)
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    peaks = [group["lr"] for group in groups]
    loader = make_dataloader(ensure_tokenizer(), BATCH, LENGTH, "train", "cpu")
    print0(f"parameters:{sum(weight.numel() for weight in model.parameters())} allowed:{clock.allowed:.1f}s")

    step = 0
    while step <= TRAIN_STARTUP_STEPS_EXCLUDED or clock.charged() + 1.5 * clock.per_step(step) < clock.allowed:
        for group, peak in zip(groups, peaks, strict=True):
            group["lr"] = peak * clock.falling()
        inputs, targets, _ = next(loader)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        step += 1
        record_step_boundary(step)
        clock.boundary(step)
        if step == TRAIN_STARTUP_STEPS_EXCLUDED:
            save(model)  # from here on there is always a checkpoint
        if step <= 3 or step % 20 == 0:
            log(step, loss, clock)
    log(step, loss, clock)
    save(model)


def log(step: int, loss: Tensor, clock: Clock) -> None:
    average = 1000 * clock.per_step(step)
    print0(f"step:{step} train_loss:{loss.item():.4f} train_time:{clock.charged():.1f}s step_avg:{average:.1f}ms")


def load_for_eval(checkpoint_path: str, device: torch.device) -> nn.Module:
    """Load the whole model for scoring. The platform calls this in a fresh process."""
    model = GPT()
    model.load_state_dict(torch.load(checkpoint_path, map_location=device, weights_only=True))
    return model.to(device).eval()


if __name__ == "__main__":
    main()
