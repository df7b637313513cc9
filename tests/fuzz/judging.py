"""What must hold of every audit, whatever the text is; a sentence where it does not."""

import json
import random
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import libcst

from reviewer import Context, LaunchFacts, Policy, Report, fix, review
from reviewer.baselines.frozen import Accepted, Frozen
from reviewer.wording import told
from tests.fuzz.corpus import examples, scripts
from tests.fuzz.mutation import mutant

SECONDS = 20  # of processor time for one text, as in the limited process
DEAREST, SPARE = 60, 0.6  # times the parse, and seconds; tests/reviewer/test_cost.py measures more closely

_MODEL = "class GPT:\n    pass\ndef f(x):\n    return x\n"
_FROZEN = (
    Frozen("data", "DATA", (), (Accepted("first", "2026-01-01", "# DATA\nx = 1\n", (("x", "os.path"),)),)),
    Frozen("model", "", ("f", "GPT"), (Accepted("first", "2026-01-01", _MODEL),)),
)


@dataclass(frozen=True)
class Case:
    """One audit: a text, and what it is judged under."""

    data: bytes
    policy: Policy
    launch: LaunchFacts | None
    context: Context | None
    repaired: bool  # whether it is also given to the repair

    @classmethod
    def number(cls, seed: int, number: int) -> "Case":
        """Return the same case for the same two numbers, in every process."""
        chance = random.Random(f"{seed}/{number}")  # noqa: S311
        data = mutant(chance)
        policy, launch, context = Policy(), None, None
        if chance.random() < 0.2:
            baseline = chance.choice((None, *scripts(), data.decode("utf-8", "replace")))
            severe = dict.fromkeys(chance.sample(sorted(policy.rules), 9), chance.choice(("off", "warn", "reject")))
            policy = Policy(baseline=baseline, sections=_FROZEN, rules=severe)
        if chance.random() < 0.4:
            args = ("--lr", "0.1", "--flag", "-x", "ä")[: chance.randrange(6)]
            launch = LaunchFacts(chance.choice(("python", "torchrun")), chance.choice((1, 8)), args)
        if chance.random() < 0.3:
            before = chance.choice((chance.choice(examples()), mutant(chance).decode("utf-8", "surrogateescape")))
            context = Context(previous=before, knob_counts=(1, 2, 3)[: chance.randrange(4)])
        return cls(data, policy, launch, context, chance.random() < 0.05)


class _TooSlow(BaseException):
    """Not an Exception, so that no rule's guard takes it for the rule's own."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def complaint(case: Case, *, timed: bool = True) -> str | None:
    """Audit in this process, and say what is wrong with the outcome; None where nothing is."""
    try:
        with _limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the compiler, about escapes in literals; no audit is told of them
            start = time.process_time()
            report = _reviewed(case)
            took = time.process_time() - start
            if case.repaired and (wrong := _repair(case)):
                return wrong
    except _TooSlow:
        return f"slow: no end after {SECONDS} s of processor time"
    except Exception as error:
        return f"raised: {type(error).__name__}: {error}"[:300]
    return wrong_with(report, case) or (_dear(case, took) if timed and took > SPARE else None)


def isolated(case: Case) -> str | None:
    """Audit in the limited process, and say what is wrong with the outcome."""
    report = review(case.data, case.policy, launch=case.launch, context=case.context)
    return wrong_with(report, case)


def wrong_with(report: Report, case: Case) -> str | None:
    """Say what is wrong with a report about a text: a crash, no reason, a place that there is not."""
    worst = {f.severity for f in report.findings}
    due = "reject" if "reject" in worst else "review" if "review" in worst else "accept"
    if report.verdict != due:
        return f"verdict: {report.verdict} where the findings say {due}"
    lines = case.data.count(b"\n") + 1
    for found in report.findings:
        if found.rule in ("G012", "G013", "G014") or "could not be" in found.message:
            return f"crash: {found.rule}: {found.message}"
        if not all(part.strip() for part in [*found.message.split("\n"), *([""] * (found.message.count("\n") != 1))]):
            return f"words: {found.rule} does not say what and what to do: {found.message!r}"
        if found.view == "source" and not (1 <= found.line <= found.end_line <= lines and found.column >= 1):
            return f"place: {found.rule} at {found.line}:{found.column} to {found.end_line} of {lines}"
        if any(told(line) != line for line in found.message.split("\n")) or found.message.split("\n")[0][-1] == "…":
            return f"words: {found.rule} says what cannot be stored or read: {found.message!r}"
    again = Report.from_json(json.loads(json.dumps(report.to_json()).encode()))
    return None if again == report else "json: the report is another one when it comes back"


def _reviewed(case: Case) -> Report:
    return review(case.data, case.policy, launch=case.launch, context=case.context, isolated=False)


def _repair(case: Case) -> str | None:
    fixed = fix(case.data, case.policy, launch=case.launch, isolated=False)
    if any(f.rule == "G011" for f in fixed.remaining) and fixed.edits:
        return "repair: what comes out cannot be read"
    return next((f"crash: {f.rule}: {f.message}" for f in fixed.remaining if "could not be" in f.message), None)


def _dear(case: Case, took: float) -> str | None:
    start = time.process_time()
    try:
        libcst.parse_module(case.data.decode())
    except (libcst.ParserSyntaxError, UnicodeDecodeError):
        return None
    parsed = time.process_time() - start
    return f"slow: {took:.1f} s, {took / parsed:.0f} times its parse" if took > DEAREST * parsed + SPARE else None
