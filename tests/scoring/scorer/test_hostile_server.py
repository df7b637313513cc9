"""A server that does not keep to the protocol. It is played over the other ends of socket and pipe, without torch."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import select
import socket
import struct
import threading
from collections.abc import Callable

import pytest

from scoring.scorer import channel as protocol
from scoring.scorer.channel import ANSWER, ASK, FAULT, HELLO, MESSAGE, READY, ScoreFailed
from scoring.scorer.score import score
from tests.scoring.tiny import BATCH, LENGTH, ROOT, VOCAB, Tiny

Play = Callable[[socket.socket, list[int]], None]  # the descriptors are: tokens, logits, answers


def nothing() -> None:
    """There is nobody to tell."""


def played(tiny: Tiny, play: Play, timeout: float = 30.0) -> str:
    """Score against a played server; give the outcome code, or "ok"."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    descriptors: list[int] = []

    def serve() -> None:
        hello, received, _, _ = socket.recv_fds(theirs, 64, 9)
        descriptors.extend(received)
        assert MESSAGE.unpack(hello)[:5] == (HELLO, BATCH, LENGTH, VOCAB, 2)
        with contextlib.suppress(BrokenPipeError):  # the scorer hung up on us
            play(theirs, descriptors)

    server = threading.Thread(target=serve)
    server.start()
    try:
        score(tiny.job(ours.detach(), timeout_seconds=timeout), on_ready=nothing, on_scored=nothing)
        return "ok"
    except ScoreFailed as failure:
        return failure.code
    finally:
        with contextlib.suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)
        server.join(10)
        theirs.close()
        for descriptor in descriptors:
            os.close(descriptor)
        assert not server.is_alive()


def say(descriptors: list[int], *numbers: int) -> None:
    os.write(descriptors[2], MESSAGE.pack(*numbers, *[0] * (6 - len(numbers))))


def hang_up(descriptors: list[int]) -> None:
    os.close(descriptors.pop())


def honest(sock: socket.socket, descriptors: list[int]) -> None:
    """Say ready, then answer every question with the zeros that are in the memory already."""
    say(descriptors, READY)
    while data := sock.recv(MESSAGE.size):
        kind, sequence, slot, *_ = MESSAGE.unpack(data)
        if kind != ASK:
            return
        say(descriptors, ANSWER, sequence, slot, 2)


def after_ready(*numbers: int) -> Play:
    def play(sock: socket.socket, descriptors: list[int]) -> None:
        say(descriptors, READY)
        say(descriptors, *numbers)
        sock.recv(1)
        sock.recv(1)
        sock.recv(1)

    return play


def test_the_played_server_can_be_honest(tiny: Tiny) -> None:
    assert played(tiny, honest) == "ok"


@pytest.mark.parametrize(
    "numbers",
    [
        (ANSWER, 0, 1, 2),  # another slot
        (ANSWER, 1, 1, 2),  # the second question before the first
        (ANSWER, 0, 0, 0),  # no such type
        (ANSWER, 0, 0, 9),
        (READY,),
        (ASK, 0, 0),
        (2**32 - 1,) * 6,
        (FAULT, 77),
        (FAULT, 1),  # after ready nothing can fail to load
    ],
)
def test_a_message_that_was_not_to_come_breaks_the_contract(tiny: Tiny, numbers: tuple[int, ...]) -> None:
    assert played(tiny, after_ready(*numbers)) == "contract"


@pytest.mark.parametrize("data", [b"x", b"x" * 23, b"x" * 25, b"x" * 60_000, b'{"bpb": 0.1}'])
def test_only_six_numbers_are_a_message(tiny: Tiny, data: bytes) -> None:
    def play(sock: socket.socket, descriptors: list[int]) -> None:
        say(descriptors, READY)
        os.write(descriptors[2], data)
        hang_up(descriptors)

    assert played(tiny, play) == "contract"


def test_a_message_may_come_in_pieces_but_not_take_for_ever(tiny: Tiny) -> None:
    def play(sock: socket.socket, descriptors: list[int]) -> None:
        ready = MESSAGE.pack(READY, 0, 0, 0, 0, 0)
        os.write(descriptors[2], ready[:5])
        os.write(descriptors[2], ready[5:] + b"x" * 23)
        sock.recv(MESSAGE.size)

    assert played(tiny, play, timeout=0.5) == "eval_timeout"


def test_an_answer_before_ready_breaks_the_contract(tiny: Tiny) -> None:
    assert played(tiny, lambda _, descriptors: say(descriptors, ANSWER, 0, 0, 2)) == "contract"


def test_hanging_up_before_ready_is_a_model_that_did_not_load(tiny: Tiny) -> None:
    assert played(tiny, lambda _, descriptors: hang_up(descriptors)) == "load_failed"


def test_hanging_up_later_is_a_crash(tiny: Tiny) -> None:
    def play(sock: socket.socket, descriptors: list[int]) -> None:
        say(descriptors, READY)
        hang_up(descriptors)

    assert played(tiny, play) == "model_crashed"


def test_the_last_words_of_a_server_that_is_gone_are_read(tiny: Tiny) -> None:
    def play(sock: socket.socket, descriptors: list[int]) -> None:
        say(descriptors, READY)
        sock.recv(MESSAGE.size)
        select.select([sock], [], [], 10)  # the second question has come, and stays unread
        say(descriptors, FAULT, 2)
        hang_up(descriptors)
        sock.close()

    assert played(tiny, play) == "wrong_shape"


def test_silence_before_ready_ends_at_the_timeout(tiny: Tiny) -> None:
    assert played(tiny, lambda sock, _: None, timeout=0.2) == "eval_timeout"


def test_silence_after_ready_ends_at_the_timeout(tiny: Tiny) -> None:
    assert played(tiny, lambda _, descriptors: say(descriptors, READY), timeout=0.2) == "eval_timeout"


def test_the_memory_can_be_neither_shrunk_nor_grown_nor_unsealed(tiny: Tiny) -> None:
    refused = []

    def play(sock: socket.socket, descriptors: list[int]) -> None:
        for descriptor in descriptors[:2]:
            size = os.fstat(descriptor).st_size
            for attempt in (size - 1, size + 1):
                try:
                    os.ftruncate(descriptor, attempt)
                except PermissionError:
                    refused.append(attempt)
            try:
                fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
            except PermissionError:
                refused.append(-1)
        honest(sock, descriptors)

    assert played(tiny, play) == "ok"
    assert len(refused) == 6


def test_logits_changed_after_the_bell_change_nothing(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scorer looks at its own copy: what is scribbled while it computes is not read."""
    memory: list[mmap.mmap] = []
    compute = protocol.Channel.copy_logits

    def scribble(self: protocol.Channel, *which: object) -> object:
        for block in compute(self, *which):  # type: ignore[arg-type]
            before = memory[0][:]
            memory[0][:] = struct.pack("<f", float("nan")) * (len(memory[0]) // 4)
            yield block
            memory[0][:] = before

    def play(sock: socket.socket, descriptors: list[int]) -> None:
        memory.append(mmap.mmap(descriptors[1], 0))
        honest(sock, descriptors)

    monkeypatch.setattr(protocol.Channel, "copy_logits", scribble)
    assert played(tiny, play) == "ok"


def test_no_descriptor_can_be_sent_to_the_scorer(tiny: Tiny) -> None:
    """One that it would have to close, if only by dropping it, could hold it for as long as the server likes."""
    refused = []

    def play(sock: socket.socket, descriptors: list[int]) -> None:
        say(descriptors, READY)
        sock.recv(MESSAGE.size)
        with pytest.raises(BrokenPipeError):
            socket.send_fds(sock, [MESSAGE.pack(ANSWER, 0, 0, 2, 0, 0)], descriptors)
        with pytest.raises(OSError, match="socket"):
            socket.socket(fileno=descriptors[2])
        refused.append(True)
        hang_up(descriptors)

    assert played(tiny, play) == "model_crashed"
    assert refused == [True]


def test_both_ends_speak_of_the_same_numbers() -> None:
    served: dict[str, object] = {"__name__": "served", "__file__": ""}
    exec((ROOT / "scoring/harness/model_server.py").read_text(), served)  # noqa: S102 it is never imported
    for name in ("HELLO", "ASK", "STOP", "READY", "ANSWER", "FAULT"):
        assert served[name] == getattr(protocol, name)
    assert served["MESSAGE"].format == MESSAGE.format  # type: ignore[attr-defined]
    assert served["TYPES"] == {dtype: code for code, dtype in protocol.TYPES.items()}
    assert {served[name.upper()]: name for name in protocol.FAULTS.values()} == protocol.FAULTS
