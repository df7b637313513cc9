"""The sentence that an audit's report comes down to."""

from typing import TypedDict

from reviewer import Report


class Reason(TypedDict):
    """A code for programs and one sentence for people."""

    code: str
    reason: str


def reason(report: Report) -> Reason:
    """Return rule and sentence of the first finding that decided the verdict, and how many others there are."""
    severity = "reject" if report.verdict == "reject" else "review"
    deciding = [finding for finding in report.findings if finding.severity == severity]
    first = deciding[0]
    sentence = f"{first.rule} {first.name}, line {first.line}: {' '.join(first.message.split())}"
    others = len(deciding) - 1
    if others:
        sentence += f" (and {others} more {'finding' if others == 1 else 'findings'})"
    return {"code": first.rule, "reason": sentence}
