from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("submissions", "0001_initial"),
    ]

    operations = [
        # A phase's pooled spread is of all its versions: with this it is read without one row, and without its script.
        migrations.AddIndex(
            "submission", models.Index(fields=["phase", "state", "n_scores", "sd_bpb"], name="pooled_spread")
        ),
    ]
