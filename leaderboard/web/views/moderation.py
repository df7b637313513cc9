"""The organizers' queue, the page on which they look at one submission, and the decision. For all others: nothing."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.core.errors import Refusal
from leaderboard.submissions import reaudits, review, secondlook
from leaderboard.submissions.models import State, Submission
from leaderboard.submissions.moderation import VERBS, Action, moderate
from leaderboard.submissions.visibility import organizes
from leaderboard.web import desk, findings
from leaderboard.web.annotated import annotated
from leaderboard.web.audits import audits
from leaderboard.web.changes import changes
from leaderboard.web.source import decode
from leaderboard.web.views.shell import find_competition, reader, shell
from leaderboard.web.wording import visible


@require_safe
@never_cache
def queue(request: HttpRequest, competition: str) -> HttpResponse:
    """List what waits for a person, what could be run again or reinstated, and what was decided lately."""
    contest, _ = _organizer(request, competition)
    context = shell(request, contest, "queue") | {
        "waiting": desk.rows(contest),
        "count": review.waiting(contest).count(),
        "reread": reaudits.standing_again(contest)[: review.OTHERS],
        "errored": review.ended(contest, State.ERRORED),
        "looks": secondlook.open_looks(contest)[: review.OTHERS],
        "disqualified": review.ended(contest, State.DISQUALIFIED),
        "decisions": [(event, VERBS[Action(event.data["action"])].past) for event in review.decisions(contest)],
    }
    return render(request, "web/moderation/queue.html", context)


@require_safe
@never_cache
def look(request: HttpRequest, competition: str, pk: int) -> HttpResponse:
    """Show one submission with all that a decision needs, and the buttons."""
    contest, _ = _organizer(request, competition)
    return render(request, "web/moderation/review.html", _context(request, contest, _of(contest, pk)))


@require_POST
def decide(request: HttpRequest, competition: str, pk: int) -> HttpResponse:
    """Carry out a decision and go on to the next that waits; say who was first where somebody was."""
    contest, organizer = _organizer(request, competition)
    submission = _of(contest, pk)
    action, reason, seen = (request.POST.get(name, "") for name in ("action", "reason", "seen"))
    _, following = desk.neighbours(_waiting(contest), pk)
    reviewed = submission.state == State.IN_REVIEW
    newest = int(seen) if seen.isascii() and seen.isdigit() else None
    try:
        moderate(organizer=organizer, submission=submission, action=action, reason=reason, seen=newest)
    except Refusal as refusal:
        messages.error(request, refusal.message)
        if refusal.status == 400:
            context = _context(request, contest, submission) | {"typed": reason}
            return render(request, "web/moderation/review.html", context, status=400)
        following = pk
    else:
        name = f"v{submission.version} of {submission.team.name}"
        messages.success(request, f"{visible(name)} is {VERBS[Action(action)].past}.")
        if not reviewed:
            following = pk
    if request.POST.get("back") == "submission":
        return redirect("web:submission", pk=pk)
    if following is None:
        return redirect("web:queue", competition=contest.slug)
    return redirect("web:review", competition=contest.slug, pk=following)


@require_POST
def reopen(request: HttpRequest, competition: str, pk: int) -> HttpResponse:
    """Show which descendants a ruling would reopen; with the confirmation of exactly these, reopen them."""
    contest, organizer = _organizer(request, competition)
    submission = _of(contest, pk)
    if digest := request.POST.get("confirm", ""):
        try:
            done = secondlook.reopen(organizer=organizer, submission=submission, digest=digest)
        except Refusal as refusal:
            messages.error(request, refusal.message)
        else:
            count = f"{len(done)} submission{'s' if len(done) > 1 else ''}"
            messages.success(request, f"{count} will be looked at again; the queue lists them.")
        return redirect("web:review", competition=contest.slug, pk=pk)
    context = shell(request, contest, "queue", submission.phase.slug) | desk.descent(submission)
    return render(request, "web/moderation/reopen.html", context | {"submission": submission})


@require_POST
def keep(request: HttpRequest, competition: str, pk: int) -> HttpResponse:
    """Close the second look at a submission, which stays as it is."""
    contest, organizer = _organizer(request, competition)
    submission = _of(contest, pk)
    try:
        secondlook.keep(organizer=organizer, submission=submission)
    except Refusal as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, f"{visible(f'v{submission.version} of {submission.team.name}')} stays as it is.")
    return redirect("web:review", competition=contest.slug, pk=pk)


def _organizer(request: HttpRequest, slug: str) -> tuple[Competition, User]:
    """Return the competition and its organizer who asks. Raises Http404 for everybody else."""
    contest, who = find_competition(slug), reader(request)
    if who is None or not organizes(who, contest):
        raise Http404("not an organizer")
    return contest, who


def _of(contest: Competition, pk: int) -> Submission:
    rows = Submission.objects.select_related("phase__competition", "team", "kit", "policy", "author")
    return get_object_or_404(rows, pk=pk, phase__competition=contest)


def _waiting(contest: Competition) -> list[int]:
    return list(review.waiting(contest).values_list("pk", flat=True)[:1000])


def _context(request: HttpRequest, contest: Competition, submission: Submission) -> dict[str, Any]:
    report = submission.reports.order_by("-id").first()
    before = review.previous(submission)
    events = review.told(submission)
    decided = [event for event in events if "action" in event.data]
    waiting = _waiting(contest)
    earlier, later = desk.neighbours(waiting, submission.pk)
    context = shell(request, contest, "queue", submission.phase.slug)
    context |= annotated(submission, report.body if report else None)
    new = desk.new_since(before, submission)
    context |= desk.descent(submission)
    return context | {
        "facts": findings.facts(report.body) if report else None,
        "submission": submission,
        "report": report,
        "audits": audits(submission),
        "desk": desk.desk(submission, decided[-1] if decided else None),
        "previous": before,
        "percent": None if new is None else round(100 * new),
        "changes": changes(decode(before.script), decode(submission.script)) if before else None,
        "versions": review.versions(submission),
        "events": events,
        "count": len(waiting),
        "earlier": earlier,
        "later": later,
    }
