from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('submissions', '0004_reaudits'),
    ]

    operations = [
        migrations.AddField(
            model_name='fingerprint',
            name='version',
            field=models.PositiveSmallIntegerField(default=1),
        ),
    ]
