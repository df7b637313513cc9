"""People, their teams and the tokens they act by."""

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower


class User(AbstractUser):
    """A person; `is_staff` marks an organizer."""

    class Meta:
        constraints = (
            models.UniqueConstraint(Lower("email"), name="one_account_per_email", condition=~models.Q(email="")),
        )

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Keep the address in small letters: sign-up looks for it so, and must find one that was typed otherwise."""
        self.email = self.email.lower()
        super().save(*args, **kwargs)


class Team(models.Model):
    """Who competes in one competition."""

    competition = models.ForeignKey("competitions.Competition", models.PROTECT, related_name="teams")
    name = models.CharField(max_length=40)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint("competition", Lower("name"), name="team_name_once_per_competition"),)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """One team per person and competition: the competition is repeated here so that the database can hold it."""

    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    competition = models.ForeignKey("competitions.Competition", models.CASCADE, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint("user", "competition", name="one_team_per_person_and_competition"),)


class Scope(models.TextChoices):
    """What a token may do of what its person may, from little to all."""

    READ = "read"  # what changes nothing
    SUBMIT = "submit"  # and send scripts, and take submissions of the own team back
    ALL = "all"


class ApiToken(models.Model):
    """A named key of a person: only its SHA-256 is kept, the text is shown once."""

    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    scope = models.CharField(max_length=6, choices=Scope.choices, default=Scope.ALL)
    digest = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    last_used = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.user_id}"


class DeviceLogin(models.Model):
    """A machine that asks to act as somebody, until a person answers it or ten minutes are over.

    Neither code is kept: the machine's secret is 256 random bits under SHA-256, the short one that people type is
    kept under the site's key, since a plain hash of so little could be searched.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        REFUSED = "refused"
        USED = "used"  # its one token is handed out

    device_digest = models.CharField(max_length=64, unique=True)
    user_digest = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=40)  # what the machine calls itself
    address = models.CharField(max_length=45)  # where it asked from
    scope = models.CharField(max_length=6, choices=Scope.choices)
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")  # who confirmed it
    created = models.DateTimeField()
    expires = models.DateTimeField(db_index=True)
    interval = models.PositiveIntegerField()  # seconds between two questions of the machine
    asked = models.DateTimeField(null=True)  # its last question


class Allowance(models.Model):
    """How often something was done by somebody in the window that began then; the row is the lock."""

    key = models.CharField(max_length=64, unique=True)  # under the site's key: addresses of people are not collected
    began = models.DateTimeField(db_index=True)
    used = models.PositiveIntegerField(default=0)


class SentOnce(models.Model):
    """A key that a person's program chose for one upload, and the submission that came of it."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    content_sha256 = models.CharField(max_length=64)
    submission = models.ForeignKey("submissions.Submission", models.CASCADE, null=True, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint("user", "key", name="one_submission_per_key"),)
