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
    """One try at training a run, or at scoring its checkpoint on one shard, under one lease."""

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
    shard = models.CharField(max_length=10, blank=True)  # "public" for kind=score
    number = models.PositiveIntegerField()  # 1, 2, 3 within run, kind and shard
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
            models.UniqueConstraint("run", "kind", "shard", "number", name="attempt_number_once"),
            models.UniqueConstraint(
                "run", "kind", "shard", name="one_live_attempt", condition=Q(state__in=["waiting", "leased"])
            ),
        )
        indexes = (models.Index(fields=("state", "lease_until")),)

    def __str__(self) -> str:
        return f"attempt {self.pk}"


class Round(models.Model):
    """The one row that says when the reaper last looked, and until when it takes nobody's lease back."""

    at = models.DateTimeField()
    spare_until = models.DateTimeField(null=True)


class Receipt(models.Model):
    """The signed facts of an attempt, verified before they are stored."""

    attempt = models.OneToOneField(Attempt, models.CASCADE, related_name="receipt")
    body = models.JSONField()
    signature = models.CharField(max_length=128)
    sha256 = models.CharField(max_length=64)
    stored = models.DateTimeField(auto_now_add=True)


class Score(models.Model):
    """Nats, bytes and bits per byte of one run on one shard; written once."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="scores")
    shard = models.CharField(max_length=10)
    attempt = models.OneToOneField(Attempt, models.PROTECT, related_name="score")
    total_nats = models.FloatField()
    num_bytes = models.PositiveBigIntegerField()
    num_tokens = models.PositiveBigIntegerField()
    bpb = models.FloatField()

    class Meta:
        constraints = (
            models.UniqueConstraint("run", "shard", name="one_score_per_run_and_shard"),
            models.CheckConstraint(name="bpb_in_range", condition=Q(bpb__gt=0) & Q(bpb__lte=64)),
            models.CheckConstraint(name="bytes_positive", condition=Q(num_bytes__gt=0)),
        )
