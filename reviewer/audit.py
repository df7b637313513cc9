"""One audit from text to Report. Runs inside the limited process; rules see a parsed script, never bytes."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import replace

import libcst as cst

from reviewer import gate
from reviewer.budget import TooMuch
from reviewer.collected import collected
from reviewer.context import Context
from reviewer.facts import Inner
from reviewer.found import Found, Setting
from reviewer.launch import LaunchFacts
from reviewer.packed.layers import inner_texts
from reviewer.places import Span
from reviewer.policy import Policy
from reviewer.report import Finding, Knob, Report, milder
from reviewer.rules import load
from reviewer.rules.base import Rule
from reviewer.script import Script
from reviewer.wording import clip, told

MOST_FINDINGS = 500
_RECURSION = 20_000  # chains of 500 operators are legal, and each takes a few frames


def audit(
    text: str,
    digest: str,
    policy: Policy,
    launch: LaunchFacts | None = None,
    context: Context | None = None,
    script: Script | None = None,
) -> Report:
    """Judge a text that has passed the gate's byte checks; `script` is that text, where it has been read already."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(_RECURSION, limit))
    try:
        return _judge(script, text, digest, policy, launch, context)
    finally:
        sys.setrecursionlimit(limit)


def _judge(
    script: Script | None,
    text: str,
    digest: str,
    policy: Policy,
    launch: LaunchFacts | None,
    context: Context | None,
) -> Report:
    """Apply the rules, and ask the compiler last: where something needed its tree, that saves it a parse."""
    try:
        script = script or Script(text, policy, launch, context=context)
        findings, knobs = _apply(script)
    except Exception as error:
        refused = gate.uncompiled(text)
        if refused is None and isinstance(error, cst.ParserSyntaxError):
            refused = gate.unparsed(error.raw_line)
        if refused is None:
            raise
        return Report.of(script_sha256=digest, findings=[refused], policy=policy.version)
    if refused := gate.uncompiled(text, script.tree.compiled):
        return Report.of(script_sha256=digest, findings=[refused], policy=policy.version)
    unpacked = []
    for inner in inner_texts(script):
        if isinstance(inner, Finding):
            findings.append(inner)
            continue
        found, settings = _apply(inner)
        findings += (replace(f, view="unpacked", fixable=False) for f in found)
        knobs += settings
        unpacked.append(Inner(inner.layer, hashlib.sha256(inner.text.encode()).hexdigest(), inner.text))
        script = inner  # what follows is said of the text that the rest only carries
    facts, missing = collected(script, findings, knobs)
    return Report.of(
        script_sha256=digest,
        findings=[*findings, *missing],
        knobs=knobs,
        packed=bool(unpacked) or script.packed,
        policy=policy.version,
        unpacked=tuple(unpacked),
        **facts,
    )


def _apply(script: Script) -> tuple[list[Finding], list[Knob]]:
    """Apply every rule of the policy to one text."""
    found: list[tuple[Rule, Found | Setting]] = []
    broken: list[Finding] = []
    for rule in load():
        if script.policy.severity(rule.code) == "off":
            continue
        try:
            found.extend((rule, item) for item in rule.check(script))
        except Exception as error:  # whatever a text does to a rule must not let the text through
            broken.append(_broken(rule, error))
    if script.shell is not None:  # what the whole text lacks, the text inside may have; the rules judge that as well
        found = [(rule, item) for rule, item in found if item.node is not script.tree.module]
    findings, knobs = _place(script, found)
    found = []
    for rule in load():
        if script.policy.severity(rule.code) == "off":
            continue
        try:
            found.extend((rule, item) for item in rule.conclude(script, findings, knobs))
        except Exception as error:
            broken.append(_broken(rule, error))
    return [*findings, *(_place(script, found)[0] if found else ()), *broken], knobs


def _broken(rule: Rule, error: Exception) -> Finding:
    what = f"This rule could not be applied ({type(error).__name__}), so a person has to look; that is our fault."
    remedy = "Nothing to do; an organizer reads it."
    if isinstance(error, TooMuch):
        what = "This rule would take too long on this file, so a person has to look."
        remedy = "Write it more plainly to be judged at once: fewer paths in one function, fewer names for one thing."
    return Finding(rule.code, rule.name, "review", 1, 1, 1, f"{what}\n{remedy}")


def _place(script: Script, found: list[tuple[Rule, Found | Setting]]) -> tuple[list[Finding], list[Knob]]:
    tree = script.tree
    placeless = {id(item.node) for _, item in found if item.node is tree.module or tree.is_outside(item.node)}
    nodes = [item.node for _, item in found if id(item.node) not in placeless]
    spans = tree.spans(nodes) if nodes else {}
    spans.update(dict.fromkeys(placeless, Span(1, 1, 1, 1)))
    lines = script.text.split("\n")
    findings: dict[tuple[str, Span, str], Finding] = {}
    knobs: dict[Knob, None] = {}
    for rule, item in found:
        span = spans[id(item.node)]
        if isinstance(item, Setting):
            knobs[Knob(rule.code, span.line, item.key, item.default, item.value)] = None
            continue
        kept = id(item.node) not in placeless and script.inherited.holds(rule, item, span.line, span.end_line)
        severity = milder(script.policy.severity(rule.code, item.at_most), "info" if kept else "reject")
        findings.setdefault(
            (rule.code, span, item.what),
            Finding(
                rule=rule.code,
                name=rule.name,
                severity=severity,
                line=span.line,
                column=span.column,
                end_line=span.end_line,
                end_column=span.end_column,
                message=f"{told(item.what)}\n{told(item.remedy)}",
                snippet=_snippet(script, item.node, "" if id(item.node) in placeless else lines[span.line - 1]),
                fixable=item.fix is not None,
                inherited=kept,
            ),
        )
    return _capped(findings.values()), list(knobs)[:MOST_FINDINGS]


def _snippet(script: Script, node: cst.CSTNode, line: str) -> str:
    """Return the line of a finding; of what a shell defines, and the text inside uses, the code itself."""
    return clip(line.strip() or ("" if node is script.tree.module else script.tree.code(node)))


def _capped(findings: Iterable[Finding]) -> list[Finding]:
    """Keep a report readable: the most severe first, and one line that says how many were left out."""
    order = ("reject", "review", "warn", "info")
    ranked = sorted(findings, key=lambda f: (order.index(f.severity), f.line, f.column))
    if len(ranked) <= MOST_FINDINGS:
        return ranked
    rest = len(ranked) - MOST_FINDINGS
    note = gate.refusal("G015", f"{rest} more findings are not shown.\nRepair these first, then check again.")
    return [*ranked[:MOST_FINDINGS], replace(note, severity="info")]  # the worst are shown, so they decide
