"""The platform's Celery application; agents have their own in `leaderboard.agent`."""

import os

from celery import Celery
from celery.signals import worker_process_init

import reviewer
from leaderboard.core.beat import Every
from leaderboard.env import env

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")

app = Celery("holdout")
app.config_from_object("django.conf:settings", namespace="CELERY")
# A look that nobody had time for is no use later: without an end they pile up while the worker is down.
app.conf.beat_schedule = {
    "reap": {
        "task": "pipeline.reap",
        "schedule": Every(env().reap_seconds),
        "options": {"expires": env().reap_seconds * 3},
    }
}
app.autodiscover_tasks(["leaderboard.pipeline"])


def keep_an_audit_ready(**_: object) -> None:
    """Let each process of the worker have the next audit's process ready, so that nobody waits for its imports."""
    reviewer.keep_ready()


worker_process_init.connect(keep_an_audit_ready)
