"""The default kit: what a training script imports. Standard library, torch and tokenizers; one file.

    from prepare import Tokenizer, make_dataloader, record_step_boundary, TRAIN_TIME_BUDGET_SECONDS

In the contest's sandbox the constants come from /holdout/constants.json, which the platform wrote and a script cannot
change; on your own machine from constants.json beside this file, as downloaded. Never from the environment.

    python prepare.py eval-public --train-py train.py --checkpoint out/final.pt

scores the dev shard on your machine, with the platform's rows and arithmetic. On cores that other programs use as
well, train with GOMP_SPINCOUNT=0 in front, as the platform does: threads that wait by spinning starve each other.
"""

from __future__ import annotations

import argparse
import errno
import json
import math
import os
import random
import struct
import sys
import time
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    os.environ.setdefault("GOMP_SPINCOUNT", "0")  # the platform's own setting; it is read once, when torch is loaded

import torch
from tokenizers import Tokenizer as _BPE

_PLACES = (Path("/holdout/constants.json"), Path(__file__).resolve().parent / "constants.json")
_HEADER = struct.Struct("<3i")
_HEADER_BYTES, _MAGIC, _VERSION = 1024, 20240520, 1
_MAX_DIFF = {"cpu": 1e-5}  # a causal model differs by exactly 0 on a CPU; kernels on accelerators may not
_DEV_SECONDS = 2.0
_MAX_DIFF_ELSEWHERE = 0.0625  # one step of bfloat16 at logits of 8 to 16


def _read_constants() -> tuple[dict[str, Any], Path]:
    for place in _PLACES:
        if place.exists():
            return json.loads(place.read_bytes()), place.parent
    raise FileNotFoundError(f"no constants.json at {' or '.join(map(str, _PLACES))}: download the kit again")


_CONSTANTS, _BASE = _read_constants()

TOKENIZER_VOCAB_SIZE: int = _CONSTANTS["vocab_size"]
TRAIN_TIME_BUDGET_SECONDS: float = _CONSTANTS["budget_seconds"]
TRAIN_STARTUP_ALLOWANCE_CAP_SECONDS: float = _CONSTANTS["startup_cap_seconds"]
TRAIN_STARTUP_STEPS_EXCLUDED: int = _CONSTANTS["excluded_steps"]
TRAIN_TERM_SECONDS: float = _CONSTANTS["term_seconds"]  # SIGTERM comes this long before the deadline
EVAL_TIMEOUT_SECONDS: float = _CONSTANTS["eval_timeout_seconds"]
EVAL_SEQ_LEN: int = _CONSTANTS["seq_len"]
EVAL_BATCH_SIZE: int = _CONSTANTS["batch_size"]
SEED: int = _CONSTANTS["seed"]  # the run's; random, numpy and torch are seeded with it before the script starts


def _path(key: str) -> Path:
    return _BASE / str(_CONSTANTS[key])  # an absolute path stays itself


# ---------------------------------------------------------------- processes


def get_dist_info() -> tuple[bool, int, int, int]:
    """Give (distributed, rank, local_rank, world_size), from what the launcher set."""
    rank, local_rank, world_size = (
        int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("LOCAL_RANK", 0), ("WORLD_SIZE", 1))
    )
    return "RANK" in os.environ, rank, local_rank, world_size


def print0(*values: object, **options: Any) -> None:
    """Print on rank 0 only, at once."""
    if get_dist_info()[1] == 0:
        print(*values, **{"flush": True, **options})  # noqa: T201  a script's log is its standard output


_boundary_fifo: int | None = None


def record_step_boundary(step: int) -> None:
    """Tell the platform that optimizer step `step` is done, after the device has finished it.

    Rank 0 counts. The platform stamps the message when it arrives and starts the clock at the N-th. Never blocks; on
    your own machine, where nobody listens, it does nothing.
    """
    global _boundary_fifo
    if get_dist_info()[1] != 0 or not _CONSTANTS.get("steps_fifo"):
        return
    try:
        if _boundary_fifo is None:
            _boundary_fifo = os.open(_path("steps_fifo"), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.write(_boundary_fifo, f"{int(step)}\n".encode())
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENXIO, errno.EAGAIN, errno.EPIPE):
            raise


# ---------------------------------------------------------------- tokens


class Tokenizer:
    """The frozen byte-level BPE of the competition. BOS stands before every document and has no bytes."""

    def __init__(self, bpe: _BPE) -> None:
        bpe.encode_special_tokens = True  # letters that spell a special token are text
        self._bpe = bpe

    def get_vocab_size(self) -> int:
        return TOKENIZER_VOCAB_SIZE

    def get_bos_token_id(self) -> int:
        return int(_CONSTANTS["bos"])

    def encode(self, docs: str | Sequence[str], prepend: int | None = None, num_threads: int = 1) -> list[Any]:
        """Encode one text to ids, or several to lists of ids; `prepend` (a token id) goes before each."""
        os.environ["TOKENIZERS_PARALLELISM"] = "true" if num_threads > 1 else "false"
        texts = [docs] if isinstance(docs, str) else list(docs)
        head = [] if prepend is None else [prepend]
        ids = [head + encoding.ids for encoding in self._bpe.encode_batch_fast(texts, add_special_tokens=False)]
        return ids[0] if isinstance(docs, str) else ids

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids to text; BOS decodes to nothing."""
        bos = self.get_bos_token_id()
        return self._bpe.decode([i for i in ids if i != bos], skip_special_tokens=False)


def ensure_tokenizer(build_if_missing: bool = False) -> Tokenizer:
    """Load the tokenizer. It is frozen with the shards: a missing one is an error, whatever `build_if_missing` says."""
    return Tokenizer(_BPE.from_file(str(_path("tokenizer"))))


def get_token_bytes(device: torch.device | str = "cpu") -> torch.Tensor:
    """Give the bytes of every token id, int64 [V]; 0 for BOS, which is not scored."""
    table = torch.frombuffer(bytearray(_path("token_bytes").read_bytes()), dtype=torch.uint16)
    return table.to(torch.int64).to(device)


def _read_tokens(path: Path) -> torch.Tensor:
    """Read a token file: header (magic, version, count; 1,024 bytes), then uint16 tokens; int32 [count]."""
    data = bytearray(path.read_bytes())
    magic, version, count = _HEADER.unpack_from(data)
    if (magic, version, len(data)) != (_MAGIC, _VERSION, _HEADER_BYTES + 2 * count):
        raise ValueError(f"{path}: not a token file")
    return torch.frombuffer(data, dtype=torch.uint16, offset=_HEADER_BYTES).to(torch.int32)


# ---------------------------------------------------------------- training data


def make_dataloader(
    tokenizer: Tokenizer, batch_size: int, seq_len: int, split: str, device: torch.device | str
) -> Iterator[tuple[torch.Tensor, torch.Tensor, dict[str, int]]]:
    """Yield (inputs int32 [B, T], targets int64 [B, T], {"epoch": n}) without end.

    `split` is "train", or "dev" (also called "val"). Every rank gets rows of its own, `batch_size` of them. Before
    the clock starts only the first training files are there: the loader goes round them until the rest appears.
    The dev shard appears with the rest; asking for it sooner is a FileNotFoundError.
    """
    _, rank, _, world_size = get_dist_info()
    rows = _rows(split, seq_len)
    while True:
        batch = []
        for index in range(batch_size * world_size):
            row, epoch = next(rows)
            if index % world_size == rank:
                batch.append(row)
        block = torch.stack(batch).to(device)
        yield block[:, :-1].contiguous(), block[:, 1:].to(torch.int64), {"epoch": epoch}


def _rows(split: str, seq_len: int) -> Iterator[tuple[torch.Tensor, int]]:
    """Yield (tokens int32 [T + 1], epoch). A file's last tokens that do not fill a row are left out."""
    files, position, epoch, found = _files(split), 0, 0, False
    while True:
        if position == len(files) or (position > 0 and not files[position].exists()):
            if not found:
                raise ValueError(f"no {split} file holds {seq_len + 1} tokens")
            position, epoch = 0, epoch + 1
        tokens = _read_tokens(files[position])
        for start in range(0, len(tokens) - seq_len, seq_len):
            found = True
            yield tokens[start : start + seq_len + 1], epoch
        position += 1


def _files(split: str) -> list[Path]:
    if split == "train":
        return [_path("data_dir") / entry["name"] for entry in _CONSTANTS["train_files"]]
    if split in ("dev", "val"):
        return [_dev_file()]
    raise ValueError(f"split is 'train' or 'dev' (also 'val'), not {split!r}")


def _dev_file() -> Path:
    """Find the dev shard. The platform shows it right after it has heard the N-th step boundary, so wait a moment."""
    path = _path("dev_file")
    patience = time.monotonic() + _DEV_SECONDS
    while not path.exists():
        if time.monotonic() > patience:
            raise FileNotFoundError(
                f"{path} is not there: in a run the dev shard appears with step boundary number "
                f"{TRAIN_STARTUP_STEPS_EXCLUDED}, when the clock starts; evaluate after that"
            )
        time.sleep(0.005)
    return path


# ---------------------------------------------------------------- evaluation


def _eval_rows(split: str, seq_len: int, max_tokens: int | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Cut a stream s into rows: inputs s[iT : (i+1)T], targets one further, int64 [R, T], and which are scored.

    Every token after the first is a target exactly once. The last row is padded on the right with BOS, which has no
    bytes and so is not scored.
    """
    tokens = torch.cat([_read_tokens(file) for file in _files(split)]).to(torch.int64)
    if max_tokens:
        tokens = tokens[: max_tokens + 1]
    count = -(-(len(tokens) - 1) // seq_len)
    if count < 1:
        raise ValueError(f"the {split} shard has nothing to score")
    padding = torch.full((count * seq_len + 1 - len(tokens),), int(_CONSTANTS["bos"]))
    padded = torch.cat([tokens, padding])
    targets = padded[1:].view(count, seq_len)
    scored = get_token_bytes()[targets] > 0
    scored.view(-1)[len(tokens) - 1 :] = False
    return padded[:-1].view(count, seq_len), targets, scored


def _nats(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Compute -ln softmax(logits)[target] in float64, [B, T]. Raises ValueError on a logit that is not finite."""
    if not torch.isfinite(logits).all():
        raise ValueError("a logit is not finite; the platform fails such a run (use a large negative number to mask)")
    nats = []
    for row, target in zip(logits, targets, strict=True):  # row by row, since a whole batch leaves the cache
        wide = row.to(torch.float64)
        wide = wide - wide.amax(-1, keepdim=True)  # before anything is added: huge logits would round it away
        nats.append(wide.exp().sum(-1).log() - wide.gather(-1, target[:, None]).squeeze(-1))
    return torch.stack(nats)


@torch.inference_mode()
def evaluate_bpb(
    model: torch.nn.Module,
    tokenizer: Tokenizer,
    batch_size: int,
    seq_len: int,
    device: torch.device | str,
    split: str = "dev",
    max_tokens: int | None = None,
    timeout_seconds: float = EVAL_TIMEOUT_SECONDS,
) -> dict[str, float | int | bool]:
    """Score a model: bpb = total_nats / (ln 2 · num_bytes), sums in float64, every token once.

    Every rank scores everything, so neither batch size nor world size changes what is scored. The model is left in
    the mode it was in.
    """
    started = time.perf_counter()
    inputs, targets, scored = _eval_rows(split, seq_len, max_tokens)
    was_training = model.training
    model.eval()
    row_nats = []
    for start in range(0, len(inputs), batch_size):
        rows = slice(start, start + batch_size)
        logits = model(inputs[rows].to(device))
        nats = _nats(logits, targets[rows].to(device)).cpu()
        row_nats += [math.fsum(row[keep].tolist()) for row, keep in zip(nats, scored[rows], strict=True)]
    model.train(was_training)
    total_nats, num_bytes = math.fsum(row_nats), int(get_token_bytes()[targets[scored]].sum())
    seconds = time.perf_counter() - started
    return {
        "val_bpb": total_nats / (math.log(2) * num_bytes),
        "total_nats": total_nats,
        "num_bytes": num_bytes,
        "num_tokens": int(scored.sum()),
        "eval_seconds": seconds,
        "eval_timeout": timeout_seconds,
        "eval_over_timeout": seconds > timeout_seconds,
    }


@torch.inference_mode()
def causality_check(
    model: torch.nn.Module, tokenizer: Tokenizer, batch_size: int, seq_len: int, device: torch.device | str
) -> dict[str, float | bool]:
    """Check that logits depend on a row's past alone: not on what follows, nor on the rows beside it.

    Asks once with dev rows, then with other text after each of a few cuts and the rows in another order.
    """
    inputs = _eval_rows("dev", seq_len, None)[0][:batch_size].to(device)
    other = inputs.flip(0).roll(seq_len // 3 + 1, dims=1)
    was_training = model.training
    model.eval()
    asked = model(inputs)
    worst = 0.0
    for cut in sorted({0, seq_len // 4, seq_len // 2, seq_len - 2} & set(range(seq_len))):
        changed = inputs.clone()
        changed[:, cut + 1 :] = other[:, cut + 1 :]
        answer = model(changed.flip(0)).flip(0)
        difference = (answer[:, : cut + 1].double() - asked[:, : cut + 1].double()).abs().max().item()
        worst = max(worst, difference if math.isfinite(difference) else math.inf)
    model.train(was_training)
    return {"passed": worst <= _MAX_DIFF.get(torch.device(device).type, _MAX_DIFF_ELSEWHERE), "max_abs_diff": worst}


# ---------------------------------------------------------------- python prepare.py eval-public


class _Unusable(Exception):
    """What the command was given cannot be scored; the message is one sentence."""


def _load(train_py: Path, checkpoint: Path, device: torch.device) -> torch.nn.Module:
    """Import the script as the platform does, under a name other than __main__, and load its checkpoint.

    Raises _Unusable, or whatever the script raises.
    """
    if not train_py.is_file():
        raise _Unusable(f"there is no script {train_py}: name it with --train-py")
    if not checkpoint.exists():
        raise _Unusable(
            f"there is no checkpoint {checkpoint}: train first (python {train_py}), or name one with --checkpoint"
        )
    random.seed(SEED)
    torch.manual_seed(SEED)
    module = types.ModuleType("train")
    module.__file__ = str(train_py)
    sys.modules["train"], sys.modules["prepare"] = module, sys.modules[__name__]
    exec(compile(train_py.read_bytes().decode(), str(train_py), "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    if not hasattr(module, "load_for_eval"):
        raise _Unusable(f"{train_py} defines no load_for_eval(checkpoint_path, device)")
    model = module.load_for_eval(str(checkpoint), device)
    if not isinstance(model, torch.nn.Module):
        raise _Unusable(f"load_for_eval of {train_py} returned {type(model).__name__}, not a torch.nn.Module")
    return model.eval()


def _eval_public(options: argparse.Namespace) -> int:
    device = torch.device(options.device)
    model = _load(options.train_py, options.checkpoint, device)
    tokenizer = ensure_tokenizer()
    causality = causality_check(model, tokenizer, options.batch_size, options.seq_len, device)
    result = evaluate_bpb(model, tokenizer, options.batch_size, options.seq_len, device)
    print0(json.dumps({**result, "causality_check": causality}, indent=1))
    return 0 if causality["passed"] and not result["eval_over_timeout"] else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="prepare.py", description="Tools around the kit.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("eval-public", help="score the dev shard here, with the platform's arithmetic")
    command.add_argument("--train-py", type=Path, default=Path("train.py"))
    command.add_argument("--checkpoint", type=Path, default=Path("out/final.pt"))
    command.add_argument("--device", default="cpu")
    command.add_argument("--batch-size", type=int, default=EVAL_BATCH_SIZE)
    command.add_argument("--seq-len", type=int, default=EVAL_SEQ_LEN)
    try:
        return _eval_public(parser.parse_args())
    except _Unusable as reason:
        print(f"prepare.py: {reason}", file=sys.stderr)  # noqa: T201
        return 2


if __name__ == "__main__":
    sys.exit(main())
