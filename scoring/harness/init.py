"""Process 1 of a sandbox: hands out its folders, starts one program, forwards SIGTERM, reaps, reports the end.

A script that is process 1 itself would ignore SIGTERM and leave zombies. The arguments are

    init.py CONTROL WORD FOLDERS KEEP RLIMITS CWD PROGRAM [ARGUMENT …]  (lists joined by commas, `-` for an empty one)

where CONTROL is a SOCK_SEQPACKET descriptor, WORD the write end of a pipe, and they carry

    CONTROL  out  {"ready": n}      with n directory descriptors: whoever holds one can read that tmpfs for ever
             in   any byte: go      (end of file: called off); nothing goes out any more
    WORD     out  {"exit": status}  as of subprocess: negative for a signal

Its end is the sandbox's end: the kernel kills what is left in the pid namespace. It is not a guard. The program runs
as the same user and may try to stop or confuse it; the clock and the kill live outside.

It runs with `python -I -S` and takes the C halves of os, socket and signal, because their Python halves (enum, abstract
classes and friends) would double the start-up time of every sandbox. What it needs only
later it imports while its starter is looking at it.
"""

import _signal as signal  # type: ignore[import-not-found]  # typeshed knows only its Python half
import _socket as socket
import posix as os
import sys

FOLDERS = {"out": "/work/out", "tmp": "/tmp", "shm": "/dev/shm"}  # noqa: S108 the sandbox's own


def split(text: str) -> list[str]:
    """Return the items of a comma list; `-` is the empty one."""
    return [] if text == "-" else text.split(",")


def send_folders(control: socket.socket, names: list[str]) -> None:
    """Send one directory descriptor per name, then forget them here."""
    fds = [os.open(FOLDERS[name], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) for name in names]
    packed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)] if fds else []
    control.sendmsg([b'{"ready": %d}' % len(fds)], rights)
    for fd in fds:
        os.close(fd)


def start(keep: set[int], rlimits: list[str], cwd: str, argv: list[str]) -> int:
    """Fork the program and return its pid; it inherits 0, 1, 2 and `keep` only."""
    pid = os.fork()
    if pid:
        return pid
    try:
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
            signal.signal(signum, signal.SIG_DFL)
        import resource

        for item in rlimits:
            name, _, value = item.partition("=")
            resource.setrlimit(getattr(resource, name), (int(value), int(value)))
        for fd in [int(name) for name in os.listdir("/proc/self/fd")]:
            if fd > 2:
                try:
                    os.set_inheritable(fd, fd in keep)
                except OSError:
                    continue  # the descriptor that listed the folder; closed by now
        os.chdir(cwd)
        os.execv(argv[0], argv)
    except BaseException as error:
        os.write(2, f"cannot start {argv[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def reap(child: int) -> int:
    """Wait until `child` has ended, collecting orphans on the way; return its status."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Run the sandbox from ready to exit."""
    fd, word, folders, keep, rlimits, cwd, *argv = sys.argv[1:]
    control = socket.socket(fileno=int(fd))
    child = 0

    def forward(signum: int, frame: object) -> None:
        if child:
            try:
                os.kill(child, signum)
            except ProcessLookupError:
                return  # it ended between the signal's arrival and now

    signal.signal(signal.SIGTERM, forward)
    send_folders(control, split(folders))
    import resource  # noqa: F401 for `start`

    if not control.recv(16):
        os._exit(0)
    child = start(set(map(int, split(keep))), split(rlimits), cwd, argv)
    status = reap(child)
    os.write(int(word), b'{"exit": %d}' % status)
    os._exit(0)


if __name__ == "__main__":
    main()
