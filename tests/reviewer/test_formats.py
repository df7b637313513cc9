"""Reports for people, programs, GitHub and SARIF readers; whatever a script says, it stays a quotation."""

import base64
import json
import zlib
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reviewer import Finding, Policy, Report, review, rules_in_force
from reviewer.formats import FORMATS, Checked, written
from reviewer.formats.github import MOST_OF_A_KIND, commands
from reviewer.formats.sarif import FINGERPRINT, address
from reviewer.report import Severity
from tests.reviewer.scripts import BASELINE, KNOBS

PACKED = (
    "# a shell\nimport base64, zlib\n"
    f"exec(zlib.decompress(base64.b64decode({base64.b64encode(zlib.compress(KNOBS.encode()))})))\n"
)
CLEAN = Checked("train.py", review(BASELINE, isolated=False))
REJECTED = Checked("knobs.py", review(KNOBS, isolated=False))
INSIDE = Checked("packed.py", review(PACKED, isolated=False))
REFUSED = Checked("odd.py", review("x = 'a\0'\n", isolated=False))
ALL = [CLEAN, REJECTED, INSIDE, REFUSED]

# What code scanning services need of SARIF 2.1.0, written down from its specification.
PLACE = {"type": "integer", "minimum": 1}
MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
REGION = {
    "type": "object",
    "required": ["startLine", "startColumn", "endLine", "endColumn"],
    "properties": dict.fromkeys(("startLine", "startColumn", "endLine", "endColumn"), PLACE),
    "additionalProperties": False,
}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {"type": "object", "required": ["uri"], "properties": {"uri": {"type": "string"}}},
                "region": REGION,
            },
            "additionalProperties": False,
        }
    },
    "additionalProperties": False,
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": {"type": "array", "minItems": 1, "items": LOCATION},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
    "additionalProperties": False,
}
RULE = {
    "type": "object",
    "required": ["id", "shortDescription", "help", "defaultConfiguration"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string", "pattern": "^[A-Za-z0-9]+$"},
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
        "help": MESSAGE,
        "defaultConfiguration": {
            "type": "object",
            "properties": {"level": LEVEL, "enabled": {"type": "boolean"}},
            "additionalProperties": False,
        },
        "properties": {"type": "object"},
    },
    "additionalProperties": False,
}
RUN = {
    "type": "object",
    "required": ["tool", "results"],
    "properties": {
        "tool": {
            "type": "object",
            "required": ["driver"],
            "properties": {
                "driver": {
                    "type": "object",
                    "required": ["name", "rules"],
                    "properties": {
                        "name": {"type": "string"},
                        "semanticVersion": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
                        "rules": {"type": "array", "uniqueItems": True, "items": RULE},
                    },
                    "additionalProperties": False,
                }
            },
        },
        "invocations": {"type": "array", "items": {"type": "object", "required": ["executionSuccessful"]}},
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "artifacts": {"type": "array", "uniqueItems": True, "items": {"type": "object", "required": ["location"]}},
        "results": {"type": "array", "items": RESULT},
    },
    "additionalProperties": False,
}
LOG = Draft202012Validator({
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "properties": {"version": {"const": "2.1.0"}, "runs": {"type": "array", "minItems": 1, "items": RUN}},
})  # fmt: skip


def sarif(*checked: Checked) -> Any:
    return json.loads(written("sarif", checked))


def finding(message: str = "What.\nDo.", severity: Severity = "reject", **more: Any) -> Finding:
    place = {"line": 3, "column": 5, "end_line": 3, "end_column": 9} | more
    return Finding("K101", "env-read", severity, message=message, **place)


def report(*findings: Finding) -> Report:
    return Report.of(script_sha256="0" * 64, findings=findings)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_says_which_file_is_rejected(format: Any) -> None:
    said = written(format, ALL)
    assert "knobs.py" in said
    assert "K101" in said
    assert not said.endswith("\n")


def test_lines_are_those_that_editors_jump_by() -> None:
    lines = written("text", [REJECTED]).splitlines()
    found = REJECTED.report.findings[0]
    assert lines[0].startswith(f"knobs.py:{found.line}:{found.column} {found.rule} {found.name}, {found.severity}: ")
    assert lines[1].startswith("    ")
    assert lines[-1].startswith("knobs.py: rejected, ")
    assert "packed.py(unpacked):" in written("text", [INSIDE])


def test_the_name_of_a_file_steers_no_terminal() -> None:
    said = written("text", [Checked("a\x1b[2J\n::error::x.py", CLEAN.report)])
    assert all(line.isprintable() and not line.lstrip().startswith("::") for line in said.split("\n"))


def test_json_is_one_object_for_each_file() -> None:
    said = [json.loads(line) for line in written("json", ALL).splitlines()]
    assert [one["file"] for one in said] == [one.file for one in ALL]
    for one, checked in zip(said, ALL, strict=True):
        rest = {key: value for key, value in one.items() if key not in ("event", "file")}
        assert Report.from_json(rest) == checked.report


# GitHub


def test_an_annotation_has_its_place_its_title_and_its_text() -> None:
    lines = list(commands([Checked("a/b.py", report(finding()))]))
    assert lines == [
        "::error file=a/b.py,line=3,endLine=3,col=5,endColumn=9,title=K101 env-read::What.%0ADo.",
        "submit: a/b.py: rejected",
    ]
    kinds = [next(iter(commands([Checked("a", report(finding(severity=s)))]))) for s in ("review", "warn", "info")]
    assert [line.split(" ")[0] for line in kinds] == ["::warning", "::warning", "::notice"]


def test_columns_are_left_out_where_it_has_several_lines() -> None:
    (line, _) = commands([Checked("a.py", report(finding(end_line=4)))])
    assert line.startswith("::error file=a.py,line=3,endLine=4,title=")


def test_nothing_that_is_quoted_can_be_a_command() -> None:
    name = "x%,:\r\n::error::y##[group]z.py"
    odd = finding("100% \u2028\r::warning::`a, b`\n::error::c")
    lines = list(commands([Checked(name, report(odd))]))
    assert len(lines) == len("\n".join(lines).splitlines()) == 2
    assert lines[0].startswith("::error file=x%25%2C%3A%0D%0A%3A%3Aerror%3A%3Ay##[group]z.py,line=3,")
    assert lines[0].endswith("::error::c".join(["::100%25 ⟨U+2028⟩⟨U+000D⟩::warning::`a, b`%0A", ""]))
    assert lines[1].startswith("submit: x%25")
    assert "##[" not in lines[1]
    assert "::" not in lines[1]


def test_the_worst_are_sent_and_the_others_counted() -> None:
    many = [finding(severity=s, line=n + 1, end_line=n + 1) for n in range(30) for s in ("info", "warn", "review")]
    lines = list(commands([Checked("a.py", report(*many)), Checked("b.py", report(finding()))]))
    sent = [line.split(" ")[0] for line in lines if line.startswith("::")]
    assert sent == ["::error", *["::warning"] * MOST_OF_A_KIND, *["::notice"] * MOST_OF_A_KIND]
    assert "title=K101 env-read" in lines[1]
    assert lines[-1] == "submit: 70 more findings have no annotation, GitHub shows 10 of a kind."


def test_what_stands_in_unpacked_text_is_shown_where_it_is_packed() -> None:
    said = [line for line in commands([INSIDE]) if "title=K101" in line]
    assert said
    for line in said:
        assert line.startswith("::error file=packed.py,line=3,")
        assert "::In the unpacked text, line " in line


# SARIF


def test_the_log_is_one() -> None:
    for checked in ([], [CLEAN], ALL):
        LOG.validate(sarif(*checked))


def test_every_rule_is_described_once_with_its_help() -> None:
    rules = sarif(*ALL)["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in rules_in_force()] + ["G005"]
    for described, rule in zip(rules, rules_in_force(), strict=False):
        assert described["shortDescription"]["text"] == rule.summary
        assert rule.instead in described["help"]["text"]


def test_a_result_has_the_place_of_its_finding_and_the_index_of_its_rule() -> None:
    (run,) = sarif(REJECTED)["runs"]
    for result, found in zip(run["results"], REJECTED.report.findings, strict=True):
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == found.rule
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "knobs.py"
        assert list(place["region"].values()) == [found.line, found.column, found.end_line, found.end_column]
        assert result["message"]["text"] == found.message


def test_levels_are_those_of_the_policy() -> None:
    mild = review(KNOBS, Policy.from_mapping({"rules": {"K101": "info"}}), isolated=False)
    levels = {r["level"] for r in sarif(Checked("a.py", mild))["runs"][0]["results"] if r["ruleId"] == "K101"}
    assert levels == {"note"}


def test_a_fingerprint_stays_when_lines_above_move_and_tells_equal_lines_apart() -> None:
    text = "import os\nx = os.environ['A']\nx = os.environ['A']\ny = os.environ['A']\n"

    def prints(script: str) -> list[str]:
        results = sarif(Checked("a.py", review(script, isolated=False)))["runs"][0]["results"]
        return [r["partialFingerprints"][FINGERPRINT] for r in results if r["ruleId"] == "K101"]

    before, after = prints(text), prints("# more\n\n" + text)
    assert before == after
    assert len(set(before)) == 3


def test_what_stands_in_unpacked_text_says_its_own_line_beside_the_place() -> None:
    results = [r for r in sarif(INSIDE)["runs"][0]["results"] if r["properties"]["view"] == "unpacked"]
    inner = [f for f in INSIDE.report.findings if f.view == "unpacked"]
    assert [r["properties"]["unpackedLine"] for r in results] == [f.line for f in inner]
    assert {r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in results} == {3}


@pytest.mark.parametrize(
    ("file", "uri"),
    [("a b/ü:1.py", "a%20b/%C3%BC%3A1.py"), ("/tmp/a#b.py", "file:///tmp/a%23b.py"), ("a\udcff.py", "a%FF.py")],
)
def test_a_files_name_is_a_reference(file: str, uri: str) -> None:
    assert address(file) == uri
