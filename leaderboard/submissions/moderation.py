"""What organizers decide: accept, reject, disqualify, reinstate, run again.

Each decision is one change of state with an Event, in words for the team, and a ledger entry, with the organizer's id
and the hash of the reason. Of two organizers at once one wins; the other is told who decided what, and nothing is
changed a second time.
"""

from dataclasses import dataclass
from enum import StrEnum

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.competitions.queries import require_unreleased
from leaderboard.core.errors import Refusal
from leaderboard.core.outbox import send_after_commit
from leaderboard.submissions import quota, reaudits, secondlook, transitions
from leaderboard.submissions.models import Event, State, Submission
from leaderboard.submissions.states import AT_WORK, MAY_BE_SENT_AGAIN
from leaderboard.submissions.transitions import Decision
from leaderboard.submissions.visibility import is_member, organizes

REASON_CHARACTERS = 500


class Action(StrEnum):
    """What an organizer may do."""

    ACCEPT = "accept"
    REJECT = "reject"
    DISQUALIFY = "disqualify"
    REINSTATE = "reinstate"
    RERUN = "rerun"


@dataclass(frozen=True)
class Verb:
    """From which states an action leads on, whether the team is owed a reason, and how it is said."""

    states: frozenset[State]
    words: str  # as an order: "Run again"
    past: str  # as a fact, between the organizer's name and the submission: "sent back"
    reason: bool = True


VERBS = {
    Action.ACCEPT: Verb(frozenset({State.IN_REVIEW}), "Accept", "accepted", reason=False),
    Action.REJECT: Verb(frozenset({State.IN_REVIEW}), "Reject", "rejected"),
    Action.DISQUALIFY: Verb(AT_WORK | {State.RANKED}, "Disqualify", "disqualified"),
    Action.REINSTATE: Verb(frozenset({State.DISQUALIFIED, State.REJECTED}), "Reinstate", "reinstated"),
    Action.RERUN: Verb(frozenset({State.FAILED, State.ERRORED}), "Run again", "sent back to the queue"),
}


def possible(submission: Submission) -> list[Action]:
    """Return what an organizer can do with a submission in its state."""
    found = [action for action, verb in VERBS.items() if submission.state in verb.states]
    if submission.state == State.REJECTED and not reaudits.may_stand(submission):
        return []
    over = submission.phase.released_at is not None
    return [action for action in found if not (over and _runs_again(submission, action))]


def _runs_again(submission: Submission, action: Action) -> bool:
    return action == Action.RERUN or (action == Action.REINSTATE and submission.ranked_at is None)


def moderate(
    *, organizer: User, submission: Submission, action: str, reason: str = "", seen: int | None = None
) -> Submission:
    """Carry out an organizer's decision and return the submission as it is then.

    `seen` is the id of the newest decision that the organizer knew of (0: none); a newer one goes before. Raises
    Refusal: not_organizer and own_team 403, unknown_action, reason_missing and bad_reason 400; and 409 decided (another
    organizer was first), wrong_state, duplicate (the same script is here again), nothing_to_rerun, released (nothing
    is run any more).
    """
    if not organizes(organizer, submission.phase.competition):
        raise Refusal("not_organizer", "Only an organizer of this competition decides that.", 403)
    if is_member(organizer, submission):
        raise Refusal("own_team", "This submission is your own team's; another organizer decides on it.", 403)
    if action not in list(Action):
        raise Refusal("unknown_action", f"There is no such action; there are {', '.join(Action)}.")
    wanted = Action(action)
    decision = Decision(organizer, wanted.value, _checked(reason, wanted))
    while True:
        submission.refresh_from_db(fields=["state", "ranked_at"])
        last = last_decision(submission)
        if submission.state not in VERBS[wanted].states or (seen is not None and last is not None and last.pk > seen):
            raise _too_late(submission, wanted, last, seen)
        if _carry_out(submission, decision):
            secondlook.close(submission)
            return submission


def last_decision(submission: Submission) -> Event | None:
    """Return the newest event of a submission that an organizer's decision wrote."""
    decided = Event.objects.filter(submission=submission, kind="state", data__has_key="action")
    return decided.select_related("actor").order_by("-id").first()


def _carry_out(submission: Submission, decision: Decision) -> bool:
    old = State(submission.state)
    match Action(decision.action):
        case Action.ACCEPT:
            won = transitions.accept_reviewed(submission, decision)
            if won:
                send_after_commit("pipeline.dispatch", submission.pk)
            return won
        case Action.REJECT:
            return transitions.reject_reviewed(submission, decision)
        case Action.DISQUALIFY:
            return transitions.disqualify(submission, old, decision)  # attempts end at their next sign of life
        case Action.REINSTATE if old == State.REJECTED:
            return _accept_reread(submission, decision)
        case Action.REINSTATE if submission.ranked_at:
            return transitions.reinstate(submission, decision)
        case _:
            return _send_back(submission, old, decision)


def _accept_reread(submission: Submission, decision: Decision) -> bool:
    with transaction.atomic():
        require_unreleased(submission.phase_id, "nothing is run any more that could stand on its boards.")
        quota.lock(submission.team, submission.phase)  # as in `_send_back`
        if not reaudits.may_stand(submission):
            sentence = (
                "This submission is rejected; reinstate is for one that is disqualified, or that a later audit passes."
            )
            raise Refusal("wrong_state", sentence, 409, state=submission.state)
        _refuse_twin(submission)
        won = transitions.accept_reread(submission, decision)
        if won:
            send_after_commit("pipeline.dispatch", submission.pk)
        return won


def _send_back(submission: Submission, old: State, decision: Decision) -> bool:
    try:
        with transaction.atomic():
            require_unreleased(submission.phase_id, "nothing is run any more that could stand on its boards.")
            quota.lock(submission.team, submission.phase)  # an upload of the same script waits for this, or this for it
            _refuse_twin(submission)
            won = transitions.send_back(submission, old, decision)
            if won:
                send_after_commit("pipeline.rerun", submission.pk)
            return won
    except LookupError:
        submission.refresh_from_db(fields=["state"])
        raise Refusal(
            "nothing_to_rerun", "It ended before its first run; its team can send it again, at no cost.", 409
        ) from None


def _refuse_twin(submission: Submission) -> None:
    """Raise Refusal `duplicate` where the team has sent the same script and launch command again since."""
    same = Submission.objects.filter(
        team=submission.team_id,
        phase=submission.phase_id,
        script_sha256=submission.script_sha256,
        launch=submission.launch,
    )
    twin = same.exclude(pk=submission.pk).exclude(state__in=MAY_BE_SENT_AGAIN).only("version", "state").first()
    if twin is not None:
        raise Refusal(
            "duplicate",
            f"Its team has sent the same script again, as version {twin.version}; that one counts.",
            409,
            submission=twin.pk,
            version=twin.version,
        )


def _checked(reason: str, action: Action) -> str:
    """Return the reason as one line. Raises Refusal reason_missing, bad_reason."""
    reason = " ".join(reason.split())
    if VERBS[action].reason and not reason:
        raise Refusal("reason_missing", "Give the reason in one sentence; its team will read it.")
    if len(reason) > REASON_CHARACTERS:
        raise Refusal("bad_reason", f"The reason has {len(reason)} characters; {REASON_CHARACTERS} are allowed.")
    if not reason.isprintable():
        raise Refusal("bad_reason", "The reason has characters that cannot be printed; write it as plain text.")
    return reason


def _too_late(submission: Submission, action: Action, last: Event | None, seen: int | None) -> Refusal:
    state = State(submission.state).label.lower()
    if last is None or not _was_first(last, action, seen):
        allowed = sorted(each.label.lower() for each in VERBS[action].states)
        sentence = f"This submission is {state}; {action} is for one that is {' or '.join(allowed)}."
        return Refusal("wrong_state", sentence, 409, state=submission.state)
    who = last.actor.username if last.actor else "An organizer"
    past = VERBS[Action(last.data["action"])].past
    sentence = f"{who} has {past} it on {last.at:%Y-%m-%d at %H:%M} UTC; it is {state}, and nothing was changed now."
    return Refusal("decided", sentence, 409, state=submission.state)


def _was_first(last: Event, action: Action, seen: int | None) -> bool:
    """Return whether a decision took this one's place: it came after what its organizer had seen.

    Where they did not say what they had seen, it did if both are for the same states.
    """
    if seen is not None:
        return last.pk > seen
    return bool(VERBS[Action(last.data["action"])].states & VERBS[action].states)
