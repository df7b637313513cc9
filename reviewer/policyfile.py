"""Reads the policy that a file holds: a competition file, or a table of its own."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from reviewer.policy import Policy, PolicyError

MOST_BYTES = 4 << 20


class UnreadablePolicy(PolicyError):
    """The file holds no policy at all."""

    def __init__(self, sentence: str) -> None:
        Exception.__init__(self, sentence)
        self.key = ""


def read_toml(path: Path) -> dict[str, Any]:
    """Return a TOML file as a table. Raises UnreadablePolicy for what is none."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise UnreadablePolicy(f"{path} is larger than {MOST_BYTES >> 20} MB, and no policy is")
        return tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise UnreadablePolicy(f"{path} cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UnreadablePolicy(f"{path} is not TOML: {error}") from error


def policy_in(table: dict[str, Any], path: Path | None = None) -> Policy:
    """Return the policy of a competition file, which has it under `policy`, or of a table that is nothing else.

    `path` is the file's, beside which the scripts lie that frozen sections name. Raises PolicyError that names the key.
    """
    inner = table.get("policy", table)
    if not isinstance(inner, dict):
        raise UnreadablePolicy("`policy` must be a table")
    if path is not None and "sections" in inner:
        inner = {**inner, "sections": _with_texts(inner["sections"], path.parent)}
    return Policy.from_mapping(inner)


def _with_texts(tables: object, folder: Path) -> object:
    from reviewer.baselines.frozen import FrozenError, with_texts

    try:
        return with_texts(tables, lambda name: (folder / name).read_text(encoding="utf-8"))
    except FrozenError as error:
        raise PolicyError(f"sections.{error.key}".rstrip("."), error.reason) from None
