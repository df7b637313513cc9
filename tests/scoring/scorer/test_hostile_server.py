"""A server that does not keep to the protocol. It is played over the other end of the socket, without torch."""

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
from pathlib import Path

import pytest

from scoring.scorer import channel as protocol
from scoring.scorer.channel import ANSWER, ASK, FAULT, HELLO, MESSAGE, READY, ScoreFailed
from scoring.scorer.score import score
from tests.scoring.tiny import BATCH, LENGTH, ROOT, VOCAB, Tiny

Play = Callable[[socket.socket, list[int]], None]


def played(tiny: Tiny, play: Play, timeout: float = 30.0) -> str:
    """Score against a played server; give the outcome code, or "ok"."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def serve() -> None:
        hello, descriptors, _, _ = socket.recv_fds(theirs, 64, 2)
        assert MESSAGE.unpack(hello)[:5] == (HELLO, BATCH, LENGTH, VOCAB, 2)
        try:
            play(theirs, descriptors)
        except OSError:
            pass  # the scorer hung up on us
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    server = threading.Thread(target=serve)
    server.start()
    try:
        score(tiny.job(ours.detach(), timeout_seconds=timeout), on_ready=lambda: None)
        return "ok"
    except ScoreFailed as failure:
        return failure.code
    finally:
        with contextlib.suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)
        server.join(10)
        theirs.close()
        assert not server.is_alive()


def say(sock: socket.socket, *numbers: int) -> None:
    sock.send(MESSAGE.pack(*numbers, *[0] * (6 - len(numbers))))


def honest(sock: socket.socket, descriptors: list[int]) -> None:
    """Say ready, then answer every question with the zeros that are in the memory already."""
    say(sock, READY)
    while data := sock.recv(MESSAGE.size):
        kind, sequence, slot, *_ = MESSAGE.unpack(data)
        if kind != ASK:
            return
        say(sock, ANSWER, sequence, slot, 2)


def after_ready(*numbers: int) -> Play:
    def play(sock: socket.socket, descriptors: list[int]) -> None:
        say(sock, READY)
        say(sock, *numbers)
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
    ],
)
def test_a_message_that_was_not_to_come_breaks_the_contract(tiny: Tiny, numbers: tuple[int, ...]) -> None:
    assert played(tiny, after_ready(*numbers)) == "contract"


@pytest.mark.parametrize("data", [b"x", b"x" * 23, b"x" * 25, b"x" * 60_000, b'{"bpb": 0.1}'])
def test_only_six_numbers_are_a_message(tiny: Tiny, data: bytes) -> None:
    def play(sock: socket.socket, descriptors: list[int]) -> None:
        say(sock, READY)
        sock.send(data)

    assert played(tiny, play) == "contract"


def test_an_answer_before_ready_breaks_the_contract(tiny: Tiny) -> None:
    assert played(tiny, lambda sock, _: say(sock, ANSWER, 0, 0, 2)) == "contract"


def test_hanging_up_before_ready_is_a_model_that_did_not_load(tiny: Tiny) -> None:
    assert played(tiny, lambda sock, _: sock.shutdown(socket.SHUT_RDWR)) == "load_failed"


def test_hanging_up_later_is_a_crash(tiny: Tiny) -> None:
    def play(sock: socket.socket, descriptors: list[int]) -> None:
        say(sock, READY)
        sock.shutdown(socket.SHUT_RDWR)

    assert played(tiny, play) == "model_crashed"


def test_the_last_words_of_a_server_that_is_gone_are_read(tiny: Tiny) -> None:
    def play(sock: socket.socket, descriptors: list[int]) -> None:
        say(sock, READY)
        sock.recv(MESSAGE.size)
        select.select([sock], [], [], 10)  # the second question has come, and stays unread
        say(sock, FAULT, 2)
        sock.close()

    assert played(tiny, play) == "wrong_shape"


def test_silence_before_ready_ends_at_the_timeout(tiny: Tiny) -> None:
    assert played(tiny, lambda sock, _: None, timeout=0.2) == "eval_timeout"


def test_silence_after_ready_ends_at_the_timeout(tiny: Tiny) -> None:
    assert played(tiny, lambda sock, _: say(sock, READY), timeout=0.2) == "eval_timeout"


def test_the_memory_can_be_neither_shrunk_nor_grown_nor_unsealed(tiny: Tiny) -> None:
    refused = []

    def play(sock: socket.socket, descriptors: list[int]) -> None:
        for descriptor in descriptors:
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

    def scribble(self: protocol.Channel, slot: int, dtype: object) -> object:
        for start, block in compute(self, slot, dtype):  # type: ignore[arg-type]
            before = memory[0][:]
            memory[0][:] = struct.pack("<f", float("nan")) * (len(memory[0]) // 4)
            yield start, block
            memory[0][:] = before

    def play(sock: socket.socket, descriptors: list[int]) -> None:
        memory.append(mmap.mmap(descriptors[1], 0))
        honest(sock, descriptors)

    monkeypatch.setattr(protocol.Channel, "copy_logits", scribble)
    assert played(tiny, play) == "ok"


def test_descriptors_sent_to_the_scorer_are_dropped(tiny: Tiny, tmp_path: Path) -> None:
    path = tmp_path / "planted"
    path.write_text("x")
    open_here = []

    def play(sock: socket.socket, descriptors: list[int]) -> None:
        planted = os.open(path, os.O_RDONLY)
        socket.send_fds(sock, [MESSAGE.pack(READY, 0, 0, 0, 0, 0)], [planted])
        os.close(planted)
        sock.recv(MESSAGE.size)
        links = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
        open_here.append(str(path) in links)

    assert played(tiny, play, timeout=0.5) in ("eval_timeout", "model_crashed")
    assert open_here == [False]


def test_both_ends_speak_of_the_same_numbers() -> None:
    served: dict[str, object] = {"__name__": "served", "__file__": ""}
    exec((ROOT / "scoring/harness/model_server.py").read_text(), served)  # noqa: S102 it is never imported
    for name in ("HELLO", "ASK", "STOP", "READY", "ANSWER", "FAULT"):
        assert served[name] == getattr(protocol, name)
    assert served["MESSAGE"].format == MESSAGE.format  # type: ignore[attr-defined]
    assert served["TYPES"] == {dtype: code for code, dtype in protocol.TYPES.items()}
    assert {served[name.upper()]: name for name in protocol.FAULTS.values()} == protocol.FAULTS
