"""Private copies of what a sandbox reads, each checked against the hash that the job pins, itself or by the manifest.

Only `dev.bin` of a shard set built before its hash was noted is checked by its number of tokens instead.

Every sandbox gets its own copies: through the page cache of a shared read-only file two sandboxes once passed 64 of
64 bits. Copies go away with the run folder.
"""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.job import Host, Job
from scoring.kits import kit_sha256
from scoring.room import is_full
from scoring.sandbox.seal import copy_out
from scoring.sandbox.spec import Bind, Mount
from scoring.shards import Manifest, ShardError, read_manifest


class InputRefused(Exception):
    """A file of the job is missing or not the one that the job pins; the sentence names it."""


@dataclass(frozen=True)
class Inputs:
    """Copies in the run folder and where each goes inside."""

    folder: Path
    manifest: Manifest
    mounts: tuple[Mount, ...]

    def open_gate(self) -> None:
        """Show the rest of the data: one rename each, into a folder that is bound read-only inside."""
        held = self.folder / "held"
        for path in sorted(held.glob("*/*")):
            os.rename(path, self.folder / path.relative_to(held))


def copy(source: Path, target: Path, sha256: str | None = None) -> None:
    """Copy one file to the new `target`, read-only. Raises InputRefused when it is missing or another than pinned."""
    digest = hashlib.sha256()
    try:
        with open(source, "rb") as read, open(target, "xb") as write:
            while chunk := read.read(1 << 20):
                digest.update(chunk)
                write.write(chunk)
    except OSError as error:
        if is_full(error):  # of the copy: nothing is wrong with the file itself
            raise
        raise InputRefused(f"{source.name} cannot be read ({error.strerror})") from None
    target.chmod(0o444)
    if sha256 is not None and digest.hexdigest() != sha256:
        raise InputRefused(f"{source.name} is not the file that the job pins")


def _constants(job: Job, manifest: Manifest) -> dict[str, Any]:
    """Return what the kit reads instead of an environment."""
    return {
        "seed": job.seed,
        "vocab_size": manifest.vocab_size,
        "bos": manifest.bos,
        "budget_seconds": job.clock.budget_seconds,
        "startup_cap_seconds": job.clock.startup_cap_seconds,
        "excluded_steps": job.clock.excluded_steps,
        "term_seconds": job.clock.term_seconds,
        "eval_timeout_seconds": job.evaluation.timeout_seconds,
        "seq_len": job.evaluation.seq_len,
        "batch_size": job.evaluation.batch_size,
        "data_dir": "/holdout/data",
        "train_files": [{"name": file.name, "tokens": file.tokens} for file in manifest.train_files],
        "gate_files": manifest.gate_files,
        "dev_file": "/holdout/dev/dev.bin",
        "tokenizer": "/holdout/tokenizer.json",
        "token_bytes": "/holdout/token_bytes.bin",
        "steps_fifo": "/holdout/steps",
    }


def _common(job: Job, host: Host, folder: Path) -> tuple[Manifest, list[Mount]]:
    """Copy script, kit, constants and tokenizer; return their mounts."""
    folder.mkdir(mode=0o755)
    try:
        manifest = read_manifest(host.open_dir / "manifest.json")
    except (OSError, ShardError) as error:
        raise InputRefused(f"the shard set cannot be read: {error}") from None
    if manifest.sha256 != job.shards.manifest_sha256:
        raise InputRefused("manifest.json is not the one that the job pins")
    copy(host.script_path, folder / "script", job.script_sha256)
    (folder / "constants.json").write_text(json.dumps(_constants(job, manifest)), encoding="utf-8")
    (folder / "constants.json").chmod(0o444)
    for key in ("tokenizer", "token_bytes"):
        name = "tokenizer.json" if key == "tokenizer" else "token_bytes.bin"
        copy(host.open_dir / name, folder / name, _pin(manifest.raw, f"{key}_sha256"))
    kit = folder / "kit"
    try:
        shutil.copytree(host.kit_dir, kit, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    except OSError as error:
        if is_full(error):
            raise
        raise InputRefused(f"the kit cannot be read: {error}") from None
    _make_readable(kit)
    files = {path.relative_to(kit).as_posix(): path.read_bytes() for path in kit.rglob("*") if path.is_file()}
    if kit_sha256(files) != job.kit_sha256:
        raise InputRefused("the kit is not the one that the job pins")
    names = ("script", "constants.json", "tokenizer.json", "token_bytes.bin")
    mounts: list[Mount] = [Bind(folder / name, f"/holdout/{name}") for name in names]
    mounts.append(Bind(folder / "script", "/work/train.py"))
    mounts += [Bind(path, f"/work/{path.name}") for path in sorted(kit.iterdir())]
    return manifest, mounts


def copy_dev(host: Host, manifest: Manifest, target: Path) -> None:
    """Copy the dev shard to the new `target`. Raises InputRefused."""
    copy(host.open_dir / "dev.bin", target, _pin(manifest.raw.get("dev", {}), "sha256"))


def _pin(table: dict[str, Any], name: str) -> str:
    pin = table.get(name)
    if not isinstance(pin, str):
        raise InputRefused(f"manifest.json pins no {name}")
    return pin


def _make_readable(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        os.chmod(place, 0o755)  # noqa: S103 the sandbox's own user must read it; the run folder above is 0700
        for name in names:
            os.chmod(os.path.join(place, name), 0o444)


def for_training(job: Job, host: Host, folder: Path) -> Inputs:
    """Copy what a trainer reads into the new `folder`: only the first files of the data are visible yet.

    The dev shard is held back too: a script may train on it, and whatever it may train on before the clock starts is
    free.
    The boundary FIFO is to be given to the trainer's user. Raises InputRefused.
    """
    manifest, mounts = _common(job, host, folder)
    for name in ("data", "dev", "held", "held/data", "held/dev"):
        (folder / name).mkdir(mode=0o755)
    for index, file in enumerate(manifest.train_files):
        place = "data" if index < manifest.gate_files else "held/data"
        copy(host.open_dir / "train" / file.name, folder / place / file.name, file.sha256)
    copy_dev(host, manifest, folder / "held" / "dev" / "dev.bin")
    os.mkfifo(folder / "steps", 0o600)
    mounts += [
        Bind(folder / "data", "/holdout/data"),
        Bind(folder / "dev", "/holdout/dev"),
        Bind(folder / "steps", "/holdout/steps"),
    ]
    return Inputs(folder, manifest, tuple(mounts))


def for_serving(job: Job, host: Host, folder: Path) -> Inputs:
    """Copy what a model server reads: script, kit and the sealed checkpoint; no data. Raises InputRefused."""
    manifest, mounts = _common(job, host, folder)
    assert job.checkpoint_sha256 is not None  # the job's own validator
    source = host.checkpoints_dir / job.checkpoint_sha256
    try:
        fd = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        raise InputRefused("the sealed checkpoint is not on this host") from None
    try:
        digest = copy_out(fd, folder / "out", max_bytes=job.limits.output_bytes, max_files=job.limits.output_files)
    finally:
        os.close(fd)
    if digest != job.checkpoint_sha256:
        raise InputRefused("the sealed checkpoint was changed")
    for place, _, _ in os.walk(folder / "out"):
        os.chmod(place, 0o555)  # noqa: S103 as above
    mounts.append(Bind(folder / "out", "/work/out"))
    return Inputs(folder, manifest, tuple(mounts))
