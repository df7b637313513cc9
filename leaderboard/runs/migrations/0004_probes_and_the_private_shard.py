import django.db.models.deletion
from django.db import migrations, models


def what_was_scored_was_published(apps, schema_editor):
    apps.get_model("runs", "Score").objects.update(published_bpb=models.F("bpb"))


KEY = ("run", "kind", "shard", "hidden")
CONSTRAINTS = (
    models.UniqueConstraint(*map(models.F, KEY), models.F("number"), name="attempt_number_once"),
    models.UniqueConstraint(
        *map(models.F, KEY), condition=models.Q(state__in=["waiting", "leased"]), name="one_live_attempt"
    ),
)


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0002_first_upload"),
        ("runs", "0003_rounds"),
    ]

    operations = [
        migrations.AddField("attempt", "hidden", models.BooleanField(default=False)),
        *(migrations.RemoveConstraint("attempt", each.name) for each in CONSTRAINTS),
        *(migrations.AddConstraint("attempt", each) for each in CONSTRAINTS),
        migrations.AddConstraint(
            "attempt",
            models.CheckConstraint(
                name="private_is_hidden",
                condition=~models.Q(shard="private") | models.Q(hidden=True),
            ),
        ),
        migrations.AddField("score", "published_bpb", models.FloatField(default=1.0), preserve_default=False),
        migrations.AddField("score", "correction", models.FloatField(null=True)),
        migrations.AddField("score", "correction_se", models.FloatField(null=True)),
        migrations.AddField("score", "power", models.PositiveIntegerField(null=True)),
        migrations.AddField("score", "drawn_evenly", models.BooleanField(null=True)),
        migrations.RunPython(what_was_scored_was_published, migrations.RunPython.noop),
        migrations.AddConstraint(
            "score",
            models.CheckConstraint(
                name="published_in_range",
                condition=models.Q(published_bpb__gt=0) & models.Q(published_bpb__lte=64),
            ),
        ),
        migrations.CreateModel(
            "Reference",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("shard", models.CharField(max_length=10)),
                ("sha256", models.CharField(max_length=64)),
                (
                    "attempt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.attempt"
                    ),
                ),
                (
                    "phase",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="references",
                        to="competitions.phase",
                    ),
                ),
            ],
            {
                "constraints": (
                    models.UniqueConstraint(
                        models.F("phase"), models.F("shard"), name="one_reference_per_phase_and_shard"
                    ),
                )
            },
        ),
        migrations.CreateModel(
            "HiddenResult",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("shard", models.CharField(max_length=10)),
                ("code", models.CharField(max_length=40)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("value", models.JSONField(default=dict)),
                ("salt", models.CharField(blank=True, max_length=64)),
                ("commitment", models.CharField(blank=True, max_length=64)),
                ("entry", models.PositiveBigIntegerField(null=True)),
                (
                    "attempt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="hidden_result", to="runs.attempt"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="hidden_results", to="runs.run"
                    ),
                ),
            ],
            {
                "constraints": (
                    models.UniqueConstraint(
                        models.F("run"), models.F("shard"), name="one_hidden_result_per_run_and_shard"
                    ),
                )
            },
        ),
    ]
