"""The kit as a download: what a script finds in the sandbox, laid out so that it works on anybody's machine.

    <competition>/  prepare.py …  constants.json  tokenizer.json  token_bytes.bin  dev.bin  train/000.bin …

Every name comes from the manifest of the open folder; nothing is listed, so nothing else can slip in. An archive is
named by all that it is made from and built once.
"""

import hashlib
import json
import secrets
import zipfile
from pathlib import Path
from typing import Any

from leaderboard.competitions.kits import kit_path
from leaderboard.competitions.models import Phase
from leaderboard.env import env
from scoring.room import is_full

CHUNK = 1 << 20
NO_SEED = 0  # a run's is drawn when it is submitted, and nobody knows it before


class NotHere(Exception):
    """This host does not have a file of the kit, or has another one, in a sentence."""


def kit_archive(phase: Phase) -> Path:
    """Return the zip file of a phase's kit with its open shards, built on first need. Raises NotHere."""
    competition = phase.competition
    manifest, sha256 = competition.shards.manifest, competition.kit.sha256
    constants = json.dumps(constants_of(phase), indent=1)
    parts = [competition.slug, sha256, competition.shards.manifest_sha256, constants]
    target = env().home / "downloads" / f"{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}.zip"
    if target.exists():
        return target
    target.parent.mkdir(exist_ok=True, mode=0o700)
    fresh = target.with_suffix(f".{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(fresh, "w") as archive:
            for name, source, pinned in [*_of_kit(sha256), *_of_shards(competition.shards.name, manifest)]:
                _add(archive, f"{competition.slug}/{name}", source, pinned)
            archive.writestr(_entry(f"{competition.slug}/constants.json"), constants)
        fresh.replace(target)  # in one step: a file of that name is whole
    except OSError as error:
        if is_full(error):  # of the archive: every file of the kit may be there
            raise
        raise NotHere(f"a file of the kit cannot be read: {error}") from error
    finally:
        fresh.unlink(missing_ok=True)
    return target


def constants_of(phase: Phase) -> dict[str, Any]:
    """Return what the kit reads instead of an environment: the runner's keys, with paths beside prepare.py."""
    rules, manifest = phase.rules, phase.competition.shards.manifest
    return {
        "seed": NO_SEED,
        "vocab_size": manifest["vocab_size"],
        "bos": manifest["bos"],
        "budget_seconds": rules.budget.seconds,
        "startup_cap_seconds": rules.budget.startup_cap_seconds,
        "excluded_steps": rules.budget.excluded_steps,
        "term_seconds": rules.budget.term_seconds,
        "eval_timeout_seconds": rules.budget.eval_timeout_seconds,
        "seq_len": rules.evaluation.seq_len,
        "batch_size": rules.evaluation.batch_size,
        "data_dir": "train",
        "train_files": [{"name": file["name"], "tokens": file["tokens"]} for file in manifest["train"]["files"]],
        "gate_files": manifest["gate_files"],
        "dev_file": "dev.bin",
        "tokenizer": "tokenizer.json",
        "token_bytes": "token_bytes.bin",
        "steps_fifo": "",  # nobody counts steps at home
    }


def _of_kit(sha256: str) -> list[tuple[str, Path, str | None]]:
    folder = kit_path(sha256)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        raise NotHere(f"there is no kit {sha256[:12]} on this host")
    return [(path.relative_to(folder).as_posix(), path, None) for path in files]


def _of_shards(name: str, manifest: dict[str, Any]) -> list[tuple[str, Path, str | None]]:
    folder = env().home / "shards" / name
    train = [(f"train/{file['name']}", file["sha256"]) for file in manifest["train"]["files"]]
    tables = [("tokenizer.json", manifest["tokenizer_sha256"]), ("token_bytes.bin", manifest["token_bytes_sha256"])]
    return [(path, folder / path, pinned) for path, pinned in [*tables, ("dev.bin", None), *train]]


def _add(archive: zipfile.ZipFile, name: str, source: Path, pinned: str | None) -> None:
    """Copy a file in; one that is not what the manifest pins stops the archive."""
    digest = hashlib.sha256()
    with source.open("rb") as file, archive.open(_entry(name), "w", force_zip64=True) as entry:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            entry.write(chunk)
    if pinned is not None and digest.hexdigest() != pinned:
        raise NotHere(f"{source.name} is not the file that the manifest pins")


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an entry of no particular day, so that the same files make the same archive."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry
