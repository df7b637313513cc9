"""Nothing passes because a part of the audit broke, and no honest script is turned away for it: a person looks."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from reviewer import Context, Report, audit, child, collected, fix, review
from reviewer.budget import TooMuch
from reviewer.found import Edit, Found
from reviewer.report import Finding, Knob
from reviewer.rules import load
from reviewer.rules.base import Rule
from reviewer.rules.k101_env_read import EnvRead
from reviewer.script import Script
from tests.reviewer.scripts import BASELINE, KNOBS


class Raises(EnvRead):
    """Fails before it has found anything, after, or at the end."""

    def __init__(self, where: str) -> None:
        self.where = where

    def check(self, script: Script) -> Iterator[Any]:
        if self.where == "check":
            raise KeyError("the key of nothing")
        found = list(super().check(script))
        yield from found
        if self.where == "after":
            raise RecursionError
        if self.where == "fix":
            yield Found(script.tree.module, "There is something.", "Repair it.", fix=self._fix)

    def conclude(self, script: Script, findings: Sequence[Finding], knobs: Sequence[Knob]) -> Iterator[Found]:
        if self.where == "conclude":
            raise AssertionError
        return iter(())

    def _fix(self) -> Sequence[Edit]:
        raise IndexError


def instead(monkeypatch: pytest.MonkeyPatch, rule: Rule) -> None:
    rules = tuple(rule if r.code == rule.code else r for r in load())
    for name in ("reviewer.audit.load", "reviewer.repairs.repair.load"):
        monkeypatch.setattr(name, lambda: rules)


@pytest.mark.parametrize(
    ("where", "error"), [("check", "KeyError"), ("after", "RecursionError"), ("conclude", "AssertionError")]
)
def test_a_rule_that_raises_is_named_and_a_person_looks(
    monkeypatch: pytest.MonkeyPatch, where: str, error: str
) -> None:
    assert review(BASELINE, isolated=False).verdict == "accept"
    instead(monkeypatch, Raises(where))
    report = review(BASELINE, isolated=False)
    assert report.verdict == "review"
    (found,) = (f for f in report.findings if f.severity == "review")
    assert (found.rule, found.name) == ("K101", "env-read")
    assert f"could not be applied ({error})" in found.message
    assert found.message.count("\n") == 1


def test_what_a_rule_and_the_others_found_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = review(KNOBS, isolated=False)
    instead(monkeypatch, Raises("after"))
    report = review(KNOBS, isolated=False)
    assert set(whole.findings) < set(report.findings)
    assert report.verdict == "reject"
    assert report.knobs == whole.knobs


def test_a_repair_that_raises_is_not_made_and_the_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, Raises("fix"))
    fixed = fix(KNOBS, isolated=False)
    assert fixed.text != KNOBS
    assert [(f.rule, f.severity) for f in fixed.remaining if f.message.startswith("There is something")] == [
        ("K101", "reject")
    ]


def _collector_that_raises(error: Exception) -> Callable[..., Any]:
    def collect(*_: Any) -> Any:
        raise error

    return collect


@pytest.mark.parametrize("name", collected._COLLECTORS)
@pytest.mark.parametrize("error", [ZeroDivisionError(), TooMuch(), MemoryError(), RecursionError()], ids=repr)
def test_a_fact_that_cannot_be_collected_is_named_and_a_person_looks(
    monkeypatch: pytest.MonkeyPatch, name: str, error: Exception
) -> None:
    whole = review(BASELINE, isolated=False, context=Context(previous=KNOBS))
    what = collected._COLLECTORS[name][0]
    monkeypatch.setitem(collected._COLLECTORS, name, (what, _collector_that_raises(error)))
    report = review(BASELINE, isolated=False, context=Context(previous=KNOBS))
    assert report.verdict == "review"
    (found,) = set(report.findings) - set(whole.findings)
    assert (found.rule, found.name, found.severity) == ("G016", "incomplete-report", "review")
    assert what in found.message
    others = {n: getattr(report, n) for n in collected._COLLECTORS if n != name}
    assert others == {n: getattr(whole, n) for n in others}
    assert not getattr(report, name)


def test_a_script_that_is_refused_anyway_stays_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(collected._COLLECTORS, "claims", ("what it claims", _collector_that_raises(KeyError())))
    assert review(KNOBS, isolated=False).verdict == "reject"


BROKEN = """
import sys; sys.path.insert(0, sys.argv[1])
from reviewer import child
from reviewer.rules.t902_runs_on_import import RunsOnImport
child.CPU_SECONDS = 2
def check(self, script):
    {}
RunsOnImport.check = check
sys.exit(child.main())
"""


@pytest.mark.parametrize(
    ("does", "verdict", "said"),
    [
        ("raise ValueError", ("review", "T902"), "could not be applied (ValueError)"),
        ("return bytearray(1 << 30)", ("review", "T902"), "could not be applied (MemoryError)"),
        ("return self.check(script)", ("review", "T902"), "could not be applied (RecursionError)"),
        ("return [script.budget.spend() for _ in iter(int, 1)]", ("review", "T902"), "would take too long"),
        ("return [None for _ in iter(int, 1)]", ("reject", "G012"), "did not finish within"),
        ("import os; os.abort()", ("reject", "G013"), "SIGABRT"),
        ("sys.exit(3)", ("reject", "G013"), "code 3"),
        ("sys.stdout.write('{'); return ()", ("reject", "G014"), "no readable answer"),
    ],
)
def test_in_the_limited_process_nothing_that_a_rule_does_lets_a_script_through(
    monkeypatch: pytest.MonkeyPatch, does: str, verdict: tuple[str, str], said: str
) -> None:
    monkeypatch.setattr(child, "_START", BROKEN.format(does))
    report: Report = review(BASELINE)
    found = [f for f in report.findings if f.severity in ("review", "reject")]
    assert (report.verdict, found[0].rule) == verdict
    assert said in found[0].message


def test_every_part_of_a_report_is_collected_under_guard() -> None:
    facts = {"drift", "sections", "claims", "calls"}
    assert set(collected._COLLECTORS) == facts
    assert not facts & set(vars(audit))
