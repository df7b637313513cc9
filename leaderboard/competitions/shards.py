"""Harvest corpora and build shard sets: by starting the programs that may, and registering what they made.

The platform never opens a sealed shard. It reads the manifest, keeps it, and puts its commitments on the ledger.
"""

import hashlib
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.db import transaction

from leaderboard.competitions.models import ShardSet
from leaderboard.env import PROJECT, env
from leaderboard.ledger import services as ledger
from scoring.sandbox.spec import SLOTS
from scoring.shards import Manifest, ShardError, read_manifest

VOCABULARY = 1024
HELD_OUT_BYTES = 150_000  # for each of dev, public and private


class BuildError(Exception):
    """Why there is no corpus or shard set, in a sentence."""


def corpus_path(name: str) -> Path:
    """Return where a corpus is kept. Raises BuildError for a name that could lead elsewhere."""
    return env().home / "corpus" / f"{_checked(name)}.jsonl"


def harvest(*, name: str) -> tuple[Path, bool]:
    """Return the corpus of this name and whether it was made now; one that is there already is kept."""
    path = corpus_path(name)
    if path.exists():
        return path, False
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _start("scoring.corpus", str(path))  # writes beside it and renames: a file of this name is whole
    return path, True


def build(
    *, name: str, corpus: Path, seed: int | None = None, vocab: int | None = None, held_out: int | None = None
) -> tuple[ShardSet, bool]:
    """Return the shard set of this name and whether it was built now.

    A set is built once: its sealed targets are committed to. The same inputs again change nothing, other inputs raise
    BuildError. Without a seed the set gets a secret one: whoever knows seed and corpus can tell who is in which shard.
    """
    folder = env().home / "shards" / _checked(name)
    manifest = folder / "manifest.json"
    asked = {"corpus_sha256": _sha256(corpus), "seed": seed, "vocab": vocab, "held_out_bytes": held_out}
    known = ShardSet.objects.filter(name=name).first()
    if known is not None:
        _same_inputs(known, asked)
        _same_manifest(known, manifest)
        return known, False
    fresh = not manifest.exists()
    if fresh:
        # Decided here and not in a default of the builder's: a set's inputs are kept as what it was built from.
        defaults = {"seed": secrets.randbits(31), "vocab": VOCABULARY, "held_out_bytes": HELD_OUT_BYTES}
        asked = {key: defaults[key] if value is None else value for key, value in asked.items()}
        _build(name, corpus, folder, asked)
    try:
        return register(manifest=read_manifest(manifest), inputs=asked), fresh
    except (OSError, ShardError) as error:
        raise BuildError(f"The shard set {name!r} has no usable manifest: {error}") from error


def _build(name: str, corpus: Path, folder: Path, inputs: dict[str, Any]) -> None:
    sealed = env().home / "sealed"
    arguments = ["--corpus", str(corpus), "--set", name, "--open", str(folder), "--sealed", str(sealed / name)]
    arguments += ["--key", str(sealed / "key"), "--seed", str(inputs["seed"]), "--vocab", str(inputs["vocab"])]
    arguments += ["--held-out-bytes", str(inputs["held_out_bytes"])]
    if os.geteuid() == 0:
        arguments += ["--owner", str(SLOTS["scorer"])]  # where we may, the scorer is an OS user of its own
    _start("scoring.scorer", "build", *arguments)


@transaction.atomic
def register(*, manifest: Manifest, inputs: dict[str, Any]) -> ShardSet:
    """Make a built set known to the site, with its commitments on the ledger."""
    known = {"seed": manifest.seed, "vocab": manifest.vocab_size}  # a set found on disk says these itself
    shards = ShardSet.objects.create(
        name=manifest.name, manifest=manifest.raw, manifest_sha256=manifest.sha256, inputs={**_said(inputs), **known}
    )
    ledger.append(
        kind="shards.registered",
        subject=f"shards:{shards.pk}",
        data={
            "manifest_sha256": manifest.sha256,
            "tokenizer_sha256": manifest.raw["tokenizer_sha256"],
            "public_commitment": manifest.commitments["public"],
            "private_commitment": manifest.commitments["private"],
        },
    )
    return shards


def _said(inputs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in inputs.items() if value is not None}


def _same_inputs(known: ShardSet, asked: dict[str, Any]) -> None:
    for key, value in _said(asked).items():
        if known.inputs.get(key, value) != value:
            raise BuildError(
                f"The shard set {known.name!r} was built from another {key.replace('_', ' ')}, and sealed shards are "
                "never replaced. Choose another name."
            )


def _same_manifest(known: ShardSet, path: Path) -> None:
    if not path.exists() or _sha256(path) != known.manifest_sha256:
        raise BuildError(
            f"The shard set {known.name!r} is known, but {path} is missing or changed. Restore the folder, or build a "
            "set of another name."
        )


def _start(module: str, *arguments: str) -> None:
    """Run a module of ours with its progress on our own stderr. Raises BuildError with its exit status."""
    ended = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    if ended.returncode:
        raise BuildError(f"`python -m {module}` ended with {ended.returncode}; its reason stands above.")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error.strerror}.") from None


def _checked(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,59}", name):
        raise BuildError(f"{name!r} is no name: use small letters, digits, - and _.")
    return name
