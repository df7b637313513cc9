"""A submission's page: what it is, what the audit said on its lines, how far its runs are, what happened when."""

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from leaderboard.core.errors import Refusal
from leaderboard.standings.queries import submission_json
from leaderboard.submissions import queries, quota, services
from leaderboard.submissions.models import FINAL, State, Submission
from leaderboard.submissions.visibility import Access
from leaderboard.web import attempts, findings, logview
from leaderboard.web.annotated import annotated
from leaderboard.web.glance import Glance, glance
from leaderboard.web.live import Block, block, tag_of
from leaderboard.web.source import decode
from leaderboard.web.views.shell import member, shell
from leaderboard.web.wording import bpb

OWNER = {"failed": "your script", "errored": "ours"}


@require_safe
@never_cache
def page(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a submission as far as the reader may see it."""
    submission, access = _visible(request, pk)
    context = _context(request, submission, access, glance(submission, access))
    context |= shell(request, submission.phase.competition, "submission", submission.phase.slug)
    context |= _attempts(submission, access)
    context["state_block"] = _state_block(request, context).html
    context["log_block"] = logview.start(submission, request.GET.get("run", "")) if access.log else ""
    context["withdrawable"] = access.own and services.may_be_withdrawn(submission)
    return render(request, "web/submission.html", context)


@require_safe
@never_cache
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer the page's live part: 204 while nothing changed, else the part and what else became different."""
    submission, access = _visible(request, pk)
    seen = glance(submission, access)
    if request.GET.get("seen") == tag_of(seen.stamp) and _watching(submission, access):
        return HttpResponse(status=204)
    context = _context(request, submission, access, seen)
    context |= _attempts(submission, access)
    parts = [_state_block(request, context).html, *_device_parts(request, context)]
    if access.log:
        parts.append(_elsewhere("history", render_to_string("web/submission/history.html", context, request)))
    if request.GET.get("was") != submission.state:
        said = render_to_string("web/submission/said.html", context, request)
        parts.append(_elsewhere("said", said))
    if request.GET.get("report") != context["report_tag"]:
        audit = render_to_string("web/submission/audit.html", context, request)
        parts.append(_elsewhere("audit", audit))
    if request.GET.get("attempts") != seen.attempts:
        parts.append(_elsewhere("attempts", render_to_string("web/submission/attempts.html", context, request)))
    if access.log and request.GET.get("log") == "0" and (started := logview.start(submission)):
        parts.append(_elsewhere("log", started))
    return HttpResponse("".join(parts))


@require_safe
@never_cache
def log(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer the log's end: what came after the offset, and the next question."""
    submission, access = _visible(request, pk)
    if not access.log:
        raise Http404("not to be seen")
    return logview.follow(request, submission)


@require_safe
@never_cache
def source(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the whole script with the findings under their lines."""
    submission, access = _visible(request, pk)
    if not access.script:
        raise Http404("not to be seen")
    report = queries.report_for(access, submission)
    context = annotated(submission, report) | {"submission": submission}
    context |= shell(request, submission.phase.competition, "submission", submission.phase.slug)
    return render(request, "web/source.html", context)


@require_safe
@never_cache
def script(request: HttpRequest, pk: int) -> HttpResponse:
    """Hand out the script's bytes as a file, never as something a browser would run."""
    submission, access = _visible(request, pk)
    if not access.script:
        raise Http404("not to be seen")
    headers = {"Content-Disposition": f'attachment; filename="train-v{submission.version}.py"'}
    return HttpResponse(bytes(submission.script), content_type="application/octet-stream", headers=headers)


@login_required
@require_POST
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a submission back."""
    submission, _ = _visible(request, pk)
    try:
        services.withdraw(user=member(request), submission=submission)
    except Refusal as refusal:
        if refusal.status == 404:
            raise Http404(refusal.message) from None
        messages.error(request, refusal.message)
    return redirect("web:submission", pk=pk)


def _visible(request: HttpRequest, pk: int) -> tuple[Submission, Access]:
    try:
        return queries.visible(request.user, pk)
    except Refusal as refusal:
        raise Http404(refusal.message) from None


def _elsewhere(name: str, html: str) -> SafeString:
    """Return rendered HTML as the new content of another element of the page."""
    return format_html('<div id="{}" hx-swap-oob="innerHTML">{}</div>', name, mark_safe(html))  # noqa: S308 - a template's output


def _device_parts(request: HttpRequest, context: dict[str, Any]) -> list[SafeString]:
    """Return new drawings: alone where the page has their frame already, so that an opened table stays open."""
    if request.GET.get("drawn", "") != context["drawn"]:
        return [_elsewhere("device", render_to_string("web/submission/device.html", context, request))]
    return [
        _elsewhere(
            f"{each.device.name}-{part}", render_to_string(f"web/submission/{part}.html", {"device": each.device})
        )
        for each in context["devices"]
        for part in ("charts", "numbers")
    ]


def _attempts(submission: Submission, access: Access) -> dict[str, Any]:
    found = attempts.shown(submission, access)
    devices = attempts.devices(found)
    return {
        "attempts": found,
        "devices": devices,
        "drawn": " ".join(each.device.name for each in devices if each.device),
    }


def _context(request: HttpRequest, submission: Submission, access: Access, seen: Glance) -> dict[str, Any]:
    body = submission_json(request.user, submission)
    report = body["report"]
    return {
        "submission": submission,
        "body": body | {"quota": quota.standing(submission.team, submission.phase) if body["quota"] else None},
        "access": access,
        "phase": submission.phase,
        "own_bpb": bpb(submission.mean_bpb, submission.phase.rules.rounding) if _has_score(submission, access) else "",
        "report": report,
        "report_tag": tag_of(json.dumps(report, sort_keys=True)) if report else "",
        "findings": findings.shown(report, decode(submission.script) if access.script else None) if report else [],
        "headline": findings.headline(report) if report else [],
        "facts": findings.facts(report) if report else None,
        "events": queries.history(submission) if access.log else [],
        "owner": OWNER.get(submission.state, ""),
        "watching": _watching(submission, access),
        "seen": seen,
    }


def _watching(submission: Submission, access: Access) -> bool:
    return submission.state not in FINAL and access.log


def _has_score(submission: Submission, access: Access) -> bool:
    return access.inside and submission.state == State.RANKED


def _state_block(request: HttpRequest, context: dict[str, Any]) -> Block:
    submission, seen = context["submission"], context["seen"]
    return block(
        request,
        "state",
        "web/submission/state.html",
        context,
        url=reverse("web:submission-live", args=[submission.pk]),
        every=seen.every if context["watching"] else None,
        stamp=seen.stamp,
        was=submission.state,
        report=context["report_tag"],
        log=int(seen.has_log),
        attempts=seen.attempts,
        drawn=context["drawn"],
    )
