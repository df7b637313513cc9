"""Runs a script for three optimizer steps and tells exactly what they came to, for comparing two texts of one script.

Inside the sandbox, in the place of `launch.py`, whose seeds and whose way to start a text it uses. Three things are
noted: every value that `backward()` is called on, what all parameters and buffers are at the third step boundary, and
what the models then answer, in training mode and in evaluation mode, to tokens of four shapes. Clocks stand still
within a step, so that a schedule that follows them comes to the same. Then the process ends; what a script does after
its third step is not looked at.

The script could forge all of it: it runs in this process. Nobody gains by that, since the answer decides nothing but
what its own author reads.
"""

import contextlib
import gc
import hashlib
import json
import os
import random
import sys
import time
import types
from collections.abc import Iterator
from typing import Any

STEPS = 3
_SECONDS_PER_STEP = 0.25
_BEGAN = 1_800_000_000.0  # not the time of day: a script that computes with it would differ from itself


class Proof:
    """What has been seen so far; told through a descriptor at the third boundary."""

    def __init__(self, channel: int, vocab: int, length: int) -> None:
        self.channel, self.vocab, self.length = channel, vocab, length
        self.losses: list[str] = []
        self.steps = 0

    def watch(self, torch: types.ModuleType, kit: types.ModuleType) -> None:
        """Put the watchers in place, before the script is started."""
        self.torch = torch
        backward, inner = torch.Tensor.backward, torch.autograd.backward

        def noted(tensor: Any, *args: Any, **options: Any) -> Any:
            self.losses.append(digest([tensor]))
            return backward(tensor, *args, **options)

        def noted_all(tensors: Any, *args: Any, **options: Any) -> Any:
            if sys._getframe(1).f_code is not backward.__code__:
                self.losses.append(digest([tensors] if isinstance(tensors, torch.Tensor) else list(tensors)))
            return inner(tensors, *args, **options)

        torch.Tensor.backward, torch.autograd.backward = noted, noted_all
        kit.record_step_boundary = self.boundary  # type: ignore[attr-defined]
        for name, start in (("time", _BEGAN), ("perf_counter", 100.0), ("monotonic", 100.0)):
            setattr(time, name, lambda start=start: start + _SECONDS_PER_STEP * self.steps)
            setattr(time, f"{name}_ns", lambda start=start: int((start + _SECONDS_PER_STEP * self.steps) * 1e9))

    def boundary(self, step: int) -> None:
        """Count a step; at the last one tell everything and end."""
        self.steps += 1
        if self.steps < STEPS:
            return
        models = self._models()
        state = hashlib.sha256("".join(sorted(map(_state, models))).encode()).hexdigest()
        said = {"losses": self.losses, "parameters": state, "models": len(models), "answers": self._answers(models)}
        os.write(self.channel, json.dumps(said).encode())
        os._exit(0)

    def _models(self) -> list[Any]:
        """Return every model that is no part of another one, in an order that does not depend on the text."""
        kind = self.torch.nn.Module
        every = [o for o in gc.get_objects() if isinstance(o, kind) and next(o.parameters(), None) is not None]
        inner = {id(part) for model in every for part in model.modules() if part is not model}
        return sorted((m for m in every if id(m) not in inner), key=lambda m: (type(m).__name__, _state(m)))

    def _answers(self, models: list[Any]) -> dict[str, list[str]]:
        """Return what each model says to four shapes, or the kind of error that it answers with, by mode."""
        found: dict[str, list[str]] = {}
        for mode in ("training", "evaluation"):
            answers = []
            for model in models:
                model.train(mode == "training")
                for rows, length in ((1, 8), (2, 16), (1, self.length), (3, max(self.length // 2, 1))):
                    self.torch.manual_seed(rows * 1_000 + length)
                    random.seed(rows)
                    tokens = self.torch.randint(0, self.vocab, (rows, length))
                    try:
                        with self.torch.no_grad():
                            answers.append(digest(list(tensors(model(tokens), self.torch))))
                    except Exception as error:  # a model that wants targets, or one length alone
                        answers.append(f"no answer: {type(error).__name__}")
            found[mode] = answers
        return found


def tensors(value: Any, torch: types.ModuleType) -> Iterator[Any]:
    """Yield the tensors of an answer, which may be a tuple, a list or a table."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors(one, torch)
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors(one, torch)


def digest(values: list[Any]) -> str:
    """Return the hash of some tensors: type, shape and every bit."""
    total = hashlib.sha256()
    for value in values:
        value = value.detach().cpu().contiguous()
        total.update(f"{value.dtype} {tuple(value.shape)}\n".encode())
        total.update(value.reshape(-1).view(sys.modules["torch"].uint8).numpy().tobytes())
    return total.hexdigest()


def _state(model: Any) -> str:
    named = sorted([*model.named_parameters(), *model.named_buffers()], key=lambda pair: pair[0])
    return hashlib.sha256("".join(f"{name} {digest([value])}\n" for name, value in named).encode()).hexdigest()


def main() -> None:
    """Seed as a run does, put the watchers in place, and run the script."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import launch  # type: ignore[import-not-found]  # beside this file, inside

    with open(launch.CONSTANTS, encoding="utf-8") as file:
        constants = json.load(file)
    seed = int(constants["seed"])
    random.seed(seed)
    sys.meta_path.insert(0, launch.SeedOnImport(seed))
    channel = int(sys.argv[1])
    proof = Proof(channel, int(constants["vocab_size"]), int(constants["seq_len"]))
    sys.path.insert(0, launch.FOLDER)
    import prepare  # type: ignore[import-not-found]  # the kit
    import torch

    with contextlib.suppress(RuntimeError):
        torch.set_num_interop_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    proof.watch(torch, prepare)
    torch.manual_seed(seed)
    sys.path.remove(launch.FOLDER)
    launch.run(launch.load(), sys.argv[2:])


if __name__ == "__main__":
    main()
