"""The append-only, hash-chained record. Ids and hashes only: names live elsewhere and can be erased."""

from django.db import models


class Head(models.Model):
    """The one row that is locked to append: where the chain stands."""

    seq = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="0" * 64)


class Entry(models.Model):
    """One link: `hash = sha256(prev_hash + canonical({seq, at, kind, subject, data}))`. Triggers refuse change."""

    seq = models.PositiveBigIntegerField(unique=True)
    at = models.CharField(max_length=32)  # ISO text as hashed: no database rounds it
    kind = models.CharField(max_length=64, db_index=True)
    subject = models.CharField(max_length=64, db_index=True)
    data = models.TextField()  # canonical JSON as hashed
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ("seq",)

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.subject}"
