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


class ApiToken(models.Model):
    """A named key of a person: only its SHA-256 is kept, the text is shown once."""

    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    last_used = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.user_id}"
