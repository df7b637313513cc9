"""A report as JSON has one shape, written down in `report.schema.json`."""

import base64
import json
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import reviewer
from reviewer import Context, Finding, Knob, LaunchFacts, Policy, Report, facts, review
from tests.reviewer.scripts import BASELINE, KNOBS

SCHEMA = json.loads(Path(reviewer.__file__).with_name("report.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)
PACKED = (
    f"import base64, zlib\nexec(zlib.decompress(base64.b64decode({base64.b64encode(zlib.compress(KNOBS.encode()))})))"
)
FULL = Report.of(
    script_sha256="0" * 64,
    findings=[Finding("K101", "env-read", "reject", 3, 5, 3, "What.\nDo.", "x", True, "unpacked", True, 9)],
    knobs=[Knob("K101", 3, "LR", 0.1, 0.2), Knob("K101", 4, "N", None, True), Knob("K102", 5, "M", "a", 7)],
    packed=True,
    policy="2026-03",
    drift=facts.Drift(1, 2, ("LR",), ("N",), ("f",), ("g",), ("h", "i"), ("loader",)),
    sections=(facts.Section("loader", "ast-identical", "2026-01-01"),),
    claims=(facts.Claim(3, "environment", "reads no environment", ("K101",)),),
    unpacked=(facts.Inner(1, "1" * 64, "x = 1\n"),),
    calls=(facts.Reached("GPT.forward", 12),),
)


def as_sent(report: Report) -> Any:
    return json.loads(json.dumps(report.to_json(), allow_nan=False))


@pytest.mark.parametrize(
    "report",
    [
        review(BASELINE, isolated=False),
        review(KNOBS, Policy(version="7"), launch=LaunchFacts(), isolated=False),
        review(PACKED, isolated=False),
        review(b"", isolated=False),
        review(b"\xff", isolated=False),
        review("def f(:\n", isolated=False),
        review("x = 'a\0'\n", isolated=False),
        review(BASELINE.replace("weights_only=True", "weights_only=False"), isolated=False),
        review(KNOBS, context=Context(previous=BASELINE, knob_counts=(1, 2, 3)), isolated=False),
        review(KNOBS, Policy(baseline=KNOBS), isolated=False),
        review("import os\n" + "".join(f"x = os.environ['A{n}']\n" for n in range(700)), isolated=False),
        review("import os\nx = os.environ.get('A\\0\\ud800', 1e400)\n", isolated=False),
        FULL,
    ],
    ids=["clean", "knobs", "packed", "empty", "no text", "syntax", "control", "load", "context", "inherited", "many",
         "unfit", "full"],
)  # fmt: skip
def test_every_report_fits_the_schema(report: Report) -> None:
    sent = as_sent(report)
    VALIDATOR.validate(sent)
    assert Report.from_json(sent) == report


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_has_the_fields_of_the_report_and_no_other() -> None:
    assert set(SCHEMA["properties"]) == {f.name for f in fields(Report)}
    parts = {"finding": Finding, "knob": Knob, "drift": facts.Drift, "section": facts.Section, "claim": facts.Claim}
    for name, part in {**parts, "inner": facts.Inner, "reached": facts.Reached}.items():
        assert set(SCHEMA["$defs"][name]["properties"]) == {f.name for f in fields(part)}
        assert set(SCHEMA["$defs"][name]["required"]) == {f.name for f in fields(part)}


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every member of every object."""
    found = []
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += [(*path, key)] if isinstance(value, dict) else []
        found += places_in(one, (*path, key))
    return found


@pytest.mark.parametrize("path", places_in(as_sent(FULL)), ids=lambda path: ".".join(map(str, path)))
def test_the_schema_refuses_a_changed_shape(path: tuple[Any, ...]) -> None:
    for change in ("missing", "renamed", "another kind"):
        sent = holder = as_sent(FULL)
        for step in path[:-1]:
            holder = holder[step]
        value = holder.pop(path[-1])
        if change == "renamed":
            holder[f"{path[-1]}_"] = value
        elif change == "another kind":
            holder[path[-1]] = {"a": value}
        assert not VALIDATOR.is_valid(sent), change


def test_a_report_names_the_policy_that_it_is_under() -> None:
    for text in (BASELINE, "", "x = ("):
        assert review(text, Policy(version="2026-03"), isolated=False).policy == "2026-03"
        assert review(text, Policy(version="2026-03")).policy == "2026-03"
    assert review(BASELINE, isolated=False).policy == Policy().version
