"""How alike two scripts are: the same bytes, the same code under other names, or many of the same small pieces.

Fingerprints are those of Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms for Document Fingerprinting"
(SIGMOD 2003). The compiler's tree is read as a row of symbols, one for each node. All names and constants are erased,
and so is what does nothing (`unpadded.py`): whoever copies can change all of that without changing anything. Every K
symbols in a row are hashed, and of every WINDOW hashes in a row the least is kept. So a piece that two scripts share,
of K + WINDOW - 1 symbols (some four lines) or more, leaves a hash with both, wherever it stands; what is shorter than K
symbols leaves none.

A fingerprint is bounded: of more than MOST_MARKS hashes the least are kept, which is a fair sample of them, the same
in every script. `INDEXED` of them are enough to find a script's kin among all others by equality alone.

`fingerprint` works in a limited process of its own, like the audit, whatever the text is.
"""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any
from zlib import crc32

from reviewer import gate
from reviewer.child import OWN_SIGNALS, ReviewerFault
from reviewer.unpadded import Unpadded, fields_of

VERSION = 2  # of how fingerprints are made; those of another one cannot be compared
K = 32  # symbols of one piece
WINDOW = 24  # pieces of which one is kept
MOST_MARKS = 2_048
INDEXED = 64
ENOUGH = 12  # marks that two scripts must share to be near duplicates; fewer are idioms
NEAR = 0.5  # of the marks of the one that has fewer

_ROOT = str(Path(__file__).resolve().parent.parent)
_START = "import sys; sys.path.insert(0, sys.argv[1]); from reviewer.similarity import main; sys.exit(main())"
_WALL_SECONDS = 60.0
_UNREADABLE = 3  # how the process ends where the script is none
_MODULUS = (1 << 61) - 1
_BASE = 1_000_003
_SKIPPED = frozenset({ast.Load, ast.Store, ast.Del, type(None)})
_BLOCKS = frozenset({"body", "orelse", "finalbody"})
_LISTS = frozenset({"args", "elts"})


@dataclass(frozen=True)
class Fingerprint:
    """What is kept of a script to find its kin: the hash of its erased tree, and its marks, rising.

    `plain` says that there is nothing of its own in it: its tree, or each of its marks, is a baseline's.
    """

    code_sha256: str
    marks: tuple[int, ...]
    plain: bool = False


def fingerprint(text: str | bytes, baselines: Sequence[str] = ()) -> Fingerprint | None:
    """Return the fingerprint of a script without what stands in the baselines; None where the script cannot be read.

    Raises ReviewerFault where that is the host's doing, or a baseline cannot be read: then it can be tried again.
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    request = json.dumps({"text": data.decode("utf-8", "replace"), "baselines": list(baselines)}).encode()
    command = [sys.executable, "-I", "-c", _START, _ROOT]
    try:
        done = subprocess.run(command, input=request, capture_output=True, env={}, cwd="/", timeout=_WALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReviewerFault(f"there is no fingerprint: {error}") from error
    if done.returncode == _UNREADABLE or -done.returncode in OWN_SIGNALS:
        return None
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise ReviewerFault(f"the fingerprint's process ended with {done.returncode}: {' '.join(last)}")
    try:
        said = json.loads(done.stdout)
        return Fingerprint(said["code_sha256"], tuple(said["marks"]), said["plain"])
    except (ValueError, KeyError, TypeError) as error:
        raise ReviewerFault("the fingerprint's process gave no readable answer") from error


def fingerprint_of(tree: ast.Module, baselines: Iterable[ast.Module] = ()) -> Fingerprint:
    """Return the fingerprint of a parsed script."""
    row, known, trees = symbols(tree), set[int](), set[str]()
    for baseline in baselines:
        theirs = symbols(baseline)
        known.update(_pieces(theirs))
        trees.add(_hashed(theirs))
    code, pieces = _hashed(row), list(_pieces(row))
    marks = sorted(set(_winnowed(pieces)) - known)[:MOST_MARKS]
    return Fingerprint(code, tuple(marks), code in trees or not (marks or not known))


def share(one: Iterable[int], other: Iterable[int]) -> float:
    """Return which share of the marks of the script that has fewer is in the other, 0 where too few are.

    Of a capped fingerprint nothing is known above its largest mark, so both are compared up to there.
    """
    mine, theirs = set(one), set(other)
    if capped := [marks for marks in (mine, theirs) if len(marks) >= MOST_MARKS]:
        last = min(map(max, capped))
        mine, theirs = ({mark for mark in marks if mark <= last} for marks in (mine, theirs))
    common = len(mine & theirs)
    return common / min(len(mine), len(theirs)) if common >= ENOUGH else 0.0


def same_code(one: ast.Module, other: ast.Module) -> bool:
    """Tell whether two scripts are the same but for names of their own and constants."""
    return all(mine == theirs for mine, theirs in zip_longest(_symbols(one), _symbols(other)))


def _hashed(row: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(row).encode()).hexdigest()


def symbols(tree: ast.Module) -> list[str]:
    """Return the kind of each node in source order, with brackets around what a block, a call or a list holds.

    What changes nothing is left out, and a value with an annotation is one without.
    """
    return list(_symbols(tree))


def _symbols(tree: ast.Module) -> Iterator[str]:
    unpadded = Unpadded(tree)
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind is str:
            yield node
            continue
        yield "Assign" if kind is ast.AnnAssign else kind.__name__
        below: list[Any] = []
        for name in fields_of(kind):
            value: Any = getattr(node, name, None)
            of = type(value)
            if of is list:
                block = name in _BLOCKS
                inner = (
                    unpadded.statements(value)
                    if block
                    else [unpadded.expression(each) for each in value if isinstance(each, ast.AST)]
                )
                below += ["(", *inner, ")"] if block or name in _LISTS else inner
            elif of not in _SKIPPED and isinstance(value, ast.AST):
                below.append(unpadded.expression(value))
        below.reverse()
        todo += below


def _pieces(row: Sequence[str]) -> Iterator[int]:
    """Yield the hash of every K symbols in a row (Karp and Rabin's), the same in every process and on every host."""
    known: dict[str, int] = {}
    leaving = pow(_BASE, K, _MODULUS)
    codes: list[int] = []
    rolling = 0
    for at, symbol in enumerate(row):
        code = known.get(symbol)
        if code is None:
            code = known[symbol] = crc32(symbol.encode()) + 1
        codes.append(code)
        rolling = rolling * _BASE + code
        if at >= K:
            rolling -= codes[at - K] * leaving
        rolling %= _MODULUS
        if at >= K - 1:
            yield _mixed(rolling)


def _mixed(value: int) -> int:
    """Spread a hash, so that the least ones are a fair sample; 61 bits, which every database keeps."""
    value = (value ^ (value >> 29)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return (value ^ (value >> 32)) & _MODULUS


def _winnowed(pieces: Sequence[int]) -> Iterator[int]:
    """Yield the least of every WINDOW pieces in a row, each once where it stays the least."""
    least: deque[int] = deque()  # places, their hashes rising
    last = -1
    for at, piece in enumerate(pieces):
        while least and pieces[least[-1]] >= piece:
            least.pop()
        least.append(at)
        if least[0] <= at - WINDOW:
            least.popleft()
        if (at >= WINDOW - 1 or at == len(pieces) - 1) and least[0] != last:
            last = least[0]
            yield pieces[last]


def main() -> int:
    """Read a text and its baselines from stdin, write the fingerprint to stdout. Runs in the limited process."""
    from reviewer.child import limit_this_process

    limit_this_process()
    asked = json.loads(sys.stdin.buffer.read())
    texts = [asked["text"], *asked["baselines"]]
    if gate.check(texts[0].encode(), 4_194_304):
        return _UNREADABLE
    try:
        tree = gate.syntax_of(texts[0])
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return _UNREADABLE
    known = [gate.syntax_of(text) for text in texts[1:]]
    found = fingerprint_of(tree, known)
    said = {"code_sha256": found.code_sha256, "marks": found.marks, "plain": found.plain}
    sys.stdout.write(json.dumps(said))
    sys.stdout.flush()
    return 0
