"""The audit beside bandit, the field's static check for Python, on the same files in one run: time, and what each says.

Bandit is told to look at everything it knows. It walks the standard library's tree, which is parsed in a tenth of the
time that libcst takes to keep every byte; it looks for other things, so neither list is a measure of the other.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from bandit.core import config, manager

from reviewer import review
from tests.bench.bench_audit import script

ROUNDS = 5
DEMO = Path(__file__).parents[2] / "deploy" / "demo" / "scripts"


def run() -> list[tuple[str, float, str]]:
    """Measure a long script that was made here and the shipped one with faults."""
    review("x = 1\n", isolated=False)  # imports the rules
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "long.py"
        made.write_text(script(), encoding="utf-8")
        by_bandit(made)  # loads its plug-ins
        return [row("2,000 lines", made), row("knobs.py", DEMO / "knobs.py")]


def row(name: str, file: Path) -> tuple[str, float, str]:
    """Return time of the audit over time of bandit, the median of pairs, and what both say of a file."""
    text, pairs = file.read_text(encoding="utf-8"), []
    for _ in range(ROUNDS):
        start = time.process_time()
        ours = Counter(f.rule for f in review(text, isolated=False).findings if f.severity != "info")
        between = time.process_time()
        theirs = Counter(by_bandit(file))
        pairs.append((between - start) / (time.process_time() - between))
    note = f"median of {ROUNDS}; the audit finds {said(ours)}; bandit finds {said(theirs)}"
    return f"audit / bandit, {name}", statistics.median(pairs), note


def by_bandit(file: Path) -> Iterable[str]:
    """Return the rule of every issue that bandit has with a file."""
    bandit = manager.BanditManager(config.BanditConfig(), "file", quiet=True)
    bandit.discover_files([str(file)])
    bandit.run_tests()
    return [issue.test_id for issue in bandit.get_issue_list()]


def said(rules: Counter[str]) -> str:
    """Write down a count per rule."""
    return ", ".join(f"{rule} ×{count}" for rule, count in sorted(rules.items())) or "nothing"
