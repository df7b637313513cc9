"""The scorer's sandbox: the one sealed shard and its key, what probes need, nothing of the submission."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring import inputs
from scoring.job import Host, Job
from scoring.sandbox import interpreter, runfolder
from scoring.sandbox.spec import SLOTS, Bind, Caps, Data, Mount, Spec

_PACKAGE = Path(__file__).resolve().parent
_ROOM = "/opt/holdout"  # where the scorer finds our own code
_SEALED = "/holdout/sealed"
_DEV = "/holdout/dev.bin"
_CAPS = Caps(memory_bytes=1 << 33, processes=256, open_files=1024, file_bytes=1 << 40, tmp_bytes=1 << 26)


@dataclass(frozen=True)
class Ends:
    """The descriptors that a scorer is given: its ends of both channels, and where it writes a reference."""

    channel: int
    probe_channel: int
    reference: int


def reference_path(host: Host, sha256: str, target: str) -> Path:
    """Return where the encrypted reference losses of a target lie on this host."""
    assert host.sealed_dir is not None  # the job's validator
    return host.sealed_dir / "references" / f"{sha256}.{target}"


def keep_reference(host: Host, sha256: str, target: str, data: bytes) -> None:
    """Store encrypted reference losses, for the owner of the sealed folder alone, in one step."""
    path = reference_path(host, sha256, target)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
            file.write(data)
        if os.geteuid() == 0:
            owner = os.stat(path.parent.parent)
            for made in (path.parent, partial):
                os.chown(made, owner.st_uid, owner.st_gid)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)  # there is one only where the disk was full


def order(job: Job, bos: int, cpus: tuple[int, ...], ends: Ends) -> bytes:
    """Return the scorer's one line of orders."""
    probes = job.probes
    assert probes is not None  # the job's validator
    told: dict[str, Any] = {
        "shard": f"{_SEALED}/target.shard",
        "key": f"{_SEALED}/key",
        "commitment": job.shards.commitment,
        "checkpoint": job.checkpoint_sha256,
        "seq_len": job.evaluation.seq_len,
        "batch_size": job.evaluation.batch_size,
        "vocab_size": job.evaluation.vocab_size,
        "token_bytes": "/holdout/token_bytes.bin",
        "bos": bos,
        "timeout_seconds": job.evaluation.timeout_seconds,
        "channel_fd": ends.channel,
        "threads": len(cpus),
        "device": "cpu",
        "reference_fd": ends.reference if probes.make_reference else None,
    }
    if probes.ask_anything:
        told["probing"] = {
            "strict_per_row": probes.strict_per_row,
            "repeats": probes.repeats,
            "power": probes.power,
            "reference": f"{_SEALED}/reference" if probes.reference_sha256 else None,
            "channel_fd": ends.probe_channel,
            "dev": _DEV,
        }
    return json.dumps(told).encode() + b"\n"


def spec(
    job: Job, host: Host, copies: inputs.Inputs, cpus: tuple[int, ...], ends: Ends, *, stdin: int, stderr: int
) -> Spec:
    """Return the sandbox; the key goes by memory, not by disk. Raises InputRefused."""
    assert host.key_path is not None  # the job's validator
    return Spec(
        name=runfolder.sandbox_name(copies.folder.parent, "scorer"),
        slot="scorer",
        argv=(interpreter.PYTHON, "-m", "scoring.scorer", "score"),
        mounts=(
            *interpreter.mounts(),
            Bind(_PACKAGE, f"{_ROOM}/scoring"),
            *_sealed_mounts(job, host, copies),
            Data(host.key_path.read_bytes(), f"{_SEALED}/key", 0o400),
            Bind(copies.folder / "token_bytes.bin", "/holdout/token_bytes.bin"),
        ),
        env=interpreter.environment(len(cpus)),
        caps=_CAPS,
        cpus=cpus,
        cwd=_ROOM,
        stdin=stdin,
        stderr=stderr,
        keep_fds=(ends.channel, ends.probe_channel, ends.reference),
    )


def _sealed_mounts(job: Job, host: Host, copies: inputs.Inputs) -> list[Mount]:
    assert host.sealed_dir is not None  # the job's validator
    assert job.probes is not None
    target = job.shards.target or ""
    private: list[tuple[Path, str, str | None]] = [(host.sealed_dir / f"{target}.shard", "target.shard", None)]
    reference = job.probes.reference_sha256
    if reference is not None:
        private.append((reference_path(host, reference, target), "reference", reference))
    mounts: list[Mount] = []
    for source, name, sha256 in private:
        own = copies.folder / name
        inputs.copy(source, own, sha256)
        if os.geteuid() == 0:
            os.chown(own, SLOTS["scorer"], SLOTS["scorer"])
        own.chmod(0o400)
        mounts.append(Bind(own, f"{_SEALED}/{name}"))
    if job.probes.ask_anything:
        inputs.copy_dev(host, copies.manifest, copies.folder / "dev.bin")
        mounts.append(Bind(copies.folder / "dev.bin", _DEV))
    return mounts
