"""Build a set of shards from documents: the open folder that is handed out, the sealed one that only we read."""

from __future__ import annotations

import json
import os
import shutil
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from scoring import shards
from scoring.scorer import documents, overlap, sealed, tokenizer
from scoring.scorer.documents import BuildError

SEALED = ("public", "private")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to build and where; sizes in bytes and tokens."""

    corpus: Path
    name: str
    open_dir: Path
    sealed_dir: Path
    key: Path
    seed: int
    vocab_size: int = 1024
    held_out_bytes: int = 150_000
    most_shared: float = 0.2
    gate_tokens: int = 65_536
    file_tokens: int = 1_048_576
    owner: int | None = None  # user id of the scorer, where it is an OS user of its own


def build(plan: Plan, say: Say) -> Path:
    """Build the set; give the manifest's path. It is written last, so a set without one is not there.

    Raises BuildError when the corpus is unfit, or when the set exists: sealed targets are never replaced.
    """
    manifest_path = plan.open_dir / "manifest.json"
    if manifest_path.exists():
        raise BuildError(f"{manifest_path} exists: a set of shards is built once, choose another name")
    _make_folders(plan)
    say(f"reading {plan.corpus.name}")
    split = documents.deal(
        documents.read_jsonl(plan.corpus),
        seed=plan.seed,
        held_out_bytes=plan.held_out_bytes,
        most_shared=plan.most_shared,
        say=say,
    )
    say(f"dropped {split.dropped} of {len(split.overlaps)} candidates for overlap")
    bpe = _tokenizer(plan, split, say)
    manifest = {
        "schema": 1,
        "set": plan.name,
        "seed": plan.seed,
        "vocab_size": plan.vocab_size,
        "bos": tokenizer.bos_id(bpe),
        **_write_tokenizer(plan, bpe),
        "gate_files": 1,
        **_write_open(plan, bpe, split, say),
    }
    manifest |= _seal(plan, bpe, split, manifest["token_bytes_sha256"], say)
    manifest["overlap"] = {
        **overlap.report(split.overlaps, plan.most_shared),
        "dropped": split.dropped,
        "unused": split.unused,
        "duplicates_removed": split.duplicates,
    }
    _hand_over(plan)
    partial = manifest_path.with_suffix(".part")
    partial.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, manifest_path)
    return manifest_path


def _tokenizer(plan: Plan, split: documents.Split, say: Say) -> Tokenizer:
    """Train the tokenizer on training text and prove it on every held-out document."""
    say(f"training a tokenizer of {plan.vocab_size}")
    bpe = tokenizer.train(split.train, plan.vocab_size)
    for target, texts in split.held_out.items():
        say(f"proving the round trip of {len(texts)} {target} documents")
        tokenizer.prove_round_trip(bpe, texts, target)
    return bpe


def _write_tokenizer(plan: Plan, bpe: Tokenizer) -> dict[str, str]:
    document = bpe.to_str().encode()
    table = shards.pack_token_bytes(tokenizer.byte_lengths(bpe))
    (plan.open_dir / "tokenizer.json").write_bytes(document)
    (plan.open_dir / "token_bytes.bin").write_bytes(table)
    return {"tokenizer_sha256": shards.sha256(document), "token_bytes_sha256": shards.sha256(table)}


def _write_open(plan: Plan, bpe: Tokenizer, split: documents.Split, say: Say) -> dict[str, Any]:
    """Write what is handed out, train files and dev; give their parts of the manifest."""
    say(f"encoding {len(split.train)} training documents")
    train = tokenizer.stream(bpe, split.train)
    dev = tokenizer.stream(bpe, split.held_out["dev"])
    packed = shards.pack_tokens(dev)
    (plan.open_dir / "dev.bin").write_bytes(packed)
    return {
        "train": {"files": _write_train(plan, train), **_counts(split.train, train)},
        "dev": {"file": "dev.bin", "sha256": shards.sha256(packed), **_counts(split.held_out["dev"], dev)},
    }


def _seal(plan: Plan, bpe: Tokenizer, split: documents.Split, table: str, say: Say) -> dict[str, Any]:
    """Seal the targets under the scorer's key; give commitments and counts. `table` is the token table's hash."""
    key = sealed.ensure_key(plan.key)
    parts = {}
    for target in SEALED:
        say(f"sealing {target}")
        texts = split.held_out[target]
        tokens = tokenizer.stream(bpe, texts)
        counts = _counts(texts, tokens)
        facts = sealed.Facts(
            set=plan.name,
            target=target,
            vocab_size=plan.vocab_size,
            bos=tokenizer.bos_id(bpe),
            token_bytes_sha256=table,
            **counts,
        )
        box = plan.sealed_dir / f"{target}.shard"
        parts[target] = {"commitment": sealed.seal(box, key, sealed.pack(facts, tokens)), **counts}
    return parts


def _make_folders(plan: Plan) -> None:
    plan.open_dir.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(plan.open_dir / "train", ignore_errors=True)  # what a build that was interrupted left
    (plan.open_dir / "train").mkdir()
    plan.sealed_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    plan.sealed_dir.mkdir(mode=0o700, exist_ok=True)


def _write_train(plan: Plan, tokens: array[int]) -> list[dict[str, Any]]:
    """Cut the stream into a small first file, which is all that a run sees before its clock starts, and the rest."""
    cuts = [0, *range(plan.gate_tokens, len(tokens), plan.file_tokens), len(tokens)]
    files = []
    for number, (start, stop) in enumerate(pairwise(cuts)):
        data = shards.pack_tokens(tokens[start:stop])
        name = f"{number:03d}.bin"
        (plan.open_dir / "train" / name).write_bytes(data)
        files.append({"name": name, "tokens": stop - start, "sha256": shards.sha256(data)})
    return files


def _hand_over(plan: Plan) -> None:
    if plan.owner is None:
        return
    for path in (plan.sealed_dir, plan.key, *(plan.sealed_dir / f"{target}.shard" for target in SEALED)):
        os.chown(path, plan.owner, plan.owner)


def _counts(texts: list[str], tokens: array[int]) -> dict[str, int]:
    return {"documents": len(texts), "bytes": _size(texts), "tokens": len(tokens)}


def _size(texts: list[str]) -> int:
    return sum(len(text.encode()) for text in texts)
