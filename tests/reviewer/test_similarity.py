"""Fingerprints: what they are blind to, what they tell apart, and that their size and their process are bounded."""

import ast
import re

import pytest

from reviewer import Context, ReviewerFault, review, similarity
from reviewer.similarity import ENOUGH, INDEXED, NEAR, K, fingerprint, fingerprint_of, same_code, share
from tests.bench.bench_audit import script
from tests.reviewer.scripts import BASELINE

OTHER = script(layers=3, knobs=0)
OWN = re.compile(r"\b(schedule\d|turn\d|Layer\d|heads|width|hidden|cos|sin|done|warm|cool|table|rows|length)\b")


def renamed(text: str) -> str:
    """Give other names to all that the script names itself, and other values to its numbers."""
    return re.sub(r"\b0\.5\b", "0.625", OWN.sub(lambda match: f"my_{match[1]}_x", text)).replace("#", "# copied:")


def marks(text: str, *baselines: str) -> tuple[int, ...]:
    return fingerprint_of(ast.parse(text), map(ast.parse, baselines)).marks


def test_names_constants_comments_and_layout_are_not_seen() -> None:
    copy = renamed(OTHER)
    assert copy != OTHER
    one, other = fingerprint_of(ast.parse(OTHER)), fingerprint_of(ast.parse(copy))
    assert one == other
    assert same_code(ast.parse(OTHER), ast.parse(copy))


@pytest.mark.parametrize(
    "change",
    [("a * cos - b", "a * cos + b"), ("done < warm", "done > warm"), ("return table", "table = 1\n    return table")],
)
def test_what_it_does_is_seen(change: tuple[str, str]) -> None:
    assert change[0] in OTHER
    assert not same_code(ast.parse(OTHER), ast.parse(OTHER.replace(*change)))


def test_a_stolen_class_is_found_wherever_it_stands() -> None:
    stolen = OTHER[OTHER.index("class Layer1") : OTHER.index("def turn1")]
    host = BASELINE + "\n\n" + renamed(stolen)
    mine, theirs = marks(OTHER, BASELINE), marks(host, BASELINE)
    assert len(theirs) >= ENOUGH
    assert share(mine, theirs) > 0.7
    assert share(marks(OTHER), marks(BASELINE)) < NEAR


def test_what_comes_from_the_baseline_is_not_counted() -> None:
    mine, yours = BASELINE + "x = 1\n", BASELINE + "\ndef f(y):\n    return y\n"
    assert share(marks(mine), marks(yours)) > 0.9
    assert share(marks(mine, BASELINE), marks(yours, BASELINE)) == 0
    assert fingerprint_of(ast.parse(renamed(BASELINE)), [ast.parse(BASELINE)]).plain
    assert not fingerprint_of(ast.parse(OTHER), [ast.parse(BASELINE)]).plain
    assert not fingerprint_of(ast.parse("x = 1\n")).plain


def test_pieces_shorter_than_k_symbols_leave_nothing() -> None:
    assert marks("x = 1\ny = 2\n") == ()
    assert K > 12


def test_a_fingerprint_is_bounded_and_its_first_marks_find_its_kin(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"v{i} = [a + {'b * ' * (i % 11)}c, {'x, ' * (i % 13)}{'-' * (i % 7)}y]\n" for i in range(900))
    alike = lines + "def f(a):\n    return a\n"
    whole = len(marks(lines))
    monkeypatch.setattr(similarity, "MOST_MARKS", whole // 2)
    one, other = marks(lines), marks(alike)
    assert len(one) == whole // 2 > INDEXED
    assert list(one) == sorted(set(one))
    assert all(0 <= mark < 1 << 61 for mark in one)
    assert len(set(one[:INDEXED]) & set(other[:INDEXED])) > INDEXED - 8


def test_every_process_makes_the_same_marks() -> None:
    made = fingerprint(OTHER, [BASELINE])
    assert made == fingerprint_of(ast.parse(OTHER), [ast.parse(BASELINE)])


@pytest.mark.parametrize("text", ["x =", "", "\0", "(" * 100_000, "-" * 1_000_000 + "1", b"\xff\xfe"], ids=repr)
def test_what_cannot_be_read_has_none_and_harms_nobody(text: str | bytes) -> None:
    assert fingerprint(text) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sys.executable", "/nowhere/python"),
        ("_WALL_SECONDS", 0.0),
        ("_START", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        ("_START", "raise SystemExit(9)"),
        ("_START", "print('{}')"),
    ],
)
def test_what_the_host_does_to_it_is_no_property_of_the_text(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    owner, _, attribute = name.rpartition(".")
    monkeypatch.setattr(similarity.sys if owner else similarity, attribute, value)
    with pytest.raises(ReviewerFault):
        fingerprint(OTHER)


def test_a_parser_that_ran_into_its_limits_says_that_the_text_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_START", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert fingerprint(OTHER) is None


def test_a_baseline_that_cannot_be_read_is_not_the_texts_fault() -> None:
    with pytest.raises(ReviewerFault):
        fingerprint(OTHER, ["x = ("])


def test_capped_fingerprints_are_compared_up_to_where_both_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    small = [7 * mark for mark in range(300)]
    large = sorted({*small, *range(3 * 700)})
    assert share(small, large) == 1
    monkeypatch.setattr(similarity, "MOST_MARKS", 200)
    assert share(small[:200], large[:200]) == 1
    assert share(small[:200], range(0, 3 * 700, 14)) == pytest.approx(1.0)
    half = sorted({*small[::2], *(mark + 1 for mark in small[1::2])})
    assert share(small[:200], half[:200]) == pytest.approx(0.5, abs=0.01)


def test_the_report_compares_with_the_teams_own_version_before() -> None:
    report = review(renamed(OTHER), context=Context(previous=OTHER), isolated=False)
    (said,) = [f for f in report.findings if f.rule == "F802"]
    assert said.severity == "info"
    assert "your team's previous version" in said.message
    for before in (None, BASELINE, "x =", "\0"):
        report = review(OTHER, context=Context(previous=before), isolated=False)
        assert not [f for f in report.findings if f.rule == "F802"]
