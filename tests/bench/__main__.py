"""`make bench`: run every `bench_*.py` beside this file, each in a process of its own, and print its rows.

What one loads into memory would be on the bill of the next: starting a sandbox forks the process that measures it.
"""

import importlib
import pkgutil
import subprocess
import sys

import tests.bench

names = sys.argv[1:] or sorted(module.name for module in pkgutil.iter_modules(tests.bench.__path__))
chosen = [name for name in names if name.startswith("bench_")]
if len(sys.argv) == 2:
    for name, ratio, note in importlib.import_module(f"tests.bench.{chosen[0]}").run():
        print(f"{name:<44} {ratio:>7.2f} ×   {note}", flush=True)
else:
    sys.exit(max(subprocess.run([sys.executable, "-m", "tests.bench", name]).returncode for name in chosen))
