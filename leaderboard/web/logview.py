"""The training log on the page: the last part at once, then what is added, until the submission is over.

Each answer ends in an element that asks for what comes next and is replaced by the answer, so the text only grows. A
submission of several runs shows the one that began last, or the one that `?run=` names.
"""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from leaderboard.runs.models import Attempt, Run
from leaderboard.runs.queries import PIECE_BYTES, log_json
from leaderboard.submissions.models import Submission
from leaderboard.submissions.queries import is_over
from leaderboard.web.wording import log_text

EVERY = 1  # seconds
FAR = 10**15  # beyond every log: asks for its size alone


def begun(submission: Submission) -> list[int]:
    """Return the indexes of the runs that have a log to show, the one that began last at the end."""
    tried = Attempt.objects.filter(run__submission=submission, kind=Attempt.Kind.TRAIN).exclude(leased_at=None)
    indexes = tried.order_by("leased_at", "pk").values_list("run__index", flat=True)
    return [index for index in dict.fromkeys(indexes) if _size(submission, index)]


def has_log(submission: Submission) -> bool:
    """Return whether any run has a log to show."""
    runs = Run.objects.filter(submission=submission).values_list("index", flat=True)
    return any(_size(submission, index) for index in runs)


def start(submission: Submission, run: str = "") -> SafeString | str:
    """Return the log part of a fresh page: a log's last piece, "" where there is none."""
    runs = begun(submission)
    if not runs:
        return ""
    index = int(run) - 1 if run.isdecimal() and len(run) < 4 and int(run) - 1 in runs else runs[-1]
    size = _size(submission, index)
    begin = max(0, size - PIECE_BYTES)
    return format_html(
        '<h2>Log</h2>{}{}<div class="log" tabindex="0" role="log" aria-label="Training log"><pre>{}</pre></div>',
        _others(sorted(runs), index),
        _cut(size) if begin else "",
        _piece(submission, index, begin),
    )


def follow(request: HttpRequest, submission: Submission) -> HttpResponse:
    """Answer with what came after `offset` in the log of `run` (its index), 204 while nothing did."""
    asked = [request.GET.get(name, "") for name in ("run", "attempt", "offset")]
    if not all(text.isdecimal() and len(text) < 16 for text in asked):
        return HttpResponse(status=204)
    index, attempt, offset = map(int, asked)
    now = log_json(submission, offset=FAR, index=index)
    if now["attempt"] != attempt:  # the run was begun anew, and with it its log
        return HttpResponse(format_html("\n– begun anew –\n{}", _piece(submission, index, 0)))
    if now["next"] <= offset and not is_over(submission):
        return HttpResponse(status=204)
    return HttpResponse(_piece(submission, index, offset))


def _piece(submission: Submission, index: int, begin: int) -> SafeString:
    piece = log_json(submission, offset=begin, index=index)
    if is_over(submission) and piece["next"] >= _size(submission, index):
        return format_html("{}{}", log_text(piece["text"]), _gap(piece["missing"]))
    return format_html(
        '{}<span hx-get="{}?run={}&amp;attempt={}&amp;offset={}" hx-trigger="every {}s" hx-swap="outerHTML"></span>',
        log_text(piece["text"]),
        reverse("web:submission-log", args=[submission.pk]),
        index,
        piece["attempt"],
        piece["next"],
        EVERY,
    )


def _cut(size: int) -> SafeString:
    return format_html('<p class="soft small">The last {} of {} bytes.</p>', f"{PIECE_BYTES:,}", f"{size:,}")


def _gap(missing: int) -> SafeString | str:
    return format_html("\n– the last {} bytes did not come here –\n", f"{missing:,}") if missing else ""


def _size(submission: Submission, index: int) -> int:
    return int(log_json(submission, offset=FAR, index=index)["next"])


def _others(runs: list[int], shown: int) -> SafeString | str:
    if len(runs) < 2:
        return ""
    links = [format_html('<a href="?run={}#log">Run {}</a>', run + 1, run + 1) for run in runs if run != shown]
    words = format_html("<strong>Run {}</strong>", shown + 1)
    return format_html('<p class="row">{} {}</p>', words, format_html_join(" ", "{}", ((link,) for link in links)))
