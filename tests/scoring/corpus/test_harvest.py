"""The harvest of documentation texts. The whole of it takes half a minute, so parts are tried."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scoring import corpus

LONG = "A sentence about what this thing does, long enough to be text. " * 4


def texts_of(folder: Path, source: str) -> list[str]:
    path = folder / "m.py"
    path.write_text(source)
    return corpus.documents(path)


@pytest.mark.parametrize(
    "source",
    [
        f'"""{LONG}"""',
        f'class A:\n    """{LONG}"""',
        f'class A:\n    def f(self):\n        """\n        {LONG}\n        """',
        f'async def f():\n    """{LONG}"""',
        f'add_docstr(f, r"""{LONG}""")',
        f'topics = {{"if": """{LONG}"""}}',
    ],
)
def test_docstrings_and_topics_are_documents(tmp_path: Path, source: str) -> None:
    assert texts_of(tmp_path, source) == [LONG.strip()]


@pytest.mark.parametrize("source", ['"""Short."""', f"x = '{LONG}'", f"# {LONG}", "def broken(", "\0"])
def test_other_text_is_not(tmp_path: Path, source: str) -> None:
    assert texts_of(tmp_path, source) == []


def test_nothing_is_run(tmp_path: Path) -> None:
    assert texts_of(tmp_path, f'"""{LONG}"""\nraise SystemExit') == [LONG.strip()]


def test_sources_are_many_and_in_one_order() -> None:
    files = corpus.sources()
    assert files == corpus.sources()
    assert {"torch", "sympy", "networkx", "pydoc_data"} <= {part for path in files for part in path.parts}
    assert not {"test", "tests", "__pycache__"} & {part for path in files for part in path.parts[-2:]}


def test_libraries_are_not_imported() -> None:
    code = "import sys, scoring.corpus as c; c.sources(); sys.exit(bool(set(c.LIBRARIES) & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_corpus_is_written_whole_and_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = [path for path in corpus.sources() if path.parent.name in ("json", "pydoc_data", "email")]
    monkeypatch.setattr(corpus, "sources", lambda: some)
    counts = [corpus.write(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    texts = [json.loads(line)["text"] for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert counts[0] == (len(texts), sum(len(text.encode()) for text in texts))
    assert len(texts) == len(set(texts)) > 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "LIBRARIES", ("no_such_library",))
    with pytest.raises(LookupError, match="no_such_library"):
        corpus.sources()
