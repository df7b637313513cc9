"""Whatever a script makes of its texts, the report can be encoded, stored and read line by line."""

import json

import pytest

from reviewer import Finding, Knob, Report, review
from reviewer.wording import told
from tests.reviewer.scripts import BASELINE

NASTY = {
    "half of a pair": "\\ud800",
    "a nul": "\\x00",
    "a line end": "A\\nB",
    "a terminal's escape": "\\x1b[2J",
    "the other direction": "\\u202eLR",
    "a nul in bytes": "\\x00",
}


def stored(report: Report) -> str:
    """Return the report as a database and a client get it; raises where one of them could not."""
    text = json.dumps(report.to_json(), ensure_ascii=False, allow_nan=False)
    text.encode("utf-8")
    assert "\\u0000" not in json.dumps(report.to_json())
    return text


@pytest.mark.parametrize("what", NASTY)
@pytest.mark.parametrize("isolated", [True, False])
def test_a_report_quotes_any_key_and_can_be_stored(what: str, isolated: bool) -> None:
    prefix = "b" if "bytes" in what else ""
    key = f"{prefix}'{NASTY[what]}'"
    report = review(f"{BASELINE}\nx = os.environ.get({key}, {key})\n", isolated=isolated)
    text = stored(report)
    assert "⟨U+" in text
    (finding,) = (f for f in report.findings if f.rule == "K101")
    assert len(finding.message.split("\n")) == 2
    assert "comes from outside" in finding.message.split("\n")[0]
    assert Report.from_json(json.loads(text)) == report


def test_what_a_script_quotes_itself_is_bounded() -> None:
    text = f"{BASELINE}\nk = '{'a' * 15_000}'\n" + "x = os.environ.get(k, k)\n" * 400
    assert len(stored(review(text, isolated=False))) < 2_000_000


def test_a_knob_that_is_no_number_is_said_in_words() -> None:
    report = review(BASELINE + "\nx = float(os.environ.get('LR', 'nan'))\ny = os.environ.get('WD', 1e999)\n")
    stored(report)
    assert [(k.key, k.default, k.value) for k in report.knobs] == [("LR", "nan", "nan"), ("WD", "inf", "inf")]


def test_finding_and_knob_themselves_spell_what_they_are_given() -> None:
    finding = Finding("K101", "env-read", "reject", 1, 1, 1, "a\ud800\x00\nb\nc", "\x1bx\ty")
    assert (finding.message, finding.snippet) == ("a⟨U+D800⟩⟨U+0000⟩\nb⟨U+000A⟩c", "⟨U+001B⟩x\ty")
    assert Knob("K101", 1, "\udfff", "ä \x7f", 3) == Knob("K101", 1, "⟨U+DFFF⟩", "ä ⟨U+007F⟩", 3)


def test_only_what_stands_in_a_pair_of_backticks_is_shortened() -> None:
    between = "is said of both, at some length, " * 8
    sentence = f"`a` {between}`{'b' * 400}` {between}`c`, and ` alone."
    assert len(between) > 160
    assert told(f"`a` {between}`c`") == f"`a` {between}`c`"
    assert told(f"`{'b' * 400}` {between}`c` {between[:99]}") == f"`{'b' * 159}…` {between}`c` {between[:99]}"
    assert len(told(sentence)) <= 601


def test_an_expression_that_goes_on_in_the_next_line_is_quoted_in_one() -> None:
    quoted = "`torch.empty(\n    1, device=place,\n).backward` runs, and `chain\n    .step()` too: `a\nb`"
    assert told(quoted) == "`torch.empty(1, device=place).backward` runs, and `chain.step()` too: `a⟨U+000A⟩b`"
