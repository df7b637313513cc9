"""`make bench`: run every `bench_*.py` beside this file and print its rows."""

import importlib
import pkgutil

import tests.bench

for module in sorted(pkgutil.iter_modules(tests.bench.__path__), key=lambda module: module.name):
    if module.name.startswith("bench_"):
        for name, ratio, note in importlib.import_module(f"tests.bench.{module.name}").run():
            print(f"{name:<44} {ratio:>7.2f} ×   {note}", flush=True)
