from django.db import migrations

from leaderboard.ledger import triggers


class Migration(migrations.Migration):
    """Make the table of entries append-only."""

    dependencies = [("ledger", "0001_initial")]

    operations = [
        migrations.RunPython(
            lambda apps, schema_editor: triggers.create(schema_editor.connection),
            lambda apps, schema_editor: triggers.drop(schema_editor.connection),
        )
    ]
