"""`python -m scoring.sandbox.doctor [--json]`: what this host can isolate, what it cannot, and the line to type.

Every answer about a running sandbox comes from a running sandbox: a canary is planted and looked for, a listener is
opened and called. A check that could not be made counts as failed. Exit 0 when runs can be sealed here, 1 otherwise;
warnings (a weaker level, no control groups) do not change the exit status, they are named on every receipt.

Nowhere isolated: the kernel itself, and timing through caches, memory bandwidth and shared read-only files.
"""

import argparse
import json
import os
import socket
import sys
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from scoring.sandbox import box, bwrap, cgroups, interpreter, syscalls
from scoring.sandbox.spec import Caps, SandboxError, Spec

Grade = Literal["ok", "warning", "failed"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at: grade, what was found, and the remedy (one line to type) unless all is well."""

    name: str
    grade: Grade
    found: str
    remedy: str = ""


def check_bubblewrap() -> Finding:
    """Is bubblewrap there?"""
    try:
        return Finding("bubblewrap", "ok", bwrap.find_bwrap())
    except SandboxError:
        return Finding("bubblewrap", "failed", "not installed", "apt-get install -y bubblewrap")


def _sysctl(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:
        return None


def check_namespaces() -> Finding:
    """May an ordinary user make a user namespace? Debian and Ubuntu have switches for it."""
    if _sysctl("user/max_user_namespaces") == "0":
        return Finding("user namespaces", "failed", "switched off", "sysctl -w user.max_user_namespaces=15000")
    if _sysctl("kernel/unprivileged_userns_clone") == "0":
        remedy = "sysctl -w kernel.unprivileged_userns_clone=1"
        return Finding("user namespaces", "failed", "switched off for ordinary users", remedy)
    if _sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
        remedy = "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        if not Path("/etc/apparmor.d/bwrap-userns-restrict").exists():  # shipped by Ubuntu, not loaded everywhere
            return Finding("user namespaces", "failed", "restricted by AppArmor", remedy)
        return Finding("user namespaces", "ok", "restricted by AppArmor, with a profile that lets bubblewrap")
    return Finding("user namespaces", "ok", f"{_sysctl('user/max_user_namespaces') or 'no limit'} allowed")


def check_seccomp() -> Finding:
    """Can the filter be built, and does the kernel take filters?"""
    if _sysctl("kernel/seccomp/actions_avail") is None:
        return Finding("seccomp", "failed", "this kernel has no seccomp filters", "uname -r  # boot a kernel with it")
    try:
        size = len(syscalls.program(affinity=False, memfd=False, internet=False))
    except (OSError, ValueError, RuntimeError) as error:
        return Finding("seccomp", "failed", f"the filter cannot be built ({error})", "apt-get install -y libseccomp2")
    return Finding("seccomp", "ok", f"filter of {size // 8} instructions")


def check_level() -> Finding:
    """Has each part a user id of its own?"""
    if os.geteuid() == 0:
        return Finding("isolation level", "ok", "full: trainer, model server and scorer have user ids of their own")
    found = "user: all parts share your user id, kept apart by namespaces alone"
    return Finding("isolation level", "warning", found, f"sudo {sys.executable} -m scoring.sandbox.doctor")


def check_cgroups() -> Finding:
    """Which control groups may be used?"""
    group = cgroups.create(f"doctor.{uuid.uuid4().hex[:8]}", memory_bytes=1 << 28, processes=16, cpus=(0,))
    group.remove()
    missing = sorted({"memory", "pids", "cpuset"} - set(group.folders))
    found = f"{group.version}: {', '.join(group.controllers) or 'no controller'}"
    if not missing:
        return Finding("control groups", "ok", found)
    found += f" (without {', '.join(missing)}: watched by polling and per-process limits)"
    remedy = f"systemd-run --user --scope -p Delegate=yes {sys.executable} -m scoring.sandbox.doctor"
    return Finding("control groups", "warning", found, remedy)


_PROBE = """
import json, os, socket, sys
canary, port, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def reaches(family, address):
    try:
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(2)
            s.connect(address)
        return True
    except OSError:
        return False
def reads(path):
    try:
        return open(path).read() != ""
    except OSError:
        return False
found = [os.path.join(place, n) for place, folders, names in os.walk("/", topdown=True)
         for n in names if n == os.path.basename(canary) and not place.startswith("/proc")]
writable = [p for p in ("/", "/dev", "/etc", "/usr", "/work", "/proc/sys/kernel") if os.access(p, os.W_OK)]
print(json.dumps({
    "canary": reads(canary) or bool(found),
    "network": reaches(2, ("127.0.0.1", port)) or reaches(2, ("169.254.169.254", 80)) or reaches(1, "\\0" + name),
    "proc": reads("/proc/vmstat") or reads("/proc/kallsyms") or reads("/proc/interrupts"),
    "environ": "HOLDOUT_DOCTOR_CANARY" in open("/proc/1/environ").read(),
    "writable": writable,
}))
"""


def _probe() -> dict[str, object]:
    """Run the probe in a real sandbox, with a canary and two listeners outside; raises SandboxError."""
    name = f"holdout-doctor-{uuid.uuid4().hex}"
    os.environ["HOLDOUT_DOCTOR_CANARY"] = name
    with (
        tempfile.TemporaryDirectory(prefix="holdout-doctor-") as folder,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as unix,
    ):
        canary = Path(folder, f"canary-{uuid.uuid4().hex}")
        canary.write_text("sealed", encoding="ascii")
        os.chmod(folder, 0o755)  # noqa: S103 readable for all on purpose: only the mounts may hide it
        unix.bind(f"\0{name}")
        unix.listen()
        port = str(tcp.getsockname()[1])
        sandbox = box.start(
            Spec(
                name=f"doctor.{uuid.uuid4().hex[:8]}",
                slot="trainer",
                argv=(interpreter.PYTHON, "-c", _PROBE, str(canary), port, name),
                mounts=interpreter.mounts(),
                env=interpreter.environment(1),
                caps=Caps(1 << 29, 32, 256, 1 << 24, 1 << 22, 1 << 22),
                cpus=(min(os.sched_getaffinity(0)),),
            )
        )
        try:
            sandbox.go()
            said = b""
            while chunk := os.read(sandbox.output, 65536):
                said += chunk
        finally:
            sandbox.close()
    try:
        answers = json.loads(said)
    except ValueError:
        raise SandboxError(f"the probe said: {said.decode(errors='replace').strip()[-300:]}") from None
    if not isinstance(answers, dict):
        raise SandboxError("the probe's answer is not an object")
    return answers


def check_inside() -> Iterator[Finding]:
    """Look out of a real sandbox."""
    remedy = f"{sys.executable} -m pytest tests/scoring/sandbox"
    try:
        answers = _probe()
    except (SandboxError, OSError) as error:
        yield Finding("a real sandbox", "failed", str(error), "apt-get install -y --reinstall bubblewrap")
        return
    finally:
        os.environ.pop("HOLDOUT_DOCTOR_CANARY", None)
    yield Finding("a real sandbox", "ok", "started and ended")
    for key, good, bad in (
        ("canary", "a file of this host cannot be read inside", "a file of this host can be read inside"),
        ("network", "no network inside", "the network can be reached from inside"),
        ("proc", "host-wide /proc files are masked", "host-wide /proc files can be read inside"),
        ("environ", "the environment of this process does not show inside", "this process's environment shows inside"),
        ("writable", "the system is read-only inside", f"writable inside: {answers.get('writable')}"),
    ):
        leaks = bool(answers.get(key, True))
        yield Finding(key, "failed" if leaks else "ok", bad if leaks else good, remedy if leaks else "")


def examine() -> list[Finding]:
    """Make every check; a sandbox is started only where bubblewrap is."""
    findings = [check_bubblewrap(), check_namespaces(), check_seccomp(), check_level(), check_cgroups()]
    if findings[0].grade == "ok":
        findings += check_inside()
    return findings


def main(arguments: list[str] | None = None) -> int:
    """Print the findings; 1 when something that sealing needs is missing."""
    parser = argparse.ArgumentParser(prog="python -m scoring.sandbox.doctor", description="What can this host isolate?")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    options = parser.parse_args(arguments)
    findings = examine()
    failed = any(finding.grade == "failed" for finding in findings)
    if options.json:
        text = json.dumps({"sealed": not failed, "findings": [asdict(f) for f in findings]}, indent=2)
    else:
        marks = {"ok": "ok     ", "warning": "warning", "failed": "FAILED "}
        lines = [
            f"{marks[f.grade]}  {f.name}: {f.found}" + (f"\n         $ {f.remedy}" if f.remedy else "")
            for f in findings
        ]
        lines.append(
            "Never isolated: the kernel itself; timing through caches, memory bandwidth and shared read-only files."
        )
        text = "\n".join(lines)
    print(text)  # noqa: T201 this is a command
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
