"""Runs, the attempts at them, the hosts that make them, and what came out."""

from django.db import models
from django.db.models import Q


class Agent(models.Model):
    """The process on a hardware host that takes runs; known by the SHA-256 of its key."""

    name = models.CharField(max_length=60, unique=True)
    hardware = models.CharField(max_length=40)
    digest = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    last_seen = models.DateTimeField(null=True)
    revoked = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.name


class Run(models.Model):
    """One execution of a submission under one platform-drawn seed."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        SEALED = "sealed"
        SCORING = "scoring"
        SCORED = "scored"
        FAILED = "failed"
        ERRORED = "errored"
        CANCELLED = "cancelled"

    submission = models.ForeignKey("submissions.Submission", models.CASCADE, related_name="runs")
    index = models.PositiveIntegerField()
    seed = models.PositiveBigIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    checkpoint_sha256 = models.CharField(max_length=64, blank=True)
    step = models.PositiveBigIntegerField(null=True)
    charged_seconds = models.FloatField(null=True)
    startup_seconds = models.FloatField(null=True)

    class Meta:
        ordering = ("index",)
        constraints = (models.UniqueConstraint("submission", "index", name="run_index_once"),)


class Attempt(models.Model):
    """One try at training a run, or at scoring its checkpoint on one shard, under one lease.

    A hidden one is made after the phase has closed: on the private shard, or on the public one to probe again at a
    higher power. It moves no state, has no Event and no ledger entry, and until the release nobody but organizers
    may learn that it exists; its numbers count apart.
    """

    class Kind(models.TextChoices):
        TRAIN = "train"
        SCORE = "score"

    class State(models.TextChoices):
        WAITING = "waiting"  # on the hardware queue
        LEASED = "leased"  # an agent works on it
        FINISHED = "finished"  # a verified receipt is stored
        LOST = "lost"  # lease ran out, or the host failed
        CANCELLED = "cancelled"

    run = models.ForeignKey(Run, models.CASCADE, related_name="attempts")
    kind = models.CharField(max_length=5, choices=Kind.choices)
    shard = models.CharField(max_length=10, blank=True)  # "public" or "private" for kind=score
    hidden = models.BooleanField(default=False)
    number = models.PositiveIntegerField()  # 1, 2, 3 within run, kind, shard and hidden or not
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True)
    capability_digest = models.CharField(max_length=64, blank=True)
    public_key = models.CharField(max_length=64, blank=True)
    host = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True)  # last time a message for it went to the queue
    leased_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)  # from then on the reaper may take it back
    ended_at = models.DateTimeField(null=True)
    job = models.JSONField(default=dict)  # what the host was asked, as sent with the lease
    cause = models.CharField(max_length=40, blank=True)  # outcome code
    detail = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint("run", "kind", "shard", "hidden", "number", name="attempt_number_once"),
            models.UniqueConstraint(
                "run", "kind", "shard", "hidden", name="one_live_attempt", condition=Q(state__in=["waiting", "leased"])
            ),
            models.CheckConstraint(name="private_is_hidden", condition=~Q(shard="private") | Q(hidden=True)),
        )
        indexes = (models.Index(fields=("state", "lease_until")),)

    def __str__(self) -> str:
        return f"attempt {self.pk}"


class Round(models.Model):
    """The one row that says when the reaper last looked, and until when it takes nobody's lease back.

    `offset` is the wall clock's distance, in seconds, from the start of the machine `boot`: see clock.py.
    """

    at = models.DateTimeField()
    spare_until = models.DateTimeField(null=True)
    offset = models.FloatField(null=True)
    boot = models.CharField(max_length=36, blank=True)


class Receipt(models.Model):
    """The signed facts of an attempt, verified before they are stored."""

    attempt = models.OneToOneField(Attempt, models.CASCADE, related_name="receipt")
    body = models.JSONField()
    signature = models.CharField(max_length=128)
    sha256 = models.CharField(max_length=64)
    stored = models.DateTimeField(auto_now_add=True)


class Score(models.Model):
    """Nats, bytes and bits per byte of one run on one shard; written once.

    `bpb` is what was scored; boards rank `published_bpb`, which adds what probes say that looking ahead gained.
    `power` and `drawn_evenly` say how the probes were asked; both None where there were none.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="scores")
    shard = models.CharField(max_length=10)
    attempt = models.OneToOneField(Attempt, models.PROTECT, related_name="score")
    total_nats = models.FloatField()
    num_bytes = models.PositiveBigIntegerField()
    num_tokens = models.PositiveBigIntegerField()
    bpb = models.FloatField()
    published_bpb = models.FloatField()
    correction = models.FloatField(null=True)
    correction_se = models.FloatField(null=True)
    power = models.PositiveIntegerField(null=True)
    drawn_evenly = models.BooleanField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint("run", "shard", name="one_score_per_run_and_shard"),
            models.CheckConstraint(name="bpb_in_range", condition=Q(bpb__gt=0) & Q(bpb__lte=64)),
            models.CheckConstraint(
                name="published_in_range", condition=Q(published_bpb__gt=0) & Q(published_bpb__lte=64)
            ),
            models.CheckConstraint(name="bytes_positive", condition=Q(num_bytes__gt=0)),
        )


class Reference(models.Model):
    """The per-token losses of a phase's own baseline on one shard, by which probes are drawn; a host keeps the file."""

    phase = models.ForeignKey("competitions.Phase", models.CASCADE, related_name="references")
    shard = models.CharField(max_length=10)
    sha256 = models.CharField(max_length=64)  # of the encrypted file
    attempt = models.OneToOneField(Attempt, models.PROTECT, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint("phase", "shard", name="one_reference_per_phase_and_shard"),)


class HiddenResult(models.Model):
    """What a run's hidden attempts on one shard came to, good or the script's own failure; written once.

    On the private shard `commitment` = SHA-256 of the canonical `value` with its salt goes to the ledger at `entry`,
    and value and salt follow at the release.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="hidden_results")
    shard = models.CharField(max_length=10)
    attempt = models.OneToOneField(Attempt, models.PROTECT, related_name="hidden_result")
    code = models.CharField(max_length=40)  # outcome code; "ok" or whatever the script's end was
    at = models.DateTimeField(auto_now_add=True)
    value = models.JSONField(default=dict)
    salt = models.CharField(max_length=64, blank=True)
    commitment = models.CharField(max_length=64, blank=True)
    entry = models.PositiveBigIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint("run", "shard", name="one_hidden_result_per_run_and_shard"),)
