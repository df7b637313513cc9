"""Shapes of honest scripts, all seen in public ones: each passes the whole audit without a finding above info."""

import pytest

from reviewer import review
from tests.reviewer.scripts import BASELINE

MODEL = "class GPT(nn.Module):"

SHAPES = {
    "nvidia-smi by subprocess": (
        "def main() -> None:",
        """def main() -> None:
    import subprocess
    print(subprocess.run(["nvidia-smi"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout)""",
    ),
    "a helper that asks nvidia-smi, if it is there": (
        "def main() -> None:",
        """def gpus(command):
    import subprocess
    try:
        return subprocess.check_output(command, text=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return ""


def main() -> None:
    print(gpus(["nvidia-smi", "--query-gpu=name", "--format=csv"]), gpus("nvidia-smi"))""",
    ),
    "an optional package that only logs": (
        MODEL,
        """try:
    from tqdm import tqdm
except ImportError:
    tqdm = None


class GPT(nn.Module):""",
    ),
    "its own text and command in the log": (
        "def main() -> None:",
        """def main() -> None:
    import sys
    with open(sys.argv[0]) as f:
        print(f.read())
    print(f"started as {' '.join(sys.argv)}")""",
    ),
    "workers of a loader and of a pool": (
        "    loader = ",
        """    import torch.multiprocessing as mp
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(abs, range(4)))
    mp.get_context("spawn").Process(target=print).start()
    torch.utils.data.DataLoader([1, 2], num_workers=2)
    loader = """,
    ),
    "a kernel that is required": (
        MODEL,
        """try:
    import flash_attn
except ImportError as error:
    raise SystemExit("this needs flash_attn") from error


class GPT(nn.Module):""",
    ),
    "a loss of held back training rows called val": (
        "        record_step_boundary(step)",
        """        if step % 100 == 0:
            print(f"step:{step} val_loss:{loss.item():.4f}", {"val": 1, "dev": 2}["val"])
        record_step_boundary(step)""",
    ),
    "a checkpoint from a handler": (
        '    torch.save(model.state_dict(), "out/final.pt")',
        """    import signal
    from pathlib import Path

    def keep(*_):
        torch.save(model.state_dict(), Path("out") / "final.pt")

    signal.signal(signal.SIGTERM, keep)""",
    ),
    "quantisation-aware noise in training": (
        MODEL,
        """class Linear(nn.Linear):
    noise = True

    def forward(self, x):
        w = self.weight.to(x.dtype)
        if self.noise and self.training and w.ndim == 2:
            with torch.no_grad():
                scale = (w.abs().amax(dim=1) / 31.0).clamp_min(1e-8)
                w_q = torch.clamp(torch.round(w / scale[:, None]), -32, 31) * scale[:, None]
            w = w + (w_q - w).detach()
        return F.linear(x, w)


class GPT(nn.Module):""",
    ),
    "fake quantisation by a function": (
        MODEL,
        """class Linear(nn.Linear):
    def forward(self, x):
        w = self.weight
        if self.qat and self.training:
            if BITS == 6:
                w = fake_quantize_int6_per_row(w)
            else:
                w = fake_quantize_int8_per_row(w)
        return F.linear(x, w.to(x.dtype))


class GPT(nn.Module):""",
    ),
    "noise blended in": (
        MODEL,
        """class Linear(nn.Linear):
    def forward(self, x):
        w = self.weight
        if self.training and self.alpha > 0:
            w = (1 - self.alpha) * w + self.alpha * (torch.round(w * 31) / 31)
        return F.linear(x, w)


class GPT(nn.Module):""",
    ),
    "a fused kernel in training": (
        "        if targets is None:\n",
        """        if self.training:
            return FusedSoftcappedLoss.apply(x.view(-1, x.size(-1)), targets, self.head.weight)
        if targets is None:
""",
    ),
    "a head of eight bits in training": (
        "SOFT_CAP * torch.tanh(self.head(x).float() / SOFT_CAP)",
        """head_fp8(x, self.head.weight) if self.training else self.head(x)
        logits = SOFT_CAP * torch.tanh(logits.float() / SOFT_CAP)""",
    ),
    "layers of eight bits in training": (
        MODEL,
        """class Linear(nn.Linear):
    def forward(self, x):
        if self.use_fp8 and self.training:
            rows = torch.ops.mine.product(x.flatten(0, -2), self.weight, x_s=self.x_s, w_s=self.w_s)[0]
            return rows.reshape(*x.shape[:-1], -1)
        return F.linear(x, self.weight.type_as(x))


class GPT(nn.Module):""",
    ),
    "a loss by parts, to save memory": (
        "        logits = SOFT_CAP * torch.tanh(self.head(x).float() / SOFT_CAP)\n",
        """        if targets is not None:
            loss = 0
            for part, wanted in zip(x.flatten(0, 1).split(512), targets.flatten().split(512)):
                loss = loss + F.cross_entropy(SOFT_CAP * torch.tanh(self.head(part).float() / SOFT_CAP), wanted)
            return loss
        logits = SOFT_CAP * torch.tanh(self.head(x).float() / SOFT_CAP)
""",
    ),
    "rotations that the training stretches, beside a fused product": (
        MODEL,
        """class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w.T

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w, grad.flatten(0, 1).T @ x.flatten(0, 1)


class Turns(nn.Module):
    def __init__(self):
        super().__init__()
        self.speed = nn.Buffer(torch.ones(WIDTH // 2))

    def apply(self, old, new):
        self.speed *= old / new

    def forward(self, x):
        return Product.apply(x * torch.cat([self.speed, self.speed]).cos(), self.weight)


class GPT(nn.Module):""",
    ),
    "a device that is woken up": (
        "SOFT_CAP = 15.0\n",
        """SOFT_CAP = 15.0
torch.empty(
    1, device="cuda", requires_grad=True
).backward()
""",
    ),
    "an auxiliary loss in training": (
        "        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))",
        """        loss = F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))
        if self.training and self.mtp_weight > 0:
            ahead = self.mtp_head(x[:, :-1])
            loss = loss + self.mtp_weight * F.cross_entropy(ahead.flatten(0, 1), targets[:, 1:].flatten())
        return loss""",
    ),
    "a loss by hand": (
        "        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))",
        """        lse = torch.logsumexp(logits, dim=-1)
        loss = (lse - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)).mean()
        if self.training:
            loss = loss + 1e-4 * (lse**2).mean()
        return loss""",
    ),
    "an n-gram table from training data in a thread": (
        MODEL,
        """import threading


class NGram(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(4096, 16))
        self.gate = nn.Parameter(torch.zeros(()))

    def count(self, loader):
        for inputs, targets, _ in loader:
            self.table.index_add_(0, inputs.flatten().long() % 4096, torch.ones(inputs.numel(), 16))

    def start(self, loader):
        threading.Thread(target=self.count, args=(loader,), daemon=True).start()

    def forward(self, tokens):
        return self.gate * self.table[tokens % 4096]


class GPT(nn.Module):""",
    ),
    "logits with the table as a learned bias": (
        "self.head(x).float()",
        "(self.head(x) + self.ngram_scale * self.ngram(tokens)).float()",
    ),
    "bigram-hash embeddings": (
        "        x = self.wte(tokens)\n",
        """        previous = F.pad(tokens, (1, 0))[:, :-1]
        x = self.wte(tokens) + self.bigram((previous * 31337 + tokens) % 4096)
""",
    ),
    "averaged weights saved as the weights": (
        '    torch.save(model.state_dict(), "out/final.pt")',
        """    averaged = {k: v.detach().clone() for k, v in model.state_dict().items()}
    for k, v in model.state_dict().items():
        averaged[k].lerp_(v, 0.01)
    torch.save(averaged, "out/final.pt")""",
    ),
    "weights from a random seed": (
        "        self.head = ",
        """        generator = torch.Generator().manual_seed(1234)
        self.register_buffer("mix", torch.randn(WIDTH, WIDTH, generator=generator), persistent=False)
        self.head = """,
    ),
    "warm-up on random tokens": (
        "    loader = ",
        """    for _ in range(3):
        noise = torch.randint(0, VOCAB, (8, 256))
        model(noise, noise).backward()
        optimizer.zero_grad()
    loader = """,
    ),
    "reading its own file to log it": (
        "def main() -> None:",
        """def main() -> None:
    with open(__file__) as f:
        print(f.read())""",
    ),
    "torch.compile and its flags": (
        "def main() -> None:",
        """torch._dynamo.config.recompile_limit = 64
torch.backends.cuda.matmul.allow_tf32 = True
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"


@torch.compile(dynamic=False, fullgraph=True)
def fused(x):
    return x * 2


def main() -> None:
    compiled = torch.compile(GPT(), mode="max-autotune")""",
    ),
    "launcher variables": (
        "def main() -> None:",
        """def main() -> None:
    ddp = int(os.environ.get("RANK", -1)) != -1 and "WORLD_SIZE" in os.environ
    rank, device = int(os.environ["RANK"]), torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    hosts = os.environ.get("LOCAL_WORLD_SIZE"), os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")""",
    ),
    "activation checkpointing": (
        "            x = block(x)\n",
        """            if self.training and self.save_memory:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
""",
    ),
    "dropout by hand": (
        "        return x + self.drop(self.mix(F.rms_norm(x, (WIDTH,))))",
        """        y = self.mix(F.rms_norm(x, (WIDTH,)))
        if self.training:
            y = F.dropout(y, 0.1)
        return x + y""",
    ),
    "a dtype by name from a checkpoint": (
        "def main() -> None:",
        """def main() -> None:
    print(getattr(torch, "bfloat16"), hasattr(torch, "compile"))""",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_honest_shape_passes(shape: str) -> None:
    old, new = SHAPES[shape]
    assert BASELINE.count(old) == 1
    text = BASELINE.replace(old, new)
    report = review(text, isolated=False)
    assert [(f.rule, f.line, f.message) for f in report.findings if f.severity != "info"] == []
    assert report.verdict == "accept"


def test_a_state_that_the_training_came_to_is_told_and_stops_nothing() -> None:
    text = BASELINE.replace(
        "        x = self.wte(tokens)\n", "        x = self.wte(tokens)\n        x = x if self.tied else -x\n"
    )
    text = text.replace("    return model.to(device)", "    model.tied = True\n    return model.to(device)")
    text = text.replace(
        "        optimizer.step()\n", "        optimizer.step()\n        if step == 9:\n            model.tied = True\n"
    )
    report = review(text, isolated=False)
    assert [(f.rule, f.severity) for f in report.findings if f.severity != "info"] == [("E201", "warn")]
    assert report.verdict == "accept"


def test_the_main_guard_is_no_evaluation_fork() -> None:
    text = BASELINE + '\nif __name__ != "__main__":\n    torch.set_grad_enabled(True)\n'
    assert review(text, isolated=False).verdict == "accept"
