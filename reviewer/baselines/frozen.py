"""What a phase freezes: named sections, where each is found, and the dated baselines that are accepted for it.

In a competition file an accepted baseline names a script; `with_texts` puts the section's own text in its place, so
that a policy is complete by itself and later changes of that script change nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

_DEFINITION = re.compile(r"(?:(?:class|def) +)?([A-Za-z_][A-Za-z0-9_]*)\Z")


class FrozenError(ValueError):
    """A list of sections that cannot be read; `key` says where in it, such as `0.accepted.1.date`."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}")
        self.key, self.reason = key, reason


@dataclass(frozen=True)
class Accepted:
    """One accepted baseline of a section: its name, its day, the section's text, and what its names are imports of.

    `constants` are those of the rest of the module that the section uses, as Python writes their values.
    """

    name: str
    date: str
    text: str
    imports: tuple[tuple[str, str], ...] = ()
    constants: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Frozen:
    """A section: found by the text of its banner, or by the names that it defines; `accepted` is oldest first."""

    name: str
    banner: str
    definitions: tuple[str, ...]
    accepted: tuple[Accepted, ...]

    @property
    def newest(self) -> Accepted:
        """The baseline that a changed section is compared with."""
        return self.accepted[-1]


def sections_of(tables: object) -> tuple[Frozen, ...]:
    """Read the `sections` of a policy. Raises FrozenError that names the key."""
    if not isinstance(tables, list | tuple):
        raise FrozenError("", "must be a list of tables")
    found = tuple(_section(f"{at}", table) for at, table in enumerate(tables))
    names = [each.name for each in found]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise FrozenError(f"{at}.name", f"there are two sections called {name!r}")
    return found


def to_tables(sections: tuple[Frozen, ...]) -> list[dict[str, Any]]:
    """Return what `sections_of` reads."""
    return [
        {
            "name": each.name,
            **({"banner": each.banner} if each.banner else {"definitions": list(each.definitions)}),
            "accepted": [
                {"name": one.name, "date": one.date, "text": one.text, "imports": dict(one.imports)}
                | ({"constants": dict(one.constants)} if one.constants else {})
                for one in each.accepted
            ],
        }
        for each in sections
    ]


def with_texts(tables: object, read: Callable[[str], str]) -> object:
    """Return a competition file's `sections` with the section's text for each `file`, which `read` returns.

    Raises FrozenError where a script cannot be read, or is itself not what it would be the baseline of; what is not of
    the right shape is left to `sections_of`.
    """
    from reviewer.baselines.sections import taken_from  # it reads what this module says

    if not isinstance(tables, list | tuple):
        return tables
    done = []
    for at, table in enumerate(tables):
        accepted = table.get("accepted") if isinstance(table, Mapping) else None
        if not isinstance(accepted, list | tuple):
            done.append(table)
            continue
        section = _place(f"{at}", table)
        entries = []
        for number, entry in enumerate(accepted):
            key = f"{at}.accepted.{number}"
            if isinstance(entry, Mapping) and isinstance(file := entry.get("file"), str):
                if "text" in entry:
                    raise FrozenError(f"{key}.text", "there is a file as well; name one of them")
                try:
                    made = taken_from(read(file), section)
                except (OSError, UnicodeDecodeError, SyntaxError) as error:
                    why = getattr(error, "strerror", None) or str(error)
                    raise FrozenError(f"{key}.file", f"{file!r} cannot be read: {why}") from None
                except ValueError as error:
                    raise FrozenError(f"{key}.file", f"{file!r}: {error}") from None
                entry = {k: v for k, v in entry.items() if k != "file"} | made
            entries.append(entry)
        done.append({**table, "accepted": entries})
    return done


def _section(key: str, table: object) -> Frozen:
    place = _place(key, table)
    assert isinstance(table, Mapping)
    accepted = table.get("accepted")
    if not isinstance(accepted, list | tuple) or not accepted:
        raise FrozenError(f"{key}.accepted", "must be a list of at least one baseline")
    entries = [_accepted(f"{key}.accepted.{at}", entry) for at, entry in enumerate(accepted)]
    return Frozen(place.name, place.banner, place.definitions, tuple(sorted(entries, key=lambda one: one.date)))


def _place(key: str, table: object) -> Frozen:
    """Read where a section is found."""
    if not isinstance(table, Mapping):
        raise FrozenError(key, "must be a table")
    for name in table:
        if name not in ("name", "banner", "definitions", "accepted"):
            raise FrozenError(f"{key}.{name}", "there is no such setting")
    name = _text(f"{key}.name", table.get("name"))
    if ("banner" in table) == ("definitions" in table):
        raise FrozenError(f"{key}.banner", "a section is found by its `banner` or by its `definitions`; name one")
    if "banner" in table:
        return Frozen(name, _text(f"{key}.banner", table["banner"]), (), ())
    names = table["definitions"]
    if not isinstance(names, list | tuple) or not names:
        raise FrozenError(f"{key}.definitions", "must be a list of at least one name, such as `class GPT`")
    found = [_DEFINITION.match(each) if isinstance(each, str) else None for each in names]
    if None in found:
        wrong = names[found.index(None)]
        raise FrozenError(f"{key}.definitions", f"{wrong!r} is not a name, or `class` or `def` with a name")
    return Frozen(name, "", tuple(match[1] for match in found if match), ())


def _accepted(key: str, entry: object) -> Accepted:
    if not isinstance(entry, Mapping):
        raise FrozenError(key, "must be a table of name, date and file")
    for name in entry:
        if name not in ("name", "date", "text", "imports", "constants"):
            raise FrozenError(f"{key}.{name}", "there is no such setting")
    name, text = _text(f"{key}.name", entry.get("name")), entry.get("text")
    day = entry.get("date")
    try:
        day = (day if isinstance(day, date) else date.fromisoformat(str(day))).isoformat()[:10]
    except ValueError:
        raise FrozenError(f"{key}.date", "must be a day, such as 2026-02-01") from None
    if not isinstance(text, str) or not text.strip():
        raise FrozenError(f"{key}.text", "must be the text of the section, or `file` the name of a script that has it")
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise FrozenError(f"{key}.text", f"Python cannot read it: {error}") from None
    imports = _words(f"{key}.imports", entry.get("imports", {}), "a table of name = dotted path")
    constants = _words(f"{key}.constants", entry.get("constants", {}), "a table of name = value, each a text")
    return Accepted(name, day, text, imports, constants)


def _words(key: str, table: object, wanted: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(table, Mapping) or not all(isinstance(part, str) for pair in table.items() for part in pair):
        raise FrozenError(key, f"must be {wanted}")
    return tuple(sorted(table.items()))


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FrozenError(key, "must be a non-empty text")
    return value.strip()
