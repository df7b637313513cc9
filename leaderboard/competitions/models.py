"""Competitions, their phases, kits, shards and policies, as loaded from a competition file."""

from datetime import datetime
from functools import cached_property

from django.conf import settings
from django.db import models
from django.utils import timezone

from leaderboard.competitions.spec import PhaseSpec, State


class Kit(models.Model):
    """The organizer's read-only files beside the script, named by the hash of their content."""

    version = models.CharField(max_length=40)
    sha256 = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)


class ShardSet(models.Model):
    """Train, dev, public and private shards built together from one corpus; see `manifest` for files and hashes."""

    name = models.CharField(max_length=60, unique=True)
    manifest = models.JSONField()
    manifest_sha256 = models.CharField(max_length=64)
    inputs = models.JSONField(default=dict)  # corpus_sha256, seed, vocab: what a repeated build is compared with
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Policy(models.Model):
    """A version of a competition's rule severities and allow-lists; never changed, only followed by another."""

    competition = models.ForeignKey("Competition", models.CASCADE, related_name="policies")
    number = models.PositiveIntegerField()
    body = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint("competition", "number", name="policy_number_once"),)


class Competition(models.Model):
    """What an organizer runs."""

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    kit = models.ForeignKey(Kit, models.PROTECT)
    shards = models.ForeignKey(ShardSet, models.PROTECT)
    organizers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="organizes", blank=True)
    file_sha256 = models.CharField(max_length=64)

    def __str__(self) -> str:
        return self.slug


class Phase(models.Model):
    """A part of a competition with its own dates, budget, quota and board; `spec` holds the validated rest."""

    competition = models.ForeignKey(Competition, models.CASCADE, related_name="phases")
    slug = models.SlugField(max_length=60)
    title = models.CharField(max_length=120)
    position = models.PositiveIntegerField()
    opens = models.DateTimeField()
    closes = models.DateTimeField()
    spec = models.JSONField()
    seed_commitment = models.CharField(max_length=64)  # sha256 of the seed secret, on the ledger before the phase opens
    first_upload = models.DateTimeField(null=True, editable=False)  # from then on what runs have in common is fixed
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("position",)
        constraints = (models.UniqueConstraint("competition", "slug", name="phase_slug_once"),)

    def __str__(self) -> str:
        return f"{self.competition_id}/{self.slug}"

    @cached_property
    def rules(self) -> PhaseSpec:
        """Return the validated spec; a row that does not validate is a fault, not a phase with defaults."""
        return PhaseSpec.model_validate(self.spec)

    def state(self, now: datetime | None = None) -> State:
        """Return whether the phase is to come, takes submissions, or is over, at `now` (default: the clock's)."""
        now = now or timezone.now()
        if now < self.opens:
            return "upcoming"
        return "open" if now < self.closes else "closed"
