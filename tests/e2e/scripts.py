"""Small training scripts, one per way a submission can go."""

BIGRAM = '''"""Counts of token pairs as logits: learns in a blink."""

import torch

from prepare import TOKENIZER_VOCAB_SIZE, ensure_tokenizer, make_dataloader, record_step_boundary


class Bigram(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counts = torch.nn.Parameter(torch.full((TOKENIZER_VOCAB_SIZE, TOKENIZER_VOCAB_SIZE), 0.05))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return (self.counts / self.counts.sum(1, keepdim=True)).log()[tokens]


def load_for_eval(checkpoint_path: str, device: torch.device) -> torch.nn.Module:
    model = Bigram().to(device)
    model.load_state_dict(torch.load(checkpoint_path, map_location=device, weights_only=True))
    return model.eval()


def train() -> Bigram:
    model = Bigram()
    batches = make_dataloader(ensure_tokenizer(), 8, 256, "train", torch.device("cpu"))
    for step in range(STEPS):
        inputs, targets, _ = next(batches)
        with torch.no_grad():
            model.counts.index_put_((inputs.flatten().long(), targets.flatten()), torch.ones(()), accumulate=True)
        record_step_boundary(step)
        print(f"step:{step} train_loss:0.0", flush=True)
    return model


STEPS = 40

if __name__ == "__main__":
    torch.save(train().state_dict(), "out/final.pt")
'''


def _main(body: str) -> str:
    """Return the bigram script with another main part; a checkpoint would be written after it, which is too late."""
    head, _ = BIGRAM.split('if __name__ == "__main__":\n')
    lines = [*body.strip().splitlines(), 'torch.save(Bigram().state_dict(), "out/final.pt")']
    return head + 'if __name__ == "__main__":\n' + "".join(f"    {line}\n" for line in lines)


def _forward(line: str) -> str:
    """Return the bigram script with another last line of `forward`."""
    old = "return (self.counts / self.counts.sum(1, keepdim=True)).log()[tokens]"
    return BIGRAM.replace(old, line)


# Known only when it runs: what ends on every path is seen by the audit.
TRAINED = "model = train()\nif model.counts.sum() > 0:\n    "
CRASHES = _main(TRAINED + 'raise RuntimeError("the learning rate exploded")')
HANGS = _main("train()\nwhile True:\n    pass")
PRINTS_A_GIGABYTE = _main('for _ in range(1024):\n    print("x" * 1024 * 1024)')
WRITES_TEN_GIGABYTES = _main(
    'block = bytes(1024 * 1024)\nfor name in range(100):\n    with open(f"out/{name}", "wb") as file:\n'
    "        for _ in range(100):\n            file.write(block)"
)
LEAVES_NOTHING = _main(TRAINED + "raise SystemExit(0)")
DOES_NOT_LOAD = _main('train()\nopen("out/final.pt", "wb").write(b"not a checkpoint")\nraise SystemExit(0)')
ANSWERS_NAN = _forward('return self.counts.log()[tokens] * float("nan")')
WRONG_SHAPE = _forward("return self.counts.log()[tokens][:, :, :-1]")
ONLY_AT_EVALUATION = _forward(
    "logits = self.counts.log()[tokens]\n        return logits if self.training else 1.7 * logits"
)
TALKS = _main(
    'torch.save(train().state_dict(), "out/final.pt")\nimport time\nwhile True:\n    print("y" * 1000, flush=True)\n'
    "    time.sleep(0.01)"
)
TWO_RANKS = _main(
    'dist.init_process_group("gloo")\nmodel = train()\ndist.all_reduce(model.counts.data)\nif dist.get_rank() == 0:\n'
    '    torch.save(model.state_dict(), "out/final.pt")\ndist.destroy_process_group()\nraise SystemExit(0)'
).replace("import torch\n", "import torch\nimport torch.distributed as dist\n", 1)
EATS_MEMORY = _main('hoard = []\nwhile True:\n    hoard.append(bytearray(b"x" * (64 << 20)))')

# name: (script, code of the end, a part of the sentence that the competitor reads)
BAD_ENDS = {
    "crash": (CRASHES, "crash", "the learning rate exploded"),
    "hang": (HANGS, "no_checkpoint", "out/final.pt"),
    "a gigabyte of log": (PRINTS_A_GIGABYTE, "log_limit", "log"),
    "ten gigabytes of output": (WRITES_TEN_GIGABYTES, "output_limit", "out"),
    "no checkpoint": (LEAVES_NOTHING, "no_checkpoint", "out/final.pt"),
    "a checkpoint that does not load": (DOES_NOT_LOAD, "load_failed", "load"),
    "NaN": (ANSWERS_NAN, "nonfinite", "finite"),
    "wrong shape": (WRONG_SHAPE, "wrong_shape", "shape"),
    "memory": (EATS_MEMORY, "memory_limit", "memory"),
}
