"""The scorer's end of the channel to a model server.

The other end is in a sandbox with a stranger's code, so: messages are six numbers and nothing else is parsed;
descriptors that arrive are dropped by the kernel (no room is offered for them); every wait has a deadline; sends
never block; and the two memory files are of our making, sealed against a change of size (a shrunken file would kill
the reader with SIGBUS). Whatever lies in shared memory may change under our eyes: it is copied once, and only the
copy is looked at.

    HELLO  batch, seq_len, vocab, slots   + descriptors (tokens, logits)      scorer → server
    ASK    sequence, slot                                                     scorer → server
    STOP                                                                      scorer → server
    READY                                                                     server → scorer
    ANSWER sequence, slot, type                                               server → scorer
    FAULT  code                                                               server → scorer
"""

from __future__ import annotations

import array
import fcntl
import mmap
import os
import select
import socket
import struct
import time
from collections.abc import Iterator

import torch

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


class Channel:
    """Talk to one model server about batches of `batch_size` rows of `seq_len` tokens."""

    def __init__(self, sock: socket.socket, *, batch_size: int, seq_len: int, vocab_size: int) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._shape = (batch_size, seq_len, vocab_size)
        self.positions = batch_size * seq_len
        self._logit_stride = self.positions * vocab_size * 8  # room for float64; untouched pages cost nothing
        token_file, tokens = _shared_memory("tokens", SLOTS * self.positions * 8)
        logit_file, self._logits = _shared_memory("logits", SLOTS * self._logit_stride)
        self._tokens = torch.frombuffer(tokens, dtype=torch.int64).view(SLOTS, batch_size, seq_len)
        self._send(HELLO, batch_size, seq_len, vocab_size, SLOTS, descriptors=(token_file, logit_file))
        os.close(token_file)
        os.close(logit_file)

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
        kind, answered, answered_slot, code, *_ = self._receive(deadline)
        if (kind, answered, answered_slot) != (ANSWER, sequence, slot) or code not in TYPES:
            raise ScoreFailed("contract")
        return TYPES[code]

    def copy_logits(self, slot: int, dtype: torch.dtype) -> Iterator[tuple[int, torch.Tensor]]:
        """Copy a slot's logits to private memory, once, as (first position, [positions, V]) of at most 256 MB."""
        vocab_size = self._shape[2]
        step = max(1, BLOCK_BYTES // (vocab_size * dtype.itemsize))
        for start in range(0, self.positions, step):
            count = min(step, self.positions - start)
            offset = slot * self._logit_stride + start * vocab_size * dtype.itemsize
            shared = torch.frombuffer(self._logits, dtype=dtype, count=count * vocab_size, offset=offset)
            yield start, shared.clone().view(count, vocab_size)

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
        left = deadline - time.monotonic()
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if left <= 0 or not poll.poll(left * 1000):
            raise ScoreFailed("eval_timeout")
        try:
            data = self._socket.recv(MESSAGE.size + 1)
        except ConnectionResetError:  # it left with questions unread; the kernel says so once, before its last words
            data = self._socket.recv(MESSAGE.size + 1)
        if not data:
            raise ScoreFailed("model_crashed")
        if len(data) != MESSAGE.size:
            raise ScoreFailed("contract")
        numbers = MESSAGE.unpack(data)
        if numbers[0] == FAULT:
            raise ScoreFailed(FAULTS.get(numbers[1], "contract"))
        return numbers


def _shared_memory(name: str, size: int) -> tuple[int, mmap.mmap]:
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    return descriptor, mmap.mmap(descriptor, size)
