"""After a phase has closed: every version that a team stands with is scored on the private shard, unseen.

Nobody can send in a script any more that could react to what shows; and nothing shows. Entries inside the cut are
also probed again on the public shard, ten times as hard. A round looks at what is true and does what is still to do:

    nothing of the phase on its way ─ the baseline, which makes the reference ─ all others ─ one batch of commitments

A later change of who stands where is met by the next round.
"""

from collections import defaultdict
from datetime import datetime, timedelta

from django.db.models import Exists, Max, OuterRef
from django.utils import timezone

from leaderboard.competitions.launch import default_launch
from leaderboard.competitions.models import Phase
from leaderboard.pipeline import steps
from leaderboard.pipeline.endings import ending_of
from leaderboard.runs import hidden
from leaderboard.runs.jobs import PRIVATE, PUBLIC
from leaderboard.runs.models import Attempt, HiddenResult, Reference, Run
from leaderboard.runs.numbers import keep_reference, score_fields
from leaderboard.standings import commitments
from leaderboard.standings.places import ranked, standing
from leaderboard.submissions.models import FINAL, State, Submission

ON_ITS_WAY = frozenset(State) - FINAL - {State.IN_REVIEW}  # what ends without a person's decision
Wanted = set[tuple[int, str]]  # (run, shard)


def due(now: datetime) -> list[Phase]:
    """Return the phases that have closed and are not released."""
    closed = Phase.objects.filter(closes__lte=now, released_at=None).exclude(first_upload=None)
    return list(closed.select_related("competition"))


def look_at(phase: Phase, now: datetime | None = None) -> None:
    """Do for a closed phase what is still to be done before it can be released."""
    now = now or timezone.now()
    settle_ended(phase)
    if Submission.objects.filter(phase=phase, state__in=ON_ITS_WAY).exists():
        return
    wanted = first_of_all(phase) or everything(phase)
    known = set(HiddenResult.objects.filter(run__submission__phase=phase).values_list("run", "shard"))
    hidden.call_off(phase.pk, wanted - known)
    todo = defaultdict(list)
    for run_id, shard in wanted - known:
        todo[run_id].append(shard)
    for run in Run.objects.select_related("submission__phase").defer("submission__script").filter(pk__in=todo):
        for shard in sorted(todo[run.pk]):
            opened = hidden.open_next(run, shard, now)
            if opened:
                steps.offer_after_commit(opened)
    if not any(shard == PRIVATE for _, shard in wanted - known):
        commit(phase, now)


def first_of_all(phase: Phase) -> Wanted:
    """Return the baseline's run while the private shard has no reference; what it makes serves the probes of all."""
    baseline = phase.rules.probes.baseline_sha256
    if not baseline or Reference.objects.filter(phase=phase, shard=PRIVATE).exists():
        return set()
    own = {"script_sha256": baseline, "launch": default_launch(phase.rules.launch)}
    first = ranked(phase).filter(**own).order_by("pk").values("pk")[:1]
    run = Run.objects.filter(submission__in=first).order_by("index").first()
    if run is None or HiddenResult.objects.filter(run=run, shard=PRIVATE).exists():
        return set()
    return {(run.pk, PRIVATE)}


def everything(phase: Phase) -> Wanted:
    """Return what the release needs: all that stand on the private shard, those inside the cut probed again."""
    stand = [pk for (pk,) in standing(phase).values_list("pk")]
    inside = set(stand[: phase.rules.advance])
    wanted: Wanted = set()
    for run, submission in Run.objects.filter(submission__in=stand).values_list("pk", "submission"):
        wanted.add((run, PRIVATE))
        if submission in inside:
            wanted.add((run, PUBLIC))
    return wanted


def settle_ended(phase: Phase) -> None:
    """Take what ended attempts brought and no message told of: the newest ones of runs without a result.

    Their receipts stay in the database unless one has a score to be read.
    """
    same = {"run": OuterRef("run"), "shard": OuterRef("shard")}
    later = Attempt.objects.filter(**same, hidden=True, kind=OuterRef("kind"), number__gt=OuterRef("number"))
    ended = Attempt.objects.filter(run__submission__phase=phase, hidden=True, state=Attempt.State.FINISHED)
    unsettled = ended.exclude(Exists(HiddenResult.objects.filter(**same))).exclude(Exists(later))
    for attempt in unsettled.select_related("run__submission__phase").defer("run__submission__script", "job"):
        settle(attempt)


def settle(attempt: Attempt) -> None:
    """Keep what a hidden attempt came to; an end that was ours is followed by another attempt in the next round."""
    if attempt.state != Attempt.State.FINISHED:
        return
    ending = ending_of(attempt)
    if ending.whose == "platform":
        return
    good = ending.whose == "good"
    score = score_fields(attempt.receipt.body) if good and attempt.shard == PRIVATE else None
    hidden.record(attempt, code=ending.code, score=score)
    if good:
        keep_reference(attempt)


def commit(phase: Phase, now: datetime) -> None:
    """Commit to the private scores in one batch, at the first full hour after the last of them came in.

    So the time of the entry, which everybody can read, tells in which hour that was, and with it that something took
    long or had to be tried again; of which model, and how it scored, it tells nothing.
    """
    open_ones = HiddenResult.objects.filter(run__submission__phase=phase, shard=PRIVATE, entry=None)
    last = open_ones.aggregate(last=Max("at"))["last"]
    if last is not None and last.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1) <= now:
        commitments.commit(phase)
