"""Serve one submission's model to the scorer: `python model_server.py CHANNEL_FD CHECKPOINT`.

Runs inside a fresh sandbox, in one process with the submitted code, so nothing here is trusted: the scorer believes
no word of it but raw numbers in a buffer whose shape the scorer chose. What this file owes the competitor is an
honest reason when something fails. Until *ready* tracebacks go to stderr, which is kept; later ones go nowhere.

Stdlib and torch only; started by path, never imported. The messages are described in the scorer's channel module.
"""

from __future__ import annotations

import argparse
import json
import linecache
import mmap
import os
import random
import socket
import struct
import sys
import traceback
import types
from pathlib import Path

import torch

MESSAGE = struct.Struct("<6I")
HELLO, ASK, STOP, READY, ANSWER, FAULT = range(1, 7)
LOAD_FAILED, WRONG_SHAPE, MODEL_CRASHED = 1, 2, 3
TYPES = {torch.float64: 1, torch.float32: 2, torch.float16: 3, torch.bfloat16: 4}
MODULE, FILE = "train", "train.py"


class WrongShape(Exception):
    """The model did not return a floating tensor [B, T, V]."""


def seed_everything(seed: int) -> None:
    """Seed random, numpy and torch as the training launch does."""
    random.seed(seed)
    torch.manual_seed(seed)
    try:
        import numpy
    except ModuleNotFoundError:
        return
    numpy.random.seed(seed % 2**32)


def load_model(script: str, checkpoint: str, device: torch.device) -> torch.nn.Module:
    """Run the script's text as module `train` and call its load_for_eval. Raises whatever the script raises.

    Text is compiled, not bytes: an encoding cookie in bytes could make them another program than the audited one.
    """
    module = types.ModuleType(MODULE)
    module.__file__ = str(Path.cwd() / FILE)
    sys.modules[MODULE] = module  # dataclasses and pickles look their module up by name
    linecache.cache[FILE] = (len(script), None, script.splitlines(keepends=True), FILE)
    exec(compile(script, FILE, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  its whole purpose
    load = getattr(module, "load_for_eval", None)
    if load is None:
        raise AttributeError("the script defines no load_for_eval(checkpoint_path, device)")
    model = load(checkpoint, device)
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"load_for_eval returned {type(model).__name__}, not a torch.nn.Module")
    return model.eval()


def fall_silent() -> None:
    """Send what is printed from now on nowhere: the platform reads no more of it, and a pipe unread fills up."""
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


class Server:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        data, descriptors, _, _ = socket.recv_fds(channel, MESSAGE.size, 3)
        kind, self._batch, self._length, self._vocab, slots, _ = MESSAGE.unpack(data)
        if kind != HELLO or len(descriptors) != 3:
            raise SystemExit("the scorer did not say hello")
        *memory, self._answers = descriptors
        tokens, self._logits = (mmap.mmap(descriptor, 0) for descriptor in memory)
        self._stride = len(self._logits) // slots
        self._tokens = torch.frombuffer(tokens, dtype=torch.int64).view(slots, self._batch, self._length)

    def send(self, *numbers: int) -> None:
        os.write(self._answers, MESSAGE.pack(*numbers, *([0] * (6 - len(numbers)))))

    @torch.inference_mode()
    def serve(self, model: torch.nn.Module, device: torch.device) -> None:
        """Answer until the scorer says stop or hangs up. Raises WrongShape, or whatever the model raises."""
        while data := self._channel.recv(MESSAGE.size):
            kind, sequence, slot, *_ = MESSAGE.unpack(data)
            if kind != ASK:
                return
            logits = model(self._tokens[slot].clone().to(device))
            self.send(ANSWER, sequence, slot, self._write(slot, logits))

    def _write(self, slot: int, logits: object) -> int:
        shape = (self._batch, self._length, self._vocab)
        if not isinstance(logits, torch.Tensor) or logits.dtype not in TYPES or tuple(logits.shape) != shape:
            raise WrongShape
        room = torch.frombuffer(self._logits, dtype=logits.dtype, count=logits.numel(), offset=slot * self._stride)
        room.view(shape).copy_(logits)
        return TYPES[logits.dtype]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("channel", type=int)
    parser.add_argument("checkpoint")
    parser.add_argument("--script", type=Path, default=Path("/holdout/script"))
    parser.add_argument("--constants", type=Path, default=Path("/holdout/constants.json"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="0 leaves torch's own choice (OMP_NUM_THREADS)")
    options = parser.parse_args()
    sys.argv = [FILE]
    sys.path[0] = str(Path.cwd())  # where the kit lies, instead of this folder
    if options.threads:
        torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    server = Server(socket.socket(fileno=options.channel))
    try:
        seed_everything(json.loads(options.constants.read_bytes())["seed"])
        model = load_model(options.script.read_bytes().decode(), options.checkpoint, device)
        fall_silent()
    except BaseException as error:
        traceback.print_exception(error.with_traceback(_own_frames_removed(error)))
        server.send(FAULT, LOAD_FAILED)
        return 1
    server.send(READY)
    try:
        server.serve(model, device)
    except WrongShape:
        server.send(FAULT, WRONG_SHAPE)
        return 1
    except BaseException:  # no word of it: what a model prints next to sealed text would carry that text out
        server.send(FAULT, MODEL_CRASHED)
        return 1
    return 0


def _own_frames_removed(error: BaseException) -> types.TracebackType | None:
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename == __file__:
        frame = frame.tb_next
    return frame


if __name__ == "__main__":
    sys.exit(main())
