"""Whole scripts: the honest one passes clean, the dishonest one is refused for what it does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import reviewer
from reviewer import Policy, review
from reviewer.found import Found
from reviewer.rules.d301_network import Network
from reviewer.script import Script
from tests.reviewer.scripts import BASELINE, KNOBS


def line_of(text: str, piece: str) -> int:
    return text[: text.index(piece)].count("\n") + 1


def test_the_honest_script_is_accepted() -> None:
    report = review(BASELINE, isolated=False)
    assert report.verdict == "accept"
    assert [f for f in report.findings if f.severity != "info"] == []
    assert report.knobs == ()


def test_the_dishonest_script_is_refused_for_its_knob_and_its_scale() -> None:
    report = review(KNOBS, isolated=False)
    assert report.verdict == "reject"
    stops = [(f.rule, f.line) for f in report.findings if f.severity == "reject"]
    assert stops == [("K101", line_of(KNOBS, "SCALE = ")), ("E204", line_of(KNOBS, "return logits * SCALE"))]
    (knob,) = report.knobs
    assert (knob.key, knob.default, knob.value) == ("GPT_EVAL_SCALE", "1.08", 1.08)


def test_positions_are_exact() -> None:
    finding = next(f for f in review(KNOBS, isolated=False).findings if f.rule == "K101")
    line = KNOBS.split("\n")[finding.line - 1]
    assert line[finding.column - 1 :].startswith("os.environ.get(")
    assert finding.snippet == line
    wide = "import os\nif True:\n    x = 'äöü', os.environ[\n        'LR'\n    ]\n"
    finding = next(f for f in review(wide, isolated=False).findings if f.rule == "K101")
    assert (finding.line, finding.column, finding.end_line) == (3, 16, 5)


def test_a_policy_decides_how_severe_a_finding_is() -> None:
    def verdict(**rules: str) -> str:
        return review(KNOBS, Policy.from_mapping({"rules": rules}), isolated=False).verdict

    assert verdict(K101="review", E204="warn") == "review"
    assert verdict(K101="warn", E204="info") == "review"  # the docstring denies the knob
    assert verdict(K101="warn", E204="info", H702="warn") == "accept"
    assert verdict(K101="off", E204="off") == "accept"
    assert review(KNOBS, Policy(rules={"K101": "off", "E204": "off"}), isolated=False).knobs == ()


def test_what_the_launch_grammar_declares_may_be_read_and_is_a_knob() -> None:
    text = BASELINE + 'os.environ.get("GPT_LAYERS", 2)\n'
    report = review(text, Policy(allow_env=frozenset({"GPT_LAYERS"})), isolated=False)
    assert report.verdict == "accept"
    assert [(k.key, k.default, k.value) for k in report.knobs] == [("GPT_LAYERS", 2, 2)]


def test_what_stands_in_the_kits_baseline_is_inherited() -> None:
    mine = KNOBS + "\nextra = os.environ['MINE']\n"
    report = review(mine, Policy(baseline=KNOBS), isolated=False)
    assert {(f.rule, f.inherited, f.severity) for f in report.findings if f.rule != "E201"} == {
        ("K101", True, "info"),
        ("E204", True, "info"),
        ("H702", False, "review"),  # of the knob that is new
        ("H703", False, "info"),  # which nothing reads
        ("K101", False, "reject"),
    }
    changed = KNOBS.replace('"1.08"', '"1.09"')
    assert not any(
        f.inherited for f in review(changed, Policy(baseline=KNOBS), isolated=False).findings if f.rule == "K101"
    )


def test_comments_in_the_judged_text_order_nothing() -> None:
    marks = "  # noqa  # type: ignore  # nosec  # reviewer: off  # lint-ignore: K101  # pragma: no cover"
    text = "\n".join(line + marks if "environ" in line or "SCALE" in line else line for line in KNOBS.split("\n"))
    found = {f.rule for f in review("# reviewer: skip-file\n" + text, isolated=False).findings}
    assert {"K101", "E204"} <= found


def test_a_packed_shell_is_said_to_be_packed() -> None:
    text = 'import base64 as B, lzma as L\nexec(L.decompress(B.b85decode("abc"), format=L.FORMAT_RAW))\n'
    report = review(text, isolated=False)
    assert report.packed
    assert [(f.rule, f.line, f.severity) for f in report.findings] == [("S401", 2, "reject")]


def test_a_pickle_goes_to_a_person_unless_the_file_carries_it() -> None:
    def severity(argument: str) -> list[str]:
        text = BASELINE + f"\nimport pickle, zlib\nx = pickle.loads({argument})\n"
        findings = review(text, isolated=False).findings
        return [f"{f.rule} {f.severity}" for f in findings if f.rule in ("S401", "D305")]

    assert severity("zlib.decompress(open('out/blob', 'rb').read())") == ["D305 review"]
    assert severity("zlib.decompress(b'abc')") == ["S401 reject"]
    assert severity("b'cos\\n'") == ["S401 reject"]


def test_a_rule_that_breaks_asks_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(rule: Network, script: Script) -> list[Found]:
        raise KeyError(script.text[:1])

    monkeypatch.setattr(Network, "check", breaks)
    report = review(BASELINE, isolated=False)
    assert report.verdict == "review"
    assert [(f.rule, f.severity) for f in report.findings if f.severity != "info"] == [("D301", "review")]


def test_a_flood_of_findings_is_cut_short_and_says_so() -> None:
    text = "import os\n" + "x = os.environ['LR']\n" * 900
    report = review(text, isolated=False)
    assert len(report.findings) == 501
    assert [(f.rule, f.severity) for f in report.findings if f.rule.startswith("G")] == [("G015", "info")]
    assert report.verdict == "reject"
    harmless = BASELINE + "os.environ['A'] = '1'\n" * 900
    assert review(harmless, isolated=False).verdict == "accept"


def test_the_report_has_the_agreed_shape(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(KNOBS)
    done = subprocess.run([sys.executable, "-m", "reviewer", str(file), "--json"], capture_output=True, text=True)
    assert done.returncode == 4
    data = json.loads(done.stdout)
    schema = json.loads((Path(reviewer.__file__).parent / "report.schema.json").read_text())
    assert set(data) == set(schema["properties"]) | {"event", "file"}
    assert {f["view"] for f in data["findings"]} == {"source"}


def test_people_get_file_line_column_code_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(KNOBS)
    done = subprocess.run([sys.executable, "-m", "reviewer", str(file)], capture_output=True, text=True)
    assert done.returncode == 4
    place = f"{file}:{line_of(KNOBS, 'SCALE = ')}:15 K101 env-read, reject: The value of `GPT_EVAL_SCALE` comes from"
    lines = done.stdout.splitlines()
    index = next(i for i, line in enumerate(lines) if line.startswith(place))
    assert lines[index + 1] == "    Write the value there, as in `GPT_EVAL_SCALE = 1.08`."
    assert lines[-1] == f"{file}: rejected, 2 findings must change first."


def test_the_command_reads_a_competitions_policy(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(KNOBS)
    (tmp_path / "c.toml").write_text(
        '[policy]\nversion = "1"\n[policy.rules]\nK101 = "warn"\nE204 = "warn"\nH702 = "warn"\n'
    )
    command = [sys.executable, "-m", "reviewer", str(tmp_path / "train.py"), "--json", "--policy"]
    done = subprocess.run([*command, str(tmp_path / "c.toml")], capture_output=True, text=True)
    assert json.loads(done.stdout)["verdict"] == "accept"
    (tmp_path / "c.toml").write_text('[policy.rules]\nK101 = "never"\n')
    done = subprocess.run([*command, str(tmp_path / "c.toml")], capture_output=True, text=True)
    assert done.returncode == 2
    assert "policy.rules.K101" in done.stderr
