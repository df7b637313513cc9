"""Starts the audited text as `__main__`, with the platform's seeds, on every rank.

What is compiled is the text that was audited, from the bytes in /holdout/script, never a path: a file that is named
like the script, an encoding cookie or a stale .pyc cannot make the run differ from what was read.

Seeds: `random` at once; numpy and torch right after the script's own first import of them, so that a script without
them does not pay for their import, and one that sets no seed needs no change.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import linecache
import random
import sys
import traceback
import types
from collections.abc import Callable, Sequence

SCRIPT = "/holdout/script"
CONSTANTS = "/holdout/constants.json"
NAME = "train.py"
FOLDER = "/work"


def seed_numpy(module: types.ModuleType, seed: int) -> None:
    """Seed numpy's global generator, which takes 32 bits."""
    module.random.seed(seed % (1 << 32))


def seed_torch(module: types.ModuleType, seed: int) -> None:
    """Seed torch's generators, those of devices included."""
    module.manual_seed(seed)


class SeedOnImport(importlib.abc.MetaPathFinder):
    """Finds numpy and torch as usual, and seeds each when its first import has run."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.waiting: dict[str, Callable[[types.ModuleType, int], None]] = {"numpy": seed_numpy, "torch": seed_torch}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec that the other finders give, its loader wrapped once; None for every other module."""
        seed_it = self.waiting.pop(fullname, None)
        if seed_it is None:
            return None
        spec = importlib.util.find_spec(fullname)  # asks the others: this name is no longer waiting here
        if spec is None or spec.loader is None:
            return spec
        loader, run = spec.loader, spec.loader.exec_module

        def run_and_seed(module: types.ModuleType) -> None:
            run(module)
            del loader.exec_module  # the instance attribute below; the class's own method shows again
            seed_it(module, self.seed)

        loader.exec_module = run_and_seed  # type: ignore[method-assign]
        return spec


def load(path: str = SCRIPT) -> types.CodeType:
    """Compile the audited bytes; tracebacks quote them even after the script has changed its folder."""
    with open(path, "rb") as file:
        text = file.read().decode("utf-8")
    linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
    return compile(text, NAME, "exec", dont_inherit=True)


def run(code: types.CodeType, args: list[str]) -> None:
    """Run `code` as the program: `__main__`, its own argv, its folder first on the path."""
    main = types.ModuleType("__main__")
    main.__file__ = f"{FOLDER}/{NAME}"
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    sys.argv = [NAME, *args]
    sys.path[0] = FOLDER  # it was the harness's folder, which is no business of the script's
    try:
        exec(code, main.__dict__)  # noqa: S102 running the audited text is what this file is for
    except Exception as error:
        trace = error.__traceback__
        traceback.print_exception(type(error), error, trace.tb_next if trace else None)
        sys.exit(1)


def main() -> None:
    """Seed, compile, run."""
    with open(CONSTANTS, encoding="utf-8") as file:
        seed = int(json.load(file)["seed"])
    random.seed(seed)
    sys.meta_path.insert(0, SeedOnImport(seed))
    try:
        code = load()
    except SyntaxError as error:
        traceback.print_exception(SyntaxError, error, None)
        sys.exit(1)
    run(code, sys.argv[1:])


if __name__ == "__main__":
    main()
