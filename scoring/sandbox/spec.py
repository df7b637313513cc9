"""What a sandbox is asked to be: data only, no behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Slot = Literal["trainer", "server", "scorer"]
SLOTS: dict[Slot, int] = {"scorer": 61002}  # fixed, because sealed files belong to it; the others borrow (uids.py)


class SandboxError(Exception):
    """The host could not build or end a sandbox; the sentence says what to do about it."""


@dataclass(frozen=True)
class Bind:
    """A file or folder of the host, read-only inside at `dest`."""

    source: Path
    dest: str


@dataclass(frozen=True)
class Data:
    """Bytes that appear as a read-only file at `dest` and never touch a disk."""

    content: bytes
    dest: str
    mode: int = 0o444


@dataclass(frozen=True)
class Link:
    """A symbolic link at `dest`."""

    target: str
    dest: str


Mount = Bind | Data | Link


@dataclass(frozen=True)
class Caps:
    """Ceilings of one sandbox, in bytes and counts."""

    memory_bytes: int
    processes: int
    open_files: int
    file_bytes: int
    tmp_bytes: int
    output_bytes: int | None = None  # None: there is no writable /work/out at all


@dataclass(frozen=True)
class Spec:
    """One program in one sandbox.

    `argv` runs in `cwd` with exactly `env`; `keep_fds` are the only descriptors beyond 0, 1 and 2 that it gets, under
    their own numbers. `name` is unique on this host while the sandbox lives. `cpus` are the CPUs that it may use.
    """

    name: str
    slot: Slot
    argv: tuple[str, ...]
    mounts: tuple[Mount, ...]
    env: Mapping[str, str]
    caps: Caps
    cpus: tuple[int, ...]
    cwd: str = "/work"
    stdin: int | None = None
    stderr: int | None = None  # None: where stdout goes
    keep_fds: tuple[int, ...] = ()
