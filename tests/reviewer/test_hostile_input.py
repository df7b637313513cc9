"""Fuzzed, truncated and nested inputs: always a verdict with a reason, never an exception or a hang."""

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewer import Report, gate, review
from tests.reviewer.scripts import BASELINE, KNOBS

SLOW = [HealthCheck.too_slow]
PIECES = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "=",
    "\n",
    "\t",
    "'",
    '"',
    "\\",
    "#",
    "\\\n",
    "@",
    "*",
    "**",
    "->",
    "lambda:",
    "if",
    "else",
    "for",
    "in",
    "def",
    "class",
    "x",
    "os",
    "environ",
    "import",
    "from",
    "await",
    "async",
    "yield",
    "match",
    "case",
    "_",
    "None",
    "0",
    "1.5",
    "f'{",
    "}",
    "'''",
    '"""',
    ":=",
    "global",
    "del",
    "with",
    "as",
    "try",
    "except",
]


def judged(report: Report) -> bool:
    return report.verdict in ("accept", "review", "reject") and (report.verdict == "accept") == (
        all(f.severity not in ("reject", "review") for f in report.findings)
    )


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    assert judged(review(data, isolated=False))


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_random_tokens(pieces: list[str]) -> None:
    assert judged(review(" ".join(pieces), isolated=False))


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(st.integers(0, len(KNOBS)), st.integers(0, 3), st.randoms(use_true_random=False))
def test_truncated_and_mutated_scripts(end: int, edits: int, chance: random.Random) -> None:
    text = list(KNOBS[:end])
    for _ in range(edits if text else 0):
        text[chance.randrange(len(text))] = chance.choice("()[]{}:,.=\n\t '\"\\#xä\x00")
    assert judged(review("".join(text), isolated=False))


@settings(max_examples=6, deadline=None, suppress_health_check=SLOW)
@given(st.integers(0, len(BASELINE)))
def test_the_limited_process_survives_truncation(end: int) -> None:
    assert judged(review(BASELINE[:end]))


def test_what_would_end_the_parser_is_refused_by_the_gate() -> None:
    for depth in (1_000, 10_000, 50_000):
        for text in (
            "x = " + "(" * depth + ")" * depth,
            "x = " + "[" * depth,
            "x = 1" + "+1" * depth,
            "x = " + "-" * depth + "1",
            "x = a" + "[0]" * depth,
            "x = " + "lambda: " * depth + "1",
            "x = " + "1 if 1 else " * depth + "1",
            "x = " + "'a' " * depth,
            "x = f'" + "{(" * depth + "'",
        ):
            found = gate.check(text.encode(), 10_000_000)
            assert found is None or found.rule in ("G008", "G009", "G010")
            assert found is not None or "f'" in text  # the inside of a string is the compiler's business


def test_deep_but_legal_files_get_a_verdict_from_the_process() -> None:
    for text in (
        "x = 1" + " + 1" * 480,
        "x = a" + ".b" * 480,
        "x = " + "(" * 190 + ")" * 190,
        "x = f'" + "{" * 400 + "'",
        "".join("    " * i + "if x:\n" for i in range(95)) + "    " * 95 + "pass\n",
        "x = '" + "a" * 60_000 + "'\n",
        "x = [" + "1," * 20_000 + "]\n",
        "x = 1\n" * 5_000,
    ):
        report = review(text)
        assert judged(report)
        assert "G013" not in {f.rule for f in report.findings}, report.findings[0].message
