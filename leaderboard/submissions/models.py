"""Submissions, what was said about them, and the quota they were paid from."""

from django.conf import settings
from django.db import models


class State(models.TextChoices):
    RECEIVED = "received"
    AUDITING = "auditing"
    REJECTED = "rejected"
    IN_REVIEW = "in_review"
    ACCEPTED = "accepted"
    QUEUED = "queued"
    RUNNING = "running"
    SCORING = "scoring"
    RANKED = "ranked"
    FAILED = "failed"
    ERRORED = "errored"
    WITHDRAWN = "withdrawn"
    DISQUALIFIED = "disqualified"


FINAL = frozenset({State.REJECTED, State.RANKED, State.FAILED, State.ERRORED, State.WITHDRAWN, State.DISQUALIFIED})


class QuotaAccount(models.Model):
    """The row that is locked to take, charge or give back a place; first in the lock order."""

    team = models.ForeignKey("accounts.Team", models.CASCADE)
    phase = models.ForeignKey("competitions.Phase", models.CASCADE)

    class Meta:
        constraints = (models.UniqueConstraint("team", "phase", name="one_quota_account"),)


class Submission(models.Model):
    """An immutable script, launch command and method note of one team in one phase."""

    phase = models.ForeignKey("competitions.Phase", models.PROTECT, related_name="submissions")
    team = models.ForeignKey("accounts.Team", models.PROTECT, related_name="submissions")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    version = models.PositiveIntegerField()  # counts within team and phase, from 1
    kit = models.ForeignKey("competitions.Kit", models.PROTECT, related_name="+")
    policy = models.ForeignKey("competitions.Policy", models.PROTECT, related_name="+")
    script = models.BinaryField()  # the bytes as sent, UTF-8 or not
    script_sha256 = models.CharField(max_length=64, db_index=True)
    launch = models.CharField(max_length=500)
    launch_spec = models.JSONField()  # the parsed launch: launcher, processes, env, args
    note = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=16, choices=State.choices, default=State.RECEIVED)
    reason_code = models.CharField(max_length=40, blank=True)
    reason = models.TextField(blank=True)  # one sentence for the competitor
    created = models.DateTimeField(auto_now_add=True)
    changed = models.DateTimeField()  # last change of state
    deadline = models.DateTimeField(null=True)  # when the reaper looks at it; null only in final states and in review
    mean_bpb = models.FloatField(null=True)  # of its finite public scores, written once when it ranks
    sd_bpb = models.FloatField(null=True)
    n_scores = models.PositiveIntegerField(default=0)
    ranked_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=("phase", "state", "team", "mean_bpb")),
            models.Index(fields=("phase", "state", "n_scores", "sd_bpb"), name="pooled_spread"),
            models.Index(fields=("state", "deadline")),
        )
        constraints = (
            models.UniqueConstraint("team", "phase", "version", name="version_once_per_team_and_phase"),
            models.UniqueConstraint(
                "team",
                "phase",
                "script_sha256",
                "launch",
                name="same_script_once",
                condition=~models.Q(state__in=["rejected", "withdrawn", "failed", "errored"]),
            ),
            models.CheckConstraint(
                name="ranked_needs_finite_mean",
                condition=~models.Q(state="ranked") | (models.Q(mean_bpb__gt=0) & models.Q(mean_bpb__lte=64)),
            ),
        )

    def __str__(self) -> str:
        return f"submission {self.pk} v{self.version}"


class Report(models.Model):
    """One audit of a submission; the newest counts, older ones stay.

    `policy` is the one that it was read again under; null is the submission's own, which it was sent under.
    """

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="reports")
    policy = models.ForeignKey("competitions.Policy", models.PROTECT, null=True, related_name="+")
    verdict = models.CharField(max_length=10)
    ruleset = models.CharField(max_length=40)
    body = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        get_latest_by = "id"


class Event(models.Model):
    """A line in a submission's history, as its team sees it."""

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="events")
    at = models.DateTimeField()
    kind = models.CharField(max_length=40)  # state, progress, report, attempt …
    state = models.CharField(max_length=16)
    message = models.TextField(blank=True)
    data = models.JSONField(default=dict)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ("id",)


class QuotaEntry(models.Model):
    """A hold, charge, release or refund with its cause. Used = holds and charges that nothing gave back."""

    class Kind(models.TextChoices):
        HOLD = "hold"
        CHARGE = "charge"
        RELEASE = "release"
        REFUND = "refund"

    account = models.ForeignKey(QuotaAccount, models.CASCADE, related_name="entries")
    submission = models.ForeignKey(Submission, models.CASCADE, related_name="quota_entries")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    cause = models.CharField(max_length=60)
    at = models.DateTimeField()
    window = models.DateTimeField()  # start of the quota window that the submission's hold fell into

    class Meta:
        constraints = (models.UniqueConstraint("submission", "kind", name="each_quota_step_once"),)
        indexes = (models.Index(fields=("account", "window")),)


class Fingerprint(models.Model):
    """What finds the kin of a submission's script. Of one that cannot be read it says only that it was tried."""

    submission = models.OneToOneField(Submission, models.CASCADE, primary_key=True, related_name="fingerprint")
    code_sha256 = models.CharField(max_length=64, blank=True, db_index=True)  # of its tree without names and constants
    marks = models.BinaryField()  # at most 2,048 of eight bytes, rising; see reviewer/similarity.py
    plain = models.BooleanField(default=False)  # nothing in it that a baseline has not
    linked = models.BooleanField(default=False)  # its kin have been looked for
    version = models.PositiveSmallIntegerField(default=1)  # of how it was made; an older one is made again


class Mark(models.Model):
    """One of the few marks by which a fingerprint is found among all others of its competition."""

    competition = models.ForeignKey("competitions.Competition", models.CASCADE, related_name="+", db_index=False)
    submission = models.ForeignKey(Submission, models.CASCADE, related_name="+")
    value = models.BigIntegerField()

    class Meta:
        indexes = (models.Index(fields=("competition", "value", "submission"), name="marks_by_value"),)


class Kin(models.Model):
    """Two submissions of a competition that are alike. For organizers alone."""

    class Relation(models.TextChoices):
        BYTES = "bytes", "the same bytes"
        CODE = "code", "the same code but for names and constants"
        NEAR = "near", "much of the same code"

    earlier = models.ForeignKey(Submission, models.CASCADE, related_name="+", db_index=False)
    later = models.ForeignKey(Submission, models.CASCADE, related_name="+")
    relation = models.CharField(max_length=5, choices=Relation.choices)
    share = models.FloatField()  # of the marks of the one that has fewer, 0 to 1

    class Meta:
        constraints = (models.UniqueConstraint("earlier", "later", name="kin_once"),)


class SecondLook(models.Model):
    """A submission that an organizer looks at again: after a ruling on one that it may descend from (`because_of`), or
    because a later audit, under other rules, found more than the one before (`report`).
    """

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="second_looks")
    because_of = models.ForeignKey(Submission, models.CASCADE, null=True, related_name="+")
    report = models.ForeignKey(Report, models.SET_NULL, null=True, related_name="+")
    opened = models.DateTimeField()
    opened_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    closed = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint("submission", name="one_open_look", condition=models.Q(closed__isnull=True)),
        )
