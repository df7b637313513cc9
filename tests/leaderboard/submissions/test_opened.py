"""What strangers read of a report: no other version, and without the script not a word of it."""

import json

from leaderboard.submissions.opened import opened
from reviewer import Context, review

CANARY = "CANARY_SETTING"
TEXT = (
    '"""No environment reads. CANARY_SETTING"""\nimport os, zlib\n'
    f"A = os.environ['{CANARY}_A']\nB = os.environ['{CANARY}_B']\nC = os.environ['{CANARY}_C']\n"
    f"def {CANARY}_helper():\n    return A\n"
    f"def load_for_eval(path, device):\n    return {CANARY}_helper()\n"
)


def report() -> dict[str, object]:
    context = Context(previous=TEXT.replace("return A", "return B"), knob_counts=(1, 1, 1))
    return review(TEXT, context=context, isolated=False).to_json()


def test_a_team_reads_all_of_it() -> None:
    whole = report()
    assert {"K101", "K105", "F802"} <= {f["rule"] for f in whole["findings"]}
    assert whole["drift"]
    assert whole["calls"]


def test_nobody_else_learns_of_the_versions_before() -> None:
    seen = opened(report(), with_source=True)
    assert {f["rule"] for f in seen["findings"]} & {"K105", "F802"} == set()
    assert seen["drift"] is None
    assert CANARY in json.dumps(seen)


def test_without_the_script_no_word_of_it_is_read() -> None:
    whole = report()
    seen = opened(whole, with_source=False)
    assert CANARY not in json.dumps(seen)
    assert [(f["rule"], f["line"]) for f in seen["findings"] if f["rule"] == "K101"]
    assert set(seen) == set(whole)
