"""Starts a sandbox and holds it: the generic launcher for trainer, model server and scorer.

    runner ── guard ── prelude (root: stage, drop) ── bubblewrap ── init (pid 1) ── program
       │                                                             │
       ├──── control socket, SOCK_SEQPACKET: go ────────────────────►┤
       └◄─── pipe: the exit status ──────────────────────────────────┘

`start` returns when init has said *ready*, its folders' descriptors have come out, and what /proc tells of the host is
covered (covers.py); the program starts with `go`. So the time to build a sandbox is on nobody's clock. Both ends of a
life are certain: whatever happens inside, `kill` ends pid 1 from outside, the kernel then kills the whole pid
namespace, and `wait` has seen it empty before anything is read from it. Dying runners take their sandboxes along, at
every moment (guard.py).

Init runs as the program's own user, so its word is the program's. From `go` on it comes through a pipe: over a socket
the program could send a descriptor that takes hours to close, and whoever receives it, or drops it, would wait.

What a model server has read the kernel forgets when it has ended, before `wait` returns (pagecache.py).

Not isolated: the kernel itself, timing through shared caches and memory bandwidth, and readable /usr.
"""

import contextlib
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scoring.sandbox import bwrap, cgroups, covers, guard, hostfiles, pagecache, syscalls, uids
from scoring.sandbox.prelude import Stage, become_nobody
from scoring.sandbox.spec import Bind, SandboxError, Spec

START_SECONDS = 30.0
END_SECONDS = 10.0
_DOCTOR = "run python -m scoring.sandbox.doctor"


@dataclass
class Box:
    """A started sandbox: descriptors, and the two verbs that end it."""

    name: str
    process: subprocess.Popen[bytes]  # the guard
    line: socket.socket  # to the guard; closed, it ends everything
    init_pid: int
    init_pidfd: int
    control: socket.socket
    word: int  # read end of the pipe through which init reports the end
    output: int  # read end of stdout (and stderr unless the spec sent that elsewhere)
    folders: dict[str, int]  # "out", "tmp", "shm" -> directory descriptor
    group: cgroups.Group
    user: uids.User
    settings: dict[str, object]
    forget: Callable[[], None] | None = None  # to be called once when all inside are dead

    def go(self) -> None:
        """Let the program start."""
        self.control.send(b"g")

    def stop_listening(self) -> None:
        """Close our end of the program's output; whoever still writes there gets SIGPIPE."""
        if self.output >= 0:
            os.close(self.output)
            self.output = -1

    def is_alive(self) -> bool:
        """Is pid 1 alive, and with it perhaps the program?"""
        poll = select.poll()
        poll.register(self.init_pidfd, select.POLLIN)
        return not poll.poll(0)

    def exit_status(self) -> int | None:
        """Return the status that init reported, None at its end without a word; blocks, poll `word` first."""
        try:
            message = os.read(self.word, 256)
            status = json.loads(message)["exit"] if message else None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return status if isinstance(status, int) else None

    def terminate(self) -> None:
        """Ask the program to end: SIGTERM by way of init."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.init_pidfd, signal.SIGTERM)

    def kill(self) -> None:
        """End everything inside, now; returns before it is gone (see wait)."""
        self.group.freeze(True)
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.init_pidfd, signal.SIGKILL)
        self.group.kill()

    def wait(self, seconds: float = END_SECONDS) -> None:
        """Return when nothing of the sandbox is left alive; SandboxError when that takes longer."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise SandboxError("the sandbox did not end after it was killed") from None
        if self.forget is not None:
            self.forget()
            self.forget = None
        if not self.group.remove():
            raise SandboxError("processes are left in the sandbox's control group")

    def close(self) -> None:
        """Kill, wait, and give back every descriptor; safe to call twice."""
        if self.init_pidfd < 0:
            return
        self.kill()
        try:
            self.wait()
        finally:
            self.stop_listening()
            for fd in (self.init_pidfd, self.word, *self.folders.values()):
                os.close(fd)
            self.line.close()
            self.control.close()
            self.user.release()
            self.init_pidfd = -1


def _rlimits(spec: Spec, group: cgroups.Group) -> str:
    limits = {
        # Counted inside the sandbox's own user namespace. Where a pids controller counts too, that one comes first,
        # because it also tells that it refused.
        "RLIMIT_NPROC": spec.caps.processes + (16 if "pids" in group.folders else 1),
        "RLIMIT_NOFILE": spec.caps.open_files,
        "RLIMIT_FSIZE": spec.caps.file_bytes,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 65536,
    }
    if "memory" not in group.folders:
        limits["RLIMIT_DATA"] = spec.caps.memory_bytes  # per process; the meter adds the processes up
    return ",".join(f"{name}={value}" for name, value in limits.items())


def _filter(spec: Spec, group: cgroups.Group) -> bytes:
    """Return the seccomp program: stricter where no cpuset and no memory controller hold the sandbox."""
    memfd = "memory" in group.folders or spec.slot == "scorer"
    return syscalls.program(affinity="cpuset" in group.folders, memfd=memfd, internet=spec.slot == "trainer")


def _command(spec: Spec, group: cgroups.Group, stage: Stage, uid: int, fds: dict[str, int]) -> bwrap.Arguments:
    args = bwrap.arguments(spec, uid, stage)
    filter_fd = syscalls.memory_file(_filter(spec, group))
    args.fds.append(filter_fd)
    args.add("--seccomp", str(filter_fd), "--info-fd", str(fds["info"]))
    folders = ["tmp", "shm"] if spec.caps.output_bytes is None else ["out", "tmp", "shm"]
    python = str(Path(sys.base_prefix).resolve() / "bin" / f"python3.{sys.version_info.minor}")
    args.add(*bwrap.init_command(python, fds["control"]), str(fds["word"]))
    args.add(",".join(folders), ",".join(map(str, spec.keep_fds)) or "-", _rlimits(spec, group), spec.cwd, *spec.argv)
    return args


def namespaces(pid: int) -> list[str]:
    """Return the kinds of namespaces of process `pid` that are not also this process's; looked at, not believed."""
    own = {name: os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")}
    return sorted(
        name
        for name, link in own.items()
        if not name.endswith("_for_children") and os.readlink(f"/proc/{pid}/ns/{name}") != link
    )


def start(spec: Spec) -> Box:
    """Build the sandbox of `spec` and return it ready, its program not yet started.

    Raises SandboxError, with bubblewrap's own words, when this host cannot.
    """
    root = os.geteuid() == 0
    with contextlib.ExitStack() as undo:
        user = uids.user_for(spec.slot)
        undo.callback(user.release)
        group = cgroups.create(
            spec.name, memory_bytes=spec.caps.memory_bytes, processes=spec.caps.processes + 2, cpus=spec.cpus
        )
        undo.callback(group.remove)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        undo.callback(ours.close)
        read_info, write_info = os.pipe()
        read_out, write_out = os.pipe()
        undo.callback(os.close, read_out)
        read_word, write_word = os.pipe()
        undo.callback(os.close, read_word)
        line, watched = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        undo.callback(line.close)
        sources = (bwrap.HARNESS, *(mount.source for mount in spec.mounts if isinstance(mount, Bind)))
        stage = Stage(root, sources)
        args = _command(
            spec, group, stage, user.uid, {"control": theirs.fileno(), "info": write_info, "word": write_word}
        )
        inherit = (*args.fds, theirs.fileno(), write_info, write_word, *spec.keep_fds)
        try:
            process = subprocess.Popen(
                args.argv,
                stdin=subprocess.DEVNULL if spec.stdin is None else spec.stdin,
                stdout=write_out,
                stderr=subprocess.STDOUT if spec.stderr is None else spec.stderr,
                env={},  # what `env -i` in front does: bubblewrap's own environment would show inside
                pass_fds=inherit,
                cwd="/",
                preexec_fn=guard.between(watched.fileno(), group, become_nobody(stage, user.uid, spec.cpus)),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SandboxError(f"the sandbox could not be prepared ({error}); {_DOCTOR}") from None
        finally:
            theirs.close()
            watched.close()
            for fd in (*args.fds, write_info, write_out, write_word):
                os.close(fd)
        undo.callback(process.wait)
        undo.callback(line.close)
        with open(read_info, "rb") as info:
            text = info.read()
        folders = _await_ready(ours, read_out)
        for fd in folders.values():
            undo.callback(os.close, fd)
        ours.shutdown(socket.SHUT_RD)
        init_pid = int(json.loads(text)["child-pid"])
        with contextlib.suppress(OSError):  # whoever does not hear it does not answer either
            line.send(str(init_pid).encode())
        settings: dict[str, object] = {
            "uids": "lent" if root else "own",
            "cgroup": group.version,
            "controllers": group.controllers,
            "namespaces": namespaces(init_pid),
            "seccomp_sha256": hashlib.sha256(_filter(spec, group)).hexdigest(),
        }
        pidfd = os.pidfd_open(init_pid)
        undo.callback(os.close, pidfd)
        _await_covers(line)
        undo.pop_all()
    forget = _forgetting(spec, group)
    return Box(
        spec.name, process, line, init_pid, pidfd, ours, read_word, read_out, folders, group, user, settings, forget
    )


def _forgetting(spec: Spec, group: cgroups.Group) -> Callable[[], None] | None:
    """Return what makes the kernel forget what the sandbox read, where it is one that is shown sealed text."""
    if spec.slot != "server":
        return None
    mounts = (*hostfiles.system_mounts(), *spec.mounts)
    return partial(pagecache.forget, group, [mount.source for mount in mounts if isinstance(mount, Bind)])


def _await_covers(line: socket.socket) -> None:
    """Return when /proc is covered; SandboxError with the reason when it cannot be."""
    line.settimeout(START_SECONDS)
    try:
        said = line.recv(512)
    except OSError as error:
        said = str(error).encode()
    if said != covers.DONE:
        raise SandboxError(f"the host's /proc cannot be covered ({said.decode(errors='replace')}); {_DOCTOR}")


def _await_ready(control: socket.socket, output: int) -> dict[str, int]:
    """Return the folders' descriptors by name; SandboxError with what was printed when init never spoke."""
    control.settimeout(START_SECONDS)
    try:
        message, fds, _, _ = socket.recv_fds(control, 256, 3)
    except TimeoutError:
        message, fds = b"", []
    control.settimeout(None)
    if not message:
        os.set_blocking(output, False)
        with contextlib.suppress(BlockingIOError):
            said = os.read(output, 2000).decode(errors="replace").strip()
            raise SandboxError(f"bubblewrap: {said or 'no reason given'}; {_DOCTOR}")
        raise SandboxError(f"the sandbox did not start in time; {_DOCTOR}")
    names = ("out", "tmp", "shm") if len(fds) == 3 else ("tmp", "shm")
    for fd in fds:
        os.set_inheritable(fd, False)
    return dict(zip(names, fds, strict=True))
