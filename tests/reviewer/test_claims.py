"""What a script says of itself stands in the report, with the rules that find otherwise."""

import pytest

from reviewer import Policy, review
from reviewer.claims import said_in
from reviewer.phrases import KINDS
from reviewer.policy import CATALOGUE
from reviewer.script import Script
from tests.reviewer.scripts import BASELINE, KNOBS


def abouts(text: str) -> list[str]:
    return [said.kind.about for said in said_in(Script(text, Policy()))]


def test_every_claim_of_a_docstring_is_reported_with_what_denies_it() -> None:
    claims = {c.about: c for c in review(KNOBS, isolated=False).claims}
    assert claims["no environment"].contradicted_by == ("K101",)
    assert claims["no scaling of logits"].contradicted_by == ("E204",)
    assert claims["no environment"].text == "no environment"
    assert {c.line for c in claims.values()} == {1}


def test_an_honest_claim_stands_undenied() -> None:
    text = BASELINE.replace("A small GPT.", "A small GPT, no environment reads.")
    report = review(text, isolated=False)
    assert [(c.about, c.contradicted_by) for c in report.claims] == [("no environment", ())]
    assert not any(f.rule == "H702" for f in report.findings)


def test_a_denied_claim_is_quoted_with_the_line_that_denies_it() -> None:
    findings = [f for f in review(KNOBS, isolated=False).findings if f.rule == "H702"]
    message = next(f.message for f in findings if "K101" in f.message)
    line = KNOBS[: KNOBS.index("SCALE = ")].count("\n") + 1
    assert "Line 1 says “no environment”" in message
    assert f'line {line} has “SCALE = float(os.environ.get("GPT_EVAL_SCALE", "1.08"))”' in message


def test_a_rule_that_a_competition_turns_down_denies_nothing() -> None:
    policy = Policy(rules={"K101": "info", "E204": "off"})
    assert all(not c.contradicted_by for c in review(KNOBS, policy, isolated=False).claims)


def test_lines_of_an_unpacked_text_are_its_own() -> None:
    import base64

    inner = '# no fallback\n"""No environment."""\nimport os\nx = os.environ["LR"]\n'
    text = f"import base64\nexec(base64.b64decode('{base64.b64encode(inner.encode()).decode()}'))\n"
    claims = review(text, isolated=False).claims
    assert [(c.line, c.about, c.contradicted_by) for c in claims] == [
        (1, "no fallback", ()),
        (2, "no environment", ("K101",)),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "there are no environment knobs",
        "the same logits in training and evaluation",
        "nothing changes at evaluation",
        "no eval-only branch",
        "logits are never scaled",
        "it never falls back",
        "it does not read validation data",
        "no downloads",
        "trained from scratch",
        "a pure function of each row",
        "the model is strictly causal",
        "runs are bitwise reproducible",
        "no test-time training",
        "no hidden tricks",
    ],
)
def test_each_way_to_say_it_is_heard_once_in_a_comment(sentence: str) -> None:
    assert len(abouts(f"x = 1\n# {sentence}\ny = 2\n")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "x = '# no environment'\n",
        "x = f('''\n# no environment\n''')\n",
        "# should there be no environment?\n",
        "# if there is no environment, stop\n",
        "# it is not causal\n",
        "# the non-deterministic one is deterministic unless compiled\n",
        "# he calls it 'no environment' himself\n",
        "# is_causal = True in training and in evaluation\n",
    ],
)
def test_what_is_asked_denied_quoted_or_data_is_no_claim(text: str) -> None:
    assert abouts(text) == []


def test_every_kind_names_rules_that_exist() -> None:
    assert {rule for kind in KINDS for rule in kind.rules} <= set(CATALOGUE)
    assert len({kind.about for kind in KINDS}) == len(KINDS)
