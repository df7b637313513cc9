"""What of the host's system a sandbox may read: libraries, a few files of /etc, and a /proc that is not the host's.

/proc's per-process half is private to the pid namespace. The other half is host-wide: live counters there tell what
neighbours do and carry bits between two sandboxes. So everything is covered that is not on a short list, whatever the
kernel adds next year, and the files that libraries insist on are still pictures with the sandbox's own numbers.
"""

import os
import stat
from pathlib import Path

from scoring.sandbox.spec import Bind, Data, Link, Mount

# Of /proc/sys only settings: fs counts the whole host's open files and cached names, kernel/pty its terminals.
_SYS_OPEN = frozenset(("kernel", "net", "vm"))
# self, net, mounts and thread-self lead into namespaces of the sandbox itself; sys is bound read-only by bubblewrap.
_PROC_OPEN = frozenset(("self", "thread-self", "net", "mounts", "sys", "filesystems", "version", "sysvipc"))
_PICTURED = frozenset(("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "cmdline"))
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "nsswitch.conf", "localtime", "magic")
_LIBS = ("/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin")


def system_mounts() -> list[Mount]:
    """Return /usr, the library folders or links of this distribution, and the harmless part of /etc."""
    mounts: list[Mount] = [Bind(Path("/usr"), "/usr")]
    for name in _LIBS:
        path = Path(name)
        if path.is_symlink():
            mounts.append(Link(os.readlink(path), name))
        elif path.is_dir():
            mounts.append(Bind(path, name))
    mounts += [Bind(Path("/etc", name), f"/etc/{name}") for name in _ETC if Path("/etc", name).exists()]
    return mounts


def identity_mounts(uid: int) -> list[Mount]:
    """Return the account and host files that getpwuid, getfqdn and torchrun look for."""
    return [
        Data(f"holdout:x:{uid}:{uid}::/tmp:/bin/sh\n".encode(), "/etc/passwd"),
        Data(f"holdout:x:{uid}:\n".encode(), "/etc/group"),
        Data(b"127.0.0.1 localhost holdout\n::1 localhost\n", "/etc/hosts"),
    ]


def _cpuinfo(count: int) -> bytes:
    """Return the first `count` processors of /proc/cpuinfo, without the live clock rate."""
    blocks = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").strip().split("\n\n")[:count]
    kept = ("\n".join(line for line in block.splitlines() if not line.startswith("cpu MHz")) for block in blocks)
    return ("\n\n".join(kept) + "\n").encode()


def _pictures(cpus: int, memory_bytes: int) -> dict[str, bytes]:
    total = memory_bytes // 1024
    lines = ["cpu  0 0 0 0 0 0 0 0 0 0", *(f"cpu{n} 0 0 0 0 0 0 0 0 0 0" for n in range(cpus)), "btime 0"]
    return {
        "cpuinfo": _cpuinfo(cpus),
        "meminfo": f"MemTotal: {total} kB\nMemFree: {total} kB\nMemAvailable: {total} kB\nSwapTotal: 0 kB\n".encode(),
        "stat": ("\n".join(lines) + "\n").encode(),
        "uptime": b"0.00 0.00\n",
        "loadavg": b"0.00 0.00 0.00 1/1 1\n",
        "cmdline": b"\n",
    }


def _for_root_alone(entry: os.DirEntry[str]) -> bool:
    """Say whether a file needs no cover, since nobody inside is root."""
    status = entry.stat(follow_symlinks=False)
    return stat.S_ISREG(status.st_mode) and status.st_uid == 0 and not status.st_mode & 0o077


def proc_mounts(cpus: int, memory_bytes: int) -> list[Mount]:
    """Return the still pictures that stand for files of /proc and /sys."""
    online = b"0\n" if cpus == 1 else f"0-{cpus - 1}\n".encode()
    return [
        *(Data(content, f"/proc/{name}") for name, content in _pictures(cpus, memory_bytes).items()),
        *(Data(online, f"/sys/devices/system/cpu/{name}") for name in ("online", "possible", "present")),
    ]


def proc_covers() -> tuple[list[str], list[str]]:
    """Return the (files, folders) to be covered, because nothing of theirs may be read; neither list is empty."""
    files: list[str] = []
    folders = ["/dev/pts"]  # terminals come out of one supply for the whole host
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit() or entry.name in _PROC_OPEN or entry.name in _PICTURED or _for_root_alone(entry):
                continue
            (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.path)
    folders += [f"/proc/sys/{name}" for name in sorted(os.listdir("/proc/sys")) if name not in _SYS_OPEN]
    if os.path.isdir("/proc/sys/kernel/pty"):
        folders.append("/proc/sys/kernel/pty")
    return files, folders
