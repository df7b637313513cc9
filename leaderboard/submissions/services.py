"""What teams do with submissions: send one in, take it back. What organizers do is in `moderation.py`."""

import hashlib

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from leaderboard.accounts import allowance
from leaderboard.accounts.models import Team, User
from leaderboard.accounts.services import ensure_team
from leaderboard.competitions.launch import parse, spell
from leaderboard.competitions.models import Phase
from leaderboard.competitions.queries import open_phase, require_unreleased
from leaderboard.competitions.services import note_upload
from leaderboard.core.errors import Refusal
from leaderboard.core.outbox import send_after_commit
from leaderboard.ledger import services as ledger
from leaderboard.submissions import quota, transitions
from leaderboard.submissions.models import FINAL, Event, State, Submission
from leaderboard.submissions.states import EDGES, MAY_BE_SENT_AGAIN, waiting
from leaderboard.submissions.visibility import view_of

NOTE_CHARACTERS = 200
UPLOADS = 60  # of one person within ten minutes
READ_AT_MOST = 20 * 1024 * 1024  # bytes of an upload that are taken into memory; every phase's limit lies far below


def count_upload(user: User) -> None:
    """Count an upload for who sends it, also one that is refused. Raises Refusal too_many (429).

    Called before an upload is read: withdrawn ones give their place in the quota back, but each is stored, audited and
    written into the ledger.
    """
    allowance.spend("upload", {f"user:{user.pk}": UPLOADS})


def receive(
    *, user: User, competition_slug: str, phase_slug: str, script: bytes, launch: str = "", note: str = ""
) -> Submission:
    """Take in a script for a phase, hold a place in its team's quota and start the audit.

    What the text says is for the audit; here only what can be said without reading it is refused. Raises Refusal:
    unknown_phase 404, phase_upcoming and phase_closed 409, bad_note and bad_launch 400, too_large 413, duplicate 409,
    quota 429.
    """
    with transaction.atomic():
        # First of all locks: the phase's rules as judged here are those in force when the submission is in. A load of
        # the competition file waits for this, or this for it; what is refused leaves no new team behind either.
        phase = open_phase(competition_slug, phase_slug, lock=True)
        note = _note(note)
        limit = phase.rules.limits.script_bytes
        if len(script) > limit:
            raise Refusal(
                "too_large", f"The script has {len(script):,} bytes; this phase allows {limit:,}.", 413, limit=limit
            )
        launch = launch.strip() or phase.rules.launch.default
        spec = parse(launch, phase.rules.launch)
        launch = spell(spec)  # so that another spelling of a command is a duplicate, not a second draw of its seed
        team = ensure_team(user=user, competition=phase.competition)
        account = quota.lock(team, phase)
        now = timezone.now()
        script_sha256 = hashlib.sha256(script).hexdigest()
        _refuse_duplicate(team, phase, script_sha256, launch)
        quota.require_place(team, phase, now)
        mine = Submission.objects.filter(team=team, phase=phase)
        due = waiting(State.RECEIVED)
        submission = Submission.objects.create(
            phase=phase,
            team=team,
            author=user,
            version=(mine.aggregate(last=Max("version"))["last"] or 0) + 1,
            kit=phase.competition.kit,
            policy=phase.competition.policies.latest("number"),
            script=script,
            script_sha256=script_sha256,
            launch=launch,
            launch_spec=dict(spec),
            note=note,
            changed=now,
            deadline=now + due.look_after if due and due.look_after else None,
        )
        note_upload(phase, now)
        quota.hold(account, submission, now)
        Event.objects.create(
            submission=submission, at=now, kind="state", state=State.RECEIVED, message="Received.", actor=user
        )
        ledger.append(
            kind="submission.received",
            subject=f"submission:{submission.pk}",
            data={
                "team": team.pk,
                "phase": phase.pk,
                "version": submission.version,
                "script_sha256": script_sha256,
                "launch_sha256": hashlib.sha256(launch.encode()).hexdigest(),
                "kit_sha256": submission.kit.sha256,
                "policy": submission.policy.pk,
                "actor": user.pk,
            },
        )
        send_after_commit("pipeline.audit", submission.pk)
    return submission


def withdraw(*, user: User, submission: Submission, living_only: bool = False) -> Submission:
    """Take a submission back: before the start its place is free again, a running one is stopped, a ranked one hidden.

    Raises Refusal not_found (404) for somebody else's and already_over (409) for one that has ended otherwise; with
    `living_only`, which is to cancel, also for a ranked one. A ranked one of a released phase stays: released (409).
    """
    if not view_of(user, submission).own:
        raise Refusal("not_found", "There is no such submission.", 404)
    while True:
        submission.refresh_from_db(fields=["state"])
        old = State(submission.state)
        if old == State.WITHDRAWN:
            return submission
        if State.WITHDRAWN not in EDGES[old] or (living_only and old in FINAL):
            raise Refusal("already_over", f"This submission is {old.label.lower()}; that stays as it is.", 409)
        if _take_back(submission, old, actor=user):
            return submission  # its attempts end at their next sign of life, or by the reaper


def may_be_withdrawn(submission: Submission) -> bool:
    """Return whether its team can take a submission back as it stands now."""
    state = State(submission.state)
    return State.WITHDRAWN in EDGES[state] and not (state == State.RANKED and submission.phase.released_at)


@transaction.atomic
def _take_back(submission: Submission, old: State, *, actor: User) -> bool:
    if old == State.RANKED:
        require_unreleased(submission.phase_id, "what stood at the release stays on record.")
    return transitions.withdraw(submission, old, actor=actor)


def _note(text: str) -> str:
    text = text.strip()
    if len(text) > NOTE_CHARACTERS:
        raise Refusal("bad_note", f"The note has {len(text)} characters; {NOTE_CHARACTERS} are allowed.")
    if not text.isprintable():
        raise Refusal("bad_note", "The note must be one line of printable characters.")
    return text


def _refuse_duplicate(team: Team, phase: Phase, script_sha256: str, launch: str) -> None:
    same = Submission.objects.filter(team=team, phase=phase, script_sha256=script_sha256, launch=launch)
    earlier = same.exclude(state__in=MAY_BE_SENT_AGAIN).first()
    if earlier is not None:
        raise Refusal(
            "duplicate",
            f"This script with this launch command is already here as version {earlier.version} "
            f"(submission {earlier.pk}, {State(earlier.state).label.lower()}).",
            409,
            submission=earlier.pk,
            version=earlier.version,
        )
