from django.db import migrations, models
from django.db.models import Min


def read_it_from_submissions(apps, schema_editor):
    for phase in apps.get_model("competitions", "Phase").objects.annotate(first=Min("submissions__created")):
        phase.first_upload = phase.first
        phase.save(update_fields=["first_upload"])


class Migration(migrations.Migration):

    dependencies = [
        ("competitions", "0001_initial"),
        ("submissions", "0001_initial"),
    ]

    operations = [
        migrations.AddField("phase", "first_upload", models.DateTimeField(editable=False, null=True)),
        migrations.RunPython(read_it_from_submissions, migrations.RunPython.noop),
    ]
