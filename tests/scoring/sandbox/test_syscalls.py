"""The filter: asked for by number, as a program that wants around a library would."""

import platform

import pytest

from tests.scoring.sandbox import inside

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="system call numbers of x86-64"),
]

# name -> (number and arguments as Python text, the answer without which the wall is down)
REFUSED = {
    "ptrace": "call(101, 0, 0, 0, 0)",
    "process_vm_readv": "call(310, 1, 0, 0, 0, 0, 0)",
    "pidfd_getfd": "call(438, 0, 0, 0)",
    "mount": "call(165, 0, 0, 0, 0, 0)",
    "unshare a user namespace": "call(272, 0x10000000)",
    "clone into a user namespace": "call(56, 0x10000000 | 17, 0, 0, 0, 0)",
    "setns": "call(308, 0, 0)",
    "keyctl": "call(250, 0, 0, 0, 0, 0)",
    "bpf": "call(321, 0, 0, 0)",
    "perf_event_open": "call(298, 0, 0, 0, 0, 0)",
    "userfaultfd": "call(323, 0)",
    "io_uring_setup": "call(425, 1, 0)",
    "clock_settime": "call(227, 0, 0)",
    "settimeofday": "call(164, 0, 0)",
    "adjtimex": "call(159, 0)",
    "mincore": "call(27, 0, 0, 0)",
    "cachestat": "call(451, 0, 0, 0, 0)",
    "fadvise": "call(221, 0, 0, 0, 4)",
    "readahead": "call(187, 0, 0, 0)",
    "preadv2 without waiting": "call(327, 0, 0, 0, 0, 0, 8)",
    "madvise to push pages out": "call(28, 0, 0, 21)",
    "madvise with a dirty upper half": "call(28, 0, 0, 21 | 1 << 32)",
    "a SysV segment": "call(29, 0, 4096, 0o1600)",
    "a POSIX queue": "call(240, 0, 0, 0, 0)",
    "numbers of the whole host": "call(99, ctypes.create_string_buffer(200))",
    "requests out of the host's supply": "call(206, 1, ctypes.create_string_buffer(8))",
    "typing into a terminal": "call(16, 0, 0x5412, 0)",
}


def test_what_namespaces_do_not_cover_is_refused() -> None:
    seen = inside.run("".join(f"print({expression})\n" for expression in REFUSED.values()))
    answers = dict(zip(REFUSED, seen.lines, strict=True))
    assert {name: answer for name, answer in answers.items() if answer != "EPERM"} == {}


def test_clone3_sends_libc_back_to_clone() -> None:
    seen = inside.run("import threading\nprint(call(435, 0, 0))\nthreading.Thread(target=print, args=['ran']).start()")
    assert seen.lines == ["ENOSYS", "ran"]


@pytest.mark.parametrize("family", [40, 17, 38, 9, 31])  # vsock, packet, alg, x25, bluetooth
def test_socket_families_without_a_namespace_are_refused(family: int) -> None:
    assert inside.run(f"print(call(41, {family}, 1, 0))").text.strip() == "EAFNOSUPPORT"


@pytest.mark.parametrize("slot", ["server", "scorer"])
def test_who_sees_sealed_rows_has_no_socket_that_the_host_counts(slot: str) -> None:
    seen = inside.run("print(*(call(41, family, 1, 0) for family in (2, 10, 1)))", slot=slot)
    assert seen.text.split() == ["EAFNOSUPPORT", "EAFNOSUPPORT", "allowed"]


def test_what_training_needs_is_allowed() -> None:
    seen = inside.run(
        """
        import mmap, multiprocessing, socket, tempfile, threading
        print(tried(lambda: socket.socketpair()), tried(lambda: mmap.mmap(-1, 4096)))
        with tempfile.TemporaryFile() as file:
            file.write(b"x" * 10)
            print(tried(lambda: os.preadv(file.fileno(), [bytearray(4)], 0)))
        print(multiprocessing.get_context("fork").Pool(1).map(abs, [-1]))
        """
    )
    assert seen.lines == ["allowed allowed", "allowed", "[1]"]
