"""The baseline's GPT beside a memory of the whole training text.

In a minute the network sees a tenth of the text. Meanwhile a thread reads all of it and sorts its places by the tokens
before them, nearest first. So the places after the same last k tokens stand together, for every k at once, and what
followed there tells what may follow now: n-grams of any length from one index. A gate per length and kind of context
says how far that is trusted; gates are fitted at the end, on training text that the memory was not given.
"""

import math
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile

import numpy as np
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
MARGIN_SECONDS = 6.0  # between the last step and the moment the platform asks us to stop: the gates are fitted then

DEPTHS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24)  # lengths of context, in tokens
SAMPLE = 128  # so many of a context's places are looked at, evenly spread, if there are more
KINDS = 16  # classes of contexts, by how many different tokens followed in how many places
# The platform shows all training files when the clock starts; some steps later they are surely there.
READ_FROM_STEP = TRAIN_STARTUP_STEPS_EXCLUDED + 8
GATE_ROWS, GATE_STEPS, GATE_LR = 128, 100, 0.1


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
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
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


# ---------------------------------------------------------------- memory


# For Q contexts: the share of places where each token followed [Q, V], and the kind of context [Q, 1], which is 0 for
# one that is new, else from 1 (always the same token followed) to KINDS (a different one each time).
Evidence = tuple[Tensor, Tensor]


def sort_places(text: np.ndarray) -> np.ndarray:
    """Order the places of a text by the tokens before each, nearest first; those with too few before them are out."""
    bits = (TOKENIZER_VOCAB_SIZE - 1).bit_length()
    keys = []  # as many tokens as 64 bits hold in each, the farthest first
    for nearest in range(1, max(DEPTHS) + 1, 64 // bits):
        key = np.zeros(len(text), np.uint64)
        for back in range(nearest, nearest + 64 // bits):
            key <<= np.uint64(bits)
            key[back:] |= text[:-back].astype(np.uint64)
        keys.insert(0, key)
    order = np.lexsort(keys)
    return order[order >= max(DEPTHS)].astype(np.int32)


class Memory(nn.Module):
    """A text and its sorted places."""

    def __init__(self) -> None:
        super().__init__()
        self.fill(np.zeros(1, np.int16))

    def fill(self, text: np.ndarray) -> None:
        """Remember a text instead of what was remembered before."""
        padded = np.concatenate([np.zeros(max(DEPTHS), np.int16), text.astype(np.int16)])
        self.register_buffer("text", torch.from_numpy(padded))
        self.register_buffer("order", torch.from_numpy(sort_places(padded)))

    def forward(self, tokens: Tensor) -> Iterator[Evidence]:
        """Give for each depth what followed the contexts that end at each of tokens [B, T]."""
        start = torch.zeros(tokens.numel(), dtype=torch.int64, device=tokens.device)
        end = start + len(self.order)
        for depth in range(1, max(DEPTHS) + 1):
            farther = F.pad(tokens.long(), (depth - 1, 0), value=-1)[:, : tokens.size(1)].flatten()  # -1: no token
            start, end = self.bisect(depth, farther, start, end), self.bisect(depth, farther + 1, start, end)
            if depth in DEPTHS:
                yield self.look_up(start, end - start)

    def bisect(self, depth: int, wanted: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Find the first place from `low` to `high` with a token not below `wanted` that many tokens before it."""
        for _ in range(int((high - low).max()).bit_length()):
            middle = (low + high) // 2
            token = self.text[self.order[middle.clamp_max(len(self.order) - 1)] - depth]
            below = (token < wanted) & (low < high)
            low, high = torch.where(below, middle + 1, low), torch.where(below, high, middle)
        return low

    def look_up(self, start: Tensor, places: Tensor) -> Evidence:
        """Count the tokens at as many `places` [Q] of the order from `start` [Q] on, or at a sample of them."""
        column, looked_at = torch.arange(SAMPLE, device=start.device), places.clamp(1, SAMPLE)[:, None]
        sample = start[:, None] + column * places[:, None] // looked_at
        tokens = self.text[self.order[sample.clamp_max(len(self.order) - 1)]].long()
        counts = torch.zeros(len(start), TOKENIZER_VOCAB_SIZE, device=start.device)
        counts.scatter_add_(1, tokens, (column < places[:, None].clamp_max(SAMPLE)).float())
        kinds = (counts > 0).sum(1, keepdim=True)
        return counts / looked_at, (kinds * KINDS + looked_at - 1) // looked_at


class Mixture(nn.Module):
    """The network and the memory, and how far each is trusted."""

    def __init__(self) -> None:
        super().__init__()
        self.network = GPT()
        self.memory = Memory()
        self.gates = nn.Parameter(torch.full((len(DEPTHS), KINDS + 1), -1.0))

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [B, T] to logits [B, T, V], which are log-probabilities already."""
        own = F.log_softmax(self.network(tokens), -1)
        return self.mix(own.flatten(0, 1), self.memory(tokens)).view_as(own)

    def mix(self, own: Tensor, evidence: Iterable[Evidence]) -> Tensor:
        """Mix the network's log-probabilities with what followed elsewhere, both [Q, V], or [Q, 1] of one token each.

        Each depth takes a share from what the shorter ones have made of the network's.
        """
        remembered = torch.zeros_like(own)
        left = torch.zeros_like(own[:, :1])  # log of the network's share
        for gates, (followed, kind) in zip(self.gates, evidence, strict=True):
            gate, known = gates[kind], kind > 0
            remembered = torch.lerp(remembered, followed, gate.sigmoid() * known)
            left = left + F.logsigmoid(-gate) * known
        return torch.logaddexp(own + left, remembered.clamp_min(1e-30).log())


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


def fill_memory(memory: Memory) -> tuple[Tensor, Tensor, list[Evidence]]:
    """Read the training text, fill the memory with all but its last rows, and ask it about those.

    Returns inputs [R, T], targets [R * T, 1] and, per depth, how often each target followed and the kind of context.
    Runs beside training, on its own thread.
    """
    batches = make_dataloader(ensure_tokenizer(), BATCH, LENGTH, "train", "cpu")
    text = torch.cat([inputs.flatten() for inputs, _, _ in takewhile(lambda batch: batch[2]["epoch"] == 0, batches)])
    kept_out = text[-GATE_ROWS * LENGTH - 1 :]
    memory.fill(text[: -len(kept_out)].numpy())
    inputs, targets = kept_out[:-1].view(GATE_ROWS, LENGTH), kept_out[1:, None].long()
    parts = [
        [(followed.gather(1, tokens), kind) for followed, kind in memory(rows)]
        for rows, tokens in zip(inputs.split(BATCH), targets.split(BATCH * LENGTH), strict=True)
    ]
    evidence = [tuple(map(torch.cat, zip(*depth, strict=True))) for depth in zip(*parts, strict=True)]
    return inputs, targets, evidence


def fit_gates(model: Mixture, inputs: Tensor, targets: Tensor, evidence: list[Evidence], clock: Clock) -> None:
    """Fit the gates, and nothing else, to text that the memory does not hold."""
    with torch.no_grad():
        own = torch.cat([F.log_softmax(model.network(rows), -1).flatten(0, 1) for rows in inputs.split(BATCH)])
        own = own.gather(1, targets)
    optimizer = torch.optim.Adam([model.gates])
    for step in range(GATE_STEPS):
        optimizer.param_groups[0]["lr"] = GATE_LR * min(1.0, 2 - 2 * step / GATE_STEPS)
        loss = -model.mix(own, evidence).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    places, seconds = len(model.memory.order), clock.charged()
    print0(f"memory:{places} network_loss:{-own.mean():.4f} mixed_loss:{loss:.4f} train_time:{seconds:.1f}s")


def save(model: Mixture) -> None:
    """Write the checkpoint in one step, so that there is never half a one."""
    os.makedirs(os.path.dirname(CHECKPOINT), exist_ok=True)
    torch.save(model.state_dict(), CHECKPOINT + ".part")
    os.replace(CHECKPOINT + ".part", CHECKPOINT)


def main() -> None:
    if get_dist_info()[3] > 1:
        raise SystemExit("ngram.py trains in one process: launch it with `python train.py`")
    clock = Clock()
    model = Mixture()
    optimizers = make_optimizers(model.network)
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    peaks = [group["lr"] for group in groups]
    loader = make_dataloader(ensure_tokenizer(), BATCH, LENGTH, "train", "cpu")
    print0(f"parameters:{sum(weight.numel() for weight in model.parameters())} allowed:{clock.allowed:.1f}s")

    thread = ThreadPoolExecutor(1)
    step = 0
    while step < READ_FROM_STEP or clock.charged() + 1.5 * clock.per_step(step) < clock.allowed:
        for group, peak in zip(groups, peaks, strict=True):
            group["lr"] = peak * clock.falling()
        inputs, targets, _ = next(loader)
        loss = F.cross_entropy(model.network(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        step += 1
        record_step_boundary(step)
        clock.boundary(step)
        if step == TRAIN_STARTUP_STEPS_EXCLUDED:
            save(model)  # from here on there is always a checkpoint
        if step == READ_FROM_STEP:
            reading = thread.submit(fill_memory, model.memory)
        if step <= 3 or step % 20 == 0:
            log(step, loss, clock)
    log(step, loss, clock)
    save(model)  # should time run out before the gates are fitted
    fit_gates(model, *reading.result(), clock)
    save(model)


def log(step: int, loss: Tensor, clock: Clock) -> None:
    average = 1000 * clock.per_step(step)
    print0(f"step:{step} train_loss:{loss.item():.4f} train_time:{clock.charged():.1f}s step_avg:{average:.1f}ms")


def load_for_eval(checkpoint_path: str, device: torch.device) -> nn.Module:
    """Load the whole model for scoring. The platform calls this in a fresh process."""
    model = Mixture()
    state = torch.load(checkpoint_path, map_location=device, weights_only=True)
    model.memory.text, model.memory.order = state["memory.text"], state["memory.order"]  # of the size they have
    model.load_state_dict(state)
    return model.to(device).eval()


if __name__ == "__main__":
    main()
