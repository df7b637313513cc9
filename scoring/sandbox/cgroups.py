"""Control groups v1, v2 or none: whatever this host lets us use, named.

A group is made below the group that we are in ourselves, so a limit that our host set for us still holds. v1 has one
tree per controller, v2 one tree for all. Where a controller is not to be had, the meter watches by polling instead
(`Group.controllers` says which; it is on the receipt): polling sees a memory limit up to a tenth of a second late.
"""

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

WANTED = ("memory", "pids", "cpuset", "cpuacct", "freezer")
_PREFIX = "holdout-"


def _mounts() -> tuple[dict[str, Path], Path | None]:
    """Return (v1 controller -> our own folder in its tree, our own folder in the v2 tree)."""
    own: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, names, path = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    v1: dict[str, Path] = {}
    v2: Path | None = None
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        root, point = left.split(" ")[3:5]
        if kind == "cgroup2":
            v2 = _below(point, root, own.get("", "/"))
        elif kind == "cgroup":
            for name in options.split(" ")[-1].split(","):
                if name in WANTED and name in own:
                    v1[name] = _below(point, root, own[name])
    return v1, v2


def _below(point: str, root: str, path: str) -> Path:
    relative = os.path.relpath(path, root) if path.startswith(root) else path.lstrip("/")
    return Path(point, relative)


def _put(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def _write(path: Path, text: str) -> bool:
    try:
        _put(path, text)
    except OSError:
        return False
    return True


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


def _counter(text: str, name: str) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


@dataclass
class Group:
    """The control group of one sandbox; every method is quiet where the host has no such controller."""

    version: str = "none"
    folders: dict[str, Path] = field(default_factory=dict)  # controller -> folder; one shared folder in v2

    @property
    def controllers(self) -> list[str]:
        """Return the controllers in force, sorted."""
        return sorted(self.folders)

    @property
    def joined_from_inside(self) -> bool:
        """Is `join` the quick way in, and `add` the slow one?"""
        return self.version != "v2"

    def join(self) -> None:
        """Move the calling process, which has one thread, in; at once, in v1 alone. Raises OSError.

        Who moves another process, or more than one thread, waits until every CPU has looked up from its work (6 to
        15 ms): only a thread that moves itself cannot end or split under the kernel's hands. v2 takes whole processes.
        """
        for folder in dict.fromkeys(self.folders.values()):
            _put(folder / "tasks", "0")

    def add(self, pid: int) -> None:
        """Move a process in. Raises OSError."""
        for folder in dict.fromkeys(self.folders.values()):
            _put(folder / "cgroup.procs", str(pid))

    def out_of_memory(self) -> bool:
        """Has the kernel killed a process of this group for memory?"""
        folder = self.folders.get("memory")
        name = "memory.events" if self.version == "v2" else "memory.oom_control"
        return folder is not None and _counter(_read(folder / name), "oom_kill") > 0

    def processes_refused(self) -> bool:
        """Has the kernel refused this group a process or thread?"""
        folder = self.folders.get("pids")
        return folder is not None and _counter(_read(folder / "pids.events"), "max") > 0

    def memory_bytes(self) -> int | None:
        """Return the bytes in use now."""
        return self._number("memory", "memory.usage_in_bytes", "memory.current")

    def peak_memory_bytes(self) -> int | None:
        """Return the most bytes ever in use."""
        return self._number("memory", "memory.max_usage_in_bytes", "memory.peak")

    def cpu_seconds(self) -> float | None:
        """Return CPU seconds used by the group, the dead included."""
        if (folder := self.folders.get("cpuacct")) is None:
            return None
        if self.version == "v2":
            return _counter(_read(folder / "cpu.stat"), "usage_usec") / 1e6
        return int(_read(folder / "cpuacct.usage") or 0) / 1e9

    def _number(self, controller: str, v1: str, v2: str) -> int | None:
        folder = self.folders.get(controller)
        text = _read(folder / (v2 if self.version == "v2" else v1)).strip() if folder else ""
        return int(text) if text.isdigit() else None

    def freeze(self, frozen: bool) -> None:
        """Stop or resume every process of the group at once."""
        if folder := self.folders.get("freezer"):
            if self.version == "v2":
                _write(folder / "cgroup.freeze", "1" if frozen else "0")
            else:
                _write(folder / "freezer.state", "FROZEN" if frozen else "THAWED")

    def kill(self) -> None:
        """Freeze, signal everything, thaw: nothing runs between the first kill and the last."""
        self.freeze(True)
        for folder in dict.fromkeys(self.folders.values()):
            if self.version == "v2" and _write(folder / "cgroup.kill", "1"):
                continue
            for pid in _read(folder / "cgroup.procs").split():
                with contextlib.suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)
        self.freeze(False)

    def forget(self) -> bool:
        """Drop from memory what the dead of this group have read: file pages, and names that they looked up.

        False where nobody counted it, or some of it stays.
        """
        folder = self.folders.get("memory")
        if folder is None:
            return False
        if self.version == "v2":
            _write(folder / "memory.reclaim", str(self.memory_bytes() or 0))  # an error: less than all was file pages
        else:
            _write(folder / "memory.force_empty", "0")
        told = _read(folder / "memory.stat")
        return bool(told) and _counter(told, "active_file") + _counter(told, "inactive_file") == 0

    def remove(self, patience: float = 5.0) -> bool:
        """Remove the group's folders; False when something is still alive in one after `patience` seconds."""
        deadline = time.monotonic() + patience
        left = list(dict.fromkeys(self.folders.values()))
        while left and time.monotonic() < deadline:
            for folder in tuple(left):
                try:
                    folder.rmdir()
                    left.remove(folder)
                except FileNotFoundError:
                    left.remove(folder)
                except OSError:
                    os.sched_yield()  # a dead process leaves its group a moment after its parent has reaped it
        return not left


def _limit_v1(folder: Path, name: str, memory: int, processes: int, cpus: str) -> bool:
    if name == "memory":
        ok = _write(folder / "memory.limit_in_bytes", str(memory))
        _write(folder / "memory.memsw.limit_in_bytes", str(memory))  # absent without swap accounting
        return ok
    if name == "pids":
        return _write(folder / "pids.max", str(processes))
    if name == "cpuset":
        nodes = _read(folder.parent / "cpuset.mems").strip() or "0"
        return _write(folder / "cpuset.mems", nodes) and _write(folder / "cpuset.cpus", cpus)
    return True


def _create_v1(own: dict[str, Path], name: str, memory: int, processes: int, cpus: str) -> Group:
    group = Group("v1")
    for controller, parent in own.items():
        folder = parent / (_PREFIX + name)
        try:
            folder.mkdir()
        except OSError:
            continue
        if _limit_v1(folder, controller, memory, processes, cpus):
            group.folders[controller] = folder
        else:
            folder.rmdir()
    return group


def _create_v2(parent: Path, name: str, memory: int, processes: int, cpus: str) -> Group:
    folder = parent / (_PREFIX + name)
    try:
        folder.mkdir()
    except OSError:
        return Group()
    for controller in ("memory", "pids", "cpuset"):
        _write(parent / "cgroup.subtree_control", f"+{controller}")  # refused while processes sit in the parent
    group = Group("v2", {"freezer": folder})
    if (folder / "cpu.stat").exists():
        group.folders["cpuacct"] = folder
    if _write(folder / "memory.max", str(memory)):
        _write(folder / "memory.swap.max", "0")
        group.folders["memory"] = folder
    if _write(folder / "pids.max", str(processes)):
        group.folders["pids"] = folder
    if _write(folder / "cpuset.cpus", cpus):
        group.folders["cpuset"] = folder
    return group


def create(name: str, *, memory_bytes: int, processes: int, cpus: tuple[int, ...]) -> Group:
    """Make a group with these ceilings, with as many controllers as this host grants, maybe none."""
    v1, v2 = _mounts()
    cpu_list = ",".join(map(str, cpus))
    group = _create_v1(v1, name, memory_bytes, processes, cpu_list) if v1 else Group()
    if not group.folders and v2 is not None:
        group = _create_v2(v2, name, memory_bytes, processes, cpu_list)
    return group if group.folders else Group()


def sweep(name: str) -> bool:
    """Kill what still lives in group `name`, whose runner is gone, forget what it read, and remove the group.

    False when something does not go away.
    """
    v1, v2 = _mounts()
    groups = [Group("v1", {controller: parent / (_PREFIX + name) for controller, parent in v1.items()})]
    if v2 is not None:
        groups.append(Group("v2", dict.fromkeys(("freezer", "memory"), v2 / (_PREFIX + name))))
    for group in groups:
        group.folders = {controller: folder for controller, folder in group.folders.items() if folder.is_dir()}
        group.kill()
        group.forget()
    gone = [group.remove() for group in groups]
    return all(gone)
