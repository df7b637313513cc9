"""The seccomp filter: what submitted code may not ask the kernel for.

Allowed unless listed: a training script may use any library, and torch with a compiler behind it uses most of the
system call table. What is listed is what namespaces do not cover: other processes' memory, mounts and new namespaces,
kernel objects without a namespace (keyrings, vsock, bpf, perf), clocks, and everything that reads or steers the page
cache, through which two sandboxes once passed 64 of 64 bits. A foreign architecture (32-bit, x32) is killed.

Not covered: a timing channel through shared caches, memory bandwidth and the read time of shared files remains; and
two trainers, who know nothing secret, can count each other's TCP sockets.
"""

import errno
import functools
import os
import tempfile

import pyseccomp as seccomp

_TRACE = ("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp")
_MOUNT = (
    *(
        "mount",
        "umount",
        "umount2",
        "pivot_root",
        "chroot",
        "move_mount",
        "open_tree",
        "open_tree_attr",
        "mount_setattr",
    ),
    *("fsopen", "fsconfig", "fsmount", "fspick", "setns", "unshare", "open_by_handle_at", "name_to_handle_at"),
)
_KERNEL = (
    *("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "fanotify_init"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "kexec_load", "kexec_file_load"),
    *("init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd"),
    *("syslog", "iopl", "ioperm", "vhangup", "lookup_dcookie", "nfsservctl", "uselib", "modify_ldt"),
    *("sethostname", "setdomainname", "move_pages", "migrate_pages"),
)
_CLOCK = ("settimeofday", "stime", "clock_settime", "clock_adjtime", "adjtimex", "clock_settime64", "clock_adjtime64")
_PAGE_CACHE = ("mincore", "cachestat", "fadvise64", "fadvise64_64", "readahead")
# SysV segments and POSIX queues live outside every size cap of the sandbox. Shared memory is what /dev/shm is for.
_UNCAPPED = ("shmget", "shmat", "msgget", "mq_open")

# Numbers of the whole host: how many processes there are and how much memory is free, and a supply that all share.
# glibc does not look whether sysinfo succeeded, so SC_PHYS_PAGES is an accident inside; /proc/meminfo is the answer.
_HOST_WIDE = ("sysinfo", "io_setup")

_CLONE_NEW = 0x7E020080  # NEWNS CGROUP UTS IPC USER PID NET, and NEWTIME
_MADV_COLD, _MADV_PAGEOUT = 20, 21
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FAMILIES = (1, 16)  # unix, netlink: both private to the network namespace
# torchrun's ranks meet over loopback. Everybody else does without: TCP sockets and their memory are counted for the
# whole host, in /proc/self/net/sockstat, which no mount can cover.
_INTERNET = (2, 10)


def _deny(filter_: seccomp.SyscallFilter, names: tuple[str, ...], *conditions: seccomp.Arg) -> None:
    for name in names:
        try:
            filter_.add_rule(seccomp.ERRNO(errno.EPERM), name, *conditions)
        except (ValueError, OSError):
            continue  # a name that this libseccomp or architecture does not know cannot be called by its name either


def build(*, affinity: bool, memfd: bool, internet: bool) -> seccomp.SyscallFilter:
    """Return the filter. `affinity`, `memfd`, `internet`: may the program choose its CPUs, make memory files, use TCP?

    The first two are harmless where a cpuset and a memory cgroup hold the sandbox, and a way around the lease where
    none do.
    """
    filter_ = seccomp.SyscallFilter(seccomp.ALLOW)
    for group in (_TRACE, _MOUNT, _KERNEL, _CLOCK, _PAGE_CACHE, _UNCAPPED, _HOST_WIDE):
        _deny(filter_, group)
    if not affinity:
        _deny(filter_, ("sched_setaffinity",))
    if not memfd:
        _deny(filter_, ("memfd_create", "memfd_secret"))
    bit = 1
    while bit <= _CLONE_NEW:
        if bit & _CLONE_NEW:
            _deny(filter_, ("clone",), seccomp.Arg(0, seccomp.MASKED_EQ, bit, bit))
        bit <<= 1
    # clone3 hides its flags behind a pointer, where a filter cannot look; libc falls back to clone on ENOSYS.
    filter_.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    # RWF_* flags of preadv2 (NOWAIT) answer "is this page cached?"; without flags it is plain preadv.
    _deny(filter_, ("preadv2", "pwritev2"), seccomp.Arg(5, seccomp.NE, 0))
    for advice in (_MADV_COLD, _MADV_PAGEOUT):
        _deny(filter_, ("madvise",), seccomp.Arg(2, seccomp.MASKED_EQ, 0xFFFFFFFF, advice))
    for request in (_TIOCSTI, _TIOCLINUX):
        _deny(filter_, ("ioctl",), seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, request))
    for family in range(64):
        if family not in (*_FAMILIES, *(_INTERNET if internet else ())):
            filter_.add_rule(seccomp.ERRNO(errno.EAFNOSUPPORT), "socket", seccomp.Arg(0, seccomp.EQ, family))
    filter_.add_rule(seccomp.ERRNO(errno.EAFNOSUPPORT), "socket", seccomp.Arg(0, seccomp.GE, 64))
    return filter_


@functools.cache
def program(*, affinity: bool, memfd: bool, internet: bool) -> bytes:
    """Return the filter as BPF, ready for `bwrap --seccomp`."""
    with tempfile.TemporaryFile() as file:
        build(affinity=affinity, memfd=memfd, internet=internet).export_bpf(file)
        file.seek(0)
        return file.read()


def memory_file(content: bytes, name: str = "holdout") -> int:
    """Return a descriptor, at its start, of an anonymous file that holds `content`."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
