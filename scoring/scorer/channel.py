"""The scorer's end of the channel to a model server.

The other end is in a sandbox with a stranger's code, so: messages are six numbers and nothing else is parsed; every
wait has a deadline; sends never block; and the two memory files are of our making, sealed against a change of size (a
shrunken file would kill the reader with SIGBUS). Whatever lies in shared memory may change under our eyes: it is
copied once, and only the copy is looked at.

Questions go over a socket, which can carry descriptors; answers come through a pipe, which cannot. A descriptor that
is dropped on arrival is still closed here, and closing a stranger's file takes as long as the stranger likes: a TCP
socket that lingers once held a scorer for two minutes. So the socket is shut for reading before anything is sent.

    HELLO  batch, seq_len, vocab, slots   + descriptors (tokens, logits, answers)   scorer → server, socket
    ASK    sequence, slot                                                           scorer → server, socket
    STOP                                                                            scorer → server, socket
    READY                                                                           server → scorer, pipe
    ANSWER sequence, slot, type                                                     server → scorer, pipe
    FAULT  code                                                                     server → scorer, pipe
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import mmap
import os
import select
import socket
import struct
import time
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple, Self

import torch

from scoring.scorer.crew import Crew

MESSAGE = struct.Struct("<6I")
HELLO, ASK, STOP, READY, ANSWER, FAULT = range(1, 7)
FAULTS = {1: "load_failed", 2: "wrong_shape", 3: "model_crashed"}
TYPES = {1: torch.float64, 2: torch.float32, 3: torch.float16, 4: torch.bfloat16}
SLOTS = 2
BLOCK_BYTES = 256 * 2**20
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class ScoreFailed(Exception):
    """The model could not be scored; `code` is an outcome code, from a fixed list."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Piece(NamedTuple):
    """Logits [positions, V] of the row in place `slot` of a batch, from position `start` on."""

    slot: int
    start: int
    logits: torch.Tensor

    @property
    def stop(self) -> int:
        return self.start + len(self.logits)


class Channel:
    """Talk to one model server about batches of `batch_size` rows of `seq_len` tokens; `sock` is taken over."""

    def __init__(self, sock: socket.socket, *, batch_size: int, seq_len: int, vocab_size: int) -> None:
        sock.shutdown(socket.SHUT_RD)
        sock.setblocking(False)
        self._socket = sock
        self._shape = (batch_size, seq_len, vocab_size)
        self.positions = batch_size * seq_len
        self._logit_stride = self.positions * vocab_size * 8  # room for float64; untouched pages cost nothing
        token_file, tokens = _shared_memory("tokens", SLOTS * self.positions * 8)
        logit_file, self._logits = _shared_memory("logits", SLOTS * self._logit_stride)
        self._tokens = torch.frombuffer(tokens, dtype=torch.int64).view(SLOTS, batch_size, seq_len)
        self._answers, answer_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._answers, False)
        self._heard = b""
        handed_over = (token_file, logit_file, answer_end)
        self._send(HELLO, batch_size, seq_len, vocab_size, SLOTS, descriptors=handed_over)
        for descriptor in handed_over:  # the server alone holds the pipe's other end now: its death is an end of file
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        os.close(self._answers)
        self._socket.close()

    def await_ready(self, deadline: float) -> None:
        """Wait until the server has loaded the model. Raises ScoreFailed."""
        try:
            kind = self._receive(deadline)[0]
        except ScoreFailed as failure:
            raise ScoreFailed("load_failed" if failure.code == "model_crashed" else failure.code) from None
        if kind != READY:
            raise ScoreFailed("contract")

    def ask(self, sequence: int, slot: int, tokens: torch.Tensor) -> None:
        """Put tokens [B, T] into a slot and ring the bell."""
        self._tokens[slot].copy_(tokens)
        self._send(ASK, sequence, slot)

    def await_answer(self, sequence: int, slot: int, deadline: float) -> torch.dtype:
        """Wait for the answer to one question; give the type its logits are in. Raises ScoreFailed."""
        try:
            kind, answered, answered_slot, code, *_ = self._receive(deadline)
        except ScoreFailed as failure:  # it has loaded: what it printed since is not to be shown as a reason
            raise ScoreFailed("contract" if failure.code == "load_failed" else failure.code) from None
        if (kind, answered, answered_slot) != (ANSWER, sequence, slot) or code not in TYPES:
            raise ScoreFailed("contract")
        return TYPES[code]

    def copy_logits(self, slot: int, dtype: torch.dtype, crew: Crew) -> Iterator[list[Piece]]:
        """Copy a slot's logits to private memory, once, in blocks of at most 256 MB; no piece spans two rows."""
        batch_size, seq_len, vocab_size = self._shape
        width = vocab_size * dtype.itemsize
        step = max(1, min(seq_len, BLOCK_BYTES // width))

        def copy(place: tuple[int, int]) -> Piece:
            row, start = place
            count = min(step, seq_len - start)
            offset = slot * self._logit_stride + (row * seq_len + start) * width
            shared = torch.frombuffer(self._logits, dtype=dtype, count=count * vocab_size, offset=offset)
            return Piece(row, start, shared.clone().view(count, vocab_size))

        places = [(row, start) for row in range(batch_size) for start in range(0, seq_len, step)]
        at_once = max(1, BLOCK_BYTES // (step * width))
        for first in range(0, len(places), at_once):
            yield crew.each(copy, places[first : first + at_once])

    def stop(self) -> None:
        """Tell the server that nothing more will be asked."""
        self._send(STOP)

    def _send(self, *numbers: int, descriptors: tuple[int, ...] = ()) -> None:
        message = MESSAGE.pack(*numbers, *([0] * (6 - len(numbers))))
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        try:
            self._socket.sendmsg([message], rights, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            raise ScoreFailed("contract") from None  # two questions always fit: the server has filled the channel
        except OSError:
            return  # the server is gone; the reason, if it left one, is still to be read

    def _receive(self, deadline: float) -> tuple[int, ...]:
        """Wait for one message. Raises ScoreFailed on the deadline, a hang-up, a fault or anything unexpected."""
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        while len(self._heard) < MESSAGE.size:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise ScoreFailed("eval_timeout")
            with contextlib.suppress(BlockingIOError):  # at level `user` the server can open our end and read it empty
                data = os.read(self._answers, MESSAGE.size - len(self._heard))
                if not data:
                    raise ScoreFailed("contract" if self._heard else "model_crashed")
                self._heard += data
        numbers, self._heard = MESSAGE.unpack(self._heard), b""
        if numbers[0] == FAULT:
            raise ScoreFailed(FAULTS.get(numbers[1], "contract"))
        return numbers


def _shared_memory(name: str, size: int) -> tuple[int, mmap.mmap]:
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    return descriptor, mmap.mmap(descriptor, size)
