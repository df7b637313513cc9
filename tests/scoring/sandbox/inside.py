"""Runs a few lines of Python in a real sandbox and returns what they printed."""

import os
import textwrap
import time
from dataclasses import dataclass, replace

from scoring.sandbox import box, interpreter
from scoring.sandbox.spec import Caps, Spec

MIB = 1 << 20


@dataclass
class Seen:
    """What came out: text, exit status as of subprocess, and what init's process looked like from outside."""

    text: str
    status: int | None
    host_uid: int
    files: dict[str, bytes]
    settings: dict[str, object]

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def spec(code: str, **changes: object) -> Spec:
    """A trainer's sandbox around `code`, with `json`, `os`, `ctypes` and a `call` for raw system calls at hand."""
    base = Spec(
        name=f"test.{os.getpid()}.{time.monotonic_ns()}",
        slot="trainer",
        argv=(interpreter.PYTHON, "-c", PRELUDE + textwrap.dedent(code)),
        mounts=interpreter.mounts(),
        env=interpreter.environment(1),
        caps=Caps(256 * MIB, 64, 256, 64 * MIB, 4 * MIB, 8 * MIB),
        cpus=(min(os.sched_getaffinity(0)),),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def without_output(caps: Caps) -> Caps:
    """The same ceilings without a folder to write to, as a model server has them."""
    return replace(caps, output_bytes=None)


PRELUDE = """\
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return errno.errorcode.get(ctypes.get_errno(), "allowed") if result < 0 else "allowed"
def tried(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "allowed"
"""


def run(code: str, **changes: object) -> Seen:
    """Run `code` to its end."""
    sandbox = box.start(spec(code, **changes))
    try:
        with open(f"/proc/{sandbox.init_pid}/status", encoding="ascii") as file:
            uid = next(int(line.split()[1]) for line in file if line.startswith("Uid:"))
        sandbox.go()
        text = b""
        while chunk := os.read(sandbox.output, 65536):
            text += chunk
        status = sandbox.exit_status()
        sandbox.wait()
        files = {}
        if "out" in sandbox.folders:
            for name in os.listdir(sandbox.folders["out"]):
                with open(os.open(name, os.O_RDONLY, dir_fd=sandbox.folders["out"]), "rb") as file:
                    files[name] = file.read()
        return Seen(text.decode(), status, uid, files, sandbox.settings)
    finally:
        sandbox.close()
