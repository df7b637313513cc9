"""What a program inside can see and touch. Each test is one wall, and fails without it."""

import ctypes
import os
import socket
from pathlib import Path

import pytest

from scoring.sandbox import box, uids
from tests.scoring.sandbox import inside

pytestmark = pytest.mark.sandbox
PIDFD_GETFD = 438


def test_the_program_is_a_nobody_to_the_host() -> None:
    seen = inside.run("print(os.getuid(), tried(lambda: open('/proc/sys/kernel/hostname', 'w')))")
    assert seen.host_uid in (uids.LENT if os.geteuid() == 0 else (os.getuid(),))
    assert seen.host_uid != 0
    assert seen.lines[0].split()[1] in ("EACCES", "EROFS")


def test_it_holds_no_capability_and_cannot_gain_one() -> None:
    seen = inside.run("print(open('/proc/self/status').read())")
    facts = dict(line.split(":\t", 1) for line in seen.lines if ":\t" in line)
    assert [facts[name] for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")] == ["0" * 16] * 4
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")


def test_every_namespace_is_its_own() -> None:
    names = ("user", "pid", "ipc", "uts", "net", "mnt", "cgroup")
    seen = inside.run(f"for n in {names!r}: print(os.readlink('/proc/self/ns/' + n))")
    assert not set(seen.lines) & {os.readlink(f"/proc/self/ns/{name}") for name in names}
    assert seen.settings["namespaces"] == sorted(names)


def test_only_namespaces_that_differ_are_named() -> None:
    assert box.namespaces(os.getpid()) == []
    seen = inside.run("pass")
    assert "time" not in seen.settings["namespaces"]  # type: ignore[operator]  # nobody made one


def test_the_environment_is_the_list_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDOUT_CANARY", "sealed-word")
    seen = inside.run(
        """
        for pid in filter(str.isdigit, os.listdir("/proc")):
            print(open(f"/proc/{pid}/environ").read())
        print(sorted(os.environ))
        """
    )
    assert "sealed-word" not in seen.text
    assert "'OMP_NUM_THREADS'" in seen.text
    assert "GOMP_SPINCOUNT=0" in seen.text


def test_no_descriptor_is_inherited(tmp_path: Path) -> None:
    (tmp_path / "canary").write_text("sealed")
    with open(tmp_path / "canary") as file:
        os.set_inheritable(file.fileno(), True)
        seen = inside.run("print(sorted(int(n) for n in os.listdir('/proc/self/fd')))\nprint(os.listdir('/proc/1/fd'))")
    assert seen.lines[0] == "[0, 1, 2, 3]"  # 3 lists the folder
    assert len(seen.lines[1].split(",")) == 5  # init has its control socket and the pipe for its last word beside


def test_only_the_three_capped_folders_can_be_written() -> None:
    seen = inside.run(
        """
        for place in ("/", "/dev", "/work", "/etc", "/usr", "/opt", "/opt/venv", "/holdout", "/sys", "/root", "/proc"):
            if os.path.isdir(place):
                print(place, tried(lambda: open(place + "/x", "w")))
        for place in ("/tmp", "/dev/shm", "/work/out"):
            print("ok", place, tried(lambda: open(place + "/x", "w")))
        """
    )
    for line in seen.lines:
        *place, answer = line.split()
        assert (answer == "allowed") == (place[0] == "ok"), line


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "/work/out"])
def test_a_writable_folder_has_a_ceiling(place: str) -> None:
    seen = inside.run(
        f"""
        written = 0
        try:
            with open("{place}/x", "wb") as file:
                while True:
                    written += file.raw.write(bytes(1 << 16))
        except OSError as error:
            print(errno.errorcode[error.errno], written)
        """
    )
    word, written = seen.text.split()
    assert word == "ENOSPC"
    assert int(written) <= 8 * inside.MIB


def test_there_is_no_way_out_by_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        seen = inside.run(
            f"""
            import socket
            for family, address in ((2, ("127.0.0.1", {port})), (2, ("1.1.1.1", 53)), (2, ("169.254.169.254", 80)),
                                    (10, ("::1", {port})), (10, ("2606:4700:4700::1111", 53))):
                print(tried(lambda: socket.socket(family, socket.SOCK_STREAM).connect(address)))
            print(tried(lambda: socket.socket(40, socket.SOCK_STREAM)), [n for _, n in socket.if_nameindex()])
            """
        )
    assert "allowed" not in seen.text
    assert seen.lines[-1] == "EAFNOSUPPORT ['lo']"


def test_an_abstract_socket_of_the_host_is_out_of_reach() -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0holdout-test-{os.getpid()}")
        server.listen()
        seen = inside.run(
            f"import socket; print(tried(lambda: socket.socket(1).connect('\\0holdout-test-{os.getpid()}')))"
        )
    assert seen.text.strip() == "ECONNREFUSED"


def test_a_canary_of_the_host_is_nowhere(tmp_path: Path) -> None:
    (tmp_path / "canary-sealed.txt").write_text("sealed")
    project = Path(__file__).resolve().parents[3]
    seen = inside.run(
        f"""
        print(os.path.exists({str(tmp_path)!r}), os.path.exists({str(project / "pyproject.toml")!r}))
        skip = ("/usr", "/proc", sys.base_prefix)
        for place, folders, names in os.walk("/"):
            folders[:] = [f for f in folders if not os.path.join(place, f).startswith(skip)]
            print(*(n for n in names if "canary-sealed" in n or n == "db.sqlite3"), end="")
        """
    )
    assert seen.text.strip() == "False False"


def test_host_wide_proc_files_say_nothing() -> None:
    seen = inside.run(
        """
        kept = {"self", "thread-self", "net", "mounts", "sys", "filesystems", "version", "sysvipc"}
        for name in sorted(n for n in os.listdir("/proc") if not n.isdigit() and n not in kept):
            path = "/proc/" + name
            if os.path.isdir(path):
                print(name, "folder", os.listdir(path))
            elif name in ("cpuinfo", "meminfo", "stat"):
                print(name, "picture", "cpu MHz" in open(path).read() or "intr" in open(path).read())
            else:
                print(name, "file", tried(lambda: print(open(path, "rb").read().strip(b"0./1 \\n"), end=" ")))
        """
    )
    for line in seen.lines:
        *empty, _, kind, content = line.split(" ")
        if kind == "file":
            assert content == "EACCES" or empty == ["b''"], line
        else:
            assert content == {"folder": "[]", "picture": "False"}[kind], line
    assert "vmstat file EACCES" in seen.lines


def test_host_wide_counters_of_the_kernels_settings_are_out_of_sight() -> None:
    seen = inside.run(
        """
        print(sorted(n for n in os.listdir("/proc/sys") if os.listdir("/proc/sys/" + n)))
        print(os.path.exists("/proc/sys/kernel/pty/nr"), open("/proc/sys/kernel/ostype").read().strip())
        print(tried(os.openpty), tried(lambda: open("/proc/sys/fs/x", "w")))
        """
    )
    assert seen.lines == ["['kernel', 'net', 'vm']", "False Linux", "ENOENT EROFS"]


def test_numbers_of_the_machine_are_the_leases() -> None:
    seen = inside.run("print(os.cpu_count(), len(os.sched_getaffinity(0)), os.uname().nodename)")
    assert seen.text.split() == ["1", "1", "holdout"]


def test_whoever_takes_over_process_one_can_send_no_descriptor_out() -> None:
    """The program may write into its init's memory, so what init can send, the program can."""
    sandbox = box.start(inside.spec("import signal; signal.pause()"))
    try:
        arguments = Path(f"/proc/{sandbox.init_pid}/cmdline").read_text()
        number = int(arguments.partition("init.py\0")[2].partition("\0")[0])
        taken = ctypes.CDLL(None).syscall(PIDFD_GETFD, sandbox.init_pidfd, number, 0)
        with socket.socket(fileno=taken) as way, pytest.raises(BrokenPipeError):
            socket.send_fds(way, [b"x"], [0])
    finally:
        sandbox.close()


def test_the_output_folder_is_read_after_everything_inside_is_dead() -> None:
    seen = inside.run(
        """
        open("/work/out/final.pt", "w").write("weights")
        if os.fork() == 0:
            import time
            while True:
                open("/work/out/final.pt", "a").write("x")
        """
    )
    before = len(seen.files["final.pt"])
    assert seen.files["final.pt"].startswith(b"weights")
    assert before == len(seen.files["final.pt"])
    assert seen.status == 0


def test_the_program_is_not_process_one_and_orphans_are_reaped() -> None:
    seen = inside.run(
        """
        import subprocess, time
        subprocess.run(["/bin/sh", "-c", "(true & ) ; exit 0"], check=True)
        deadline = time.monotonic() + 5
        def zombies():
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try: found.append(") Z" in open(f"/proc/{pid}/stat").read())
                except OSError: pass
            return any(found)
        while zombies() and time.monotonic() < deadline: pass
        print(os.getpid() != 1, zombies())
        """
    )
    assert seen.text.split() == ["True", "False"]


def test_the_control_groups_in_force_are_named() -> None:
    seen = inside.run("pass")
    assert seen.settings["cgroup"] in ("v1", "v2", "none")
    assert (seen.settings["controllers"] == []) == (seen.settings["cgroup"] == "none")


def test_everything_inside_is_in_every_control_group_and_the_guard_in_none() -> None:
    sandbox = box.start(inside.spec("import signal; signal.pause()"))
    try:
        for folder in sandbox.group.folders.values():
            members = (folder / "cgroup.procs").read_text().split()
            assert str(sandbox.init_pid) in members, folder
            assert str(sandbox.process.pid) not in members, folder
    finally:
        sandbox.close()
