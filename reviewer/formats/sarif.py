"""A SARIF 2.1.0 log, which editors and code scanning services read: every rule with its help, every finding."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from reviewer import gate
from reviewer.catalogue import CATALOGUE
from reviewer.formats import Checked
from reviewer.formats.shared import LOUDNESS, in_the_file
from reviewer.report import RULESET, Finding, Severity
from reviewer.rulebook import RuleText, rules_in_force

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = ("error", "warning", "note")
FINGERPRINT = "holdoutFinding/v1"


def log(checked: Sequence[Checked]) -> str:
    """Return the log of one run over all files."""
    rules = [_descriptor(rule) for rule in rules_in_force()]
    known = {rule["id"] for rule in rules}
    found = {f.rule: f.name for one in checked for f in one.report.findings}
    rules += [_of_the_gate(code, name) for code, name in sorted(found.items()) if code not in known]
    index = {rule["id"]: at for at, rule in enumerate(rules)}
    results = [result for one in checked for result in _results(one, index)]
    driver = {"name": "holdout-reviewer", "semanticVersion": f"{RULESET}.0.0", "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "artifacts": [_artifact(one) for one in checked],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _descriptor(rule: RuleText) -> dict[str, Any]:
    parts = (("What it looks for", rule.looks_for), ("Why it is refused", rule.why), ("Do instead", rule.instead))
    said = "\n\n".join(f"{heading}\n\n{text}" for heading, text in parts)
    return {
        "id": rule.code,
        "name": _camel(rule.name),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": " ".join(rule.looks_for.split())},
        "help": {"text": said, "markdown": "\n\n".join(f"**{heading}**\n\n{text}" for heading, text in parts)},
        "defaultConfiguration": _configuration(rule.severity),
        "properties": {"severity": rule.severity, "tags": ["holdout", rule.name]},
    }


def _of_the_gate(code: str, name: str) -> dict[str, Any]:
    """Return what is said of a finding without a page of its own: what no parser may be given."""
    severity: Severity = CATALOGUE[code][1] if code in CATALOGUE else "reject"
    what = "The file is refused before it is parsed." if code in gate.NAMES else "The audit says this by itself."
    return {
        "id": code,
        "name": _camel(name),
        "shortDescription": {"text": what},
        "help": {"text": "The message says what to change."},
        "defaultConfiguration": _configuration(severity),
    }


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def _configuration(severity: Severity) -> dict[str, Any]:
    return {"enabled": False} if severity == "off" else {"level": _LEVELS[LOUDNESS[severity]]}


def _artifact(one: Checked) -> dict[str, Any]:
    place = {"uri": address(one.file)}
    return {"location": place, "sourceLanguage": "python", "hashes": {"sha-256": one.report.script_sha256}}


def _results(one: Checked, index: dict[str, int]) -> list[dict[str, Any]]:
    met: Counter[tuple[str, ...]] = Counter()
    results = []
    for found in one.report.findings:
        same = (found.rule, found.view, found.snippet)
        met[same] += 1
        results.append(_result(one, found, index, _fingerprint(*same, str(met[same]))))
    return results


def _result(one: Checked, found: Finding, index: dict[str, int], fingerprint: str) -> dict[str, Any]:
    shown = in_the_file(found, one.report)
    region: dict[str, Any] = {
        "startLine": shown.line,
        "startColumn": shown.column,
        "endLine": shown.end_line,
        "endColumn": shown.end_column,
    }
    properties: dict[str, Any] = {"severity": found.severity, "view": found.view, "snippet": found.snippet}
    properties |= {"fixable": found.fixable, "inherited": found.inherited}
    if found.view == "unpacked":
        properties |= {"unpackedLine": found.line, "unpackedColumn": found.column}
    return {
        "ruleId": found.rule,
        "ruleIndex": index[found.rule],
        "level": _LEVELS[LOUDNESS[found.severity]],
        "message": {"text": shown.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": address(one.file)}, "region": region}}],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": properties,
    }


def _fingerprint(*parts: str) -> str:
    """Return what stays the same when lines above move: the rule, the line's text, and which of such lines it is."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def address(file: str) -> str:
    """Return a file's name as the reference that SARIF wants: relative names stay so, with `/` and escapes."""
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="surrogateescape")
