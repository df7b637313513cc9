"""What a competition makes of the rules: a severity for each, and what it allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast

from reviewer.baselines.frozen import Frozen, FrozenError, sections_of, to_tables
from reviewer.catalogue import CATALOGUE
from reviewer.policies import PRESETS, preset
from reviewer.report import STANDARD, Severity, milder

SEVERITIES = ("reject", "review", "warn", "info", "off")

# What torchrun tells each process about its place; it says nothing about the model.
LAUNCHER_VARIABLES = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FLAG = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9_-]*\Z")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[^/\x00-\x1f]+)+\Z")  # absolute, spelled in the one way there is


class PolicyError(ValueError):
    """A policy that cannot be read; `key` says where."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"policy.{key}: {reason}")
        self.key = key


@dataclass(frozen=True)
class Policy:
    """Severities and allowances of one competition.

    A rule that is not named gets its default when the policy is made, so every policy, and every table of one, is
    complete by itself. `allow_imports` are modules that rules name, with all below them, or single functions of any
    module by their full names; `only_imports`, where it is there, are the only modules beside the standard library and
    the kit that a script may import.
    """

    version: str = STANDARD
    max_bytes: int = 262_144
    rules: Mapping[str, Severity] = field(default_factory=dict)
    allow_env: frozenset[str] = frozenset()
    baseline: str | None = None
    allow_paths: frozenset[str] = frozenset()
    sections: tuple[Frozen, ...] = ()
    allow_flags: frozenset[str] = frozenset()
    allow_imports: frozenset[str] = frozenset()
    only_imports: frozenset[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", {code: self.rules.get(code, rule[1]) for code, rule in CATALOGUE.items()})

    def severity(self, code: str, at_most: Severity = "reject") -> Severity:
        """Return how severe a finding of this rule is here, of which the rule says that it is so severe at most.

        A rule can say that a finding is milder than its others. What is as severe as the rule is by default may be
        made more so: `S403 = "reject"` rejects, though the rule by itself asks a person.
        """
        default = CATALOGUE[code][1]
        return self.rules[code] if milder(default, at_most) == default else milder(self.rules[code], at_most)

    def allows_env(self, key: str) -> bool:
        """Tell whether a script may read this variable."""
        return key in LAUNCHER_VARIABLES or key in self.allow_env

    def allows_path(self, path: str) -> bool:
        """Tell whether a script may name this absolute path: it, or a folder above it, is listed."""
        parts = path.rstrip("/").split("/")
        return ".." not in parts and any("/".join(parts[:n]) in self.allow_paths for n in range(2, len(parts) + 1))

    def allows_flag(self, spellings: Collection[str]) -> bool:
        """Tell whether a script may read this flag of the launch command: one of its spellings is listed."""
        return not self.allow_flags.isdisjoint(spellings)

    def allows_import(self, path: str, named: str | None = None) -> bool:
        """Tell whether a script may use what a rule objects to: it, or something above it up to `named`, is listed.

        `named` is the module that the rule names. What is above that is not asked: whoever lists `torch` has not
        thought of `torch.hub`.
        """
        least = (path if named is None else named).count(".")
        return any(f"{path}.".startswith(f"{one}.") and one.count(".") >= least for one in self.allow_imports)

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> Policy:
        """Read the `[policy]` table of a competition file, on top of its `preset`. Raises PolicyError with the key."""
        for key in table:
            if key not in SETTINGS:
                raise PolicyError(str(key), "there is no such setting")
        rules = _rules(table.get("rules", {}))
        if (name := table.get("preset")) is not None:
            if name not in PRESETS:
                raise PolicyError("preset", f"must be one of {', '.join(PRESETS)}")
            below = preset(name)
            rules = _rules(below["rules"]) | rules
            table = {**below, **table}
        version, size = table.get("version", STANDARD), table.get("max_bytes", 262_144)
        if not isinstance(version, str) or not version:
            raise PolicyError("version", "must be a non-empty string")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= 4_194_304:
            raise PolicyError("max_bytes", "must be a whole number from 1 to 4194304")
        baseline = table.get("baseline")
        if baseline is not None and not isinstance(baseline, str):
            raise PolicyError("baseline", "must be the text of the baseline script")
        try:
            sections = sections_of(table.get("sections", ()))
        except FrozenError as error:
            raise PolicyError(f"sections.{error.key}".rstrip("."), error.reason) from None
        if name == "speed-run" and not sections:
            raise PolicyError("preset", "speed-run holds scripts to frozen sections; name them under `sections`")
        lists = {key: _listed(key, table.get(key, [])) for key in _LISTS}
        only = _listed("only_imports", table["only_imports"]) if "only_imports" in table else None
        return cls(version, size, rules, baseline=baseline, sections=sections, only_imports=only, **lists)

    def to_mapping(self) -> dict[str, Any]:
        """Return the table that `from_mapping` reads; it names every rule, and no preset."""
        table: dict[str, Any] = {"version": self.version, "max_bytes": self.max_bytes, "rules": dict(self.rules)}
        table |= {key: sorted(getattr(self, key)) for key in _LISTS}
        if self.only_imports is not None:
            table["only_imports"] = sorted(self.only_imports)
        if self.sections:
            table["sections"] = to_tables(self.sections)
        return table if self.baseline is None else {**table, "baseline": self.baseline}


SETTINGS = ("preset", *(f.name for f in fields(Policy)))
_IMPORT = "is not the dotted name of a module or function"
_LISTS = {
    "allow_env": (_NAME, "is not the name of a variable"),
    "allow_flags": (_FLAG, "is not an option such as `--lr` or `-n`"),
    "allow_imports": (_MODULE, _IMPORT),
    "allow_paths": (_PATH, "is not an absolute path without `.`, `..` and a slash at its end"),
}


def _rules(table: object) -> dict[str, Severity]:
    if not isinstance(table, Mapping):
        raise PolicyError("rules", "must be a table of rule = severity")
    for code, severity in table.items():
        if code not in CATALOGUE:
            raise PolicyError(f"rules.{code}", f"there is no such rule; there are {', '.join(CATALOGUE)}")
        if severity not in SEVERITIES:
            raise PolicyError(f"rules.{code}", f"must be one of {', '.join(SEVERITIES)}")
    return cast(dict[str, Severity], dict(table))


def _listed(key: str, texts: object) -> frozenset[str]:
    pattern, wrong = _LISTS.get(key, (_MODULE, _IMPORT))
    if not isinstance(texts, list | tuple | set | frozenset):
        raise PolicyError(key, "must be a list of texts")
    for text in texts:
        if not isinstance(text, str) or not pattern.match(text):
            raise PolicyError(key, f"{text!r} {wrong}")
    return frozenset(texts)
