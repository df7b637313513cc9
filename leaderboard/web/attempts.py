"""The attempts of a submission as its page shows them: all that were begun, how each ended, what its receipt says."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from leaderboard.pipeline.endings import ending_of
from leaderboard.runs.models import Attempt, Receipt
from leaderboard.runs.queries import attempts_shown, reads_body
from leaderboard.submissions.models import Submission
from leaderboard.submissions.visibility import Access
from leaderboard.web import probes as of_probes
from leaderboard.web import receipts
from leaderboard.web.usage import Device, of_live, of_receipt
from leaderboard.web.wording import visible
from scoring import outcomes

KINDS = {Attempt.Kind.TRAIN: "training", Attempt.Kind.SCORE: "scoring"}
BREACH = "breach"
STATES = {"leased": "running"}


@dataclass(frozen=True)
class Shown:
    """One attempt; `whole` says whether its receipt may be read, else only that it is there and what it is not."""

    pk: int
    run: int  # index
    kind: str
    title: str
    state: str
    begun: datetime | None
    ended: datetime | None
    sentence: str = ""
    detail: str = ""  # organizers: what the host said of the end
    whole: bool = False
    pairs: list[receipts.Pair] = field(default_factory=list)
    hashes: list[receipts.Pair] = field(default_factory=list)
    seal: receipts.Seal | None = None
    probes: of_probes.Probes | None = None
    device: Device | None = None


def shown(submission: Submission, access: Access) -> list[Shown]:
    """Return the attempts that the reader may know of, in order."""
    found = attempts_shown(submission, access).select_related("receipt", "run", "run__submission")
    several = submission.phase.rules.runs > 1
    return [_shown(attempt, submission, access, several=several) for attempt in found]


def devices(found: list[Shown]) -> list[Shown]:
    """Return each run's newest training attempt that has something to draw."""
    newest = {each.run: each for each in found if each.kind == Attempt.Kind.TRAIN}
    return [each for each in newest.values() if each.device]


def _shown(attempt: Attempt, submission: Submission, access: Access, *, several: bool) -> Shown:
    run = f"Run {attempt.run.index + 1}, " if several else ""
    again = "probing again" if attempt.hidden and attempt.shard == "public" else ""
    what = (again or KINDS[Attempt.Kind(attempt.kind)]) + (f" on the {attempt.shard} shard" if attempt.shard else "")
    title = run + what + (f", attempt {attempt.number}" if attempt.number > 1 else "")
    ended = attempt.state in (Attempt.State.FINISHED, Attempt.State.LOST)
    known: dict[str, Any] = {
        "pk": attempt.pk,
        "run": attempt.run.index,
        "kind": attempt.kind,
        "title": title[:1].upper() + title[1:],
        "state": STATES.get(attempt.state, attempt.state),
        "begun": attempt.leased_at,
        "ended": attempt.ended_at,
        "sentence": _sentence(attempt) if ended else "",
        "detail": visible(attempt.detail) if access.organizer else "",
    }
    receipt: Receipt | None = getattr(attempt, "receipt", None)
    if receipt is None:
        return Shown(**known, device=of_live(attempt))
    body = receipts.Body(receipt.body)
    known |= {
        "seal": receipts.verify(receipt),
        "probes": of_probes.shown(body, failed=attempt.cause == BREACH, organizer=access.organizer and access.exact)
        if attempt.kind == Attempt.Kind.SCORE
        else None,
        "hashes": [("Receipt", receipt.sha256, True)],
    }
    if not reads_body(attempt, access):
        return Shown(**known, pairs=[("Isolation", body.text("isolation.level"), False)])
    memory = attempt.job.get("limits", {}).get("memory_bytes")
    return Shown(
        **known | {"hashes": known["hashes"] + receipts.hashes(body)},
        whole=True,
        pairs=[*receipts.clock(body), *receipts.use(body, memory), *receipts.place(body)],
        device=of_receipt(attempt, receipt.body),
    )


def _sentence(attempt: Attempt) -> str:
    if attempt.kind == Attempt.Kind.SCORE and attempt.cause == outcomes.OK:
        return "Every row was answered and scored."
    return ending_of(attempt).sentence
