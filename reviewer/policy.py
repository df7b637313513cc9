"""What a competition makes of the rules: a severity for each, and what it allows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast

from reviewer.catalogue import CATALOGUE
from reviewer.frozen import Frozen, FrozenError, sections_of, to_tables
from reviewer.report import STANDARD, Severity

SEVERITIES = ("reject", "review", "warn", "info", "off")

# What torchrun tells each process about its place; it says nothing about the model.
LAUNCHER_VARIABLES = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[^/\x00-\x1f]+)+\Z")  # absolute, spelled in the one way there is


class PolicyError(ValueError):
    """A policy that cannot be read; `key` says where."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"policy.{key}: {reason}")
        self.key = key


@dataclass(frozen=True)
class Policy:
    """Severities and allowances of one competition. Whatever is not named keeps the rule's default."""

    version: str = STANDARD
    max_bytes: int = 262_144
    rules: Mapping[str, Severity] = field(default_factory=dict)
    allow_env: frozenset[str] = frozenset()
    baseline: str | None = None
    allow_paths: frozenset[str] = frozenset()
    sections: tuple[Frozen, ...] = ()

    def severity(self, code: str) -> Severity:
        """Return how severe a finding of this rule is here."""
        return self.rules.get(code, CATALOGUE[code][1])

    def allows_env(self, key: str) -> bool:
        """Tell whether a script may read this variable."""
        return key in LAUNCHER_VARIABLES or key in self.allow_env

    def allows_path(self, path: str) -> bool:
        """Tell whether a script may name this absolute path: it, or a folder above it, is listed."""
        parts = path.rstrip("/").split("/")
        return ".." not in parts and any("/".join(parts[:n]) in self.allow_paths for n in range(2, len(parts) + 1))

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> Policy:
        """Read the `[policy]` table of a competition file. Raises PolicyError that names the key."""
        for key in table:
            if key not in {f.name for f in fields(cls)}:
                raise PolicyError(str(key), "there is no such setting")
        version, size = table.get("version", STANDARD), table.get("max_bytes", 262_144)
        if not isinstance(version, str) or not version:
            raise PolicyError("version", "must be a non-empty string")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= 4_194_304:
            raise PolicyError("max_bytes", "must be a whole number from 1 to 4194304")
        baseline = table.get("baseline")
        if baseline is not None and not isinstance(baseline, str):
            raise PolicyError("baseline", "must be the text of the baseline script")
        rules = _rules(table.get("rules", {}))
        names, paths = _names(table.get("allow_env", [])), _paths(table.get("allow_paths", []))
        try:
            sections = sections_of(table.get("sections", ()))
        except FrozenError as error:
            raise PolicyError(f"sections.{error.key}".rstrip("."), error.reason) from None
        return cls(version, size, rules, names, baseline, paths, sections)

    def to_mapping(self) -> dict[str, Any]:
        """Return the table that `from_mapping` reads."""
        table: dict[str, Any] = {"version": self.version, "max_bytes": self.max_bytes, "rules": dict(self.rules)}
        table["allow_env"], table["allow_paths"] = sorted(self.allow_env), sorted(self.allow_paths)
        if self.sections:
            table["sections"] = to_tables(self.sections)
        return table if self.baseline is None else {**table, "baseline": self.baseline}


def _rules(table: object) -> dict[str, Severity]:
    if not isinstance(table, Mapping):
        raise PolicyError("rules", "must be a table of rule = severity")
    for code, severity in table.items():
        if code not in CATALOGUE:
            raise PolicyError(f"rules.{code}", f"there is no such rule; there are {', '.join(CATALOGUE)}")
        if severity not in SEVERITIES:
            raise PolicyError(f"rules.{code}", f"must be one of {', '.join(SEVERITIES)}")
    return cast(dict[str, Severity], dict(table))


def _names(names: object) -> frozenset[str]:
    return _listed("allow_env", names, _NAME, "is not the name of a variable")


def _paths(paths: object) -> frozenset[str]:
    return _listed("allow_paths", paths, _PATH, "is not an absolute path without `.`, `..` and a slash at its end")


def _listed(key: str, texts: object, pattern: re.Pattern[str], wrong: str) -> frozenset[str]:
    if not isinstance(texts, list | tuple | set | frozenset):
        raise PolicyError(key, "must be a list of texts")
    for text in texts:
        if not isinstance(text, str) or not pattern.match(text):
            raise PolicyError(key, f"{text!r} {wrong}")
    return frozenset(texts)
