"""What is known of a path as text: with holes, from the run's folder, or from somewhere that is not below it."""

from __future__ import annotations

import posixpath
import re

from reviewer.policy import Policy

HOLE = "\0"  # anything
WORK = "\1"  # the folder of the run, as an absolute path
OUT = "\2"  # somewhere that is not below it
MARKS = str.maketrans({HOLE: HOLE, WORK: HOLE, OUT: HOLE})  # none of the marks comes from the script itself

_SCRATCH = "/tmp/"  # noqa: S108 - private to a run
_HARMLESS = frozenset({"/dev/null", "/holdout/constants.json"})  # the latter is the kit's, for every script to read
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def leads_outside(path: str, policy: Policy) -> bool:
    """Tell whether a path is known to lie outside: neither in the run's folder, nor scratch, nor allowed."""
    if path.startswith(OUT) or (path[:1] == WORK and path[1:2] not in ("", "/", HOLE)):
        return True  # the latter is a neighbour whose name begins like that of the run's folder
    if _URL.match(path):
        return False
    if path.startswith("/"):
        plain = "/" + posixpath.normpath(path).lstrip("/")
        return not (plain in _HARMLESS or f"{plain}/".startswith(_SCRATCH) or policy.allows_path(plain))
    depth, unknown = 0, False
    for part in path.removeprefix(WORK).split("/"):
        if part == "..":
            depth -= 1
            if depth < 0 or unknown:
                return True
        elif part not in ("", "."):
            depth += 1
            unknown |= HOLE in part
    return False


def shown(path: str) -> str:
    """Return a path for people."""
    return path.replace(HOLE, "…").replace(WORK, ".").replace(OUT, "…")


def cut(path: str, *, from_start: bool) -> str:
    """Return what is left of a path of which the end, or the start, is cut off as text."""
    if path[:1] in (WORK, OUT):
        return OUT if from_start else HOLE
    return path


def joined(one: str, two: str) -> str:
    """Join two paths as the system does: an absolute one begins anew."""
    if not one or two[:1] in ("/", OUT, WORK):
        return two
    return f"{one.rstrip('/')}/{two}" if one.strip("/") else f"/{two}"


def absolute(path: str) -> str:
    """Return a path from the run's folder, in which every script starts."""
    return path if path[:1] in ("/", OUT, WORK, HOLE) else f"{WORK}/{path}"


def parent(path: str) -> str:
    """Return the folder of a path. That of the run's own folder is outside; that of a hole is not known."""
    if path[:1] == WORK:
        parts: list[str] = []
        for part in path[1:].split("/"):
            if part == ".." and not parts:
                return OUT
            parts = parts[:-1] if part == ".." else [*parts, part] if part not in ("", ".") else parts
        return "/".join([WORK, *parts[:-1]]) if parts else OUT
    if path[:1] == OUT:
        return OUT
    head, _, last = path.rstrip("/").rpartition("/")
    if last == "..":
        return f"{path}/.."
    return head or ("/" if path.startswith("/") else HOLE if HOLE in last else ".")
