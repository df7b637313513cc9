"""Turns a Spec into bubblewrap's argument list.

Order matters: bubblewrap performs its arguments one after the other, so each tmpfs comes before what lies in it and
the read-only remounts come last. Its own root and /dev are writable tmpfs without a cap until they are remounted.
What /proc tells of the host is covered afterwards, from outside (covers.py).
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from scoring.sandbox import hostfiles
from scoring.sandbox.spec import Bind, Data, Link, Mount, SandboxError, Spec
from scoring.sandbox.syscalls import memory_file

HARNESS = Path(__file__).resolve().parent.parent / "harness"
HARNESS_INSIDE = "/holdout/harness"
OUT = "/work/out"
_INIT_FLAGS = ("-I", "-S")  # init needs neither site-packages nor the environment, and starts 10 ms sooner


@dataclass
class Arguments:
    """bubblewrap's argument list, and the descriptors that it must inherit."""

    argv: list[str] = field(default_factory=list)
    fds: list[int] = field(default_factory=list)

    def add(self, *words: str) -> None:
        """Append plain words."""
        self.argv += words

    def add_data(self, content: bytes, dest: str, mode: int) -> None:
        """Append a read-only file that holds `content`."""
        fd = memory_file(content)
        self.fds.append(fd)
        self.add("--perms", f"{mode:04o}", "--ro-bind-data", str(fd), dest)


def find_bwrap() -> str:
    """Return bubblewrap's path; SandboxError names the remedy."""
    path = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if path is None:
        raise SandboxError("bubblewrap is missing: apt-get install -y bubblewrap")
    return path


def _add_mounts(args: Arguments, mounts: list[Mount], staged: Callable[[Path], str]) -> None:
    for mount in mounts:
        match mount:
            case Bind(source, dest):
                args.add("--ro-bind", staged(source), dest)
            case Data(content, dest, mode):
                args.add_data(content, dest, mode)
            case Link(target, dest):
                args.add("--symlink", target, dest)


def arguments(spec: Spec, uid: int, staged: Callable[[Path], str]) -> Arguments:
    """Return the argument list up to, not including, `--` and the command.

    `staged` maps a host path to where the unprivileged bubblewrap can reach it.
    """
    args = Arguments()
    args.add(find_bwrap(), "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts")
    args.add("--unshare-cgroup-try", "--uid", str(uid), "--gid", str(uid), "--hostname", "holdout")
    args.add("--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL", "--clearenv")
    for name, value in sorted(spec.env.items()):
        args.add("--setenv", name, value)
    _add_mounts(args, hostfiles.system_mounts() + hostfiles.identity_mounts(uid), staged)
    args.add("--proc", "/proc")
    _add_mounts(args, hostfiles.proc_mounts(len(spec.cpus), spec.caps.memory_bytes), staged)
    args.add("--dev", "/dev")
    _add_mounts(args, [*spec.mounts, Bind(HARNESS, HARNESS_INSIDE)], staged)
    tmpfs = {"/tmp": spec.caps.tmp_bytes, "/dev/shm": spec.caps.tmp_bytes}  # noqa: S108
    if spec.caps.output_bytes is not None:
        tmpfs[OUT] = spec.caps.output_bytes
    for dest, size in tmpfs.items():
        args.add("--size", str(size), "--perms", "0700", "--tmpfs", dest)
    args.add("--dir", "/work", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work")
    return args


def init_command(python: str, control_fd: int) -> list[str]:
    """Return the command of pid 1; it hears the rest over the control socket."""
    return ["--", python, *_INIT_FLAGS, f"{HARNESS_INSIDE}/init.py", str(control_fd)]
