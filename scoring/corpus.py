"""Harvest the demo corpus: the documentation text of libraries that are installed anyway.

`python -m scoring.corpus OUT.jsonl` writes one {"text": …} a line: docstrings of torch, sympy, networkx and the
standard library, and the topics of `help()`. Files are read with `ast`; nothing is imported or run, so the harvest is
the same on every machine with the same versions.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import json
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

LIBRARIES = ("torch", "sympy", "networkx")
PROCESSES = 2
SHORTEST = 160  # characters; below it a docstring is a label, not text
SKIPPED = {"__pycache__", "site-packages", "dist-packages", "idlelib", "lib2to3", "turtledemo", "test", "tests"}
Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def sources() -> list[Path]:
    """List the files to read, in an order that does not depend on the machine. Raises LookupError."""
    files: list[Path] = []
    for root in [Path(sysconfig.get_paths()["stdlib"]), *map(_package_folder, LIBRARIES)]:
        below = []
        for folder, names, found in os.walk(root):
            names[:] = sorted(set(names) - SKIPPED)
            below += [Path(folder, name) for name in found if name.endswith(".py")]
        files += sorted(below, key=lambda path: path.relative_to(root).parts)
    return files


def documents(path: Path) -> list[str]:
    """Give the documentation texts of one source file, in source order; none when it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in other people's strings
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return []
    texts = (inspect.cleandoc(text).strip() for text in _texts(tree))
    return [text for text in texts if len(text) >= SHORTEST and _is_unicode(text)]


def harvest() -> Iterator[tuple[int, int, list[str]]]:
    """Read every source in two processes; yield (files done, files in all, documents) in a fixed order."""
    files = sources()
    with ProcessPoolExecutor(PROCESSES) as pool:
        for done, texts in enumerate(pool.map(documents, files, chunksize=32), start=1):
            yield done, len(files), texts


def write(target: Path) -> tuple[int, int]:
    """Write the corpus as JSON lines, in one step, without exact repeats; give (documents, UTF-8 bytes)."""
    seen: set[str] = set()
    size = 0
    partial = target.with_name(target.name + ".part")
    with partial.open("w", encoding="utf-8") as file:
        for done, of, texts in harvest():
            for text in texts:
                if text not in seen:
                    seen.add(text)
                    size += len(text.encode())
                    file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            if done % 250 == 0 or done == of:
                sys.stderr.write(f"corpus: {done} of {of} files, {len(seen)} documents, {size / 1e6:.1f} MB\n")
    partial.replace(target)
    return len(seen), size


def _texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            if text := ast.get_docstring(node, clean=False):
                yield text
        elif isinstance(node, ast.Call):  # torch documents its C functions by add_docstr(function, text)
            yield from _long_strings(node.args)
        elif isinstance(node, ast.Dict):  # pydoc_data.topics
            yield from _long_strings(node.values)


def _long_strings(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) >= SHORTEST:
            yield node.value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)  # finds a top-level package without importing it
    if spec is None or spec.origin is None:
        raise LookupError(f"{name} is not installed; the demo corpus is made of its documentation")
    return Path(spec.origin).parent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scoring.corpus", description="Harvest the demo corpus.")
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target
    count, size = write(target)
    sys.stdout.write(f"{target}: {count} documents, {size} bytes\n")


if __name__ == "__main__":
    main()
