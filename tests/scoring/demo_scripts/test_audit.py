"""What the audit says of each shipped script, under the standard policy and the demo's own."""

from __future__ import annotations

import tomllib

import pytest

from reviewer import Policy, review
from tests.scoring.demo_scripts.conftest import SCRIPTS
from tests.scoring.tiny import ROOT

DEMO = tomllib.loads((ROOT / "deploy/demo/competition.toml").read_text())["policy"]
POLICIES = [pytest.param(None, id="standard"), pytest.param(Policy.from_mapping(DEMO), id="demo")]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["baseline.py", "ngram.py", "peek.py"])
def test_it_is_accepted_and_nothing_is_noted_against_it(name: str, policy: Policy | None) -> None:
    report = review((SCRIPTS / name).read_bytes(), policy)
    assert [(f.rule, f.line) for f in report.findings if f.severity != "info"] == []
    assert report.verdict == "accept"


@pytest.mark.parametrize("policy", POLICIES)
def test_knobs_are_rejected(policy: Policy | None) -> None:
    report = review((SCRIPTS / "knobs.py").read_bytes(), policy)
    assert report.verdict == "reject"
    assert {"K101", "E204"} <= {f.rule for f in report.findings}


@pytest.mark.parametrize("name", ["ngram.py", "peek.py"])
def test_what_it_shares_with_the_baseline_is_the_same_text(name: str) -> None:
    """The difference to the baseline is the lesson; names that stand in both tell where to look."""
    shared = {"norm", "Linear", "rotary_angles", "rotate", "orthogonalize", "Muon", "Clock", "log"}
    ours, theirs = (_definitions((SCRIPTS / file).read_text()) for file in (name, "baseline.py"))
    assert {key: ours[key] for key in shared} == {key: theirs[key] for key in shared}


def _definitions(text: str) -> dict[str, str]:
    parts = [part for part in text.replace("\n@", "\n\n\n@").split("\n\n\n") if part.startswith(("def ", "class "))]
    return {part.split("(")[0].split(":")[0].split()[1]: part for part in parts}
